"""A claim that does not hold, and the numbers that show it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from discreet.audit.attacks.errata._papers import PAPERS, Paper


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
        name: The paper, by its short name in `PAPERS`, and the place.
        claim: What is claimed, as the first cell of a row of `docs/errata.md` says it.
        numbers: What was computed: claimed first, then found, then ours.
        given: Numbers that the example is made of, as the page prints them.
    """

    name: str
    claim: str
    numbers: tuple[Number, ...]
    given: tuple[str, ...] = ()

    @property
    def paper(self) -> Paper:
        """Whose claim it is."""
        return PAPERS[self.name.partition(",")[0]]

    def as_json(self) -> dict[str, Any]:
        """Plain data, with the paper in words."""
        return asdict(self) | {"paper": str(self.paper)}

    def value(self, what: str) -> float:
        """One of its numbers."""
        return next(number.value for number in self.numbers if number.what == what)


def number(what: str, value: float, form: str = ".2f") -> Number:
    """A number and how it is printed; trailing zeros of a decimal are kept."""
    return Number(what, float(value), format(value, form))


def exponential(what: str, value: float, digits: int = 1) -> Number:
    """A very small number, like 2.7e-6, rounded."""
    power = math.floor(math.log10(value) + 1e-9)
    return Number(what, float(value), f"{value / 10.0**power:.{digits}f}e{power}")


def no_less_than(what: str, value: float) -> Number:
    """A very small number that something reaches, or more: rounded down."""
    power = math.floor(math.log10(value) + 1e-9)
    tenths = math.floor(value / 10.0**power * 10 + 1e-9)
    return Number(what, float(value), f"{tenths / 10:.1f}e{power}")


def percent(what: str, value: float, form: str = ".0f") -> Number:
    """A share, printed in per cent."""
    return Number(what, float(value), f"{format(100 * value, form)} %")
