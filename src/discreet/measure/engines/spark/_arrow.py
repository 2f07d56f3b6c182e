"""Work on the batches of a table's partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from discreet.domain.errors import MissingPart
from discreet.measure.engines.spark._quiet import without_pandas_warning
from discreet.measure.engines.spark._session import Table

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""From the batches of a partition to others."""


def map_in_arrow(rows: Table, work: Work, schema: str) -> Table:
    """What some work makes of each partition; nothing runs yet.

    Args:
        rows: A table.
        work: What tasks do.
        schema: Of what it makes, as Spark writes it.

    Raises:
        MissingPart: pyspark asks for pandas, of which nothing is used, and it is absent.
    """
    try:
        with without_pandas_warning():
            return rows.mapInArrow(work, schema)
    except ImportError:
        raise MissingPart(
            "pyspark needs the package pandas: pip install 'discreet[spark]'"
        ) from None
