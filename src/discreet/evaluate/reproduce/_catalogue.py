"""Every table and figure of the papers that is made again, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.domain import InputError
from discreet.evaluate.reproduce._answers import (
    attacks_that_succeed,
    lists_changed,
    risk_against_utility,
)
from discreet.evaluate.reproduce._closed import cost_of_closed
from discreet.evaluate.reproduce._clustering import clustering_accuracy, diversity
from discreet.evaluate.reproduce._fakes import fake_ratings
from discreet.evaluate.reproduce._found import Found, check_pictures, write_found
from discreet.evaluate.reproduce._growth import loss_over_time
from discreet.evaluate.reproduce._reports import theorem_3
from discreet.evaluate.reproduce._sets import (
    divergence_against_iterations,
    overlap_against_epsilon,
)
from discreet.evaluate.reproduce._study import Study
from discreet.evaluate.reproduce._theta import rmse_against_theta

_MM, _CHOW, _PARK = "McSherry and Mironov", "Chow, Pathak and Wang", "Park and Acharya"
_LOCAL = "Two mechanisms"
PAPERS = {
    _MM: "McSherry and Mironov, Differentially Private Recommender Systems (2009)",
    _CHOW: "Chow, Pathak and Wang, A Practical System for Privacy-Preserving Collaborative "
    "Filtering",
    _PARK: "Park and Acharya, Differentially Private Recommendation Systems (2011)",
    _LOCAL: "Two mechanisms to collect user ratings: modified Laplace and randomized response",
}
"""From whom a paper is, or what it is called, and its title."""


@dataclass(frozen=True)
class Reproduction:
    """One table or figure.

    Attributes:
        name: What the command line calls it.
        paper: Whose it is, of `PAPERS`.
        place: Where in the paper.
        title: What it shows.
        make: Makes it again.
    """

    name: str
    paper: str
    place: str
    title: str
    make: Callable[[Study], Found]


_ALL = (
    Reproduction("mm-fig1", _MM, "figure 1", "RMSE against theta", rmse_against_theta),
    Reproduction("mm-fig2", _MM, "figure 2", "loss as the data grow", loss_over_time),
    Reproduction("chow-table1", _CHOW, "Table I", "accuracy of clustering", clustering_accuracy),
    Reproduction("chow-fig2", _CHOW, "figure 2", "diversity of c-values", diversity),
    Reproduction("chow-fig3", _CHOW, "figure 3", "fake ratings against RMSE", fake_ratings),
    Reproduction("chow-closed", _CHOW, "appendix", "cost of the closed variant", cost_of_closed),
    Reproduction("park-fig1a", _PARK, "figure 1(a)", "difference against epsilon", lists_changed),
    Reproduction(
        "park-fig1b", _PARK, "figure 1(b)", "attack accuracy against epsilon", attacks_that_succeed
    ),
    Reproduction("park-fig2", _PARK, "figure 2", "risk against utility", risk_against_utility),
    Reproduction(
        "park-fig4a", _PARK, "figure 4(a)", "overlap against epsilon", overlap_against_epsilon
    ),
    Reproduction(
        "park-fig4b", _PARK, "figure 4(b)", "KL divergence against iterations",
        divergence_against_iterations,
    ),
    Reproduction(
        "local-bound", _LOCAL, "theorem 3", "rho and completion against bounds",
        theorem_3,
    ),
)  # fmt: skip

REPRODUCTIONS = {reproduction.name: reproduction for reproduction in _ALL}
"""All of them, in the papers' order."""


def find_reproduction(name: str) -> Reproduction:
    """The one of this name.

    Raises:
        InputError: There is none.
    """
    if name not in REPRODUCTIONS:
        raise InputError(f"'{name}' is no figure; there are {', '.join(REPRODUCTIONS)}; or all")
    return REPRODUCTIONS[name]


def reproduce(name: str, study: Study, folder: Path) -> list[Path]:
    """Make a table or figure again and write it: a picture, a CSV file and a text.

    It looks at ratings without paying: what is written is for the curator's eyes only, unless the
    ratings are public or made up.

    Args:
        name: One of `REPRODUCTIONS`.
        study: What to make it on; see `open_study`.
        folder: Where the files go; each appears whole or not at all.

    Returns:
        The files: name.svg, name.csv and further tables, name.md.

    Raises:
        InputError: There is no such figure, the ratings cannot be used or the files not written.
    """
    chosen = find_reproduction(name)
    check_pictures()
    found = chosen.make(study)
    head = (chosen.title, f"{PAPERS[chosen.paper]}, {chosen.place}.")
    personal = found.made_on is None and not study.made_up
    return write_found(folder, name, head, found, study.sentence(), personal=personal)
