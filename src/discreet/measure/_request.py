"""One requested release: what is charged for it, what it promises, what is recorded of it.

What was charged is a budget, spent in shares: Gaussian shares are of mu^2, pure shares of epsilon.
Charge, then draw: so a statistic becomes public.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet import __version__
from discreet.domain import CatalogOrigin, InputError, Noisy
from discreet.domain.errors import LedgerError
from discreet.domain.triangles import packed_bases, packed_side
from discreet.measure._source import Ints, Part, Progress, RatingsSource, Statistic, measure_all
from discreet.measure.item_counts import ItemCounts
from discreet.privacy import (
    SEEDED,
    ChargeRecord,
    Event,
    Guarantee,
    Noise,
    Provenance,
    Purse,
    Randomness,
    Receipt,
    SeriesRecord,
    Unit,
    unbooked,
)
from discreet.privacy.ledger import Ledger
from discreet.ratings import Intake, Ratings, Stability

CHARGED = "the ledger was charged anyway"

UNBOOKED: Literal["unbooked"] = "unbooked"
"""The word for "no ledger": nobody does without one by leaving out an argument."""

GivenLedger = Ledger | str | os.PathLike[str] | None
"""A ledger, its file, or the word. A file that is called like the word is given as a `Path`."""

_CHOSEN = "it was made from a part of the data that was chosen by looking at other people's ratings"
_MOVED = (
    "one rating more may have changed which other ratings of its person were used, and single "
    "ratings were to be protected"
)


@dataclass(frozen=True)
class Request:
    """One requested release.

    Attributes:
        ratings: Private; only what is public about them is used here.
        unit: Whom the release protects.
        configuration: The digest of all public choices that it is made with.
    """

    ratings: RatingsSource = dataclasses.field(repr=False)
    unit: Unit
    configuration: str

    @classmethod
    def of(cls, ratings: RatingsSource, unit: Unit, what: str, **asked: Any) -> Request:
        """A request.

        Args:
            ratings: Private.
            unit: Whom to protect.
            what: What to release: a method's name, "item counts".
            asked: Every other public choice: numbers, texts, dataclasses and lists of them.
        """
        public = {
            # Two requests with the same digest ask for the same of the same data, as far as anybody
            # may know: nothing private goes in, not even how many ratings there are.
            "unit": unit,
            "scale": vars(ratings.scale),
            "catalog": {"digest": ratings.catalog.digest(), "origin": ratings.catalog.origin},
            "intake": ratings.intake,
        }
        return cls(ratings, unit, configuration_digest(what, public | asked))

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Why no noise protects anybody, whatever its size; empty if it does."""
        stability = self.ratings.intake.stability
        if stability is Stability.NONE:
            return (_CHOSEN,)
        # One row of a person can move several of that person's records: a bound for one record says
        # nothing of it, and a bound for the person does.
        if stability is Stability.USER and self.unit is Unit.RATING:
            return (_MOVED,)
        return ()

    def charge(
        self,
        events: Sequence[Event],
        purpose: str,
        ledger: GivenLedger,
        randomness: Randomness | None,
    ) -> Receipt:
        """Book events with a ledger, or with none if that was said.

        Raises:
            InputError: No ledger was given, nor the word for none; or the events do not bound what
                the release would cost.
        """
        if is_named(ledger):
            self.check_bookable()
        return charge(events, purpose, ledger, randomness, self.configuration)

    def check_bookable(self) -> None:
        """Refuse to charge a ledger for what no noise protects.

        Raises:
            InputError: Says why nothing does.
        """
        if self.unprotected:
            raise InputError(
                f"this cannot be booked: {self.unprotected[0]}; measure all of the data, or give "
                f'ledger="{UNBOOKED}" for a release that says it is not private'
            )

    def promise(
        self,
        events: tuple[Event, ...],
        delta: float,
        charged: ChargeRecord | None,
        *reasons: str,
        more: tuple[str, ...] = (),
        series: SeriesRecord | None = None,
    ) -> Guarantee:
        """The guarantee of what was made.

        Args:
            events: What was spent.
            delta: At which it is read.
            charged: The charge that paid for it; None if no ledger did.
            reasons: Why there is no promise; what the ratings themselves say is added.
            more: What it assumes besides what any release of these ratings does.
            series: The series that it is a release of.
        """
        intake, catalog = self.ratings.intake, self.ratings.catalog
        provenance = Provenance(
            version=__version__,
            part=intake.part,
            bad_rows=intake.bad_rows,
            catalog=catalog.origin,
            most_ratings=intake.most_ratings,
            configuration=self.configuration,
            charge=charged,
        )
        # Whatever the caller says, the ratings' own reasons stay: no method can leave them out.
        not_private = (*reasons, *self.unprotected)
        assumes = (*assumptions(self.ratings), *more)
        return Guarantee(self.unit, events, delta, assumes, not_private, provenance, series)


