"""Every table and figure that is made again, by name, and every erratum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.domain import InputError
from papers import common_practice
from papers.erratum import PAPERS, Erratum
from papers.figure import Result, check_pictures, write_result
from papers.local_privacy import errata as errata_004
from papers.local_privacy.figures import theorem_3
from papers.output_perturbation import errata as errata_003
from papers.output_perturbation.answers import (
    attacks_that_succeed,
    lists_changed,
    risk_against_utility,
)
from papers.output_perturbation.sets import divergence_against_iterations, overlap_against_epsilon
from papers.study import Study
from papers.trusted_curator import errata as errata_000
from papers.trusted_curator.figures import loss_over_time, rmse_against_theta
from papers.untrusted_server import errata as errata_002
from papers.untrusted_server.closed import cost_of_closed
from papers.untrusted_server.clusters import clustering_accuracy, diversity, fake_ratings


@dataclass(frozen=True)
class Reproduction:
    """One table or figure.

    Attributes:
        name: What the command line calls it.
        source: The paper's short name in `PAPERS`.
        place: Where in the paper.
        title: What it shows.
        make: Makes it again.
    """

    name: str
    source: str
    place: str
    title: str
    make: Callable[[Study], Result]


_ALL = (
    Reproduction("mm-fig1", "000", "figure 1", "RMSE against theta", rmse_against_theta),
    Reproduction("mm-fig2", "000", "figure 2", "loss as the data grow", loss_over_time),
    Reproduction("chow-table1", "002", "Table I", "accuracy of clustering", clustering_accuracy),
    Reproduction("chow-fig2", "002", "figure 2", "diversity of c-values", diversity),
    Reproduction("chow-fig3", "002", "figure 3", "fake ratings against RMSE", fake_ratings),
    Reproduction("chow-closed", "002", "appendix", "cost of the closed variant", cost_of_closed),
    Reproduction("park-fig1a", "003", "figure 1(a)", "difference against epsilon", lists_changed),
    Reproduction(
        "park-fig1b", "003", "figure 1(b)", "attack accuracy against epsilon", attacks_that_succeed
    ),
    Reproduction("park-fig2", "003", "figure 2", "risk against utility", risk_against_utility),
    Reproduction(
        "park-fig4a", "003", "figure 4(a)", "overlap against epsilon", overlap_against_epsilon
    ),
    Reproduction(
        "park-fig4b", "003", "figure 4(b)", "KL divergence against iterations",
        divergence_against_iterations,
    ),
    Reproduction(
        "local-bound", "004", "theorem 3", "rho and completion against bounds", theorem_3
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
        raise InputError(f"unknown figure '{name}'; choose from {', '.join(REPRODUCTIONS)} or all")
    return REPRODUCTIONS[name]


def reproduce(name: str, study: Study, folder: Path) -> list[Path]:
    """Make a table or figure again and write it: a picture, a CSV file and a text.

    It reads ratings without paying: what is written is for the curator's eyes only, unless the
    ratings are public or made up.

    Args:
        name: One of `REPRODUCTIONS`.
        study: What to make it on; see `open_study`.
        folder: Where the files go; each is complete or absent.

    Returns:
        The files: name.svg, name.csv and further tables, name.md.

    Raises:
        InputError: There is no such figure, or the ratings or the folder cannot be used.
    """
    chosen = find_reproduction(name)
    check_pictures()
    result = chosen.make(study)
    head = (chosen.title, f"{PAPERS[chosen.source]}, {chosen.place}.")
    personal = result.made_on is None and not study.made_up
    return write_result(folder, name, head, result, study.sentence(), personal=personal)


def all_errata() -> list[Erratum]:
    """Compute every counter-example, which takes some seconds; in the order of `PAPERS`."""
    modules = (errata_000, errata_003, errata_002, errata_004, common_practice)
    return [erratum for module in modules for erratum in module.errata()]
