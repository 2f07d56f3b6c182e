"""Single answers with noise: what they will cost, then the answers. Charge, then draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError
from discreet.measure._request import UNBOOKED, GivenLedger, Request, is_named
from discreet.measure.outputs._function import OutputFunction, Sensitivity, ShownTo
from discreet.privacy import (
    NO_NOISE,
    SEEDED,
    ChargeRecord,
    Event,
    Guarantee,
    Randomness,
    Receipt,
    Unit,
)
from discreet.privacy.mechanisms import GumbelTopK, TwoSidedGeometric
from discreet.ratings import Ratings

PAPER_BOUND = "the paper's bound does not hold: one record can move an answer further than it says"
"""Why answers by the paper's own formula promise nothing."""

# Noise is made this much larger than needed: more than rounding can lose. For safety.
_UP = 1 + 2.0**-33
# The most answers of a plan: 2 GiB of integers.
_LARGEST_TABLE = 1 << 28
_LABEL = "single answers"
_ASKED = "it is public who was answered, and for which items"
_ALONE = (
    "every person's answers are seen by that person alone (nobody is protected from themselves)"
)

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a plan's people are shown. The curator hands each of them their own row.

    A person with fewer own ratings than asked for is refused: a rule that looks at that person's
    own ratings and at nothing else, so it tells them nothing about anybody, and tells anybody who
    sees it something about them.
    """

    people: _Ints
    """The users' indices, one for each row."""
    items: _Ints
    """The catalogue indices of the candidates."""
    numbers: npt.NDArray[np.float64] | None
    """A noisy answer for each person and candidate, NaN for the refused; None if not planned."""
    chosen: _Ints | None
    """Chosen items for each person in the order of choosing, -1 for the refused; None likewise."""
    refused: npt.NDArray[np.bool_]
    """Who has too few ratings of their own. Each person may know of themselves alone."""
    guarantee: Guarantee

    def __repr__(self) -> str:
        return f"Answers({len(self.people):,} people, {len(self.items):,} candidates)"

    def top(self, count: int) -> _Ints:
        """The items with the largest noisy answers: free, since all of them were paid for.

        Raises:
            InputError: The plan chose items without numbers, or has fewer candidates.
        """
        if self.numbers is None:
            raise InputError("these answers have no numbers; their lists are in `chosen`")
        if not 1 <= count <= len(self.items):
            raise InputError(f"a list has from 1 to {len(self.items):,} items, not {count}")
        order = np.argsort(-self.numbers, axis=1, kind="stable")[:, :count]
        return np.where(self.refused[:, None], -1, self.items[order])


