"""A person's own ratings, from a file or from options; they never leave the machine."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _console
from discreet.domain import PRESENCE, Catalog, InputError

ReleaseFile = Annotated[Path, typer.Argument(help="The file of a release.")]
RatingsFile = Annotated[
    Path | None,
    typer.Option(
        help="Own ratings: a CSV file with an item's id or title and a rating per line (no rating "
        "for a release of interactions)."
    ),
]
Likes = Annotated[
    list[str] | None,
    typer.Option(
        help="An own rating, like 'Alien=5' (or 'Alien' for a release of interactions); repeatable."
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        help="List only this item (a title or id), or those in a file, one per line; repeatable."
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        help="Leave out this item (a title or id), or those in a file, one per line; repeatable."
    ),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        help="List only items with this value in a column of the catalogue, like genres=Comedy; "
        "repeatable: one value of a column is enough, all columns must fit."
    ),
]
PredictorName = Annotated[
    str | None,
    typer.Option(
        help="posterior, svd or knn, for a release with factors. [default: the release's own]"
    ),
]

_ITEM_NAMES = (
    "id", "item", "item_id", "itemid", "movieid", "movie_id", "movie", "title", "name",
)  # fmt: skip
_RATING_NAMES = ("rating", "ratings", "stars", "score", "value")
_USER_NAMES = ("user", "user_id", "userid", "username", "user_name")
# Columns of a file without a header: the item and the rating.
_ITEM_AND_RATING = 2
# Unknown names that a warning lists. Chosen by hand, like the next two.
_MOST_SHOWN = 10
# Those of them that get suggestions: finding one takes up to a second in a large catalogue.
_MOST_HINTS = 3
# Suggestions for each.
_MOST_MEANT = 2


def read(
    path: Path | None, likes: Sequence[str] | None, *, presence: bool = False
) -> dict[str, float]:
    """Own ratings by id or title; the last of several for one name counts.

    Args:
        path: A CSV file.
        likes: The values of `--like`.
        presence: Whether the release is of interactions: then items have no ratings, in the file
            and in the options, and each gets the value 1.

    Raises:
        InputError: The file or an option is wrong; the message contains no rating.
    """
    if presence:
        for like in likes or ():
            if "=" in like and _number(like.rpartition("=")[2]) is not None:
                raise InputError(
                    "this release is of interactions, without ratings: write --like 'Alien'"
                )
        names = [] if path is None else _names_from_file(path)
        return dict.fromkeys([*names, *(like.strip() for like in likes or ())], PRESENCE.hi)
    own = {} if path is None else _from_file(path)
    for like in likes or ():
        title, equals, rating = like.rpartition("=")
        value = _number(rating)
        if not equals or value is None:
            raise InputError("--like names an item and a rating, like --like 'Alien=5'")
        own[title.strip()] = value
    return own


def filters(
    catalog: Catalog,
    only: Sequence[str] | None,
    exclude: Sequence[str] | None,
    where: Sequence[str] | None,
) -> dict[str, Any]:
    """The values of `--only`, `--exclude` and `--where` as `recommend` takes them.

    Raises:
        InputError: A file cannot be read, a condition is not written column=value, an item that
            is named is not in the catalogue, or none of those in the files of `--only` is.
    """
    conditions: dict[str, list[str]] = {}
    for condition in where or ():
        column, equals, value = condition.partition("=")
        if not equals:
            raise InputError("--where names a column and a value, like --where genres=Comedy")
        conditions.setdefault(column.strip(), []).append(value)
    named = None if only is None else _names("--only", only, catalog)
    if named is not None and all(catalog.find(name) is None for name in named):
        raise InputError("--only names no item of the catalogue, and no file with items of it")
    return {
        "only": named,
        "exclude": _names("--exclude", exclude or (), catalog),
        "where": conditions,
    }


def _names(option: str, given: Sequence[str], catalog: Catalog) -> list[str]:
    """Titles and ids as they are; of a file, its lines.

    A line of a file may name an item that the catalogue does not have, as a list that serves
    several catalogues does. A name on the command line that is neither is a slip.

    Raises:
        InputError: A name is neither an item nor a file.
    """
    found: list[str] = []
    for name in given:
        if catalog.find(name) is not None:
            found.append(name)
        elif Path(name).is_file():
            found += [line.strip() for line in _text(Path(name)).splitlines() if line.strip()]
        else:
            raise InputError(
                f"{option} '{name}' is neither an item of the catalogue{meant(name, catalog)} nor "
                "a file"
            )
    return found


def report_unknown(unknown: Sequence[str], catalog: Catalog) -> None:
    """Warn of names that the catalogue does not have, and suggest what may be meant."""
    if unknown:
        hints = [meant(name, catalog) for name in unknown[:_MOST_HINTS]] + [""] * _MOST_SHOWN
        named = zip(unknown[:_MOST_SHOWN], hints, strict=False)
        shown = ", ".join(f"'{name}'{hint}" for name, hint in named)
        more = len(unknown) - _MOST_SHOWN
        _console.warn(f"not in the catalogue: {shown}" + (f" and {more:,} more" * (more > 0)))


def meant(name: str, catalog: Catalog) -> str:
    """The titles that begin with a name, or else those that nearly match it, as a question."""
    titles = {title.casefold().partition(" (")[0]: title for title in catalog.titles}
    titles |= {title.casefold(): title for title in catalog.titles}
    wanted = name.casefold()
    near = [each for each in titles if wanted and each.startswith(wanted)]
    near = near or difflib.get_close_matches(wanted, titles, _MOST_MEANT)
    found = list(dict.fromkeys(titles[each] for each in near))
    choices = " or ".join(f"'{title}'" for title in found[:_MOST_MEANT])
    return f" (did you mean {choices}?)" if choices else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path=path) from None


def _from_file(path: Path) -> dict[str, float]:
    rows = list(_rows(path))
    if not rows:
        raise InputError("is empty; it should have an item and a rating per line", path=path)
    item, rating, has_header = _columns(rows[0][1], path)
    own: dict[str, float] = {}
    for line, row in rows[has_header:]:
        value = _number(row[rating]) if len(row) > max(item, rating) else None
        if value is None:
            raise InputError("needs an item's id or title and a number", path=path, line=line)
        own[row[item].strip()] = value
    return own


def _names_from_file(path: Path) -> list[str]:
    """The items in a file without ratings."""
    rows = list(_rows(path))
    if not rows:
        raise InputError("is empty; it should have one item per line", path=path)
    first = rows[0][1]
    names = [cell.strip().lower() for cell in first]
    item = next((names.index(name) for name in _ITEM_NAMES if name in names), None)
    if item is not None:
        _check_one_person(names, path)
    found: list[str] = []
    for line, row in rows if item is None else rows[1:]:
        if len(row) != len(first):
            reason = (
                'has a different number of fields than line 1; put names with commas in "quotes"'
            )
            raise InputError(reason, path=path, line=line)
        found.append(row[item or 0].strip())
        if not found[-1]:
            raise InputError("needs an item's id or title", path=path, line=line)
    return found


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not empty, with the number of its last line."""
    text = _text(path)
    first = text.partition("\n")[0]
    separator = "\t" if "\t" in first else ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"is not a CSV file: {error}", path=path, line=reader.line_num) from None


