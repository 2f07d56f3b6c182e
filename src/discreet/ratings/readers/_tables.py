"""Tables in text files, whose columns are named by a header or counted by the caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.ratings.readers._batch import MORE_FIELDS, Batch, Lines, Source
from discreet.ratings.readers._cells import batch_of_cells
from discreet.ratings.readers._columns import Role
from discreet.ratings.readers._files import ahead
from discreet.ratings.readers.text import Dialect, TableDescription, header_line, read_cells

_HEADER_HINT = " (if line 1 is a header, name the columns instead of counting them)"
# Where a line break may stand in quotes, one quote too many would swallow other people's rows.
_BALANCED = (
    "the file's quotes are as a program that writes CSV leaves them, so that nobody's text can end "
    "a field or a line (quoting is multiline)"
)


@dataclass(frozen=True, kw_only=True)
class TextTable(Source):
    """Ratings in lines of separated fields, in UTF-8, gzip or not."""

    path: Path
    dialect: Dialect
    places: dict[Role, int]
    """The position of each role's field."""
    header: bool = False
    """Whether the first line names the columns."""

    def batches(self) -> Iterator[Batch]:
        origin = Lines(self.path, "" if self.header else _HEADER_HINT)
        slots: dict[str, int] = {role: slot for slot, role in enumerate(self.places)}
        fields = f"does not have the {self.dialect.fields} fields that every line must have"
        if not self.header:
            fields += f"; if every line has more fields, say how many, like {MORE_FIELDS}"
        wanted = list(self.places.values())
        for cells in ahead(read_cells(self.path, self.dialect, wanted, header=self.header)):
            bad = np.flatnonzero(cells.faults)
            is_cut = cells.is_cut and len(bad) == 1 and bad[0] == len(cells) - 1
            reason = f"{fields}; the file seems to be cut short" if is_cut else fields
            yield batch_of_cells(cells, slots, origin, reason)


def open_text_table(path: Path, description: TableDescription) -> TextTable:
    """A text table with a header, or whose columns the caller counted.

    Raises:
        InputError: It cannot be read, or it does not say which column is which.
    """
    dialect, names = description.dialect(path, lambda: header_line(path))
    if names is None:
        counted = description.positions()
        assert counted is not None
        places = counted[0]
    else:
        places = description.places(names, path, may_show=False)
    return TextTable(
        path=path,
        dialect=dialect,
        places=places,
        header=names is not None,
        assumes=(_BALANCED,) if dialect.quoting == "multiline" else (),
    )
