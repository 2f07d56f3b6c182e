"""Ratings in blocks on this machine's disk: more of them than memory holds, and the same sums.

Every statistic is a sum over people, and every block has whole people: so what blocks give adds up
to what all ratings give, to the last bit. Each pass reads the columns that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.measure._source import Measure, PairStatistic, RemoteRatings
from discreet.measure.engines._leaves import Leaf, leaves_of, with_leaves
from discreet.ratings import Ratings
from discreet.ratings.readers import (
    BLOCK,
    BadRows,
    Blocks,
    RatingSource,
    Reading,
    StageProgress,
    read_blocks,
)

Ints = npt.NDArray[np.int64]


class DiskRatings(RemoteRatings):
    """Everybody's ratings in blocks on disk; `read_on_disk` makes them.

    Args:
        blocks: Private.

    Attributes:
        progress: Called during every pass; may be changed.
        passes: How many passes over the ratings were begun.
    """

    def __init__(self, blocks: Blocks, progress: StageProgress | None = None) -> None:
        self.scale, self.catalog, self.intake = blocks.scale, blocks.catalog, blocks.intake
        self.has_times, self.progress, self.passes = blocks.has_times, progress, 0
        self._blocks = blocks

    def __repr__(self) -> str:
        return f"DiskRatings(private, catalogue of {len(self.catalog):,} items)"

    @property
    def user_count(self) -> int:
        """How many users there are; private."""
        return self._blocks.users

    @property
    def duplicates(self) -> int:
        """How many (user, item) records were replaced by a later one; private."""
        return self._blocks.duplicates

    @property
    def skipped(self) -> int:
        """How many bad rows were left out on request; private."""
        return self._blocks.skipped

    def __len__(self) -> int:
        return self._blocks.ratings

    def total(self, measures: tuple[Measure, ...]) -> tuple[Any, ...]:
        names = (getattr(measure, "__self__", measure) for measure in measures)
        stage = ", ".join(_words(type(each).__name__) for each in names)

        def measured(block: Ratings) -> tuple[Any, ...]:
            return tuple(measure(block) for measure in measures)

        return tuple(self._sum(stage, measured))

    def triangles(self, statistic: PairStatistic) -> tuple[Ints, ...]:
        def measured(block: Ratings) -> tuple[Any, ...]:
            return tuple(statistic.sum_pairs(statistic.entries(block)))

        return tuple(self._sum(_words(type(statistic).__name__), measured))

    def _sum(self, stage: str, measured: Callable[[Ratings], tuple[Any, ...]]) -> Any:
        self.passes += 1
        stage = f"pass {self.passes}: {stage}"
        like: Any = None
        leaves: list[Leaf] = []
        for done, block in enumerate(self._blocks):
            found = measured(block)
            if not done:
                like, leaves = found, leaves_of(found)
            else:
                leaves = [_added(*both) for both in zip(leaves, leaves_of(found), strict=True)]
            if self.progress is not None:
                self.progress(stage, done + 1, len(self._blocks))
        return with_leaves(like, iter(leaves))


def _added(sums: Leaf, more: Leaf) -> Leaf:
    if isinstance(sums, np.ndarray):
        sums += more
        return sums
    return sums + int(more)


def _words(name: str) -> str:
    """A class's name as words."""
    return "".join(f" {each.lower()}" if each.isupper() else each for each in name).strip("_ ")


@contextmanager
def read_on_disk(
    source: RatingSource,
    *,
    on_bad_rows: BadRows = "refuse",
    most_ratings: int | None = None,
    scratch: str | os.PathLike[str] | None = None,
    progress: StageProgress | None = None,
    block: int = BLOCK,
    **reading: Any,
) -> Iterator[DiskRatings]:
    """Read more ratings than memory holds: sorted in blocks on disk, for `fit`.

    A context: at its end, and whenever the process ends, the blocks are gone. A fit of the result
    has the same integers, and so the same release, as one of `read_ratings`.

    Args:
        source: As in `read_ratings`, like `on_bad_rows`, `most_ratings` and everything in
            `reading`.
        on_bad_rows: Refuse them, or skip them.
        most_ratings: Keep at most this many ratings of each user.
        scratch: A folder on a disk with room for some 20 bytes a rating; None for the system's
            folder for temporary files. The files in it have no names and hold private rows.
        progress: Called with a stage, how much of it is done and how much there is.
        block: Rows of a block, about; memory grows with it.
        reading: `scale`, `catalog`, `columns` and so on.

    Raises:
        InputError: Something is missing, cannot be read or is wrong, or the disk is full.

    Example:
        >>> import discreet
        >>> import polars as pl
        >>> table = pl.DataFrame({"user": ["ann", "bob"], "item": ["7", "8"], "rating": [5, 3]})
        >>> films = discreet.Catalog(["7", "8", "9"], ["Alien", "Heat", "Ran"])
        >>> with discreet.read_on_disk(table, scale=(1, 5), catalog=films) as ratings:
        ...     len(ratings)
        2
    """
    opened = Reading.of(source, on_bad_rows, most_ratings, **reading)
    folder = None if scratch is None else Path(scratch)
    with read_blocks(opened, most_ratings, folder, progress, block) as blocks:
        yield DiskRatings(blocks, progress)
