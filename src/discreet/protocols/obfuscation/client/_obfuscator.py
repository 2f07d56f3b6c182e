"""A person's ratings in, what is sent out; what has to be remembered in the person's own file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.domain.cluster_hash import to_grid
from discreet.privacy import Randomness, SystemRandomness
from discreet.protocols.obfuscation.client._history import Terms, share_true
from discreet.protocols.obfuscation.client._memory import Memory
from discreet.protocols.obfuscation.messages import LEAST, Codes, Items, Obfuscation, SentRatings

_BATCH = 5
_TAKEN_BACK = "were when they were sent, and stay"
_LEAST_PERCENT = 50
"""Fewer fakes for a hundred true ratings are sent only by whoever asks for it."""


@dataclass(frozen=True)
class Standing:
    """How a person stands with a collection, for their own eyes.

    Attributes:
        true: Items in what was sent that the person has rated.
        taken_back: Items in it that the person rated once, and took back.
        fakes: Items in it that the person never rated.
        suppressed: Items that the person has rated and that are not in it.
        share: N / (N + M), the chance that an item in it was ever rated, as far as counting goes;
            NaN if nothing was sent. M are fakes that came with true ratings.
        late: Fakes that came by themselves, which whoever saw both uploads can tell.
        hash_epsilon: What the hash bits cost in all epochs that the client took part in: the same
            for one rating and for everything the person rated. 0 if they cost nothing or if
            nothing protects them.
    """

    true: int
    taken_back: int
    fakes: int
    suppressed: int
    share: float
    late: int = 0
    hash_epsilon: float = 0.0

    def sentences(self) -> list[str]:
        """The same in plain words."""
        if not self.true + self.taken_back + self.fakes:
            said = ["No obfuscated ratings were sent."]
        else:
            said = self._on_ratings()
        if self.hash_epsilon:
            said.append(
                f"Your hash was reported with an epsilon of {self.hash_epsilon:g} in all; that "
                "covers the hash and not the ratings."
            )
        return said

    def _on_ratings(self) -> list[str]:
        total = self.true + self.taken_back + self.fakes
        once = "was when it was sent, and stays" if self.taken_back == 1 else _TAKEN_BACK
        back = f" {self.taken_back:,} more {once}." * bool(self.taken_back)
        alone = "itself" if self.late == 1 else "themselves"
        late = (
            f" {self.late:,} of the others came by {alone}, because more items were asked for, "
            "and can be told to be made up."
        ) * bool(self.late)
        be = "is" if self.true == 1 else "are"
        guess = (
            "By counting alone a guess that you rated one of them is right "
            f"{0.0 if math.isnan(self.share) else self.share:.0%} of the time, and more often for "
            "popular items."
        )
        return [
            "This is plausible deniability, not differential privacy: your true ratings are in "
            "what was sent, among made-up ones.",
            f"Of {total:,} items that look rated, {self.true:,} {be}.{back}{late}",
            guess,
        ]


class Obfuscator:
    """Hides one person's ratings among made-up ones, the same ones for good.

    What it remembers is in a part of the person's state that all collections share: see `Memory`.
    Whoever loses it draws new fakes, and the items that both uploads share are then the true ones.

    Args:
        public: The public terms.
        fakes: Another way to make ratings up than theirs.
        fake_percent: More fakes than they ask for.
        suppress_percent: More suppression than they ask for.
        popularity: For `popular` fakes: how popular each item is, from any release.
        batch: Changes to wait for before a later upload differs from the one before.
        accept_less: For experiments: obfuscate no more than the public terms ask for. Without it
            there are at least 50 fakes for a hundred true ratings and 80 items that look rated, or
            the whole catalogue, whatever they say.
        randomness: For tests and experiments; the operating system's if absent.

    Raises:
        InputError: The terms cannot be used.
    """

    def __init__(
        self,
        public: Obfuscation,
        *,
        fakes: str | None = None,
        fake_percent: int | None = None,
        suppress_percent: int | None = None,
        popularity: npt.NDArray[np.float64] | None = None,
        batch: int = _BATCH,
        accept_less: bool = False,
        randomness: Randomness | None = None,
    ) -> None:
        if batch < 1:
            raise InputError(f"a batch is at least 1 change, not {batch}")
        self._public, self._batch = public, batch
        self.randomness = randomness or SystemRandomness()
        least = 0
        if not accept_less:
            fake_percent = _floored(fake_percent, public)
            least = min(LEAST, len(public.catalog))
        self.terms = Terms.of(
            public,
            fakes=fakes,
            fake_percent=fake_percent,
            suppress_percent=suppress_percent,
            popularity=popularity,
            least=least,
        )

    def obfuscate(
        self, items: Items, codes: Codes, state: dict[str, Any]
    ) -> tuple[SentRatings, int]:
        """What to send once these are the person's ratings, and a number that counts its versions.

        The same as before, to the byte, until there are enough new ratings for a batch; what was
        sent stays, even if its rating changes. Another epoch, beacon, catalogue or other terms
        change nothing about fakes, unless they ask for more items.

        Args:
            items: What the person has rated, rising.
            codes: The ratings beside them.
            state: The person's whole state, which is changed; to be on disk before anything is
                sent.
        """
        memory = Memory(state, self._public)
        before = memory.history
        same = history = before.without_gone(items)
        told = (items, codes, self._public, self.terms, self.randomness)
        if not len(history.sent[0]) or history.news(items) >= self._batch:
            history = history.advance(*told)
        if history.lacks(self._public, self.terms):
            history = history.filled_up(*told)
        turn = memory.turn + (history is not same)
        if history is not before:
            memory.keep(history, state, turn)
        sent = SentRatings("obfuscated", *history.sent)
        sent.check(self._public)
        return sent, turn

    def foresee(self, rated: int, state: Mapping[str, Any]) -> tuple[int, int]:
        """About how many true ratings somebody who rated so many would send, and made-up ones.

        True ones at most, made-up ones at least. Nothing is drawn.
        """
        known = standing(self._public, state)
        true = rated - rated * self.terms.suppress_percent // 100
        least = max(self._public.least, self.terms.least)
        fakes = max(self.terms.fakes_for(true), least - true, known.fakes)
        return true, max(min(fakes, len(self._public.catalog) - rated), 0)

    def waiting(self, items: Items, state: Mapping[str, Any]) -> tuple[int, int]:
        """How many of a person's ratings wait for a batch, and how many more it takes; or (0, 0).

        Args:
            items: What the person has rated, rising.
            state: The person's whole state.
        """
        history = Memory(state, self._public).history.without_gone(items)
        news = history.news(items)
        if not len(history.sent[0]) or not 0 < news < self._batch:
            return 0, 0
        return news, self._batch - news

    def repeats(self, items: Items, state: Mapping[str, Any]) -> bool:
        """Whether `obfuscate` would send the same ratings as before."""
        history = Memory(state, self._public).history.without_gone(items)
        if not len(history.sent[0]) or history.lacks(self._public, self.terms):
            return False
        return history.news(items) < self._batch


def standing(public: Obfuscation, state: Mapping[str, Any], hash_epsilon: float = 0.0) -> Standing:
    """How the person stands who has this state."""
    history = Memory(state, public).history
    # A suppressed item that a fake fell on is rated and looks it.
    hit = int(np.isin(history.suppressed, history.fake_items).sum())
    true = len(history.true_items) + len(history.met) + hit
    back = int(np.count_nonzero(~np.isin(history.taken_back, history.met)))
    fakes = len(history.fake_items) - len(history.met) - hit - back
    late = int(np.count_nonzero(~np.isin(history.late, history.met)))
    share = share_true(true + back, fakes - late)
    return Standing(true, back, fakes, len(history.suppressed) - hit, share, late, hash_epsilon)


def read_own(
    own: Mapping[str, float] | OwnRatings, public: Obfuscation, *, allow_none: bool = False
) -> tuple[Items, Codes]:
    """A person's ratings as catalogue indices and codes.

    Args:
        own: Ids or titles and ratings.
        public: The public terms.
        allow_none: Take somebody who has rated nothing.

    Raises:
        InputError: There are none.
    """
    catalog, scale = public.catalog, public.scale
    ratings = own if isinstance(own, OwnRatings) else OwnRatings.onto(own, catalog, scale)
    if not len(ratings) and not allow_none:
        raise InputError("there is nothing to report: none of the catalogue's items is rated")
    return ratings.items, to_grid(scale, ratings.values)


def _floored(fake_percent: int | None, public: Obfuscation) -> int:
    """What the person asks for, or the public terms, but not below the client's own floor."""
    if fake_percent is None:
        return max(public.fake_percent, _LEAST_PERCENT)
    if fake_percent < _LEAST_PERCENT:
        raise InputError(
            f"fake_percent is at least {_LEAST_PERCENT}, not {fake_percent}; "
            "accept_less=True is for experiments"
        )
    return fake_percent
