"""What pictures of curves have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PAPER = {"color": "0.55", "marker": "X", "linestyle": ":", "linewidth": 0.8, "markersize": 5}
"""How the paper's own numbers look."""


def curve(
    axes: Any, rows: Sequence[Any], x: str, y: str, label: str, place: int, **style: Any
) -> None:
    """One line through rows, in the colour of its place."""
    looks = {"color": COLOURS[place % len(COLOURS)], "marker": "o", "markersize": 3} | style
    axes.plot([row[x] for row in rows], [row[y] for row in rows], label=label, **looks)


def level(axes: Any, value: float, label: str, style: str = "--") -> None:
    """A horizontal line."""
    axes.axhline(value, color="0.35", linewidth=0.9, linestyle=style, label=label)


def finish(axes: Any, title: str, x: str, y: str, *, log_x: bool = False) -> None:
    """Title, labels, legend."""
    axes.set_title(title, loc="left", fontsize=9)
    axes.set(xlabel=x, ylabel=y)
    if log_x:
        axes.set_xscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=7)


def where(rows: Sequence[Any], **wanted: Any) -> list[Any]:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]
