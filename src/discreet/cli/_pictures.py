"""The pictures of `evaluate`, `demo` and `choose-epsilon`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from discreet.audit import Choice, Consequence
    from discreet.evaluate import Row

# Line styles of the models that do not depend on epsilon.
_LEVELS = {"non-private": "-", "item-mean": "--", "user-mean": "-.", "global-mean": ":"}
_LIST_LEVELS = {"non-private": "-", "popularity": "--", "recent-popularity": ":"}


def _axes(width: float, height: float) -> tuple[Any, Any]:
    # Matplotlib is an optional dependency, and slow to load.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _save(figure: Any, path: Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)


def draw_evaluation(path: Path, rows: list[Row]) -> None:
    """RMSE against epsilon: a curve for each private model, the baselines as lines.

    Where a model predicts no ratings, NDCG@10 takes the place of the RMSE for all of them.

    Raises:
        InputError: The file cannot be written.
    """
    figure, axes = _axes(6.4, 4.2)
    lists = any(row.rmse is None for row in rows)
    _draw_models(axes, [row for row in rows if row.epsilon is not None], lists)
    styles = _LIST_LEVELS if lists else _LEVELS
    for row in rows:
        if row.model in styles:
            label = row.model if row.predictor is None else f"{row.model}, {row.predictor}"
            level = _measured(row, lists)[0]
            axes.axhline(level, color="0.5", linewidth=1, linestyle=styles[row.model], label=label)
    measure = "NDCG@10" if lists else "RMSE"
    axes.set(xlabel="epsilon", ylabel=measure, title="For the curator's eyes only")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize="small")
    _save(figure, path)


def _draw_models(axes: Any, rows: list[Row], lists: bool) -> None:
    """One curve for each private model, with error bars over draws of the noise."""
    curves: dict[str, list[Row]] = {}
    for row in rows:
        whom = f" per {row.protect}" if row.model == "private" else ""
        curves.setdefault(f"{row.model}{whom}, {row.predictor}", []).append(row)
    for label, points in curves.items():
        points.sort(key=lambda row: row.epsilon or 0.0)
        means, spreads = zip(*(_measured(point, lists) for point in points), strict=True)
        epsilons = [point.epsilon for point in points]
        axes.errorbar(
            epsilons, means, yerr=spreads, marker="o", markersize=4, capsize=3, label=label
        )
    if rows:
        axes.set_xscale("log")
        ticks = sorted({row.epsilon for row in rows if row.epsilon is not None})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)


def _measured(row: Row, lists: bool) -> tuple[float, float]:
    """What is drawn of a row: a mean and its spread."""
    if lists or row.rmse is None or row.rmse_sd is None:
        return row.ndcg_at_10, row.ndcg_sd
    return row.rmse, row.rmse_sd


def draw_choice(
    path: Path,
    rows: list[Consequence],
    choices: list[Choice],
    weights: tuple[float, float],
    *,
    private: bool,
) -> None:
    """Risk against utility: a curve for each method, the choice marked.

    Args:
        path: The file to write.
        rows: Everything that was tried.
        choices: A choice for each method, the best first.
        weights: The value of utility and the cost of a breach. The grey line through the choice
            joins points of equal value.
        private: Whether the picture is for the curator's eyes only.

    Raises:
        InputError: The file cannot be written.
    """
    figure, axes = _axes(7.2, 5.0)
    for choice in choices:
        _draw_method(axes, [row for row in rows if row.method == choice.best.method], choice)
    best, (utility, breach) = choices[0].best, weights
    axes.plot(
        [best.utility], [best.risk], marker="*", markersize=15, color="black", linestyle="none",
        label=f"best value: epsilon {best.epsilon:g}", zorder=5,
    )  # fmt: skip
    if breach > 0:
        axes.axline(
            (best.utility, best.risk), slope=utility / breach, color="0.75", linewidth=0.8, zorder=0
        )
    axes.axhline(best.prior, color="0.5", linewidth=1, linestyle=":", label="guessing alone")
    title = "For the curator's eyes only" if private else "On synthetic ratings"
    axes.set(xlabel="utility", ylabel="risk", title=title, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.legend(frameon=False, fontsize="small", loc="upper left")
    _save(figure, path)


def _draw_method(axes: Any, rows: list[Consequence], choice: Choice) -> None:
    """A curve through all epsilons with error bars, thick where all are as good as the best."""
    rows = sorted(rows, key=lambda row: row.epsilon)
    drawn = axes.errorbar(
        [row.utility for row in rows],
        [row.risk for row in rows],
        xerr=_error_bars([(row.utility, row.utility_band) for row in rows]),
        yerr=_error_bars([(row.risk, row.risk_band) for row in rows]),
        marker="o", markersize=4, linewidth=1, elinewidth=0.6, capsize=2,
        label=f"{choice.best.method} per {choice.best.of}",
    )  # fmt: skip
    color = drawn.lines[0].get_color()
    axes.plot(
        [row.utility for row in choice.as_good], [row.risk for row in choice.as_good],
        color=color, linewidth=4, alpha=0.4,
    )  # fmt: skip
    for row in rows:
        axes.annotate(
            f"{row.epsilon:g}", (row.utility, row.risk), xytext=(3, 4),
            textcoords="offset points", fontsize="xx-small", color=color,
        )  # fmt: skip


def _error_bars(points: list[tuple[float, tuple[float, float]]]) -> list[list[float]]:
    """How far intervals reach below and above their middles."""
    low = [max(middle - band[0], 0.0) for middle, band in points]
    high = [max(band[1] - middle, 0.0) for middle, band in points]
    return [low, high]
