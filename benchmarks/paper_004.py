"""Completion and predictions from local reports against epsilon; theorem 3 beside what is measured.

python benchmarks/paper_004.py [--data FOLDER] [-o FOLDER] [--sets ml-100k,ml-1m]

The fourth paper proves bounds and shows no experiment. This is the one it describes: a matrix Theta
of low rank, ratings X of a share of it, reports Z, and completion of Theta from Z.

With --data, the RMSE of held-out ratings too: of the release that the server builds from debiased
reports, for people known by their own ratings at home; and of alternating least squares on Z as it
is, for people known by their reports or, to compare like with like, by their own ratings as well.

Writes paper_004_completion.csv, paper_004_ratings.csv and, if matplotlib is there, paper_004.svg.
For the curator's eyes only, as every evaluation.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.evaluate import Judge, item_mean, people_of, user_mean
from discreet.evaluate._completion import (
    Factorisation,
    Reported,
    Theorem3,
    as_matrix,
    complete_nuclear,
    factorise,
    measured_rho,
    send_reports,
)
from discreet.predict import People
from discreet.privacy import SEEDED, SeededRandomness
from discreet.protocols.local_reports.messages import Collection, Mechanism
from discreet.protocols.local_reports.server import build, report
from discreet.ratings import Split, read_ratings, split_random

USERS, ITEMS, RANK, SHARE, RATING_NOISE = 200, 100, 3, 0.3, 0.3
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
DATA_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
NO_NOISE = 50.0
DRAWS = {"ml-1m": 1}
FIVE_STARS = Scale(1, 5)
LOOKS = {
    Mechanism.MODIFIED_LAPLACE: ("modified Laplace", "#D55E00"),
    Mechanism.RANDOMIZED_RESPONSE: ("randomized response", "#0072B2"),
}


@dataclass(frozen=True)
class Completion:
    """Errors are root mean squares over all cells, in stars; rho in the paper's units."""

    mechanism: str
    epsilon: float
    draws: int
    error_nuclear: float
    error_als: float
    error_of_nothing: float
    rho: float
    bound: float
    floor: float


@dataclass(frozen=True)
class Prediction:
    """RMSE of held-out ratings, and what the server reports of its build."""

    data: str
    mechanism: str
    epsilon: float
    epsilon_per_user: float
    draws: int
    release: float
    release_sd: float
    raw_als: float
    raw_als_at_home: float
    user_mean: float
    item_mean: float
    als_without_noise: float
    release_without_noise: float
    answers_per_report: float
    factors: float


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default="ml-100k,ml-1m")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=Path())
    asked = parser.parse_args(argv)
    asked.output.mkdir(parents=True, exist_ok=True)
    completions = [row for mechanism in Mechanism for row in complete(mechanism, asked.draws)]
    write(asked.output / "paper_004_completion.csv", completions, Completion)
    predictions: list[Prediction] = []
    for name in asked.sets.split(",") if asked.data else ():
        if not (asked.data / name).is_dir():
            print(f"{name}: not in {asked.data}")
            continue
        predictions += predict(name, asked.data / name, min(asked.draws, DRAWS.get(name, 99)))
    write(asked.output / "paper_004_ratings.csv", predictions, Prediction)
    if importlib.util.find_spec("matplotlib") is None:
        print("no picture: pip install 'discreet[plots]'")
    else:
        draw(asked.output / "paper_004.svg", completions, predictions)


def make_world() -> tuple[np.ndarray, People, float]:
    """Theta above the middle of five stars, the ratings X of a share of it, and rho_0 in stars."""
    rng = np.random.default_rng(4)
    theta = rng.standard_normal((USERS, RANK)) @ rng.standard_normal((RANK, ITEMS))
    theta = np.clip(theta / theta.std(), -2, 2)
    shown = rng.random(theta.shape) < SHARE
    stars = np.clip(np.rint(theta + RATING_NOISE * rng.standard_normal(theta.shape)), -2, 2) + 3
    starts = np.concatenate(([0], np.cumsum(shown.sum(axis=1))))
    people = People(starts, np.nonzero(shown)[1].astype(np.int32), stars[shown])
    return theta, people, rms((stars - 3 - theta)[shown])


