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


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    draw_lists(FIGURES / "lists.svg")
    demo.draw(FIGURES / "budgets.png")
