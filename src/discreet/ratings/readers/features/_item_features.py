"""What is publicly known of every item of a catalogue, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError


@dataclass(frozen=True, eq=False, repr=False)
class ItemFeatures:
    """A row for each item of a catalogue, a column for each thing known about items.

    Public, like the catalogue: made from public tables and never from a rating, so that using it
    costs no privacy.

    Args:
        names: What each column says, like `genres=Comedy` or `year`.
        values: Finite numbers, items in the catalogue's order; zeros for items nothing is known of.
        lacking: How many items of the catalogue the table lacks.
        ignored: How many items of the table the catalogue lacks.

    Raises:
        InputError: The values are no finite table with a column for each name.
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float32]
    lacking: int = 0
    ignored: int = 0

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise InputError("features are numbers in a row for each item, a column for each name")
        if values.shape[1] != len(self.names):
            raise InputError(f"{len(self.names):,} names but {values.shape[1]:,} feature columns")
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(values, dtype=np.float32)
        if not np.isfinite(values).all():
            raise InputError("a feature is not a finite number")
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"ItemFeatures({len(self.names):,} columns, {len(self):,} items)"
