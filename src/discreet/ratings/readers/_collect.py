"""From batches to `Ratings`: checks every row, refuses or skips the bad ones.

Identifiers of users and items become numbers, batch by batch. Two are the same if their text is the
same. Which of two comes first does not depend on any third: integers by size, then other text by
its characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings._ratings import Intake, Ratings, build_ratings
from discreet.ratings.readers._batch import REASONS, SKIP_ROWS, Batch, Fault, Ids, Origin, mark

# The index of an item that the catalogue does not list.
UNKNOWN = -1
# Decimal text that an integer prints as; 19 digits may still not fit, a cast decides.
_CANONICAL = r"^(0|-?[1-9][0-9]{0,18})$"
# Integers that span less than this, or than there are of them, are looked up in a table: of 64 MiB
# at most. Chosen by hand.
_DENSE_SPAN = 1 << 24
# Rows that a growing column begins with room for; chosen by hand.
_FIRST = 1 << 16

_T = TypeVar("_T", bound=np.generic)


class Growing(Generic[_T]):
    """Collects arrays into one.

    A list of arrays joined at the end needs twice the memory at that moment, and leaves the heap
    full of holes. Here room is added by reallocation, which for large arrays moves pages instead
    of bytes.
    """

    def __init__(self, dtype: type[_T]) -> None:
        self._data: npt.NDArray[_T] = np.empty(_FIRST, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, values: npt.NDArray[np.generic]) -> None:
        """Copy the values to the end."""
        size = self._size + len(values)
        if size > len(self._data):
            # Nobody else holds the array before `finish`, so moving it is safe.
            self._data.resize(max(size, len(self._data) * 5 // 4), refcheck=False)
        self._data[self._size : size] = values
        self._size = size

    def finish(self) -> npt.NDArray[_T]:
        """The whole column; this object is empty afterwards."""
        data, size = self._data, self._size
        self._data, self._size = np.empty(0, dtype=data.dtype), 0
        data.resize(size, refcheck=False)
        return data


class IdColumn:
    """Collects one column of identifiers and numbers them 0, 1, ... in rising order."""

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
        known = pl.DataFrame({"word": words, "number": integers_in(words)})
        order = known.select(pl.arg_sort_by("number", "word", nulls_last=True)).to_series()
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        listed = known[order]
        if listed["number"].null_count():
            # Of variable width: otherwise everybody's name would take the room of the longest.
            names = np.array(listed["word"].to_list(), dtype=np.dtypes.StringDType())
            return ranks[self._codes.finish()], names
        return ranks[self._codes.finish()], listed["number"].to_numpy()


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


def integers_in(words: pl.Series) -> pl.Series:
    """The words as 64-bit integers, null where a word is not an integer's canonical text."""
    return words.set(~words.str.contains(_CANONICAL), None).cast(pl.Int64, strict=False)


class CatalogLookup:
    """Finds items by id, a batch at a time.

    Ids are compared as text: `007` and `7` are different. An integer stands for the text that it
    prints as.
    """

    def __init__(self, catalog: Catalog) -> None:
        words = pl.Series(list(catalog.ids), dtype=pl.String)
        self._words = pl.Enum(words)
        numbers = integers_in(words)
        places = np.flatnonzero(numbers.is_not_null().to_numpy()).astype(np.int32)
        values = numbers.drop_nulls().to_numpy()
        rising = np.argsort(values)
        self._values, self._places = values[rising], places[rising]
        self._table = _dense_table(self._values, self._places)

    @property
    def takes_integers(self) -> bool:
        """Whether at least one id is an integer's text, so that integers are worth looking up."""
        return len(self._values) > 0

    def find(self, ids: Ids) -> npt.NDArray[np.int32]:
        """Each id's catalogue index, or `UNKNOWN`."""
        if isinstance(ids, pl.Series):
            found = ids.cast(self._words, strict=False).to_physical().cast(pl.Int32)
            return found.fill_null(UNKNOWN).to_numpy()
        if not self.takes_integers:
            return np.full(len(ids), UNKNOWN, dtype=np.int32)
        if self._table is not None:
            found_numbers: npt.NDArray[np.int32] = _find(ids, int(self._values[0]), self._table)
            return found_numbers
        near = np.minimum(np.searchsorted(self._values, ids), len(self._values) - 1)
        hit = self._values[near] == ids
        return np.where(hit, self._places[near], np.int32(UNKNOWN))


