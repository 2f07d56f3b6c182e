"""A figure of merit against epsilon: a panel per unit, a curve per private model, other levels."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.domain.errors import MissingPart

# Okabe and Ito's colours, which people with any colour vision can tell apart; markers differ too.
_CURVES = {
    "discreet": ("discreet", "#000000", "o"),
    "discreet-features": ("discreet, public features", "#000000", "*"),
    "discreet-covariance": ("discreet, covariance", "#0072B2", "s"),
    "private-als-adaptive": ("private ALS, adaptive", "#D55E00", "^"),
    "private-als": ("private ALS", "#E69F00", "v"),
    "noisy-sgd": ("noisy SGD", "#009E73", "D"),
    "input-noise": ("input noise (values only)", "#CC79A7", "P"),
    "paper": ("McSherry and Mironov", "#56B4E9", "X"),
}
_LEVELS = {
    "discreet-no-noise": "discreet without noise",
    "surprise-svd": "Surprise SVD, not private",
    "surprise-svdpp": "Surprise SVD++, not private",
    "item-mean": "item mean",
    "user-mean": "user mean",
    "global-mean": "global mean",
    "popularity": "popularity, not private",
    "EASE": "EASE, not private",
    "ALS": "ALS, not private",
    "item-kNN": "item-kNN, not private",
}
_PANELS = {"rating": "One rating is protected", "user": "One user is protected"}
_LEVEL_COLOUR = "#666666"
_GAP = 0.036
"""The least distance of two labels, as a part of the panel's height."""


@dataclass(frozen=True)
class Point:
    """What is drawn of one model at one budget.

    Attributes:
        model: Its name.
        unit: Whom it protects; None for models that protect nobody, which are levels.
        epsilon: Of its guarantee, or None.
        value: What is on the vertical axis.
        spread: Its standard deviation over draws of the noise.
    """

    model: str
    unit: str | None
    epsilon: float | None
    value: float
    spread: float = 0.0


def check_installed() -> None:
    """Find out early whether pictures can be drawn.

    Raises:
        MissingPart: Matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingPart("pictures need matplotlib: pip install 'discreet[plots]'")


def draw(path: Path, label: str, points: Sequence[Point], limit: str | None = None) -> None:
    """Write the picture as SVG.

    Args:
        path: Of the picture.
        label: Of the vertical axis.
        points: All of them.
        limit: The model whose value is the largest that is shown; what lies above is named only.
    """
    check_installed()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "accuracy", "font.size": 9}):
        figure = Figure(figsize=(11, 5.2), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        levels = [point for point in points if point.unit is None]
        bottom, top = _limits(points, limit)
        for axes, (unit, title) in zip(panels, _PANELS.items(), strict=True):
            axes.set_ylim(bottom, top)
            _draw_panel(axes, [point for point in points if point.unit == unit], levels)
            axes.set_title(title, loc="left", fontsize=10)
        panels[0].set_ylabel(label)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _limits(points: Sequence[Point], limit: str | None) -> tuple[float, float]:
    """From a little below the smallest to a little above the largest."""
    values = [point.value for point in points]
    most = [point.value for point in points if point.model == limit]
    bottom, top = min(values, default=0.0), max(most or values, default=1.0)
    return bottom - 0.06 * (top - bottom), top + 0.06 * (top - bottom)


def _draw_panel(axes: Any, points: Sequence[Point], levels: Sequence[Point]) -> None:
    labels = []
    for name in dict.fromkeys(point.model for point in points):
        curve = sorted((point for point in points if point.model == name), key=_epsilon)
        labels += _draw_curve(axes, name, curve)
    ticks = sorted({_epsilon(point) for point in points})
    if ticks:
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(ticks[0] / 1.15, ticks[-1] * 1.15)
    for level in levels:
        axes.axhline(level.value, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        labels.append((level.value, _LEVELS.get(level.model, level.model), _LEVEL_COLOUR))
    axes.set_xlabel("epsilon")
    axes.spines[["top", "right"]].set_visible(False)
    _write_labels(axes, labels)


def _epsilon(point: Point) -> float:
    return point.epsilon or 0.0


def _draw_curve(axes: Any, name: str, points: Sequence[Point]) -> list[tuple[float, str, str]]:
    """The curve, and its label beside the last point."""
    title, colour, marker = _CURVES.get(name, (name, "#444444", "."))
    epsilons, values = [_epsilon(point) for point in points], [point.value for point in points]
    spreads = [point.spread for point in points]
    width = 2.4 if name in ("discreet", "discreet-features") else 1.4
    dashes = "--" if name == "input-noise" else "-"  # its guarantee is a weaker one
    axes.errorbar(
        epsilons, values, yerr=spreads, color=colour, marker=marker, markersize=5, linewidth=width,
        linestyle=dashes, capsize=2, zorder=3 if name == "discreet" else 2,
    )  # fmt: skip
    return [(values[-1], title, colour)]


def _write_labels(axes: Any, labels: list[tuple[float, str, str]]) -> None:
    """At the right edge, pushed apart where they would overlap, with a thin line to their place.

    Levels above the panel are left out; a curve that ends there says so.
    """
    bottom, top = axes.get_ylim()
    labels = [
        label if label[0] <= top else (top, f"{label[1]}: {label[0]:.2f}", label[2])
        for label in labels
        if label[0] <= top or label[2] != _LEVEL_COLOUR
    ]
    gap = _GAP * (top - bottom)
    wanted = sorted(labels)
    places: list[float] = []
    for at, _, _ in wanted:
        places.append(max(at, places[-1] + gap) if places else at)
    # What was pushed over the top comes down again, pushing the ones below.
    ceiling = top
    for index in reversed(range(len(places))):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - gap
    leader = {"arrowstyle": "-", "lw": 0.5, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
    for (at, text, colour), place in zip(wanted, places, strict=True):
        axes.annotate(
            text, xy=(1.0, at), xytext=(1.06, place), xycoords=axes.get_yaxis_transform(),
            textcoords=axes.get_yaxis_transform(), color=colour, va="center", fontsize=8.5,
            annotation_clip=False, arrowprops=leader | {"color": colour},
        )  # fmt: skip
