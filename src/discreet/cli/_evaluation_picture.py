"""The picture of an evaluation: RMSE against epsilon, with the baselines as lines.

Of presence alone, which nobody rates, NDCG@10 takes the place of the RMSE.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from discreet.evaluate import Row

_LEVELS = {"non-private": "-", "item-mean": "--", "user-mean": "-.", "global-mean": ":"}
_PRESENCE_LEVELS = {"non-private": "-", "popularity": "--"}


def check_installed() -> None:
    """Find out early whether pictures can be drawn.

    Raises:
        MissingPart: Matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPart("pictures need matplotlib: pip install 'discreet[plots]'")


def draw(path: Path, rows: list[Row]) -> None:
    """Write a picture of rows: one curve a private model, error bars over draws.

    Raises:
        InputError: It cannot be written.
    """
    check_installed()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    _draw_curves(axes, [row for row in rows if row.epsilon is not None])
    presence = any(row.rmse is None for row in rows)
    _draw_levels(axes, rows, _PRESENCE_LEVELS if presence else _LEVELS)
    measure = "NDCG@10" if presence else "RMSE"
    axes.set(xlabel="epsilon", ylabel=measure, title="For the curator's eyes only")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize="small")
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)


def _draw_curves(axes: Any, rows: list[Row]) -> None:
    curves: dict[str, list[Row]] = {}
    for row in rows:
        whom = f" per {row.protect}" if row.model == "private" else ""
        curves.setdefault(f"{row.model}{whom}, {row.predictor}", []).append(row)
    for label, points in curves.items():
        points.sort(key=lambda row: row.epsilon or 0.0)
        means, spreads = zip(*map(_figure, points), strict=True)
        epsilons = [point.epsilon for point in points]
        axes.errorbar(
            epsilons, means, yerr=spreads, marker="o", markersize=4, capsize=3, label=label
        )
    if rows:
        axes.set_xscale("log")
        ticks = sorted({row.epsilon for row in rows if row.epsilon is not None})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)


def _draw_levels(axes: Any, rows: list[Row], styles: dict[str, str]) -> None:
    for row in rows:
        if row.model in styles:
            label = row.model if row.predictor is None else f"{row.model}, {row.predictor}"
            style, level = styles[row.model], _figure(row)[0]
            axes.axhline(level, color="0.5", linewidth=1, linestyle=style, label=label)


def _figure(row: Row) -> tuple[float, float]:
    """What is drawn of a row: a mean and its spread."""
    if row.rmse is None or row.rmse_sd is None:
        return row.ndcg_at_10, row.ndcg_sd
    return row.rmse, row.rmse_sd
