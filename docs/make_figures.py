"""Draws the pictures that the documentation shows into docs/figures."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from discreet.cli import demo

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
# `python -m benchmarks.lists --data FOLDER/ml-1m --json benchmarks/lists.json` writes it.
LISTS = ROOT / "benchmarks" / "lists.json"
# What lists are compared with in the picture.
LEVELS = ("EASE", "ALS", "item-kNN", "popularity")
# `python -m benchmarks.series` writes it; benchmarks/README.md has the commands.
SERIES = ROOT / "benchmarks" / "series.json"
# The panels of its picture: a table's title, what is drawn of it, and the label of its axis.
PANELS = (
    ("ml-1m, presence", "ndcg_at_10", "NDCG@10, from presence (higher is better)"),
    ("ml-1m, ratings", "rmse", "RMSE of ratings (lower is better)"),
)
# Okabe and Ito's colours, which people with any colour vision can tell apart; markers differ too.
CURVES = {
    "single": ("one release, whole budget: once", "#0072B2", "^"),
    "series": ("the series", "#000000", "o"),
    "divided": ("a new release each time,\nbudget divided", "#D55E00", "s"),
}

# Beliefs before the release in the picture of odds, with a colour each.
BELIEFS = ((0.5, "#D55E00"), (0.1, "#0072B2"), (0.01, "#000000"))
# The range of epsilons in that picture, as powers of ten, and how many points a curve has.
EPSILONS, POINTS = (-1.5, 1.2), 120
# Epsilons that the picture marks, with what people say about them.
MARKS = ((0.1, "strong"), (1.0, "usual aim"), (4.0, "weak"), (10.0, "hardly a bound"))


def draw_odds(path: Path) -> None:
    """The most that anybody can believe after a release, against epsilon (delta 0)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "odds", "font.size": 9}):
        figure = Figure(figsize=(7.5, 4), layout="constrained")
        axes = figure.subplots()
        low, high = EPSILONS
        epsilons = [10 ** (low + (high - low) * i / (POINTS - 1)) for i in range(POINTS)]
        for prior, colour in BELIEFS:
            odds = [prior / (1 - prior) * math.exp(epsilon) for epsilon in epsilons]
            beliefs = [100 * each / (1 + each) for each in odds]
            axes.plot(epsilons, beliefs, color=colour, linewidth=2,
                      label=f"believed {prior:.0%} before")  # fmt: skip
        for epsilon, words in MARKS:
            axes.axvline(epsilon, color="#999999", linewidth=0.8, linestyle=":")
            axes.text(epsilon, 101, f"{epsilon:g}: {words}", ha="center", fontsize=8)
        axes.set_xscale("log")
        axes.set_xlabel("epsilon")
        axes.set_ylabel("belief afterwards, at most (%)")
        axes.set_ylim(0, 100)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        axes.legend(frameon=False, loc="upper left")
        figure.savefig(path, format="svg", metadata={"Date": None})


def draw_lists(path: Path) -> None:
    """NDCG@10 against epsilon on a random tenth, from the rows of `LISTS`."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.accuracy.picture import Point, draw

    kept = json.loads(LISTS.read_text(encoding="utf-8"))
    points = []
    for row in kept["rows"]:
        model, unit, epsilon = row["model"].partition(",")[0], row["unit"], row["epsilon"]
        if row["split"] != "a random tenth" or (unit is None and model not in LEVELS):
            continue
        if unit is not None and epsilon is None:
            model, unit = "discreet-no-noise", None
        points.append(Point(model, unit, epsilon, row["ndcg_at_10"], row["sd"]))
    draw(path, f"NDCG@10 on {kept['data']}", points)


def draw_series(path: Path, epsilon: float = 1.0) -> None:
    """What releases know after each period, from the tables of `SERIES`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    tables = json.loads(SERIES.read_text(encoding="utf-8"))["tables"]
    by_title = {table["title"]: table for table in tables}
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "series", "font.size": 9}):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        for axes, (title, field, label) in zip(
            figure.subplots(1, len(PANELS)), PANELS, strict=True
        ):
            rows = [row for row in by_title[title]["rows"] if row["epsilon"] == epsilon]
            for way, (name, colour, marker) in CURVES.items():
                curve = [row for row in rows if row["way"] == way]
                periods = [row["period"] for row in curve]
                values = [row[field] for row in curve]
                width = 2.4 if way == "series" else 1.4
                axes.plot(periods, values, color=colour, marker=marker, markersize=5,
                          linewidth=width, label=name)  # fmt: skip
            axes.set_title(label, loc="left", fontsize=10)
            axes.set_xlabel("periods so far")
            axes.set_xticks(range(0, by_title[title]["periods"] + 1, 2))
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=8.5)
        figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    draw_odds(FIGURES / "odds.svg")
    draw_lists(FIGURES / "lists.svg")
    draw_series(FIGURES / "series.svg")
    demo.draw(FIGURES / "budgets.png")
