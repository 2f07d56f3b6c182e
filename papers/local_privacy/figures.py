"""Theorem 3 on local reports: rho and completion error against their bounds.

The paper proves bounds and shows no experiment. This is the one it describes: a matrix Theta of low
rank, ratings X of a share of it, reports Z, and completion of Theta from Z.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.evaluate import people_of, user_mean
from discreet.predict import People
from discreet.privacy import SEEDED, SeededRandomness
from discreet.protocols.local_reports.messages import Collection, Mechanism
from discreet.protocols.local_reports.server import LocalReports, report
from discreet.ratings import split_random
from papers.figure import Claim, Result, curve, finish, level, where
from papers.local_privacy.completion import (
    Reported,
    Theorem3,
    as_matrix,
    complete_nuclear,
    factorise,
    measured_rho,
    send_reports,
)
from papers.study import NETFLIX, Study, Trial

# The made-up Theta's rank, the share of it that is rated, and the standard deviation of a rating
# around it in stars. Chosen by hand.
RANK, SHARE, RATING_NOISE = 3, 0.3, 0.3
FIVE_STARS = Scale(1, 5)
NAMES = {
    Mechanism.MODIFIED_LAPLACE: "modified Laplace",
    Mechanism.RANDOMIZED_RESPONSE: "randomized response",
}

_Floats = npt.NDArray[np.float64]


def theorem_3(study: Study) -> Result:
    """Measured rho and completion error, both mechanisms; and RMSE on the ratings at hand."""
    theta, people, rho_0 = _world(*study.effort.cells)
    tried = [(mechanism, epsilon) for mechanism in NAMES for epsilon in study.effort.completions]
    theorems = {m: _theorem(m, theta, people, rho_0) for m in NAMES}
    rows = [
        _complete(theorems[mechanism], theta, people, epsilon, study.effort.draws)
        for mechanism, epsilon in study.each("completions", tried)
    ]
    predictions = _predictions(study)
    claims = [claim for m in NAMES for claim in _claims(theorems[m], rows)]
    claims += _rmse_claims(predictions)
    notes = _notes(study, theta, rows)
    more = {"ratings": predictions} if predictions else {}
    return Result(rows, claims, notes, lambda figure: _draw(figure, study, rows, predictions),
                 size=(13.0, 4.4), more=more)  # fmt: skip


def _world(users: int, items: int) -> tuple[_Floats, People, float]:
    """Theta above the middle of five stars, the ratings X of a share of it, and rho_0 in stars."""
    rng = np.random.default_rng(4)
    theta = rng.standard_normal((users, RANK)) @ rng.standard_normal((RANK, items))
    theta = np.clip(theta / theta.std(), -2, 2)
    shown = rng.random(theta.shape) < SHARE
    stars = np.clip(np.rint(theta + RATING_NOISE * rng.standard_normal(theta.shape)), -2, 2) + 3
    starts = np.concatenate(([0], np.cumsum(shown.sum(axis=1))))
    people = People(starts, np.nonzero(shown)[1].astype(np.int32), stars[shown])
    return theta, people, _rms((stars - 3 - theta)[shown])


def _unit(mechanism: Mechanism) -> float:
    """The paper's units: [-1, 1] for modified Laplace, where 1 is two stars; levels otherwise."""
    return 2.0 if mechanism is Mechanism.MODIFIED_LAPLACE else 1.0


def _theorem(mechanism: Mechanism, theta: _Floats, people: People, rho_0: float) -> Theorem3:
    users, items = theta.shape
    return Theorem3(mechanism, users, items, len(people.items), rho_0 / _unit(mechanism))


