"""From batches to `Ratings`: checks every row, refuses or skips the bad ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings._build import build_ratings
from discreet.ratings._ratings import Ratings
from discreet.ratings.readers._batch import REASONS, Batch, Fault, Ids, Origin, mark
from discreet.ratings.readers._growing import Growing
from discreet.ratings.readers._ids import IdColumn
from discreet.ratings.readers._lookup import UNKNOWN, CatalogLookup

BadRows = Literal["refuse", "skip"]
"""What to do with a row that cannot be used: refuse the whole source, or leave the row out."""

_MAX_TIME = 2**32 - 1


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
            'item, or on_bad_rows="skip" to leave such rows out',
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
    """

    def __init__(
        self, scale: Scale, catalog: Catalog | None, on_bad_rows: BadRows, keep_user_ids: bool
    ) -> None:
        self._scale, self._catalog = scale, catalog
        self._skip, self._keep_user_ids = on_bad_rows == "skip", keep_user_ids
        self._lookup = None if catalog is None else CatalogLookup(catalog)
        self._users, self._item_ids = IdColumn(), IdColumn()
        self._items: Growing[np.int32] = Growing(np.int32)
        self._codes: Growing[Any] = Growing(np.float32 if scale.step is None else np.uint8)
        self._times: Growing[np.uint32] = Growing(np.uint32)
        self._strangers: _Strangers | None = None
        self._rows = self._skipped = 0

    def add(self, batch: Batch) -> None:
        """Check and keep a batch.

        Raises:
            InputError: A row is bad and bad rows are refused. An item that is not in the
                catalogue is reported by `finish`, which knows how many there are.
        """
        places = None if self._lookup is None else self._lookup.find(batch.items)
        faults = self._checked(batch, places)
        if not self._skip and self._strangers is None:
            self._refuse(batch, faults)
        if not self._skip and self._strangers is not None:
            self._count_strangers(batch, faults)
            return
        good = None if faults is None else faults == Fault.NONE
        self._skipped += len(batch.broken) if batch.broken else 0
        self._skipped += 0 if good is None else len(batch) - int(np.count_nonzero(good))
        self._keep(batch, places, good)

    def finish(self) -> Ratings:
        """Everything that was added, sorted and folded.

        Raises:
            InputError: Items were not in the catalogue, or no row is left.
        """
        if self._strangers is not None and self._catalog is not None:
            raise self._strangers.error(self._catalog)
        if not self._rows:
            left = (
                f"every one of the {self._skipped:,} rows is bad" if self._skipped else "is empty"
            )
            raise InputError(f"no ratings: {left}")
        users, user_ids = self._users.finish()
        items, catalog = self._finished_items()
        return build_ratings(
            users,
            items,
            self._codes.finish(),
            self._times.finish() if len(self._times) else None,
            scale=self._scale,
            catalog=catalog,
            user_ids=user_ids if self._keep_user_ids else None,
            skipped=self._skipped,
        )

    def _finished_items(self) -> tuple[npt.NDArray[np.int32], Catalog]:
        if self._catalog is not None:
            return self._items.finish(), self._catalog
        items, ids = self._item_ids.finish()
        return items, Catalog(map(str, ids.tolist()), origin=CatalogOrigin.FROM_DATA)

    def _checked(
        self, batch: Batch, places: npt.NDArray[np.int32] | None
    ) -> npt.NDArray[np.uint8] | None:
        faults = batch.faults
        if batch.times is not None:
            faults = mark(faults, (batch.times < 0) | (batch.times > _MAX_TIME), Fault.TIME_RANGE)
        if not self._scale.presence:
            assert batch.ratings is not None
            faults = mark(faults, ~self._scale.contains(batch.ratings), Fault.OFF_SCALE)
        return faults if places is None else mark(faults, places == UNKNOWN, Fault.UNKNOWN_ITEM)

    def _refuse(self, batch: Batch, faults: npt.NDArray[np.uint8] | None) -> None:
        """Raise for the first bad line; if that is an unknown item, begin to count such rows."""
        row = None if faults is None else int(np.argmax(faults != Fault.NONE))
        line = None if row is None else int(batch.lines[row])
        broken = batch.broken
        if broken and (line is None or broken.lines[0] < line):
            reason = broken.reason or REASONS[broken.fault]
            raise batch.origin.complaint(int(broken.lines[0]), reason)
        if faults is None or row is None or line is None:
            return
        fault = Fault(faults[row])
        if fault == Fault.UNKNOWN_ITEM:
            self._strangers = _Strangers(batch.origin, line)
        elif fault == Fault.OFF_SCALE:
            raise batch.origin.complaint(line, f"the rating is not on the scale {self._scale}")
        else:
            raise batch.origin.complaint(line, REASONS[fault])

    def _count_strangers(self, batch: Batch, faults: npt.NDArray[np.uint8] | None) -> None:
        if faults is not None and self._strangers is not None:
            self._strangers.count(_chosen(batch.items, faults == Fault.UNKNOWN_ITEM))

    def _keep(
        self,
        batch: Batch,
        places: npt.NDArray[np.int32] | None,
        good: npt.NDArray[np.bool_] | None,
    ) -> None:
        rows = len(batch) if good is None else int(np.count_nonzero(good))
        if not rows:
            return
        self._rows += rows
        self._users.add(_chosen(batch.users, good))
        if places is None:
            self._item_ids.add(_chosen(batch.items, good))
        else:
            self._items.append(places if good is None else places[good])
        self._codes.append(self._encoded(batch, good, rows))
        if batch.times is not None:
            times = batch.times if good is None else batch.times[good]
            self._times.append(times)

    def _encoded(
        self, batch: Batch, good: npt.NDArray[np.bool_] | None, rows: int
    ) -> npt.NDArray[np.generic]:
        if self._scale.presence:
            return self._scale.encode(np.full(rows, self._scale.hi))
        assert batch.ratings is not None
        return self._scale.encode(batch.ratings if good is None else batch.ratings[good])


def _chosen(ids: Ids, good: npt.NDArray[np.bool_] | None) -> Ids:
    if good is None:
        return ids
    return ids.filter(pl.Series(good)) if isinstance(ids, pl.Series) else ids[good]
