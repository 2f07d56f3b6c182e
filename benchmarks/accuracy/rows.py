"""One row a model and budget, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.domain import InputError


@dataclass(frozen=True)
class Row:
    """Means over draws of the noise.

    Attributes:
        model: Its name in `MODELS`.
        unit: Whom it protects, or None.
        epsilon: Of its guarantee, or None.
        delta: Likewise.
        draws: Of the noise.
        rmse: None for models that make lists only.
        rmse_sd: Over draws; 0 for a single one.
        ndcg_at_10: None for models that predict ratings only.
        seconds: To fit and to judge, for one draw.
    """

    model: str
    unit: str | None
    epsilon: float | None
    delta: float | None
    draws: int
    rmse: float | None
    rmse_sd: float
    ndcg_at_10: float | None
    seconds: float


def heading() -> str:
    """The table's first line."""
    columns = f"{'unit':8}{'epsilon':>8}{'RMSE':>9}{'sd':>8}{'NDCG@10':>9}{'seconds':>9}"
    return f"{'model':24}{columns}"


def line(row: Row) -> str:
    """A row as a line of the table."""
    epsilon = "" if row.epsilon is None else f"{row.epsilon:g}"
    spread = f"{row.rmse_sd:.4f}" if row.draws > 1 else ""
    figures = f"{_figure(row.rmse):>9}{spread:>8}{_figure(row.ndcg_at_10):>9}"
    return f"{row.model:24}{row.unit or '':8}{epsilon:>8}{figures}{row.seconds:9.1f}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def write(path: Path, told: dict[str, Any], rows: Iterable[Row]) -> None:
    """Everything in one JSON file: what was asked for, and the rows."""
    kept = {**told, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """What `write` wrote.

    Raises:
        InputError: It is something else.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return told, [Row(**row) for row in told.pop("rows")]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise InputError("is no file that this benchmark wrote with --json", path=path) from None
