"""The picture of a choice: risk against utility, a line for each method, the optimum marked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli import _evaluation_picture
from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from discreet.audit import Choice, Consequence


def draw(
    path: Path,
    rows: list[Consequence],
    choices: list[Choice],
    weights: tuple[float, float],
    *,
    private: bool,
) -> None:
    """Write a picture of rows and of what was chosen among them.

    Args:
        path: Where to.
        rows: Everything that was tried.
        choices: A choice for each method, the best first.
        weights: What utility is worth and a breach costs: along grey lines all is worth the same.
        private: Whether the picture is for the curator's eyes only.

    Raises:
        InputError: It cannot be written.
    """
    _evaluation_picture.check_installed()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.0), layout="constrained")
    axes = figure.subplots()
    for choice in choices:
        _draw_curve(axes, [row for row in rows if row.method == choice.best.method], choice)
    _draw_choice(axes, choices[0], weights)
    axes.axhline(
        choices[0].best.prior, color="0.5", linewidth=1, linestyle=":", label="guessing alone"
    )
    title = "For the curator's eyes only" if private else "On made-up ratings"
    axes.set(xlabel="utility", ylabel="risk", title=title, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.legend(frameon=False, fontsize="small", loc="upper left")
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)


def _draw_curve(axes: Any, rows: list[Consequence], choice: Choice) -> None:
    """A line through all epsilons with bands, thick where all is as good as the method's best."""
    rows = sorted(rows, key=lambda row: row.epsilon)
    drawn = axes.errorbar(
        [row.utility for row in rows],
        [row.risk for row in rows],
        xerr=_arms([(row.utility, row.utility_band) for row in rows]),
        yerr=_arms([(row.risk, row.risk_band) for row in rows]),
        marker="o", markersize=4, linewidth=1, elinewidth=0.6, capsize=2,
        label=f"{choice.best.method} per {choice.best.of}",
    )  # fmt: skip
    color = drawn.lines[0].get_color()
    near = choice.as_good
    axes.plot(
        [row.utility for row in near], [row.risk for row in near], color=color, linewidth=4,
        alpha=0.4,
    )  # fmt: skip
    for row in rows:
        axes.annotate(
            f"{row.epsilon:g}", (row.utility, row.risk), xytext=(3, 4),
            textcoords="offset points", fontsize="xx-small", color=color,
        )  # fmt: skip


def _draw_choice(axes: Any, choice: Choice, weights: tuple[float, float]) -> None:
    best, (utility, breach) = choice.best, weights
    axes.plot(
        [best.utility], [best.risk], marker="*", markersize=15, color="black", linestyle="none",
        label=f"worth most: epsilon {best.epsilon:g}", zorder=5,
    )  # fmt: skip
    if breach > 0:
        axes.axline(
            (best.utility, best.risk), slope=utility / breach, color="0.75", linewidth=0.8, zorder=0
        )


def _arms(points: list[tuple[float, tuple[float, float]]]) -> list[list[float]]:
    """How far bands reach below and above."""
    low = [max(middle - band[0], 0.0) for middle, band in points]
    high = [max(band[1] - middle, 0.0) for middle, band in points]
    return [low, high]
