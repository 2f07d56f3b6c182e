"""Identifiers into numbers: users and items of a whole source, batch by batch."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.ratings.readers._batch import Ids
from discreet.ratings.readers._growing import Growing

CANONICAL = r"^(0|-?[1-9][0-9]{0,18})$"
"""Decimal text that an integer prints as; 19 digits may still not fit, a cast decides."""

_DENSE_SPAN = 1 << 24


class IdColumn:
    """Collects one column of identifiers and numbers them 0, 1, ... in rising order.

    Identifiers that are all whole numbers in canonical form are integers, whatever type the
    source has them in; otherwise all are text. So the numbering is the same for every layout.
    """

    def __init__(self) -> None:
        self._short: Growing[np.int32] = Growing(np.int32)
        self._long: Growing[np.int64] | None = None
        self._words: _Words | None = None

    def add(self, ids: Ids) -> None:
        """Append a batch."""
        if isinstance(ids, pl.Series):
            if self._words is None:
                self._words = _Words()
                self._words.add_integers(self._integers())
            self._words.add(ids)
        elif self._words is not None:
            self._words.add_integers(ids)
        else:
            self._add_integers(ids)

    def finish(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.generic]]:
        """Each row's number, and the identifiers by number. This object is empty afterwards."""
        if self._words is None:
            return number_integers(self._integers())
        words, self._words = self._words, None
        return words.finish()

    def _add_integers(self, ids: npt.NDArray[np.int64]) -> None:
        """Four bytes each while they do, else eight."""
        limits = np.iinfo(np.int32)
        if self._long is None and len(ids) and (ids.min() < limits.min or ids.max() > limits.max):
            self._long = Growing(np.int64)
            self._long.append(self._short.finish())
        if self._long is None:
            self._short.append(ids)
        else:
            self._long.append(ids)

    def _integers(self) -> npt.NDArray[np.integer]:
        if self._long is None:
            return self._short.finish()
        integers, self._long = self._long.finish(), None
        return integers


class _Words:
    """Collects text, each distinct word once."""

    def __init__(self) -> None:
        self._codes: Growing[np.int32] = Growing(np.int32)
        self._known = pl.DataFrame(schema={"word": pl.String, "code": pl.Int32})

    def add(self, words: pl.Series) -> None:
        """Append a batch of text."""
        encoded = words.to_arrow().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        self._append(encoded.indices.to_numpy(), pl.Series(encoded.dictionary, dtype=pl.String))

    def add_integers(self, ids: npt.NDArray[np.integer]) -> None:
        """Append a batch of integers, as the text that they print as."""
        if len(ids):
            codes, distinct = number_integers(ids)
            self._append(codes, pl.Series(distinct).cast(pl.String))

    def _append(self, codes: npt.NDArray[np.int32], words: pl.Series) -> None:
        found = (
            words.alias("word")
            .to_frame()
            .join(self._known, on="word", how="left", maintain_order="left")
        )
        fresh = found.filter(pl.col("code").is_null()).select(
            "word", code=pl.int_range(pl.len(), dtype=pl.Int32) + self._known.height
        )
        self._known = pl.concat([self._known, fresh])
        numbers = found["code"].fill_null(-1).to_numpy(writable=True)
        numbers[numbers < 0] = fresh["code"].to_numpy()
        self._codes.append(numbers[codes])

    def finish(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.generic]]:
        """Each row's number, and the identifiers by number."""
        words = self._known["word"]
        numbers = as_integers(words)
        keys = words if numbers is None else numbers
        order = keys.arg_sort().to_numpy()
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        listed = keys.gather(order)
        distinct = np.array(listed.to_list(), np.str_) if numbers is None else listed.to_numpy()
        return ranks[self._codes.finish()], distinct


def number_integers(
    values: npt.NDArray[np.integer],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.generic]]:
    """Each value's rank among the distinct values, and these in rising order, as int64."""
    if not len(values):
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    lowest, span = int(values.min()), int(values.max()) - int(values.min()) + 1
    if span <= max(_DENSE_SPAN, len(values)):
        ranks, distinct = _dense_ranks(values, lowest, span)
        return _ranked(values, lowest, ranks), distinct
    column = pl.Series("id", values)
    listed = column.unique().sort()
    ranked = pl.DataFrame({"id": listed}).with_row_index("rank")
    codes = column.to_frame().join(ranked, on="id", how="left", maintain_order="left")["rank"]
    return codes.to_numpy().astype(np.int32), listed.cast(pl.Int64).to_numpy()


@numba.njit(cache=True)
def _dense_ranks(
    values: npt.NDArray[np.int64], lowest: int, span: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The rank of each integer from `lowest` on that occurs, and the integers that do."""
    ranks = np.full(span, np.int32(-1))
    for row in range(values.size):
        ranks[values[row] - lowest] = 0
    distinct = np.empty(span - np.count_nonzero(ranks), np.int64)
    rank = 0
    for offset in range(span):
        if ranks[offset] == 0:
            ranks[offset] = rank
            distinct[rank] = lowest + offset
            rank += 1
    return ranks, distinct


@numba.njit(cache=True)
def _ranked(
    values: npt.NDArray[np.int64], lowest: int, ranks: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    codes = np.empty(values.size, np.int32)
    for row in range(values.size):
        codes[row] = ranks[values[row] - lowest]
    return codes


def as_integers(words: pl.Series) -> pl.Series | None:
    """The words as 64-bit integers if every one is an integer's canonical text."""
    if not words.str.contains(CANONICAL).all():
        return None
    numbers = words.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else numbers
