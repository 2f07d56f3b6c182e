"""From batches to `Ratings`: checks every row, refuses or skips the bad ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings._build import build_ratings
from discreet.ratings._ratings import Intake, Ratings
from discreet.ratings.readers._batch import REASONS, SKIP_ROWS, Batch, Fault, Ids, Origin, mark
from discreet.ratings.readers._ids import UNKNOWN, CatalogLookup, Growing, IdColumn

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
    """

    def __init__(
        self,
        scale: Scale,
        catalog: Catalog | None,
        on_bad_rows: BadRows,
        keep_user_ids: bool,
        assumes: tuple[str, ...] = (),
    ) -> None:
        self._scale, self._catalog = scale, catalog
        self._skip, self._keep_user_ids = on_bad_rows == "skip", keep_user_ids
        self._intake = Intake(bad_rows=on_bad_rows, assumes=assumes)
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
        self._keep(batch, places, ~bad)

    def finish(self) -> Ratings:
        """Everything that was added, sorted and folded; no rows are ratings of nobody.

        Raises:
            InputError: Items were not in the catalogue, or there are none to make one of.
        """
        if self._strangers is not None and self._catalog is not None:
            raise self._strangers.error(self._catalog)
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

    def _finished_items(self) -> tuple[npt.NDArray[np.int32], Catalog]:
        if self._catalog is not None:
            return self._items.finish(), self._catalog
        items, ids = self._item_ids.finish()
        if not len(ids):
            raise InputError("no ratings, so no catalogue can be read off them; give a catalogue")
        return items, Catalog(map(str, ids.tolist()), origin=CatalogOrigin.FROM_DATA)

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
