"""Pictures, for where a person would rather look than read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain.errors import MissingPart
from discreet.domain.files import whole_file
from discreet.measure import PublicCounts


def popularity(path: Path, exact: npt.NDArray[np.float64], public: PublicCounts) -> None:
    """What was published against what is true, item by item: for the curator's eyes only."""
    figure, (curve, scatter) = _figure(1, 2)
    order = np.argsort(-exact)
    rank = np.arange(1, len(exact) + 1)
    curve.plot(rank, public.counts[order], ".", color="tab:orange", markersize=2, label="published")
    curve.plot(rank, exact[order], color="tab:blue", label="true")
    curve.set(xscale="log", xlabel="rank of the item", ylabel="votes", title="Popularity")
    curve.axhspan(-public.spread, public.spread, color="0.9", zorder=0, label="noise (one sd)")
    curve.legend(frameon=False)
    limits = [0.0, float(exact.max()) * 1.05]
    scatter.plot(limits, limits, color="0.7", linewidth=1)
    scatter.plot(exact, public.counts, ".", color="tab:orange", markersize=3)
    promise = public.guarantee
    title = str(promise).partition("\n")[0] if promise.is_private else "noise from a seed"
    scatter.set(xlabel="true votes", ylabel="published votes", title=title)
    _save(figure, path)


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingPart("pictures need matplotlib: pip install 'discreet[plots]'") from None
    figure = Figure(figsize=(5 * columns, 3.6 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns)


def _save(figure: Any, path: Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)
