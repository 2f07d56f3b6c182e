"""The papers, by the short names that errata and planted bugs have for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
"""In the order of `docs/errata.md`. 001 was the first one in another language."""
