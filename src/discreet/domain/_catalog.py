"""The catalogue: the public list of items that may be rated."""

from __future__ import annotations

import enum
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from discreet.domain.errors import InputError


class CatalogOrigin(enum.StrEnum):
    """Where a catalogue came from; every release remembers it."""

    GIVEN = "given"
    """Given by the caller, who says that it is public."""
    LAYOUT = "layout"
    """Part of a public data set's own files."""
    FROM_DATA = "from-data"
    """Taken from the private ratings: that an item is listed shows that somebody rated it."""


class Catalog:
    """Items in a fixed order, each with a unique id and a unique title.

    Args:
        ids: The items' identifiers as text, all different. An item's index is its position here.
        titles: Their names, in the same order; the ids if absent. Titles that occur more than
            once, or that are another item's id, get their id appended, so that every title names
            one item.
        origin: Where the list came from.
        columns: What else is public about the items (genres, a year), by name: a text for each
            item, in the same order. A text may hold several values, separated by `|`. Lists can be
            filtered by them; equality and digest do not depend on them.
    """

    def __init__(
        self,
        ids: Iterable[str],
        titles: Sequence[str] | None = None,
        origin: CatalogOrigin = CatalogOrigin.GIVEN,
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.ids: tuple[str, ...] = _texts("ids", ids)
        self.origin = origin
        if not self.ids:
            raise InputError("a catalogue needs at least one item")
        if len(set(self.ids)) != len(self.ids):
            twice = next(i for i, n in Counter(self.ids).items() if n > 1)
            raise InputError(f"the catalogue lists item '{twice}' more than once")
        if titles is None:
            titles = self.ids
        elif len(titles) != len(self.ids):
            raise InputError(f"{len(self.ids):,} items but {len(titles):,} titles")
        self.titles: tuple[str, ...] = _made_unique(self.ids, _texts("titles", titles))
        self.columns: Mapping[str, tuple[str, ...]] = {
            name: _texts("columns", column) for name, column in (columns or {}).items()
        }
        for name in _texts("column names", self.columns):
            if not (name and name.isprintable()) or len(self.columns[name]) != len(self.ids):
                raise InputError("a catalogue's column has a name, and a text for each item")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Catalog({len(self):,} items, {self.origin})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalog):
            return NotImplemented
        return (self.ids, self.titles, self.origin) == (other.ids, other.titles, other.origin)

    def __hash__(self) -> int:
        return hash((self.ids, self.titles, self.origin))

    @cached_property
    def _index_of(self) -> dict[str, int]:
        # No title is another item's id, so the two tables never disagree.
        by_title = {title: index for index, title in enumerate(self.titles)}
        return by_title | {item: index for index, item in enumerate(self.ids)}

    def find(self, name: str) -> int | None:
        """The index of the item with this id or title, or None."""
        return self._index_of.get(name)

    def index(self, name: str) -> int:
        """The index of the item with this id or title.

        Raises:
            InputError: There is no such item.
        """
        found = self.find(name)
        if found is None:
            raise InputError(f"'{name}' is not in the catalogue of {len(self):,} items")
        return found

    @cached_property
    def _items_by_value(self) -> dict[str, dict[str, list[int]]]:
        """For each column, the items that have a value; upper and lower case are alike."""
        found: dict[str, dict[str, list[int]]] = {}
        for name, column in self.columns.items():
            values = found.setdefault(name, {})
            for index, text in enumerate(column):
                for value in {each.strip().casefold() for each in text.split("|")}:
                    values.setdefault(value, []).append(index)
        return found

    def items_with(self, column: str, value: str) -> Sequence[int]:
        """The indices of the items that have this value in a column, in upper or lower case.

        Raises:
            InputError: There is no such column, or no item has the value.
        """
        if column not in self.columns:
            if not self.columns:
                raise InputError("the catalogue has no extra columns; fit with --keep-columns")
            known = ", ".join(self.columns)
            raise InputError(f"the catalogue has no column '{column}'; it has {known}")
        found = self._items_by_value[column].get(value.strip().casefold())
        if found is None:
            raise InputError(f"no item of the catalogue has '{value}' in its column '{column}'")
        return found

    def digest(self) -> str:
        """A SHA-256 over ids and titles in order: two parties compare it to see that they agree."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        sha = hashlib.sha256(b"discreet catalogue 1\n")
        for text in (*self.ids, *self.titles):
            raw = text.encode()
            sha.update(len(raw).to_bytes(8, "big"))
            sha.update(raw)
        return sha.hexdigest()


def _texts(what: str, values: Iterable[str]) -> tuple[str, ...]:
    texts = () if isinstance(values, str) else tuple(values)
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"a catalogue's {what} are a list of texts; write ['1', '2'], not [1, 2]")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InputError(f"one of the catalogue's {what} is not valid Unicode text") from None
    return texts


def _made_unique(ids: Sequence[str], titles: Sequence[str]) -> tuple[str, ...]:
    """Titles with the id appended wherever a title would name more than one item.

    No new title equals an id or a title that exists already, so all results differ; appending
    makes a title longer, so a free one is found.
    """
    counts, known = Counter(titles), set(ids)
    taken = {*known, *titles}
    apart = list(titles)
    for index, (item, title) in enumerate(zip(ids, titles, strict=True)):
        if counts[title] > 1 or (title != item and title in known):
            while apart[index] in taken:
                apart[index] += f" [{item}]"
            taken.add(apart[index])
    return tuple(apart)
