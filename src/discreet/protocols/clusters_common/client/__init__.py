"""At home: a person's ratings go in, obfuscated ones come out, and one file remembers them.

The file remembers items by their names, so that it outlives a catalogue: another catalogue with the
same items draws no new fakes. If it did, what both uploads share would be the true ratings.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, OwnRatings
from discreet.domain.cluster_hash import to_grid
from discreet.predict import load
from discreet.privacy import Randomness, SystemRandomness
from discreet.protocols.clusters_common.client._history import History, Terms, share_true
from discreet.protocols.clusters_common.messages import (
    LEAST,
    Codes,
    Items,
    Obfuscation,
    SentRatings,
)
from discreet.protocols.common.http import Refusal, ServiceClient

__all__ = [
    "History",
    "Memory",
    "Obfuscator",
    "Standing",
    "Terms",
    "popularity_for",
    "read_own",
    "spell_again",
    "spell_ratings",
    "spell_waiting",
    "standing",
]

_NOT_FOUND = 404  # HTTP status

_KEY = "obfuscation"
# The place of an item that a catalogue does not have.
_NOWHERE = -1

_Places = npt.NDArray[np.int32]


class Memory:
    """What a state remembers of obfuscated ratings, as it looks in one catalogue.

    `names` are all items that the history speaks of, id and title; `history` has places in that
    list; `turn` counts versions; `scale` is what codes live on.

    Args:
        state: The person's whole state, which `keep` changes.
        public: The terms of a collection.

    Raises:
        InputError: The history is damaged, on another scale, or the catalogue gives an item that
            was sent another id or title: then neither to send it again nor to leave it out hides
            what is true.
    """

    def __init__(self, state: Mapping[str, Any], public: Obfuscation) -> None:
        self._public = public
        kept = state.get(_KEY, {})
        try:
            self.turn = int(kept.get("turn", 0))
            self._names = [(str(item), str(title)) for item, title in kept.get("names", [])]
            self._whole = History.from_state(kept["history"]) if self.turn else History()
            if not self._whole.is_within(len(self._names)):
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError("the client's state has no usable history of uploads") from None
        if self.turn and kept.get("scale") != public.scale.spelling:
            raise InputError(
                f"ratings were sent on the scale {kept.get('scale')} with this file; on "
                f"{public.scale.spelling} true ratings could be distinguished from made-up ones"
            )
        self._places = self._find(public.catalog)

    @property
    def history(self) -> History:
        """What was sent of the catalogue's items."""
        return self._whole.moved(self._places)

    def keep(self, history: History, state: dict[str, Any], turn: int) -> None:
        """Remember what is sent from now on, beside what other catalogues have, as this version."""
        catalog = self._public.catalog
        place_of = np.full(len(catalog), _NOWHERE, np.int32)
        here = self._places >= 0
        place_of[self._places[here]] = np.flatnonzero(here)
        new = np.flatnonzero((place_of < 0) & history.mentions(len(catalog)))
        place_of[new] = np.arange(len(self._names), len(self._names) + len(new))
        names = [*self._names, *((catalog.ids[i], catalog.titles[i]) for i in new.tolist())]
        elsewhere = np.where(here, _NOWHERE, np.arange(len(here))).astype(np.int32)
        whole = self._whole.moved(elsewhere).beside(history.moved(place_of))
        state[_KEY] = {
            "scale": self._public.scale.spelling,
            "names": [list(name) for name in names],
            "history": whole.as_state(),
            "turn": turn,
        }

    def _find(self, catalog: Catalog) -> _Places:
        """Where the catalogue has each of the names; -1 where it has not."""
        sent = self._whole.mentions(len(self._names), hidden=False)
        places = np.full(len(self._names), _NOWHERE, np.int32)
        for place, ((item, title), was_sent) in enumerate(zip(self._names, sent, strict=True)):
            by_id, by_title = catalog.find(item), catalog.find(title)
            if by_id is not None and by_id == by_title:
                places[place] = by_id
            elif was_sent and by_id != by_title:
                # What was not sent must not be known by this: it is left out in silence.
                raise InputError(
                    f"'{title}' ({item}) was sent with this file, and this catalogue has another "
                    "item by its id or title: for other items use another file"
                )
        return places


# New ratings that wait until a later upload differs. Chosen by hand: a single one would show
# which item is new.
_BATCH = 5
_TAKEN_BACK = "were when they were sent, and stay"
_LEAST_PERCENT = 50
"""Per hundred true ratings: fewer fakes are sent only if the person asks for it."""


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
        late: Fakes that came without a batch, recognisable to anyone who saw both uploads.
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
    If it is lost, new fakes are drawn, and the items that both uploads share are the true ones.

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
        now = (items, codes, self._public, self.terms, self.randomness)
        if not len(history.sent[0]) or history.news(items) >= self._batch:
            history = history.advance(*now)
        if history.lacks(self._public, self.terms):
            history = history.filled_up(*now)
        turn = memory.turn + (history is not same)
        if history is not before:
            memory.keep(history, state, turn)
        sent = SentRatings("obfuscated", *history.sent)
        sent.check(self._public)
        return sent, turn

    def foresee(self, rated: int, state: Mapping[str, Any]) -> tuple[int, int]:
        """About how many true and made-up ratings a person with `rated` ratings would send.

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
        allow_none: Accept a person who has rated nothing.

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


def spell_ratings(count: int, kind: str) -> str:
    """How many ratings, in words: 1 true rating, 2 true ratings."""
    return f"{count:,} {kind} rating" + ("" if count == 1 else "s")


def spell_waiting(waiting: tuple[int, int]) -> list[str]:
    """What `Obfuscator.waiting` says, in words; nothing if none wait."""
    news, more = waiting
    if not news:
        return []
    wait, be = "waits" if news == 1 else "wait", "is" if more == 1 else "are"
    whom = "it" if news == 1 else "any of them"
    return [
        f"{spell_ratings(news, 'new')} {wait}; {more:,} more {be} needed for a batch before "
        f"{whom} is sent."
    ]


def spell_again(items: int) -> str:
    """That the ratings are those that were sent before."""
    return f"the same {items:,} items with a rating each as before"


def popularity_for(service: ServiceClient, terms: Obfuscation) -> dict[str, Any]:
    """The `popularity` argument of `Obfuscator`; nothing unless the terms need it.

    It is read off the release that the service offers to everybody: to fetch it tells nothing of
    the person.

    Raises:
        InputError: The service offers none that has the counts of these items.
    """
    if terms.fakes != "popular":
        return {}
    counts = None
    with tempfile.TemporaryDirectory(prefix="discreet.") as folder:
        file = Path(folder) / "release"
        try:
            service.fetch_release(file)
        except Refusal as refused:
            if refused.status != _NOT_FOUND:
                raise
        else:
            release = load(file)
            if release.catalog.digest() == terms.catalog.digest():
                counts = release.arrays.get("item_counts")
        if counts is None:
            raise InputError(
                f"{service.server} asks for made-up ratings of popular items, and has no release "
                "that tells which of these are popular: ask its operator for one"
            )
        return {"popularity": np.array(counts, np.float64)}