@contextmanager
def mentioning_charge(is_charged: bool) -> Iterator[None]:
    """Say in an error that the charge stands: what is booked stays booked."""
    try:
        yield
    except InputError as error:
        # The message goes on as it is where nothing was booked.
        if not is_charged:
            raise
        reason = f"{error.reason}; {CHARGED}"
        raise InputError(reason, path=error.path, line=error.line, hints=error.hints) from error
    except LedgerError as error:
        raise LedgerError(f"{error}; {CHARGED}") from error


def assumptions(ratings: RatingsSource) -> tuple[str, ...]:
    """What any release of these ratings rests on."""
    assumes = ["one account is one person"]
    if ratings.catalog.origin is CatalogOrigin.FROM_DATA:
        assumes.append("it is public which items were rated at all (the catalogue is from data)")
    return (*assumes, *ratings.intake.assumes)


def charge(
    events: Sequence[Event],
    purpose: str,
    ledger: GivenLedger,
    randomness: Randomness | None,
    configuration: str | None = None,
) -> Receipt:
    """Book events with a ledger; or issue a receipt without one, if that was said.

    Seeded noise protects nobody, so it needs neither a ledger nor the word.

    Raises:
        InputError: No ledger was given, nor the word for none.
    """
    book = open_ledger(ledger)
    if book is not None:
        return book.charge(events, purpose, randomness=randomness, configuration=configuration)
    if ledger is None and (randomness is None or randomness.is_private):
        raise InputError(
            'this costs privacy, so name the ledger to charge: ledger="people.ledger"; or say '
            f'ledger="{UNBOOKED}" if its cost shall not be recorded anywhere'
        )
    return unbooked(events, randomness)


def is_named(ledger: GivenLedger) -> bool:
    """Whether there is a ledger to charge."""
    return ledger is not None and not (isinstance(ledger, str) and ledger == UNBOOKED)


def open_ledger(ledger: GivenLedger) -> Ledger | None:
    """The ledger that was given; None if none was, or the word for none.

    Raises:
        LedgerError: It cannot be used.
    """
    if not is_named(ledger):
        return None
    assert ledger is not None
    return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)


