"""The picture of an evaluation: RMSE against epsilon, with the baselines as lines."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from discreet.evaluate import Row

_LEVELS = {"non-private": "-", "item-mean": "--", "user-mean": "-.", "global-mean": ":"}


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
    _draw_levels(axes, [row for row in rows if row.model in _LEVELS])
    axes.set(xlabel="epsilon", ylabel="RMSE", title="For the curator's eyes only")
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
        epsilons, errors, spreads = zip(
            *((p.epsilon, p.rmse, p.rmse_sd) for p in points), strict=True
        )
        axes.errorbar(
            epsilons, errors, yerr=spreads, marker="o", markersize=4, capsize=3, label=label
        )
    if rows:
        axes.set_xscale("log")
        ticks = sorted({row.epsilon for row in rows if row.epsilon is not None})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)


def _draw_levels(axes: Any, rows: list[Row]) -> None:
    for row in rows:
        label = row.model if row.predictor is None else f"{row.model}, {row.predictor}"
        style = _LEVELS[row.model]
        axes.axhline(row.rmse, color="0.5", linewidth=1, linestyle=style, label=label)
