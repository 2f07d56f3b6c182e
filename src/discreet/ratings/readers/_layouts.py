"""Which layout a path is in: by names of files and by headers. A new reader registers here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from discreet.domain import InputError
from discreet.ratings.readers._batch import Source
from discreet.ratings.readers._files import is_parquet, reading
from discreet.ratings.readers._frames import ParquetTable
from discreet.ratings.readers._jester import Jester
from discreet.ratings.readers._movielens import is_movielens, open_movielens
from discreet.ratings.readers._netflix import open_netflix
from discreet.ratings.readers._tables import open_text_table
from discreet.ratings.readers.text import TableDescription

Layout = Literal["auto", "table", "movielens", "netflix", "jester"]
"""How files are laid out; `auto` goes by their names, and by a header where they have one."""


@dataclass(frozen=True)
class _Reader:
    """A layout that can be read."""

    files: tuple[str, ...]
    """What its files of ratings are called in a folder."""
    recognises: Callable[[Path], bool]
    """Whether a file is in this layout."""
    open: Callable[[Sequence[Path], TableDescription], Source]
    """Opens files that `_check_count` lets through."""
    takes_several: Callable[[Sequence[Path]], bool] = lambda _: False
    """Whether several files may be one source."""


def _matches(*patterns: str) -> Callable[[Path], bool]:
    return lambda file: any(file.match(pattern) for pattern in patterns)


def _open_table(files: Sequence[Path], description: TableDescription) -> Source:
    if not is_parquet(files[0]):
        return open_text_table(files[0], description)
    if description.separator is not None or description.quoting is not None:
        raise InputError("separator and quoting are for text, not for Parquet", path=files[0])
    return ParquetTable(files, description, path=files[0])


_NETFLIX, _JESTER = ("mv_*.txt", "combined_data_*.txt"), ("jester-data*.csv",)
# The first that recognises a file reads it.
_READERS = {
    "netflix": _Reader(
        _NETFLIX, _matches(*_NETFLIX), lambda files, _: open_netflix(files), lambda _: True
    ),
    "jester": _Reader(_JESTER, _matches(*_JESTER), lambda files, _: Jester(path=files[0])),
    "movielens": _Reader(
        ("u.data", "ratings.dat", "ratings.csv"),
        is_movielens,
        lambda files, description: open_movielens(files[0], implicit=description.implicit),
    ),
    "table": _Reader(
        ("ratings.dat", "ratings.csv", "*.parquet"),
        lambda _: True,
        _open_table,
        lambda files: is_parquet(files[0]),
    ),
}


def open_path(path: Path, layout: str, description: TableDescription) -> Source:
    """The source at a path, with whatever its layout says.

    Args:
        path: A file or a folder.
        layout: A `Layout`.
        description: What the caller says of a table.

    Raises:
        InputError: There is nothing, nothing known, or more than one thing.
    """
    if layout not in get_args(Layout):
        raise InputError(f"layout '{layout}' is none of {', '.join(get_args(Layout))}")
    with reading(path):
        path.stat()
    files = _found_in(path, layout) if path.is_dir() else [path]
    if layout == "auto":
        layout = "table" if description.is_given else _recognised(files[0])
    if description.is_given and layout != "table":
        raise InputError(
            f"columns, separator and quoting are for tables; the layout {layout} has its own"
        )
    reader = _READERS[layout]
    if len(files) > 1 and not reader.takes_several(files):
        raise InputError(f"holds {len(files)} files of ratings; give one of them", path=path)
    return reader.open(files, description)


def _found_in(folder: Path, layout: str) -> list[Path]:
    """A folder's rating files, all of one kind."""
    readers = _READERS.values() if layout == "auto" else [_READERS[layout]]
    patterns = list(dict.fromkeys(pattern for reader in readers for pattern in reader.files))
    found = {
        pattern: files
        for place in (folder, folder / "training_set")
        for pattern in patterns
        if (files := sorted(file for file in place.glob(pattern) if file.is_file()))
    }
    if not found:
        raise InputError(
            f"is a folder without {', '.join(patterns)}; give the file with the ratings",
            path=folder,
        )
    if len(found) > 1:
        raise InputError(
            f"is a folder with {' and '.join(found)}; say which file to read", path=folder
        )
    return next(iter(found.values()))


def _recognised(file: Path) -> str:
    return next(name for name, reader in _READERS.items() if reader.recognises(file))
