"""A promise in numbers and in words, and how the release that keeps it came to be.

The second part is its provenance: from what, by which version, and which ledger paid for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.domain import CatalogOrigin, InputError
from discreet.privacy._events import (
    FIT_UNITS,
    MOST_LETTERS,
    Event,
    Unit,
    event_from_dict,
    is_line,
)
from discreet.privacy._series import SeriesRecord
from discreet.privacy.accounting import Totals, compose

NOT_RECORDED = "Its privacy cost is not recorded in any ledger."
"""What is said of a release that no ledger paid for."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_BAD_ROWS = {
    "refuse": "No row was skipped: a file with a bad row would have been refused.",
    "skip": "Bad rows, if any, were skipped.",
}
_ORIGINS = {
    CatalogOrigin.GIVEN: "The catalogue is a public list.",
    CatalogOrigin.LAYOUT: "The catalogue is part of the data set's public files.",
    CatalogOrigin.FROM_DATA: "The catalogue was read from the private ratings.",
}


@dataclass(frozen=True)
class ChargeRecord:
    """One charge of one ledger, so that a file can say which charge paid for it.

    Attributes:
        ledger: The ledger's fingerprint: the digest of its title, which never changes.
        population: Whose spends it counts.
        number: The charge's number in it, from 1.
        digest: The digest of the charge's row, which covers all rows before it too.
    """

    ledger: str
    population: str
    number: int
    digest: str

    def __post_init__(self) -> None:
        _check_digest("a ledger's fingerprint", self.ledger)
        _check_digest("a charge's digest", self.digest)
        _check_line("a population's name", self.population)
        _check_whole("a charge's number", self.number)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, data: Any) -> ChargeRecord:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        names = ("ledger", "population", "number", "digest")
        return cls(**_fields("a charge", data, names))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a release was made from, as far as it is public.

    Attributes:
        version: Of discreet, which made it.
        part: Which part of the data it was made from, in words; None for all of it.
        bad_rows: What was done with bad rows, `refuse` or `skip`; None for ratings that were not
            read from rows. Never how many there were, which is private.
        catalog: Where the catalogue came from.
        most_ratings: The most ratings of one person that were kept; None for no bound.
        configuration: The SHA-256 of everything public that the release was asked for with.
        charge: The charge that paid for it; None if no ledger recorded one.
    """

    version: str
    part: str | None = None
    bad_rows: str | None = None
    catalog: CatalogOrigin
    most_ratings: int | None = None
    configuration: str
    charge: ChargeRecord | None = None

    def __post_init__(self) -> None:
        _check_line("a version", self.version)
        if self.part is not None:
            _check_line("a part of the data", self.part)
        if self.bad_rows is not None and self.bad_rows not in _BAD_ROWS:
            raise InputError("bad rows are refused or skipped, and a release says which")
        if not isinstance(self.catalog, CatalogOrigin):
            raise InputError("a release says where its catalogue came from")
        if self.most_ratings is not None:
            _check_whole("the most ratings of one person", self.most_ratings)
        _check_digest("a configuration's digest", self.configuration)
        if self.charge is not None and not isinstance(self.charge, ChargeRecord):
            raise InputError("a release's charge is the record of one")

    def sentences(
        self, *, with_bound: bool = True, series: SeriesRecord | None = None
    ) -> list[str]:
        """The same in plain words; digests are left out, and the bound if it was said before.

        Args:
            with_bound: Whether to say how many ratings of each person were kept.
            series: The series that the release belongs to.
        """
        data = "all of the data" if series is None else series.data
        data = data if self.part is None else f"part of the data ({self.part})"
        said = [f"It was made by discreet {self.version} from {data}."]
        if self.bad_rows is not None:
            said.append(_BAD_ROWS[self.bad_rows])
        if self.most_ratings is not None and with_bound:
            said.append(f"At most {self.most_ratings:,} ratings of each person were kept.")
        return [*said, _ORIGINS[self.catalog], self._on_charge()]

    def _on_charge(self) -> str:
        if self.charge is None:
            return NOT_RECORDED
        return (
            f"Its privacy cost is recorded as charge {self.charge.number:,} in the ledger of "
            f"'{self.charge.population}'."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        charge = None if self.charge is None else self.charge.to_dict()
        return vars(self) | {"catalog": str(self.catalog), "charge": charge}

    @classmethod
    def from_dict(cls, data: Any) -> Provenance:
        """Read what `to_dict` wrote.

        Raises:
            InputError: A field is missing or wrong.
        """
        names = ("version", "part", "bad_rows", "catalog", "most_ratings", "configuration")
        fields = _fields("a provenance", data, (*names, "charge"))
        try:
            fields["catalog"] = CatalogOrigin(fields["catalog"])
        except ValueError:
            raise InputError("a release says where its catalogue came from") from None
        if fields["charge"] is not None:
            fields["charge"] = ChargeRecord.from_dict(fields["charge"])
        return cls(**fields)


def _fields(what: str, data: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise InputError(f"{what} is a table of fields")
    for name in names:
        if name not in data:
            raise InputError(f"{what} lacks its field '{name}'")
    return {name: data[name] for name in names}


def _check_line(what: str, text: Any) -> None:
    if not isinstance(text, str) or not is_line(text):
        raise InputError(f"{what} is one line of 1 to {MOST_LETTERS} printable characters")


def _check_digest(what: str, text: Any) -> None:
    if not isinstance(text, str) or not _DIGEST.fullmatch(text):
        raise InputError(f"{what} is a SHA-256: 64 hexadecimal digits in lower case")


def _check_whole(what: str, number: Any) -> None:
    # Up to 2^53, as in events: JSON readers keep whole numbers exactly so far.
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 2**53:
        raise InputError(f"{what} is a whole number from 1 to 2^53")


# An epsilon above this gets a warning: e^10 is a factor of 22,000. Chosen by hand.
WEAK_EPSILON = 10.0
# Relative: how far below a value its printed form may be; ten times 0.1 prints as 1. Chosen.
_TOLERANCE = 1e-9
# Relative: how far above the terms of a series the parts of a release may be: above the rounding of
# their sum, below any meaning. Chosen.
_SLACK = 1e-6
# For how many periods what a series adds up to is always said. A year of months. Chosen by hand.
_A_YEAR = 12

SEEDED = "its noise came from a seed, and whoever knows the seed can remove it"
NO_NOISE = "no noise was added"


@dataclass(frozen=True)
class Guarantee:
    """What a release promises to one unit, and what it rests on.

    Attributes:
        unit: Whom it protects.
        events: Everything that was spent on it.
        delta: What may be added to the probability of any outcome beyond the factor e^epsilon; 0
            for pure differential privacy.
        assumes: What must be true for the promise to hold, each a clause after "that".
        not_private: Why there is no guarantee, each a clause; empty for a private release.
        provenance: What it was made from and which ledger paid; None where nothing is known of
            that: in files made by discreet 0.1.0, and for what protocols publish.
        series: The series that it is a release of; None for a release on its own. The promise is
            then about the series as a whole, and `events` are what one period spent.
    """

    unit: Unit
    events: tuple[Event, ...]
    delta: float
    assumes: tuple[str, ...] = ()
    not_private: tuple[str, ...] = ()
    provenance: Provenance | None = None
    series: SeriesRecord | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.unit, Unit):
            raise InputError(f"a guarantee's unit is a Unit, like Unit.USER, not {self.unit!r}")
        if self.series is not None:
            self._check_series(self.series)
        if not 0 <= self.delta < 1:
            raise InputError(f"delta must be at least 0 and below 1, not {self.delta:g}")
        if not self.events and not self.not_private:
            raise InputError(
                "a guarantee rests on what was spent: give its events, or say why it is not private"
            )
        if self.is_private and (self.per(self.unit) is None or math.isinf(self.changed_rating)):
            raise InputError(f"nothing bounds what this costs per {self.unit}")

    def _check_series(self, series: SeriesRecord) -> None:
        terms, assumption = series.terms, series.assumption
        if terms.unit is not self.unit:
            raise InputError("a release of a series protects what the series protects")
        if any(event.unit is not self.unit for event in self.events):
            raise InputError("what a period of a series spends has the unit of the series")
        spent, most = compose(self.events), compose([terms.event])
        slack = 1 + _SLACK
        if spent.pure > most.pure * slack or spent.mu_squared > most.mu_squared * slack:
            raise InputError("a period of a series spends no more than its terms say")
        if assumption is not None and assumption not in self.assumes:
            object.__setattr__(self, "assumes", (*self.assumes, assumption))

    @property
    def is_private(self) -> bool:
        """Whether there is a promise."""
        return not self.not_private

    @property
    def epsilon(self) -> float:
        """The epsilon of the promise; infinite if there is none."""
        epsilon = self.per(self.unit)
        return math.inf if epsilon is None else epsilon

    def per(self, unit: Unit) -> float | None:
        """The epsilon at the same delta as another unit sees it; None if nothing bounds it.

        Of a series, the epsilon is that of all periods to come as well, for everybody who is there
        in no more periods than there are so far.
        """
        if not self.is_private:
            return None
        if self.series is not None:
            return self._in_series(unit, self.series)
        seen = [event.seen_by(unit) for event in self.events]
        bounded = [event for event in seen if event is not None]
        return self._at_delta(compose(bounded)) if len(bounded) == len(seen) else None

    def _in_series(self, unit: Unit, series: SeriesRecord) -> float | None:
        terms = series.terms
        if unit is Unit.USER:
            return self._at_delta(terms.cost_of_life(terms.most_periods or series.periods))
        return self._at_delta(terms.cost_after(unit, series.periods))

    def _at_delta(self, cost: Totals) -> float | None:
        epsilon = cost.epsilon(self.delta)
        return epsilon if math.isfinite(epsilon) else None

    @property
    def changed_rating(self) -> float:
        """The epsilon at the same delta for someone who changes the value of one rating."""
        if not self.is_private:
            return math.inf
        if self.series is not None:
            return self.series.terms.cost_of_change().epsilon(self.delta)
        return compose(e.seen_by_change() for e in self.events).epsilon(self.delta)

    @property
    def _replaced_user(self) -> float:
        """The epsilon for all of a person's ratings replaced: removed, and as many others added."""
        seen = [event.seen_by(Unit.USER) for event in self.events]
        return compose(e.scaled(2) for e in seen if e is not None).epsilon(self.delta)

    def sentences(self) -> list[str]:
        """The promise in plain words, and then where it comes from."""
        with_bound = not (self.is_private and self._on_bound())
        origin = (
            []
            if self.provenance is None
            else self.provenance.sentences(series=self.series, with_bound=with_bound)
        )
        if not self.is_private:
            return [f"Not private: {'; '.join(self.not_private)}.", *origin]
        said = [self._on_presence(), self._on_changes()]
        if self.series is not None:
            said += self._on_several_periods(self.series)
        elif not self._replaces_author:
            said.append(self._on_other_unit())
        if self.assumes:
            said.append(f"It assumes that {'; that '.join(self.assumes)}.")
        if self.epsilon > WEAK_EPSILON:
            said.append(
                f"An epsilon above {WEAK_EPSILON:g} promises little on its own: prefer a smaller "
                "one."
            )
        return [*said, *origin]

    def _on_presence(self) -> str:
        whom = "any one rating" if self.unit is Unit.RATING else "any one person's ratings"
        whom += f" of any one {self.unit.period}" if self.unit.is_period else ""
        bounds = [f"a factor of {spell_factor(self.epsilon)}"] if self.epsilon > 0 else []
        bounds += [_odds(self.delta)] if self.delta else []
        change = f"changes by at most {', plus at most '.join(bounds)}"
        if not bounds:
            change = "does not change"
        of_what = ""
        if self.series is not None:
            so_far = f"all {self.series.periods:,} periods so far"
            so_far = "its first period" if self.series.periods == 1 else so_far
            of_what = f" of the whole series, {so_far} and all to come,"
        return f"With or without {whom}, the probability of any outcome{of_what} {change}."

    def _on_changes(self) -> str:
        if all(event.covers_change for event in self.events):
            return "Changing a rating costs no more than adding one."
        what = "Changing a rating counts as removing and re-adding it"
        if self.unit.is_period:
            period = self.unit.period
            what = (
                f"Adding, removing or changing some of a person's ratings of one {period} counts "
                f"as removing that {period} and adding it back"
            )
        elif self._replaces_author:
            what = (
                "Adding, removing or changing some of a person's ratings counts as removing the "
                "person and adding them back"
            )
        return (
            f"{what}: factor {spell_factor(self.changed_rating)} "
            f"(epsilon {_number(self.changed_rating)}).{self._on_bound()}"
        )

    @property
    def _replaces_author(self) -> bool:
        """Whether one rating more or less costs as much as its author's ratings changed.

        So it does where every spend is per user: both are one user less and one user more.
        """
        return all(e.unit is Unit.USER and not e.covers_change for e in self.events)

    def _on_bound(self) -> str:
        """Which ratings a promise per rating is about, where only some of a user's were kept."""
        bounds = [e.ratings_per_user for e in self.events if e.unit is Unit.RATING]
        kept = max((most for most in bounds if most is not None), default=None)
        if kept is None:
            return ""
        where = "" if self.series is None else " and period"
        return (
            f" At most {kept:,} ratings of each user{where} were kept, and a rating here is one of "
            "those: for a user with as many or more, adding or removing a rating can displace "
            "another, which costs as much as a changed rating."
        )

    def _on_other_unit(self) -> str:
        if self.unit is Unit.RATING:
            epsilon = self.per(Unit.USER)
            if epsilon is None:
                why = "because nothing limits how many ratings one person has"
                return f"For a person's whole history there is no bound, {why}."
            if all(event.covers_change for event in self.events):
                return f"For a person's whole history, epsilon is {_number(epsilon)}."
            return (
                "For all of a person's ratings, added or removed, epsilon is "
                f"{_number(epsilon)}; replaced by others, it is {_number(self._replaced_user)}."
            )
        epsilon = self.per(Unit.RATING)
        assert epsilon is not None
        why = ""
        if any(event.unit is Unit.USER for event in self.events):
            why = ", because its author counts as removed and re-added"
        return f"For one rating added or removed, epsilon is {_number(epsilon)}{why}."

    def _on_several_periods(self, series: SeriesRecord) -> list[str]:
        """What a promise about one period adds up to for a person."""
        terms, cap, so_far = series.terms, series.terms.most_periods, series.periods
        if terms.unit is Unit.RATING:
            if terms.event.ratings_per_user is None:
                return [self._on_other_unit()]
            one = self._spelled(terms.cost_of_life(1))
            said = [
                f"For all of a person's ratings of one period, added or removed, epsilon is {one}."
            ]
        else:
            said = []
        name = self.unit.period
        if cap is None:
            year, all_of_them = (
                self._spelled(terms.cost_of_life(periods)) for periods in (_A_YEAR, so_far)
            )
            periods = f"the one {name}" if so_far == 1 else f"all {so_far:,}"
            ever = f"; in {periods} so far, {all_of_them}" if so_far != _A_YEAR else ""
            ever += " (at the same delta)" if self.delta else ""
            ever += ", counting what later releases reveal about them"
            said.append(f"For somebody active in {_A_YEAR} {name}s, epsilon is {year}{ever}.")
            return said
        if cap > _A_YEAR:
            year = self._spelled(terms.cost_of_life(_A_YEAR))
            said.append(f"For somebody active in {_A_YEAR} {name}s, epsilon is {year}.")
        life = self._spelled(terms.cost_of_life(cap))
        return [
            *said,
            f"Nobody is counted in more than {cap:,} {name}{'s' * (cap > 1)}: over all "
            f"periods, epsilon is {life}. For somebody with more of them, one added or removed can "
            "displace another; this epsilon covers both.",
        ]

    def _spelled(self, cost: Totals) -> str:
        epsilon = self._at_delta(cost)
        return "without bound" if epsilon is None else _number(epsilon)

    def __str__(self) -> str:
        head = "no guarantee"
        if self.is_private:
            head = f"epsilon {_number(self.epsilon)}, delta {_number(self.delta)}, per {self.unit}"
        return "\n".join([head, *self.sentences()])

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back; the epsilons are there for people."""
        # Left out where there is none, as in files older than the field.
        origin = {} if self.provenance is None else {"provenance": self.provenance.to_dict()}
        return {
            "unit": str(self.unit),
            "epsilon": self.epsilon if self.is_private else None,
            "delta": self.delta,
            "changed_rating_epsilon": self.changed_rating if self.is_private else None,
            "per": self._per() if self.is_private else None,
            "events": [event.to_dict() for event in self.events],
            "assumes": list(self.assumes),
            "not_private": list(self.not_private),
            **origin,
            **({} if self.series is None else {"series": self.series.to_dict()}),
            "words": " ".join(self.sentences()),
        }

    def _per(self) -> dict[str, float | None]:
        units = FIT_UNITS if self.unit in FIT_UNITS else (*FIT_UNITS, self.unit)
        return {str(unit): self.per(unit) for unit in units}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Read what `to_dict` wrote; epsilons are computed again, never believed."""
        try:
            return cls(
                unit=Unit(data["unit"]),
                events=tuple(event_from_dict(event) for event in data["events"]),
                delta=float(data["delta"]),
                assumes=_clauses(data["assumes"]),
                not_private=_clauses(data["not_private"]),
                provenance=_provenance(data),
                series=SeriesRecord.from_dict(data["series"]) if "series" in data else None,
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise InputError(f"a guarantee has wrong fields: {error}") from error


def _provenance(data: Mapping[str, Any]) -> Provenance | None:
    return Provenance.from_dict(data["provenance"]) if "provenance" in data else None


def _clauses(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(clause, str) for clause in data):
        raise TypeError("clauses are a list of texts")
    return tuple(data)


def spell_factor(epsilon: float) -> str:
    """e^epsilon, rounded up to three digits; a power of ten where it is large."""
    if epsilon < math.log(9.9e5):
        return _rounded_up(math.exp(epsilon), 3)
    return f"10^{math.ceil(epsilon / math.log(10) - _TOLERANCE)}"


def _number(value: float) -> str:
    return _rounded_up(value, 4)


def _rounded_up(value: float, digits: int) -> str:
    """The value with this many significant digits, below it by at most 1e-9 of it.

    The tolerance lets ten times 0.1 print as 1, and not as 1.001.
    """
    if value < 1e-300:
        return "0" if value == 0 else "1e-300"
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    above = math.ceil(value / unit * (1 - _TOLERANCE)) * unit
    return f"{above:,.0f}" if 1000 <= above < 1e9 else f"{above:.{digits}g}"


def _odds(delta: float) -> str:
    # P(S) <= e^epsilon Q(S) + delta: delta is added. That the factor holds "except with probability
    # delta" would say more than that, and is false (docs/explanation/guarantees.md).
    if delta <= 1e-15:
        return "1 in 10^15"
    return f"1 in {math.floor(1 / delta * (1 + _TOLERANCE)):,}"
