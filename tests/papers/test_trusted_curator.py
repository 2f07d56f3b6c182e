"""McSherry and Mironov: the preset with their constants, figures 1 and 2, theorems 3 to 5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.methods import fit
from discreet.privacy import FIT_UNITS, GaussianEvent, SeededRandomness, Unit
from discreet.ratings import find_shape, make_ratings, split_random
from papers.catalogue import find_reproduction
from papers.erratum import Erratum
from papers.study import Study, Trial
from papers.trusted_curator import preset
from papers.trusted_curator.preset import fit_paper

FIGURES = {
    "mm-fig1": (
        {"protect", "noise", "theta", "epsilon", "series", "rmse", "paper_rmse_on_netflix"},
        (".9600 / .9510 / .9455 / .9395 / .9370", "0.9514", "not proved"),
    ),
    "mm-fig2": (
        {"days", "date", "records", "series", "loss_points"},
        ("theta = 0.15", "7/2000 to 2006"),
    ),
}

Table = Callable[[str], list[dict[str, str]]]


def test_the_preset_needs_more_noise_and_is_marked() -> None:
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=15_000), seed=5)
    trial = Trial(split_random(ratings, 0.1, 1))
    ours, paper = (
        make(trial.split.train, protect="rating", epsilon=2.0, randomness=SeededRandomness(1))
        for make in (fit, fit_paper)
    )
    assert trial.error(ours.predictor()) < trial.error(paper.predictor())
    assert not paper.guarantee.is_private
    assert "not prove" in str(paper.guarantee) and "seed" in str(paper.guarantee)


@pytest.mark.parametrize("unit", FIT_UNITS)
def test_the_preset_works_without_any_rating(study: Study, unit: Unit) -> None:
    nothing = study.ratings.where(np.zeros(len(study.ratings), np.bool_))
    release = fit_paper(nothing, protect=unit)
    assert np.isfinite(release.arrays["item_effects"]).all()


def test_the_preset_coarsens_its_grid_where_noise_would_not_fit(study: Study) -> None:
    """The sum of all has a sigma of 2^41 here; with 2^20 the largest, m is 2^21."""
    source = SeededRandomness(1)
    release = fit_paper(study.ratings, protect="user", epsilon=0.001, randomness=source)
    events = release.guarantee.events
    assert all(isinstance(event, GaussianEvent) and event.sigma <= 2**50 for event in events)
    assert np.isfinite(release.arrays["factors"]).all()


def test_a_catalogue_too_large_for_matrices_is_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preset, "_MOST_ITEMS", 69)
    with pytest.raises(InputError, match="at most 69 items"):
        fit_paper(study.ratings)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_picture_a_table_and_a_text(
    check_figure: Callable[..., None], name: str
) -> None:
    check_figure(name, *FIGURES[name])


def test_the_paper_s_curves_are_worse_than_ours_on_few_ratings(table: Table) -> None:
    rows = table("mm-fig1")
    at = {
        (row["series"], row["theta"]): float(row["rmse"])
        for row in rows
        if (row["protect"], row["noise"]) == ("rating", "gaussian")
    }
    assert at["discreet, refined", "0.1"] < at["SVD, cleaned", "0.1"]
    assert at["SVD, cleaned", "30"] < at["SVD, cleaned", "0.1"]
    assert {row["epsilon"] == row["theta"] for row in rows if row["noise"] == "laplace"} == {True}
    theirs = [row["paper_rmse_on_netflix"] for row in rows if row["protect"] == "user"]
    assert set(theirs) == {""}  # the paper has no such curve


def test_growth_needs_times(study: Study) -> None:
    without = replace(study, ratings=replace(study.ratings, times=None))
    with pytest.raises(InputError, match="goes by time"):
        find_reproduction("mm-fig2").make(without)


def test_theorem_4_by_hand(errata: dict[str, Erratum]) -> None:
    """The mean goes from -380/120 to -376.2/121, by 0.05758, 100 times, and the new one is at B."""
    shift = 380 / 120 - 376.2 / 121
    assert errata["000, Theorem 4"].value("found in L1") == pytest.approx(100 * shift + 1, abs=1e-4)


def test_theorem_5_by_hand(errata: dict[str, Erratum]) -> None:
    """150 ratings 3.8 above their items, then one 3.8 below; weights 1/c, the whole matrix."""
    before = 3.8 - 150 * 3.8 / 170
    after = min(0.5, 3.8 - (150 * 3.8 - 3.8) / 171)
    block = 150**2 * abs(after**2 / 151 - before**2 / 150)
    total = block + (2 * 150 * after * 0.5 + 0.25) / 151
    assert errata["000, Theorem 5"].value("found in L1") == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "ours", "found"),
    [
        ("000, Theorem 4", "ours in L1, with the range of what is centred", "found in L1"),
        ("000, Theorem 5", "ours in L2, in B^2, each pair once, without the diagonal",
         "how far ours moves here, likewise"),
    ],
)  # fmt: skip
def test_our_bound_holds_where_theirs_does_not(
    errata: dict[str, Erratum], name: str, ours: str, found: str
) -> None:
    assert errata[name].value(ours) > errata[name].value(found) > 0.8 * errata[name].value(ours)
