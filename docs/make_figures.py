"""Draws the pictures that the documentation shows into docs/figures."""

from __future__ import annotations

import json
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
    draw_lists(FIGURES / "lists.svg")
    draw_series(FIGURES / "series.svg")
    demo.draw(FIGURES / "budgets.png")