def complete(mechanism: Mechanism, draws: int) -> list[Completion]:
    theta, people, rho_0 = make_world()
    # The paper's units: [-1, 1] for modified Laplace, where 1 is two stars; levels otherwise.
    unit = 2.0 if mechanism is Mechanism.MODIFIED_LAPLACE else 1.0
    theorem = Theorem3(mechanism, USERS, ITEMS, len(people.items), rho_0 / unit)
    catalog = Catalog([str(i) for i in range(ITEMS)])
    print(f"{mechanism}: {USERS} x {ITEMS}, rank {RANK}, s = {theorem.ratings:,} ratings")
    print(f"  rho_0 sqrt(s) = {theorem.floor:.4g}, rho_0 = {theorem.rho_0:.3f}, both known here")
    rows = []
    for epsilon in EPSILONS:
        collection = Collection(catalog, FIVE_STARS, mechanism, epsilon)
        found = []
        for seed in range(draws):
            Z = as_matrix(collection, send_reports(collection, people, SeededRandomness(seed)))
            rho = measured_rho(theta, Z)
            fitted = factorise(Z, rank=RANK, ridge=2.0)
            als = fitted.mean + fitted.people @ fitted.items.T
            found.append((rms(complete_nuclear(Z, rho) - theta), rms(als - theta), rho / unit))
        nuclear, als_error, rho_mean = np.mean(found, axis=0)
        row = Completion(
            str(mechanism), epsilon, draws, nuclear, als_error, rms(theta), rho_mean,
            theorem.bound(epsilon), theorem.floor,
        )  # fmt: skip
        rows.append(row)
        print(
            f"  epsilon {epsilon:>4g}: error {nuclear:.3f} nuclear norm, {als_error:.3f} ALS; "
            f"rho {rho_mean:.4g}, at most {row.bound:.4g} by theorem 3",
            flush=True,
        )
    compare(theorem, rows)
    return rows


def compare(theorem: Theorem3, rows: list[Completion]) -> None:
    """The paper's words beside the figures."""
    enough = theorem.enough()
    reached = [row.epsilon for row in rows if row.rho <= 2 * theorem.floor]
    useful = [row.epsilon for row in rows if row.error_nuclear <= rows[0].error_of_nothing / 2]
    print("  'an epsilon which makes the entire upper bound match the order of rho_0 sqrt(s)':")
    print(
        f"    the bound is twice that at epsilon {enough:.3g}, or {enough * ITEMS:,.0f} a person;"
    )
    print(f"    rho itself is from epsilon {reached[0] if reached else math.inf:g} on")
    print(f"  'preserve the data utility': half the error of no data from epsilon "
          f"{useful[0] if useful else math.inf:g} on")  # fmt: skip


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def predict(name: str, folder: Path, draws: int) -> list[Prediction]:
    split = split_random(read_ratings(folder), 0.1, seed=4)
    judge, train = Judge(split), split.train
    baselines = [judge.judge(make(train)).rmse for make in (user_mean, item_mean)]
    own = people_of(train)
    values = (own.values - train.scale.mid).astype(np.float32)
    plain = raw_rmse(Reported(own.starts, own.items, values, len(train.catalog)), split)[0]
    unprotected = one_draw(split, judge, Mechanism.RANDOMIZED_RESPONSE, NO_NOISE, 0)[0]
    print(f"{name}: user mean {baselines[0]:.4f}, item mean {baselines[1]:.4f}")
    print(f"  without noise: ALS {plain:.4f}, the server's release {unprotected:.4f}")
    rows = []
    for mechanism in Mechanism:
        for epsilon in DATA_EPSILONS:
            found = np.array([one_draw(split, judge, mechanism, epsilon, d) for d in range(draws)])
            release, raw, at_home, answers, factors = found.mean(axis=0)
            spread = float(found[:, 0].std(ddof=1)) if draws > 1 else 0.0
            per_user = epsilon * len(train.catalog)
            row = Prediction(
                name, str(mechanism), epsilon, per_user, draws, release, spread, raw, at_home,
                *baselines, plain, unprotected, answers, factors,
            )  # fmt: skip
            rows.append(row)
            print(
                f"  {mechanism}, epsilon {epsilon:>4g} a rating ({per_user:,.0f} a person): "
                f"release {release:.4f}, ALS on Z {raw:.4f}, at home {at_home:.4f}; "
                f"{answers:,.0f} answers a report, {factors:.3g} factors",
                flush=True,
            )
    return rows


