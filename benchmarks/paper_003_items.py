"""Figures 1(a), 1(b) and 2 of Park and Acharya, with their sensitivity and with the proved one.

python benchmarks/paper_003_items.py --data FOLDER [-o FOLDER] [--sets ml-100k,ml-1m]

FOLDER holds the data sets under their usual names. Writes paper_003_items.csv and, if matplotlib is
there, paper_003_items.svg. Attacks and lists are real: see `discreet.audit.risk_utility`.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit import Over, RiskUtility, risk_utility
from discreet.measure.outputs import OutputFunction, OutputMethod, OutputPlan, Sensitivity
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings, read_ratings

RATERS, RATINGS, TOP = 10, 20, 20
EPSILONS = np.logspace(-2, 4, 25)
PAPER_RANGE = 5
"""The paper takes five stars to be five apart, so its Delta f is 0.5, not 0.4."""
SAID = (0.70, 0.04)
"""What the paper reads off its figure 2: utility and risk."""

Curves = dict[tuple[str, str, str, str], list[RiskUtility]]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default="ml-100k,ml-1m")
    parser.add_argument("--attacks", type=int, default=2000)
    parser.add_argument("-o", "--output", type=Path, default=Path())
    asked = parser.parse_args(argv)
    if asked.data is None:
        print("tell the folder that holds the data sets: --data FOLDER")
        return
    curves: Curves = {}
    for name in asked.sets.split(","):
        if not (asked.data / name).is_dir():
            print(f"{name}: not in {asked.data}")
            continue
        ratings = read_ratings(asked.data / name)
        for method, whose in itertools.product(OutputMethod, Sensitivity):
            for over in Over:
                curve = measure(ratings, method, whose, over, asked.attacks)
                curves[name, method, whose, over] = curve
            tell(name, ratings, method, whose, [curves[name, method, whose, o] for o in Over])
    asked.output.mkdir(parents=True, exist_ok=True)
    write(asked.output / "paper_003_items.csv", curves)
    if importlib.util.find_spec("matplotlib") is None:
        print("no picture: pip install 'discreet[plots]'")
    elif curves:
        draw(asked.output / "paper_003_items.svg", curves)


def stretch(ratings: Ratings, method: OutputMethod, whose: Sensitivity) -> float:
    """How much more noise the paper's own Delta f means than its formula with the true range."""
    if whose is Sensitivity.PAPER and method is OutputMethod.SLOPE_ONE:
        return PAPER_RANGE / ratings.scale.range
    return 1.0


def measure(
    ratings: Ratings, method: OutputMethod, whose: Sensitivity, over: Over, attacks: int
) -> list[RiskUtility]:
    return risk_utility(
        ratings, method, EPSILONS / stretch(ratings, method, whose), attacks=attacks, top=TOP,
        minimum_raters=RATERS, minimum_ratings=RATINGS, sensitivity=whose, over=over,
        randomness=SeededRandomness("paper 003"),
    )  # fmt: skip


def tell(
    name: str,
    ratings: Ratings,
    method: OutputMethod,
    whose: Sensitivity,
    curves: list[list[RiskUtility]],
) -> None:
    """Where people keep 70 % of their lists: the risk by people and by records."""
    people, records = curves
    utilities = [point.utility for point in people]

    def there(values: Any) -> float:
        return float(np.interp(SAID[0], utilities, values))

    said = f" (the paper says {SAID[1]:.0%})" if method is OutputMethod.SLOPE_ONE else ""
    epsilon = there(EPSILONS)
    print(f"{name}, {method}, {whose}: {SAID[0]:.0%} utility at epsilon {epsilon:.3g} an answer")
    for what, curve in (("people", people), ("records", records)):
        rounded = there([point.risk_rounded for point in curve])
        clipped = there([point.risk_clipped for point in curve])
        print(
            f"  risk over {what}: {rounded:.1%} rounded{said}, "
            f"{clipped:.1%} clipped, {curve[0].majority:.1%} by the most frequent value"
        )
    if whose is Sensitivity.PROVED:
        function = OutputFunction(method, ratings.scale, RATERS, RATINGS)
        plan = OutputPlan(
            function=function, catalog=ratings.catalog, shown_to="anybody",
            epsilon_per_output=epsilon,
        )  # fmt: skip
        total = plan.cost.epsilon
        print(f"  one such list from {plan.outputs:,} noisy numbers costs epsilon {total:,.0f}")


