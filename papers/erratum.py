"""The papers, and claims of theirs that do not hold, with the numbers that show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Paper:
    """What is cited.

    Attributes:
        authors: Short.
        title: And where it appeared, if that is known.
    """

    authors: str
    title: str

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}"


PAPERS: Mapping[str, Paper] = MappingProxyType(
    {
        "000": Paper(
            "McSherry and Mironov",
            "Differentially Private Recommender Systems: Building Privacy into the Netflix Prize "
            "Contenders (KDD 2009)",
        ),
        "003": Paper(
            "Park and Acharya",
            "Differentially Private Recommendation Systems: Practical Implementation and "
            "Interpretation (2011)",
        ),
        "002": Paper(
            "Chow, Pathak and Wang",
            "A Practical System for Privacy-Preserving Collaborative Filtering",
        ),
        "004": Paper(
            "Two mechanisms to collect ratings",
            "modified Laplace and randomized response (our copy names neither authors nor title)",
        ),
        "practice": Paper("Common practice", "not one paper"),
    }
)
"""By the short names that errata and planted bugs have for them, in the order of
`docs/explanation/errata.md`. 001 is a translation of 000."""


@dataclass(frozen=True)
class Number:
    """One number of a counter-example.

    Attributes:
        what: Its name.
        value: As computed.
        text: As `docs/explanation/errata.md` prints it.
    """

    what: str
    value: float
    text: str


@dataclass(frozen=True)
class Erratum:
    """A claim of a paper, or of common practice, and what happens.

    Attributes:
        name: The paper, by its short name in `PAPERS`, and the place.
        claim: The first cell of its row in `docs/explanation/errata.md`.
        numbers: What was computed: claimed first, then found, then ours.
        given: Numbers that the example starts from, as the page prints them.
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
        """Plain data, with the paper spelt out."""
        return asdict(self) | {"paper": str(self.paper)}

    def value(self, what: str) -> float:
        """One of its numbers."""
        return next(number.value for number in self.numbers if number.what == what)


def number(what: str, value: float, form: str = ".2f") -> Number:
    """A number and how it is printed; trailing zeros of a decimal are kept."""
    return Number(what, float(value), format(value, form))


def exponential(what: str, value: float, digits: int = 1) -> Number:
    """A very small number, like 2.7e-6, rounded to the nearest."""
    power = math.floor(math.log10(value) + 1e-9)
    return Number(what, float(value), f"{value / 10.0**power:.{digits}f}e{power}")


def no_less_than(what: str, value: float) -> Number:
    """A very small number that is a lower bound, so it is rounded down."""
    power = math.floor(math.log10(value) + 1e-9)
    tenths = math.floor(value / 10.0**power * 10 + 1e-9)
    return Number(what, float(value), f"{tenths / 10:.1f}e{power}")


def percent(what: str, value: float, form: str = ".0f") -> Number:
    """A share, printed in per cent."""
    return Number(what, float(value), f"{format(100 * value, form)} %")
