"""A promise in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.domain import InputError
from discreet.privacy._events import Event, event_from_dict
from discreet.privacy._units import Unit
from discreet.privacy.accounting import FilterAccountant

_WEAK = 10.0

SEEDED = "its noise came from a seed, and whoever knows the seed can take it away"
NO_NOISE = "no noise was added"


@dataclass(frozen=True)
class Guarantee:
    """What a release promises to one unit, and what it rests on.

    Attributes:
        unit: Whom it protects.
        events: Everything that was spent on it.
        delta: The chance that the promise leaves aside; 0 for pure differential privacy.
        assumes: What must be true for the promise to hold, each a clause after "that".
        not_private: Why there is no promise at all, each a clause; empty for a real release.
    """

    unit: Unit
    events: tuple[Event, ...]
    delta: float
    assumes: tuple[str, ...] = ()
    not_private: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise InputError(f"delta must be at least 0 and below 1, not {self.delta:g}")
        if not self.events and not self.not_private:
            raise InputError(
                "a guarantee rests on what was spent; without noise it is no guarantee"
            )
        if self.is_private and self.per(self.unit) is None:
            raise InputError(f"nothing bounds what this costs per {self.unit}")

    @property
    def is_private(self) -> bool:
        """Whether there is a promise."""
        return not self.not_private

    @property
    def epsilon(self) -> float:
        """The epsilon of the promise; infinite if there is none."""
        epsilon = self.per(self.unit)
        return math.inf if epsilon is None or not self.is_private else epsilon

    def per(self, unit: Unit) -> float | None:
        """The epsilon at the same delta as another unit sees it; None if nothing bounds it."""
        return _epsilon((event.seen_by(unit) for event in self.events), self.delta)

    @property
    def changed_rating(self) -> float:
        """The epsilon at the same delta for somebody who changes the value of one rating."""
        seen = (event.seen_by_change() for event in self.events)
        epsilon = _epsilon(seen, self.delta)
        assert epsilon is not None
        return epsilon

    def sentences(self) -> list[str]:
        """The promise in plain words."""
        if not self.is_private:
            return [f"Not private: {'; '.join(self.not_private)}."]
        whom = "any one rating" if self.unit is Unit.RATING else "any one person's ratings"
        said = [
            f"Anything that this release can lead to is at most {_factor(self.epsilon)} as likely "
            f"as it would be without {whom}{_give_or_take(self.delta)}, and the other way round."
        ]
        said.append(self._on_changes())
        said.append(self._on_other_unit())
        if self.assumes:
            said.append(f"It assumes that {'; that '.join(self.assumes)}.")
        if self.epsilon > _WEAK:
            said.append(
                f"An epsilon above {_WEAK:g} promises little on its own: prefer a smaller one."
            )
        return said

    def _on_changes(self) -> str:
        if all(event.covers_change for event in self.events):
            return "A changed rating costs no more than an added one."
        swap = "one rating" if self.unit is Unit.RATING else "its person"
        return (
            f"A changed rating counts as {swap} taken out and put back changed: for it the factor "
            f"is {_factor(self.changed_rating)} (epsilon {_number(self.changed_rating)})."
        )

    def _on_other_unit(self) -> str:
        other = Unit.USER if self.unit is Unit.RATING else Unit.RATING
        epsilon = self.per(other)
        whom = "person's whole history" if other is Unit.USER else "added or removed rating"
        if epsilon is None:
            return (
                f"For a {whom} it has no bound, because nothing limits how much one person rates."
            )
        article = "an" if other is Unit.RATING else "a"
        return f"Seen by {article} {whom}, it is epsilon {_number(epsilon)}."

    def __str__(self) -> str:
        head = "no guarantee"
        if self.is_private:
            head = f"epsilon {_number(self.epsilon)}, delta {self.delta:g}, per {self.unit}"
        return "\n".join([head, *self.sentences()])

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back; the epsilons are there for people."""
        return {
            "unit": str(self.unit),
            "epsilon": self.epsilon if self.is_private else None,
            "delta": self.delta,
            "changed_rating_epsilon": self.changed_rating if self.is_private else None,
            "per": {str(u): self.per(u) for u in Unit} if self.is_private else None,
            "events": [event.to_dict() for event in self.events],
            "assumes": list(self.assumes),
            "not_private": list(self.not_private),
            "words": " ".join(self.sentences()),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Read what `to_dict` wrote; epsilons are computed again, never believed."""
        try:
            return cls(
                unit=Unit(data["unit"]),
                events=tuple(event_from_dict(event) for event in data["events"]),
                delta=float(data["delta"]),
                assumes=tuple(data["assumes"]),
                not_private=tuple(data["not_private"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a guarantee has wrong fields: {error}") from error


def _epsilon(seen: Iterable[Event | None], delta: float) -> float | None:
    events = list(seen)
    bounded = [event for event in events if event is not None]
    if len(bounded) < len(events):
        return None
    return FilterAccountant().epsilon(bounded, delta)


def _factor(epsilon: float) -> str:
    if epsilon < math.log(1e6):
        return f"{_rounded_up(math.exp(epsilon), 3)} times"
    return f"10^{math.ceil(epsilon / math.log(10))} times"


def _number(epsilon: float) -> str:
    return _rounded_up(epsilon, 4) if math.isfinite(epsilon) else "without bound"


def _rounded_up(value: float, digits: int) -> str:
    """So many significant digits, never less than the value by more than 1e-9 of it."""
    if value == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.{digits + 3}g}"


def _give_or_take(delta: float) -> str:
    if delta == 0:
        return ""
    odds = 1 / delta
    return f", give or take a chance of 1 in {odds:,.0f}" if odds < 1e15 else ", give or take 1e-15"