def write(path: Path, curves: Curves) -> None:
    fields = (
        "spread", "utility", "utility_band", "risk_rounded", "risk_rounded_band", "risk_clipped",
        "risk_clipped_band", "majority",
    )  # fmt: skip
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["data", "method", "sensitivity", "over", "epsilon", *_columns(fields)])
        for key, curve in curves.items():
            for epsilon, point in zip(EPSILONS, curve, strict=True):
                figures = [f"{v:.6g}" for field in fields for v in _flat(getattr(point, field))]
                rows.writerow([*key, f"{epsilon:.6g}", *figures])


def _columns(fields: tuple[str, ...]) -> list[str]:
    ends = [(f"{f}_low", f"{f}_high") if f.endswith("band") else (f,) for f in fields]
    return [name for pair in ends for name in pair]


def _flat(value: float | tuple[float, float]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def draw(path: Path, curves: Curves) -> None:
    """A row of panels for each data set: figures 1(a), 1(b) and 2."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(key[0] for key in curves))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "paper 003", "font.size": 9}):
        figure = Figure(figsize=(12, 3.8 * len(names)), layout="constrained")
        grid = figure.subplots(len(names), 3, squeeze=False)
        for panels, name in zip(grid, names, strict=True):
            shown = {
                whose: [curves[name, OutputMethod.SLOPE_ONE, whose, over] for over in Over]
                for whose in Sensitivity
            }
            draw_row(panels, name, shown)
        figure.savefig(path, format="svg", metadata={"Date": None})


def draw_row(panels: Any, name: str, shown: dict[Sensitivity, list[list[RiskUtility]]]) -> None:
    looks = {
        Sensitivity.PAPER: ("the paper's bound (does not hold)", "#D55E00", "--"),
        Sensitivity.PROVED: ("the proved bound", "#000000", "-"),
    }
    for whose, (curve, records) in shown.items():
        label, colour, dashes = looks[whose]
        style = {"color": colour, "linestyle": dashes, "label": label}
        lost = [max(1 - point.utility, 1e-4) for point in curve]
        rounded = [point.risk_rounded for point in curve]
        low, high = zip(*(point.risk_rounded_band for point in curve), strict=True)
        panels[0].loglog(EPSILONS, lost, **style)
        panels[1].semilogx(EPSILONS, rounded, **style)
        panels[1].fill_between(EPSILONS, low, high, color=colour, alpha=0.15, linewidth=0)
        clipped = [point.risk_clipped for point in curve]
        panels[1].semilogx(EPSILONS, clipped, color=colour, linestyle=":", linewidth=1)
        utilities = [point.utility for point in curve]
        panels[2].plot(utilities, rounded, **style)
        by_record = [point.risk_rounded for point in records]
        panels[2].plot(utilities, by_record, color=colour, linestyle=":", linewidth=1)
    majority = next(iter(shown.values()))[0][0].majority
    panels[1].axhline(majority, color="#999999", linewidth=0.8)
    panels[1].annotate("the most frequent rating", (EPSILONS[0], majority), va="bottom")
    panels[2].plot(*SAID, "x", color="#0072B2", label="read off by the paper")
    titles = (
        "1(a): lists changed",
        "1(b): attacks that succeed (dotted: clipped)",
        "2: risk (dotted: over records)",
    )
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(f"{title}, {name}", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("utility" if axes is panels[2] else "epsilon of one answer")
    panels[2].legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main()
