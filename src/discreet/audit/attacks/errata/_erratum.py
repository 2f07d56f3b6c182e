"""A claim that does not hold, and the numbers that show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.ratings import Ratings

STARS = Scale(1, 5)


@dataclass(frozen=True)
class Number:
    """One number of a counter-example.

    Attributes:
        what: It is.
        value: Computed.
        text: As `docs/errata.md` prints it.
    """

    what: str
    value: float
    text: str


@dataclass(frozen=True)
class Erratum:
    """A claim of a paper, or of common practice, and what happens.

    Attributes:
        name: The paper and the place.
        claim: What is claimed, as the first cell of a row of `docs/errata.md` says it.
        numbers: What was computed: claimed first, then found, then ours.
        given: Numbers that the example is made of, as the page prints them.
    """

    name: str
    claim: str
    numbers: tuple[Number, ...]
    given: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def value(self, what: str) -> float:
        """One of its numbers."""
        return next(number.value for number in self.numbers if number.what == what)


def number(what: str, value: float, form: str = ".2f") -> Number:
    """A number and how it is printed; trailing zeros of a decimal are kept."""
    return Number(what, float(value), format(value, form))


def exponential(what: str, value: float, digits: int = 1) -> Number:
    """A very small number, like 2.7e-6."""
    power = math.floor(math.log10(value) + 1e-9)
    return Number(what, float(value), f"{value / 10.0**power:.{digits}f}e{power}")


def percent(what: str, value: float, form: str = ".0f") -> Number:
    """A share, printed in per cent."""
    return Number(what, float(value), f"{format(100 * value, form)} %")


def ratings_of(people: Sequence[Mapping[int, float]], items: int, scale: Scale = STARS) -> Ratings:
    """A few people's ratings, by item."""
    counts = [len(person) for person in people]
    chosen = [item for person in people for item in sorted(person)]
    values = [person[item] for person in people for item in sorted(person)]
    return Ratings(
        scale,
        Catalog([str(item) for item in range(items)]),
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.array(chosen, np.int32),
        scale.encode(np.array(values, np.float64)),
    )