def _complete(
    theorem: Theorem3, theta: _Floats, people: People, epsilon: float, draws: int
) -> dict[str, Any]:
    catalog = Catalog([str(i) for i in range(theta.shape[1])])
    collection = Collection(catalog, FIVE_STARS, theorem.mechanism, epsilon)
    found = []
    for seed in range(draws):
        Z = as_matrix(collection, send_reports(collection, people, SeededRandomness(seed)))
        rho = measured_rho(theta, Z)
        fitted = factorise(Z, rank=RANK, ridge=2.0)
        least_squares = fitted.mean + fitted.people @ fitted.items.T
        errors = (_rms(complete_nuclear(Z, rho) - theta), _rms(least_squares - theta))
        found.append((*errors, rho / _unit(theorem.mechanism)))
    nuclear, als, rho_mean = (float(x) for x in np.mean(found, axis=0))
    return {
        "mechanism": str(theorem.mechanism), "epsilon": epsilon,
        "epsilon_per_person": epsilon * theta.shape[1], "draws": draws, "rho": rho_mean,
        "bound_of_rho": theorem.bound(epsilon), "rho_0_sqrt_s": theorem.floor,
        "error_nuclear_norm": nuclear, "error_least_squares": als, "error_of_nothing": _rms(theta),
    }  # fmt: skip


def _predictions(study: Study) -> list[dict[str, Any]]:
    """RMSE of held-out ratings of the study: a release of reports, and least squares on Z."""
    split = split_random(study.ratings, 0.1, seed=4)
    trial = Trial(split)
    baseline = trial.error(user_mean(split.train))
    tried = [(m, epsilon) for m in NAMES for epsilon in study.effort.epsilons]
    rows: list[dict[str, Any]] = []
    for mechanism, epsilon in study.each("reports on ratings", tried):
        try:
            found = [_one_draw(trial, mechanism, epsilon, d) for d in range(study.effort.draws)]
        except InputError:  # a continuous scale has no levels to answer
            return []
        release, raw, at_home, answers = np.mean(found, axis=0)
        spread = statistics.stdev(each[0] for each in found) if len(found) > 1 else 0.0
        rows.append({
            "mechanism": str(mechanism), "epsilon": epsilon,
            "epsilon_per_person": epsilon * len(split.train.catalog), "draws": len(found),
            "rmse_of_release": float(release), "rmse_sd": spread, "rmse_of_als_on_z": float(raw),
            "rmse_of_als_own_ratings_at_home": float(at_home), "rmse_of_user_mean": baseline,
            "answers_a_report": float(answers),
        })  # fmt: skip
    return rows


def _one_draw(
    trial: Trial, mechanism: Mechanism, epsilon: float, seed: int
) -> tuple[float, float, float, float]:
    """RMSE of the release and of least squares on Z, twice; answers a report."""
    train = trial.split.train
    collection = Collection(train.catalog, train.scale, mechanism, epsilon)
    randomness = SeededRandomness(f"paper 004 {seed}")
    reports = list(send_reports(collection, trial.people, randomness))
    release = LocalReports(collection).build(reports, not_private=(SEEDED,))
    raw, at_home = _least_squares(trial, as_matrix(collection, reports))
    answers = float(report(release)["answers_per_report"])
    return trial.error(release.predictor()), raw, at_home, answers


def _least_squares(trial: Trial, Z: Reported) -> tuple[float, float]:
    """Of what takes Z for ratings; people known by Z, and by their own ratings at home."""
    scale, own = trial.split.test.scale, people_of(trial.split.train)
    fitted = factorise(Z)
    true = Reported(own.starts, own.items, (own.values - scale.mid).astype(np.float32), Z.width)
    errors = []
    for model in (fitted, fitted.at_home(true)):
        predicted = scale.mid + model.predict(trial.rows, trial.split.test.items)
        errors.append(_rms(np.clip(predicted, scale.lo, scale.hi) - trial.wanted))
    return errors[0], errors[1]