def one_draw(
    split: Split, judge: Judge, mechanism: Mechanism, epsilon: float, seed: int
) -> tuple[float, ...]:
    """RMSE of the release and of least squares on Z, twice; answers a report, and factors."""
    train = split.train
    collection = Collection(train.catalog, train.scale, mechanism, epsilon)
    randomness = SeededRandomness(f"paper 004 {seed}")
    reports = list(send_reports(collection, people_of(train), randomness))
    release = build(collection, reports, not_private=(SEEDED,))
    told = report(release)
    raw = raw_rmse(as_matrix(collection, reports), split)
    quality = judge.judge(release.predictor())
    return quality.rmse, *raw, told["answers_per_report"], told["factors"]


def raw_rmse(Z: Reported, split: Split) -> tuple[float, float]:
    """Of least squares that takes Z for ratings; people known by Z, and by their own ratings."""
    scale, test, own = split.test.scale, split.test, people_of(split.train)
    fitted = factorise(Z)
    true = Reported(own.starts, own.items, (own.values - scale.mid).astype(np.float32), Z.width)

    def error(model: Factorisation) -> float:
        predicted = scale.mid + model.predict(test.user_of_rating(), test.items)
        return rms(np.clip(predicted, scale.lo, scale.hi) - test.values())

    return error(fitted), error(fitted.at_home(true))


def write(path: Path, rows: Sequence[Any], kind: type[Any]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(kind)])
        table.writeheader()
        for row in rows:
            told = asdict(row)
            table.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in told.items()})


def draw(path: Path, completions: list[Completion], predictions: list[Prediction]) -> None:
    """Completion error, rho and its bound, then a panel for each data set."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row.data for row in predictions))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "paper 004", "font.size": 9}):
        figure = Figure(figsize=(4.2 * (2 + len(names)), 3.8), layout="constrained")
        panels = figure.subplots(1, 2 + len(names))
        draw_completion(panels[0], panels[1], completions)
        for axes, name in zip(panels[2:], names, strict=True):
            draw_ratings(axes, [row for row in predictions if row.data == name])
        titles = ("completion error, made-up data", "theorem 3: rho and its bound")
        for axes, title in zip(panels, (*titles, *(f"RMSE, {n}" for n in names)), strict=True):
            axes.set_title(title, loc="left", fontsize=10)
            axes.set_xscale("log")
            axes.set_xlabel("epsilon of one answer")
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=7)
        figure.savefig(path, format="svg", metadata={"Date": None})


def draw_completion(errors: Any, rhos: Any, rows: list[Completion]) -> None:
    for mechanism, (label, colour) in LOOKS.items():
        own = [row for row in rows if row.mechanism == mechanism]
        at = [row.epsilon for row in own]
        errors.plot(at, [row.error_nuclear for row in own], color=colour, label=label)
        errors.plot(at, [row.error_als for row in own], color=colour, linestyle=":",
                    label=f"{label}, ALS")  # fmt: skip
        rhos.plot(at, [row.rho for row in own], color=colour, label=f"rho, {label}")
        rhos.plot(at, [row.bound for row in own], color=colour, linestyle="--",
                  label="its bound")  # fmt: skip
    errors.axhline(rows[0].error_of_nothing, color="#999999", linewidth=0.8, label="no data")
    errors.set_ylim(0, 2 * rows[0].error_of_nothing)
    errors.set_ylabel("root mean square error, stars")
    rhos.set_yscale("log")


def draw_ratings(axes: Any, rows: list[Prediction]) -> None:
    for mechanism, (label, colour) in LOOKS.items():
        own = [row for row in rows if row.mechanism == mechanism]
        at = [row.epsilon for row in own]
        axes.plot(at, [row.release for row in own], color=colour, label=f"release, {label}")
        axes.plot(at, [row.raw_als for row in own], color=colour, linestyle=":",
                  label="ALS on Z as it is")  # fmt: skip
        axes.plot(at, [row.raw_als_at_home for row in own], color=colour, linestyle="--",
                  linewidth=0.8, label="ALS on Z, own ratings at home")  # fmt: skip
    for value, label, colour in (
        (rows[0].user_mean, "user mean", "#999999"),
        (rows[0].release_without_noise, "release without noise", "#000000"),
    ):
        axes.axhline(value, color=colour, linewidth=0.8, label=label)


if __name__ == "__main__":
    main()
