"""What the readers have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from discreet.domain import Catalog, Scale
from discreet.ratings.readers._batch import Batch


class Source(Protocol):
    """Somewhere that ratings come from, with what its layout tells about them."""

    @property
    def path(self) -> Path | None:
        """The file, where there is one."""

    @property
    def scale(self) -> Scale | None:
        """The scale that ratings of this layout are on, where the layout tells it."""

    @property
    def find_catalog(self) -> Callable[[], Catalog] | None:
        """Reads the catalogue that is part of the layout, where there is one."""

    @property
    def keep_user_ids(self) -> bool:
        """Whether users have names in this layout."""

    @property
    def size(self) -> int:
        """How much there is to read, in the unit of `Batch.done`."""

    def batches(self) -> Iterator[Batch]:
        """All rows in order."""