@dataclass(frozen=True, kw_only=True)
class OutputPlan:
    """Answers to some people on some items: look at `cost`, then `answer`.

    Every number that gets noise is charged, shown or not: a list of 20 made from noisy numbers of
    3,706 candidates costs what 3,706 numbers cost, and everybody's answers add up, since one record
    moves them all. Where only the items' identities are shown, `choose` costs by the list's length.

    Args:
        function: What is computed.
        catalog: Public.
        people: How many will be answered.
        items: Catalogue indices of the candidates, the same for everybody; None for all. They may
            not depend on private data: what a person has rated is dropped on their own screen.
        choose: How many items to choose without numbers; None for a number on each candidate.
        protect: `rating` or `user`.
        shown_to: Who sees a person's answers. With `anybody` nobody is refused, because a refusal
            would tell; means then divide by at least `minimum_ratings`.
        epsilon: For everything together; or
        epsilon_per_output: For each number, or each place of a chosen list. Infinite: no noise.
    """

    function: OutputFunction
    catalog: Catalog
    people: int = 1
    items: Sequence[int] | None = None
    choose: int | None = None
    protect: Unit | Literal["rating", "user"] = Unit.RATING
    shown_to: ShownTo | Literal["self", "anybody"] = ShownTo.SELF
    epsilon: float | None = None
    epsilon_per_output: float | None = None

    def __post_init__(self) -> None:
        for name, kind in (("protect", Unit), ("shown_to", ShownTo)):
            told = getattr(self, name)
            if told not in list(kind):
                raise InputError(f"'{told}' is not a choice of {name}; there are {', '.join(kind)}")
            object.__setattr__(self, name, kind(told))
        told_items = range(len(self.catalog)) if self.items is None else self.items
        object.__setattr__(self, "items", tuple(int(item) for item in told_items))
        self._check_size()
        self._check_budget()

    def _check_size(self) -> None:
        asked = self._candidates
        if not asked or len(set(asked)) < len(asked):
            raise InputError("a plan needs items, each of them once")
        if min(asked) < 0 or max(asked) >= len(self.catalog):
            raise InputError(f"items are catalogue indices from 0 to {len(self.catalog) - 1:,}")
        if self.people < 1 or self.people * len(asked) > _LARGEST_TABLE:
            raise InputError(
                f"a plan is for at least one person and at most {_LARGEST_TABLE:,} answers, "
                f"not {self.people:,} people with {len(asked):,} items each"
            )
        if self.choose is not None and not 1 <= self.choose <= len(asked):
            raise InputError(f"from 1 to {len(asked):,} items can be chosen, not {self.choose}")

    def _check_budget(self) -> None:
        told = [e for e in (self.epsilon, self.epsilon_per_output) if e is not None]
        if len(told) != 1 or math.isnan(told[0]) or told[0] <= 0:
            raise InputError("say the budget once, above 0: as epsilon or as epsilon_per_output")
        # Whoever asks is in the data: that there are answers for them shows it, with any noise.
        if self.protect is Unit.USER and self.shown_to is ShownTo.ANYBODY:
            raise InputError(
                "answers that anybody sees reveal whose they are: with shown_to='anybody' "
                "protect='rating', or show them to the person alone"
            )
        if self.choose is not None and self.function.sensitivity is Sensitivity.PAPER:
            raise InputError("the paper's outputs are numbers with noise; leave out choose")

    @property
    def outputs(self) -> int:
        """How many numbers get noise, or how many places of lists are chosen."""
        return self.people * (self.choose or len(self._candidates))

    @property
    def spread(self) -> float:
        """The standard deviation of the noise on a number, on the answers' scale."""
        mechanism = self._noise
        return 0.0 if mechanism is None else math.sqrt(2) * mechanism.scale / self.function.grid

    @property
    def per_output(self) -> float:
        """The epsilon of one number if it were the only one, or of one place of a list."""
        if self._is_infinite:
            return math.inf
        if self.choose is not None:
            return self._selection.epsilon / self.choose
        assert self._noise is not None
        return self.function.one_answer(ShownTo(self.shown_to)) / self._noise.scale

    @property
    def cost(self) -> Guarantee:
        """What answering will spend and promise, in words and numbers. Spends nothing."""
        # From the public part alone, so that anybody may compute a cost before there is a ledger.
        planned = self._guarantee(self._request(self._nobody), None, ())
        # Nothing is made yet, so there is nothing to say of where it comes from.
        return replace(planned, provenance=None)

    def __str__(self) -> str:
        each = "places of chosen lists" if self.choose else "numbers with noise, shown or not"
        whom = "one person" if self.people == 1 else f"{self.people:,} people"
        said = f"{self.outputs:,} {each}, for {whom}"
        if self._is_bounded:
            said += f": epsilon {self.cost.epsilon:.4g} together, {self.per_output:.4g} for one"
        return f"{said}\n{self.cost}"

    def answer(
        self,
        ratings: Ratings,
        people: Sequence[int] | _Ints,
        *,
        ledger: GivenLedger = None,
        randomness: Randomness | None = None,
    ) -> Answers:
        """Charge the whole plan, then measure and draw.

        Args:
            ratings: Private.
            people: Users' indices, as many as planned, each once.
            ledger: Charged before anything is measured; `"unbooked"` stands for none, as for
                `fit`.
            randomness: For experiments: a seeded source makes answers that say "not private".

        Raises:
            BudgetExceeded: The ledger has no room; nothing was measured.
            InputError: The ratings or people are not those of the plan.
        """
        rows = self._rows(ratings, people)
        request = self._request(ratings)
        receipt = self._charge(request, ledger, randomness)
        asked = np.array(self._candidates, dtype=np.int64)
        # Charged by now. Everything from here to the noise is private.
        exact = self.function.measure(ratings, rows, asked)
        counts = self.function.own_counts(ratings, rows)
        # A refusal tells the person what they know, and would tell others what they do not.
        refused = (counts < self.function.minimum_ratings) & (self.shown_to is ShownTo.SELF)
        reasons = () if receipt is None or receipt.is_private else (SEEDED,)
        numbers, chosen = None, None
        if self.choose is None:
            numbers = self.function.to_answers(self._perturb(exact, receipt))
            # After the noise: which answers are drawn does not depend on who is refused, as the
            # charge does not.
            numbers[refused] = np.nan
        else:
            chosen = np.where(refused[:, None], -1, asked[self._select(exact, receipt)])
        charged = None if receipt is None else receipt.charge
        guarantee = self._guarantee(request, charged, reasons)
        return Answers(rows, asked, numbers, chosen, refused, guarantee)

    def _rows(self, ratings: Ratings, people: Sequence[int] | _Ints) -> _Ints:
        rows = np.asarray(people, dtype=np.int64).reshape(-1)
        if len(rows) != self.people or len(np.unique(rows)) < len(rows):
            raise InputError(f"the plan is for {self.people:,} different people, not these")
        if rows.min() < 0 or rows.max() >= ratings.user_count:
            raise InputError("people are users' indices in these ratings")
        # The plan's items are places in its own catalogue.
        if ratings.catalog != self.catalog:
            raise InputError("these ratings have another catalogue than the plan")
        return rows

    def _request(self, ratings: Ratings) -> Request:
        plan = {
            "function": self.function,
            "people": self.people,
            "items": self.items,
            "choose": self.choose,
            "shown_to": self.shown_to,
            "epsilon": self.epsilon,
            "epsilon_per_output": self.epsilon_per_output,
        }
        return Request.of(ratings, Unit(self.protect), _LABEL, **plan)

    def _charge(
        self, request: Request, ledger: GivenLedger, randomness: Randomness | None
    ) -> Receipt | None:
        if not self._is_bounded and is_named(ledger):
            raise InputError("answers that promise nothing cannot be booked: leave out the ledger")
        if self._is_infinite:
            return None
        # The paper's bound is not proved, so what it would charge is not booked as if it were.
        word = ledger if self._is_bounded else UNBOOKED
        return request.charge([self._event], _LABEL, word, randomness)

    def _perturb(self, exact: _Ints, receipt: Receipt | None) -> _Ints:
        mechanism = self._noise
        if mechanism is None:
            return exact
        assert receipt is not None
        event = mechanism.event(self._all_answers, Unit(self.protect), _LABEL)
        return mechanism.release(exact, event, receipt, in_place=True)

    def _select(self, exact: _Ints, receipt: Receipt | None) -> _Ints:
        assert self.choose is not None
        if receipt is None:
            return np.argsort(-exact, axis=1, kind="stable")[:, : self.choose]
        event = self._selection.event(Unit(self.protect), _LABEL, self.people)
        return self._selection.release(exact, event, receipt)

    @property
    def _candidates(self) -> tuple[int, ...]:
        assert isinstance(self.items, tuple)
        return self.items

    @property
    def _is_infinite(self) -> bool:
        return math.isinf(self.epsilon or self.epsilon_per_output or 0.0)

    @property
    def _is_bounded(self) -> bool:
        return not self._is_infinite and self.function.sensitivity is Sensitivity.PROVED

    @property
    def _all_answers(self) -> float:
        unit, shown_to = Unit(self.protect), ShownTo(self.shown_to)
        return self.function.all_answers(self.people, len(self._candidates), unit, shown_to)

    @property
    def _noise(self) -> TwoSidedGeometric | None:
        """The noise on a number; None for none."""
        if self._is_infinite:
            return None
        if self.epsilon is not None:
            # Laplace: scale = sensitivity / epsilon, here that of all answers together in L1.
            return TwoSidedGeometric(self._all_answers / self.epsilon * _UP)
        assert self.epsilon_per_output is not None
        # For one answer the sensitivity of one; `_event` charges what all of them cost at this
        # scale.
        one = self.function.one_answer(ShownTo(self.shown_to))
        return TwoSidedGeometric(one / self.epsilon_per_output * _UP)

    @property
    def _selection(self) -> GumbelTopK:
        """The choice of one person's list."""
        assert self.choose is not None
        if self.epsilon is not None:
            # Lists are chosen one after the other from the same data: pure epsilons add up.
            epsilon = self.epsilon / self.people
        else:
            epsilon = (self.epsilon_per_output or 0.0) * self.choose
        # A selection compares integers, so that a bound between two of them is the upper one.
        one = math.ceil(self.function.one_answer(ShownTo(self.shown_to)))
        return GumbelTopK(self.choose, epsilon, one, "all")

    @property
    def _event(self) -> Event:
        """All of it, as it is charged."""
        unit = Unit(self.protect)
        if self.choose is not None:
            return self._selection.event(unit, _LABEL, self.people)
        assert self._noise is not None
        return self._noise.event(self._all_answers, unit, _LABEL)

    def _guarantee(
        self, request: Request, charged: ChargeRecord | None, reasons: tuple[str, ...]
    ) -> Guarantee:
        if self.function.sensitivity is Sensitivity.PAPER:
            reasons = (PAPER_BOUND, *reasons)
        if self._is_infinite:
            reasons = (NO_NOISE, *reasons)
        events = () if self._is_infinite else (self._event,)
        alone = (_ALONE,) if self.shown_to is ShownTo.SELF else ()
        return request.promise(events, 0.0, charged, *reasons, more=(_ASKED, *alone))

    @property
    def _nobody(self) -> Ratings:
        """The public part of the ratings that this plan is for."""
        scale, none = self.function.scale, np.zeros(0)
        starts = np.zeros(1, dtype=np.int64)
        return Ratings(scale, self.catalog, starts, none.astype(np.int32), scale.encode(none))