def _dense_table(
    values: npt.NDArray[np.int64], places: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32] | None:
    """Indices by `value - values[0]`, where the rising values span little enough for a table."""
    if not len(values):
        return None
    span = int(values[-1]) - int(values[0]) + 1
    if span > _DENSE_SPAN:
        return None
    table = np.full(span, UNKNOWN, dtype=np.int32)
    table[values - values[0]] = places
    return table


@numba.njit(cache=True)
def _find(
    ids: npt.NDArray[np.int64], lowest: int, table: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    found = np.full(ids.size, np.int32(UNKNOWN))
    for row in range(ids.size):
        # Compared before subtracting: the difference of two 64-bit integers may not fit, nor may
        # the first integer after the table's last.
        if lowest <= ids[row] <= lowest + (table.size - 1):
            found[row] = table[ids[row] - lowest]
    return found


BadRows = Literal["refuse", "skip"]
"""What to do with a row that cannot be used: refuse the whole source, or leave the row out."""

# The last second since 1970 that fits 32 bits, in the year 2106.
_LATEST = 2**32 - 1


@dataclass(repr=False)
class _Strangers:
    """Rows whose item the catalogue does not list: counted to the end, then reported at once."""

    origin: Origin
    line: int
    rows: int = 0
    ids: list[pl.Series] = field(default_factory=list)

    def count(self, items: Ids) -> None:
        self.rows += len(items)
        words = items if isinstance(items, pl.Series) else pl.Series(items).cast(pl.String)
        self.ids.append(words.unique())

    def error(self, catalog: Catalog) -> InputError:
        distinct = pl.concat(self.ids).n_unique()
        return self.origin.complaint(
            self.line,
            f"the item is not in the catalogue of {len(catalog):,} items (in all {self.rows:,} "
            f"rows with {distinct:,} different items are not); give a catalogue that lists every "
            f"item, or {SKIP_ROWS} to leave such rows out",
        )


def catalog_from_data(ids: npt.NDArray[np.generic]) -> Catalog:
    """All items that occur.

    Raises:
        InputError: There are none.
    """
    if not len(ids):
        raise InputError("no ratings, so no catalogue can be read from them; give a catalogue")
    return Catalog(map(str, ids.tolist()), origin=CatalogOrigin.FROM_DATA)


class Collector:
    """Takes batches in order and makes `Ratings` of them.

    Args:
        scale: The scale that every rating must be on. If it is presence, ratings are not looked
            at: a row is enough.
        catalog: The catalogue, or None to read it off the ratings.
        on_bad_rows: `refuse` raises on the first bad row; `skip` leaves bad rows out and counts
            them.
        keep_user_ids: Whether the source's names for its users are worth keeping.
        assumes: What must be true of the source for reading to be stable.
        between: The first second of the rows to keep and the first after it, since 1970; None for
            all rows. Rows without times are kept.
    """

    def __init__(
        self,
        scale: Scale,
        catalog: Catalog | None,
        on_bad_rows: BadRows,
        keep_user_ids: bool,
        assumes: tuple[str, ...] = (),
        between: tuple[int, int] | None = None,
    ) -> None:
        self._between = between
        self._scale, self._catalog = scale, catalog
        self._skip, self._keep_user_ids = on_bad_rows == "skip", keep_user_ids
        self._intake = Intake(bad_rows=on_bad_rows, assumes=assumes, between=between)
        self._lookup = None if catalog is None else CatalogLookup(catalog)
        self._users, self._item_ids = IdColumn(), IdColumn()
        self._items: Growing[np.int32] = Growing(np.int32)
        self._codes: Growing[Any] = Growing(np.float32 if scale.step is None else np.uint8)
        self._times: Growing[np.uint32] | None = None
        self._strangers: _Strangers | None = None
        self._skipped = 0

    def add(self, batch: Batch) -> None:
        """Check and keep a batch.

        Raises:
            InputError: A row is bad and bad rows are refused. An item that is not in the
                catalogue is reported by `finish`, which knows how many there are.
        """
        places = None if self._lookup is None else self._lookup.find(batch.items)
        self._check(batch, places)
        bad = batch.faults != Fault.NONE
        if not self._skip and self._strangers is None and bad.any():
            self._refuse(batch, int(np.argmax(bad)))
        if self._strangers is not None:
            strange = batch.faults == Fault.UNKNOWN_ITEM
            self._strangers.count(_chosen(batch.items, strange))
            return
        self._skipped += int(np.count_nonzero(bad))
        good = ~bad
        if self._between is not None and batch.times is not None:
            start, end = self._between
            good &= (batch.times >= start) & (batch.times < end)
        self._keep(batch, places, good)

    def finish(self) -> Ratings:
        """Everything that was added, sorted and folded; no rows are ratings of nobody.

        Raises:
            InputError: Items were not in the catalogue, or there are none to make one of.
        """
        self.check_items()
        users, user_ids = self._users.finish()
        items, catalog = self._finished_items()
        return build_ratings(
            users,
            items,
            self._codes.finish(),
            None if self._times is None else self._times.finish(),
            scale=self._scale,
            catalog=catalog,
            user_ids=user_ids if self._keep_user_ids else None,
            skipped=self._skipped,
            intake=self._intake,
        )

    def check_items(self) -> None:
        """Refuse rows whose item the catalogue does not list, if there were any.

        Raises:
            InputError: Says how many.
        """
        if self._strangers is not None and self._catalog is not None:
            raise self._strangers.error(self._catalog)

    def _finished_items(self) -> tuple[npt.NDArray[np.int32], Catalog]:
        if self._catalog is not None:
            return self._items.finish(), self._catalog
        items, ids = self._item_ids.finish()
        return items, catalog_from_data(ids)

    def _check(self, batch: Batch, places: npt.NDArray[np.int32] | None) -> None:
        if batch.times is not None:
            mark(batch.faults, (batch.times < 0) | (batch.times > _LATEST), Fault.TIME_RANGE)
        if not self._scale.presence:
            assert batch.ratings is not None
            mark(batch.faults, ~self._scale.contains(batch.ratings), Fault.OFF_SCALE)
        if places is not None:
            mark(batch.faults, places == UNKNOWN, Fault.UNKNOWN_ITEM)

    def _refuse(self, batch: Batch, row: int) -> None:
        """Raise for the first bad row; if its item is unknown, begin to count such rows."""
        line, fault = int(batch.lines[row]), Fault(batch.faults[row])
        if fault == Fault.UNKNOWN_ITEM:
            self._strangers = _Strangers(batch.origin, line)
            return
        reason = batch.fields if fault == Fault.FIELDS else REASONS.get(fault)
        raise batch.origin.complaint(
            line, reason or f"the rating is not on the scale {self._scale}"
        )

    def _keep(
        self, batch: Batch, places: npt.NDArray[np.int32] | None, good: npt.NDArray[np.bool_]
    ) -> None:
        rows = int(np.count_nonzero(good))
        whole = rows == len(batch)
        if places is None:
            self._item_ids.add(batch.items if whole else _chosen(batch.items, good))
        else:
            self._items.append(places if whole else places[good])
        self._users.add(batch.users if whole else _chosen(batch.users, good))
        if self._scale.presence:
            self._codes.append(self._scale.encode(np.full(rows, self._scale.hi)))
        else:
            assert batch.ratings is not None
            self._codes.append(self._scale.encode(batch.ratings if whole else batch.ratings[good]))
        if batch.times is not None:
            self._times = Growing(np.uint32) if self._times is None else self._times
            self._times.append(batch.times if whole else batch.times[good])


def _chosen(ids: Ids, good: npt.NDArray[np.bool_]) -> Ids:
    return ids.filter(pl.Series(good)) if isinstance(ids, pl.Series) else ids[good]