def configuration_digest(what: str, asked: Mapping[str, Any]) -> str:
    """SHA-256 over canonical JSON of public choices, and of the version that takes them.

    Canonical: keys sorted, no spaces, floats as Python writes them (the shortest that reads back).
    """
    public = {"version": __version__, "what": what} | _plain(asked)
    text = json.dumps(public, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """What JSON can hold, of dataclasses, enumerations, tables and lists of numbers and texts."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return value


# In grid units: where noise has a larger standard deviation, the grid is made coarser, so that 64
# bits hold it (2^17 standard deviations to spare).
_FINE = 2.0**46


@dataclass(frozen=True)
class Budget:
    """How much, of which noise, for whom.

    Attributes:
        unit: Whom it protects.
        noise: Gaussian or Laplace.
        amount: mu for Gaussian noise, epsilon for Laplace noise; infinite for no noise at all.
        delta: At which a Gaussian mu is said as epsilon; 0 for Laplace noise.
        ratings_per_user: For unit `rating`, the most records that any user has in the data; None
            if nothing bounds it.
    """

    unit: Unit
    noise: Noise
    amount: float
    delta: float
    ratings_per_user: int | None = None

    @classmethod
    def of(cls, unit: Unit, noise: Noise, epsilon: float, delta: float) -> Budget:
        """The largest amount that is (epsilon, delta)-DP; an infinite epsilon adds no noise.

        Raises:
            InputError: It cannot be, or is so small that there would be noise alone.
        """
        try:
            epsilon = float(epsilon)
        except (TypeError, ValueError):
            raise InputError("epsilon is a number, such as 1.0") from None
        if math.isnan(epsilon) or epsilon <= 0:
            raise InputError(f"epsilon must be above 0, not {epsilon:g}; 1 is a usual choice")
        return cls(unit, noise, noise.kind.amount_of(epsilon, delta), delta)

    @classmethod
    def of_theta(cls, unit: Unit, noise: Noise, theta: float, delta: float) -> Budget:
        """The budget that McSherry and Mironov call theta.

        Raises:
            InputError: The delta does not go with the noise, or the budget is too small.
        """
        noise.kind.check_delta(delta)
        return cls(unit, noise, noise.kind.amount_of_theta(theta), delta)

    def __post_init__(self) -> None:
        kind = self.noise.kind
        if not self.amount >= kind.least_amount:
            raise InputError(
                f"a budget this small is noise alone: {kind.amount_name} {self.amount:.2g}, "
                f"where {kind.least_amount:g} is the least; 1 is a usual epsilon"
            )

    @property
    def is_infinite(self) -> bool:
        """Whether no noise is added."""
        return math.isinf(self.amount)

    def check_finite(self) -> None:
        """Refuse a budget without noise, where there is nothing to publish without it.

        Raises:
            InputError: The budget is infinite.
        """
        if self.is_infinite:
            raise InputError("epsilon must be finite: without noise nothing is protected")

    def bounded_by(self, intake: Intake) -> Budget:
        """The same for ratings that came in this way: per rating, a bound on a user's counts."""
        most = intake.most_ratings if self.unit is Unit.RATING else None
        return replace(self, ratings_per_user=most)

    def event(self, label: str) -> Event:
        """The whole of it as one event to charge."""
        return self.noise.kind.event(self.amount, self.unit, label, self.ratings_per_user)


class Spender:
    """Releases statistics, each with noise for its share of the budget.

    Its `charge` says which ledger's charge pays for them; None if no ledger recorded one.

    Args:
        budget: The whole.
        receipt: Shows that `budget.event(label)` was charged; unused for an infinite budget.
        label: As charged.
    """

    def __init__(self, budget: Budget, receipt: Receipt | None, label: str) -> None:
        self.budget = budget
        self._purse: Purse | None = None
        self.charge = None if receipt is None else receipt.charge
        if not budget.is_infinite:
            assert receipt is not None
            self._purse = receipt.open_purse(budget.event(label))

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that was released so far."""
        return () if self._purse is None else self._purse.events

    @property
    def promised(self) -> tuple[Event, ...]:
        """What a guarantee may rest on: every event, if together they use up the charge.

        Otherwise the charge itself: how much of it was drawn may depend on what came out, and a
        figure that does is no promise.
        """
        if self._purse is None:
            return ()
        return self._purse.events if self._purse.is_spent else (self._purse.total,)

    @property
    def is_private(self) -> bool:
        """Whether noise was drawn from the operating system's source."""
        return self._purse is not None and self._purse.is_private

    def spread_of(self, share: float) -> float:
        """The noise's standard deviation for a sensitivity of 1 at this share."""
        if self.budget.is_infinite:
            return 0.0
        return self.budget.noise.kind.spread(self.budget.amount, share)

    def measure(
        self,
        source: RatingsSource,
        statistics: Statistic | Sequence[Statistic],
        shares: Mapping[str, float],
        progress: Progress | None = None,
        carries: Mapping[str, Any] | None = None,
    ) -> dict[str, Noisy]:
        """Measure statistics and release every part of them, with noise for its share.

        Args:
            source: Private.
            statistics: One, or several that are measured in one pass over the ratings.
            shares: Of the whole budget, by the parts' labels; they are drawn in this order.
            progress: For a statistic over pairs.
            carries: For a series: how earlier totals are to be read (`Carry`), by labels.
        """
        del carries  # there are no earlier totals
        several = (statistics,) if isinstance(statistics, Statistic) else tuple(statistics)
        parts: dict[str, tuple[Part, Any]] = {}
        exacts = measure_all(source, *several, progress=progress)
        for statistic, exact in zip(several, exacts, strict=True):
            for part, integers in zip(statistic.parts, exact, strict=True):
                assert part.label not in parts, "every part has a label of its own"
                parts[part.label] = part, integers
        assert parts.keys() == shares.keys(), "every part has a share"
        return {label: self.release(*parts[label], share) for label, share in shares.items()}

    def release(self, part: Part, exact: Ints | int, share: float) -> Noisy:
        """One part with noise, in its own unit.

        Args:
            part: What is known of it.
            exact: Its integers, private; an array is used up. A single number is taken modulo
                2^64 like all others: no size of it is refused.
            share: Of the whole budget.
        """
        if isinstance(exact, int):
            whole = np.array([(exact + 2**63) % 2**64 - 2**63], dtype=np.int64)
            noisy, spread = self.perturb(whole, part.sensitivity, share, part.label)
            return Noisy(float(noisy[0] / part.grid), spread / part.grid)
        if not part.is_triangle:
            noisy, spread = self.perturb(exact, part.sensitivity, share, part.label)
            return Noisy(noisy / part.grid, spread / part.grid)
        # The diagonal is no part of the statistic: neither its integers nor their noise come out.
        diagonal = diagonal_of(exact)
        exact[diagonal] = 0
        noisy, spread = self.perturb(exact, part.sensitivity, share, part.label)
        released = noisy.astype(np.float32)  # half the memory of what may be gigabytes
        released /= np.float32(part.grid)
        released[diagonal] = 0.0
        return Noisy(released, spread / part.grid)

    def perturb(
        self, exact: Ints, sensitivity: float, share: float, label: str
    ) -> tuple[Ints, float]:
        """The integers with noise (the array itself is used up) and the noise's standard deviation.

        Args:
            exact: A private statistic, contiguous int64.
            sensitivity: In the same grid units, in the norm of the budget's noise.
            share: Of the whole budget.
            label: What it is.
        """
        if self._purse is None:
            return exact, 0.0
        budget, kind = self.budget, self.budget.noise.kind
        m = self._coarser(sensitivity, share)
        if m > 1:
            exact //= m
            sensitivity = sensitivity / m + kind.root(exact.size)
        mechanism = kind.mechanism(sensitivity, budget.amount, share)
        event = mechanism.event(sensitivity, budget.unit, label, budget.ratings_per_user)
        noisy = mechanism.release(exact, event, self._purse, in_place=True)
        return (noisy, mechanism.spread) if m == 1 else (noisy * m, mechanism.spread * m)

    def _coarser(self, sensitivity: float, share: float) -> int:
        """A power of two, public, to divide integers by whose noise has no room in 64 bits.

        floor(a/m) and floor(b/m) are at most |a - b|/m + 1 apart, entry by entry; and m divides
        2^64, modulo which all of this is.
        """
        scale = sensitivity * self.spread_of(share) / _FINE
        return 1 << math.ceil(math.log2(scale)) if scale > 1 else 1


def diagonal_of(triangle: Ints) -> Ints:
    """Where the diagonal lies in a packed upper triangle."""
    side = packed_side(len(triangle))
    assert side is not None, "a packed triangle with its diagonal"
    return packed_bases(side) + np.arange(side)


@dataclass(frozen=True, eq=False)
class PublicCounts:
    """Noisy item counts, one for each item of the catalogue, with their guarantee.

    Protecting users, a count is in votes that people divide between the items they rated.
    """

    counts: npt.NDArray[np.float64]
    spread: float
    """The standard deviation of the noise on each count."""
    guarantee: Guarantee


def publish_item_counts(
    ratings: Ratings,
    *,
    protect: Unit,
    epsilon: float,
    delta: float = 0.0,
    ledger: GivenLedger = None,
    randomness: Randomness | None = None,
) -> PublicCounts:
    """Release how often each item was rated.

    Gaussian noise if `delta` is above 0, otherwise Laplace noise. The ledger is charged before
    anything is measured or drawn; `"unbooked"` stands for no ledger, as for `fit`.

    Raises:
        BudgetExceeded: The ledger has no room; nothing was drawn.
        InputError: No ledger was given, or the budget cannot be used.
    """
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1, not {delta:g}")
    noise = Noise.for_delta(delta)
    budget = Budget.of(protect, noise, epsilon, delta).bounded_by(ratings.intake)
    budget.check_finite()
    label = "item counts"
    request = Request.of(ratings, protect, label, epsilon=epsilon, delta=delta)
    event = budget.event(label)
    receipt = request.charge([event], label, ledger, randomness)
    spender = Spender(budget, receipt, label)
    statistic = ItemCounts(protect, noise)
    (counts,) = spender.measure(ratings, statistic, {statistic.parts[0].label: 1.0}).values()
    reasons = () if spender.is_private else (SEEDED,)
    promise = request.promise((event,), delta, spender.charge, *reasons)
    return PublicCounts(counts.value, counts.spread, promise)