def _rms(values: npt.NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _claims(theorem: Theorem3, rows: Sequence[Any]) -> list[Claim]:
    name = NAMES[theorem.mechanism]
    some = where(rows, mechanism=str(theorem.mechanism))
    above = [row["bound_of_rho"] / row["rho"] for row in some]
    reached = [row["epsilon"] for row in some if row["rho"] <= 2 * theorem.floor]
    half = some[0]["error_of_nothing"] / 2
    useful = [row["epsilon"] for row in some if row["error_nuclear_norm"] <= half]
    enough = theorem.enough()
    return [
        Claim(
            f"{name}: rho against its bound (theorem 3, gamma = 0.1)", "at most the bound",
            f"the bound is {min(above):.2f} to {max(above):.1f} times rho: "
            f"{'it holds at every epsilon' if min(above) >= 1 else 'NOT ALWAYS'}",
        ),
        Claim(
            f"{name}: epsilon at which the bound is twice rho_0 sqrt(s)",
            "the one to choose, unnamed",
            f"{enough:.3g} an answer, {enough * theorem.items:,.0f} a person of "
            f"{theorem.items:,} items; rho itself {_first(reached)}",
        ),
        Claim(
            f"{name}: 'preserve the data utility'", "yes",
            f"half the error of knowing nothing {_first(useful)}",
        ),
    ]  # fmt: skip


def _first(values: Sequence[float]) -> str:
    return f"from epsilon {values[0]:g} on" if values else "at none of the epsilons"


def _rmse_claims(predictions: Sequence[Any]) -> list[Claim]:
    claims = []
    for mechanism in dict.fromkeys(row["mechanism"] for row in predictions):
        some = where(predictions, mechanism=mechanism)
        at = " / ".join(f"{row['epsilon']:g}" for row in some)
        ours, raw = (
            " / ".join(f"{row[name]:.4f}" for row in some)
            for name in ("rmse_of_release", "rmse_of_als_on_z")
        )
        here = f"release {ours}; least squares on Z as it is {raw}"
        claims.append(Claim(f"{mechanism}: RMSE at epsilon {at} a rating", "no experiment", here))
    return claims


def _notes(study: Study, theta: _Floats, rows: Sequence[Any]) -> list[str]:
    users, items = theta.shape
    return [
        f"rho and completion are measured on a made-up matrix of {users} people and {items} items, "
        f"rank {RANK}, {SHARE:.0%} rated: on real ratings Theta is nobody's to know.",
        "The bound is Markov's inequality for gamma = 0.1 on sums that scatter little, so it is "
        "above what happens by a good deal; as a way to choose epsilon it asks for too large a "
        "one.",
        "Completion's own guarantee (equation 5) needs a sampling operator with restricted "
        "isometry, which no operator that samples entries has: an entry outside the sample is "
        "mapped to 0. So the measured error is what there is.",
        f"Epsilon is of one answer. A person answers for every item: epsilon 1 is {items} a "
        f"person here and {NETFLIX[2]:,} with Netflix's catalogue.",
        f"The ratings of {study.name} stand beside it: our server takes the noise's law into "
        "account, the paper fits on reports as they are. "
        f"Knowing nothing errs by {rows[0]['error_of_nothing']:.3f} on the made-up matrix.",
    ]


def _draw(figure: Any, study: Study, rows: Sequence[Any], predictions: Sequence[Any]) -> None:
    panels = figure.subplots(1, 3 if predictions else 2)
    for place, mechanism in enumerate(NAMES):
        some, name = where(rows, mechanism=str(mechanism)), NAMES[mechanism]
        curve(panels[0], some, "epsilon", "rho", f"rho, {name}", place)
        curve(panels[0], some, "epsilon", "bound_of_rho", "its bound", place,
                      linestyle="--", marker="")  # fmt: skip
        curve(panels[1], some, "epsilon", "error_nuclear_norm", name, place)
        curve(panels[1], some, "epsilon", "error_least_squares", f"{name}, least squares",
                      place, linestyle=":")  # fmt: skip
        if predictions:
            judged = where(predictions, mechanism=str(mechanism))
            curve(panels[2], judged, "epsilon", "rmse_of_release", f"release, {name}",
                          place)  # fmt: skip
            curve(panels[2], judged, "epsilon", "rmse_of_als_on_z",
                          "least squares on Z", place, linestyle=":")  # fmt: skip
    panels[0].set_yscale("log")
    level(panels[1], rows[0]["error_of_nothing"], "knowing nothing")
    panels[1].set_ylim(0, 2 * rows[0]["error_of_nothing"])
    answer = "epsilon of one answer"
    finish(panels[0], "rho and theorem 3's bound", answer, "rho", log_x=True)
    finish(panels[1], "completion error", answer, "stars", log_x=True)
    if predictions:
        level(panels[2], predictions[0]["rmse_of_user_mean"], "user means")
        finish(panels[2], f"RMSE on {study.name}", answer, "RMSE", log_x=True)
