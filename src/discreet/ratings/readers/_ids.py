"""Identifiers into numbers: users and items of a whole source, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numba
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.ratings.readers._batch import Ids

CANONICAL = r"^(0|-?[1-9][0-9]{0,18})$"
"""Decimal text that an integer prints as; 19 digits may still not fit, a cast decides."""

_DENSE_SPAN = 1 << 24

_T = TypeVar("_T", bound=np.generic)


class IdColumn:
    """Collects one column of identifiers and numbers them 0, 1, ... in rising order.

    Identifiers that are all whole numbers in canonical form are integers, whatever type the
    source has them in; otherwise all are text. So the numbering is the same for every layout.
    """

    def __init__(self) -> None:
        self._integers: list[npt.NDArray[np.integer]] = []
        self._codes: list[npt.NDArray[np.int32]] = []
        self._words: list[pl.Series] = []
        self._is_text: list[bool] = []

    def add(self, ids: Ids) -> None:
        """Append a batch."""
        self._is_text.append(isinstance(ids, pl.Series))
        if isinstance(ids, pl.Series):
            codes, words = _encode(ids)
            self._codes.append(codes)
            self._words.append(words)
        else:
            self._integers.append(_narrow(ids))

    def finish(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.generic]]:
        """Each row's number, and the identifiers by number. Forgets the batches."""
        if not self._words:
            values = _joined(self._integers)
            self._integers = []
            return number_integers(values)
        codes, words = self._as_text()
        return _number_words(codes, words)

    def _as_text(self) -> tuple[npt.NDArray[np.int32], pl.Series]:
        """All batches as codes into one list of words, which may repeat a word."""
        integers, texts = iter(self._integers), zip(self._codes, self._words, strict=True)
        codes, words, known = [], [], 0
        for is_text in self._is_text:
            if is_text:
                local, listed = next(texts)
            else:
                local, distinct = number_integers(next(integers))
                listed = pl.Series(distinct).cast(pl.String)
            codes.append(local + np.int32(known))
            words.append(listed)
            known += len(listed)
        self._integers, self._codes, self._words, self._is_text = [], [], [], []
        return _joined(codes), pl.concat(words)


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


def _number_words(
    codes: npt.NDArray[np.int32], words: pl.Series
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.generic]]:
    listed = words.unique()
    numbers = as_integers(listed)
    keys = words if numbers is None else words.cast(pl.Int64)
    listed = listed.sort() if numbers is None else numbers.sort()
    ranked = pl.DataFrame({"id": listed}).with_row_index("rank")
    ranks = keys.alias("id").to_frame().join(ranked, on="id", how="left", maintain_order="left")
    distinct = listed.to_numpy() if numbers is not None else np.array(listed.to_list(), np.str_)
    return ranks["rank"].to_numpy().astype(np.int32)[codes], distinct


def as_integers(words: pl.Series) -> pl.Series | None:
    """The words as 64-bit integers if every one is an integer's canonical text."""
    if not words.str.contains(CANONICAL).all():
        return None
    numbers = words.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else numbers


def _encode(words: pl.Series) -> tuple[npt.NDArray[np.int32], pl.Series]:
    encoded = words.to_arrow().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    listed = pl.Series(encoded.dictionary, dtype=pl.String)
    return encoded.indices.to_numpy().astype(np.int32, copy=False), listed


def _narrow(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.integer]:
    """Four bytes instead of eight where they hold every identifier of the batch."""
    limits = np.iinfo(np.int32)
    if len(ids) and limits.min <= ids.min() and ids.max() <= limits.max:
        return ids.astype(np.int32)
    return ids


def _joined(parts: Sequence[npt.NDArray[_T]]) -> npt.NDArray[_T]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