def _columns(first: list[str], path: Path) -> tuple[int, int, bool]:
    """Where the item and the rating are, and whether the first row is a header.

    Raises:
        InputError: The header lacks a column; or there is none, and nothing tells columns apart.
    """
    names = [cell.strip().lower() for cell in first]
    rating = next((names.index(name) for name in _RATING_NAMES if name in names), None)
    item = next((names.index(name) for name in _ITEM_NAMES if name in names), None)
    is_header = len(first) > 1 and _number(first[1]) is None
    if is_header or (rating is not None and item is not None):
        _check_one_person(names, path)
    if rating is not None and item is not None:
        return item, rating, True
    if is_header:
        raise InputError(
            "has neither a rating in the second column nor a header like title,rating (also id, "
            'item, movie or name; stars, score or value); put titles with commas in "quotes"',
            path=path,
            line=1,
        )
    if len(first) > _ITEM_AND_RATING and _number(first[0]) is not None:
        raise InputError(
            f"has {len(first)} columns of numbers and no header; add one, like title,rating,time",
            path=path,
            line=1,
        )
    return 0, 1, False


def _check_one_person(names: Sequence[str], path: Path) -> None:
    """Refuse a header with users, since several people's ratings would be mixed up."""
    if any(name in names for name in _USER_NAMES):
        reason = "has a column of users; give one person's ratings, an item and a rating per line"
        raise InputError(reason, path=path, line=1)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
