"""What Spark's tasks make of a table, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from discreet.domain import Catalog, Scale
from discreet.measure.engines.spark._parts import Dealt, Maker, Shape
from discreet.ratings import Ratings
from discreet.ratings.readers import BadRows


@dataclass(frozen=True)
class Sent:
    """What a broadcast is on a worker."""

    value: Catalog


def dealt_to(maker: Maker, table: pa.Table) -> list[list[Dealt]]:
    """What each partition gets, by way of pickle, of rows that are read by one task."""
    hands: list[list[Dealt]] = [[] for _ in range(maker.partitions)]
    for number, dealt in maker.deal_rows(iter(table.to_batches())):
        hands[number].append(pickle.loads(pickle.dumps(dealt)))
    return hands


def parts_of(maker: Maker, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The parts of a table that is one partition."""
    (hand,) = dealt_to(maker, table)
    return maker.parts(iter(hand))


def read_rows(
    table: pa.Table, scale: Scale, catalog: Catalog, on_bad_rows: BadRows, partitions: int = 1
) -> list[Ratings]:
    """The records of each partition."""
    has_times = "time" in table.column_names
    maker = Maker(Shape(scale, Sent(catalog), has_times=has_times), on_bad_rows, partitions)
    return [maker.records(iter(hand)) for hand in dealt_to(maker, table)]
