"""Which column is the user, the item, the rating, the time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from discreet.domain import Hint, InputError

Role = Literal["user", "item", "rating", "time"]
Columns = Mapping[str, str | int | None]
"""What the caller says of the columns: a name or a 0-based position by role, or no such column;
and, without a header, how many `fields` there are."""

ROLES: tuple[Role, ...] = get_args(Role)
FIELDS = "fields"
"""The key of `Columns` that says how many fields the lines of a file without a header have."""
# Fields of a line at most; chosen for safety, since room is made for them.
_MOST_FIELDS = 100_000

# fmt: off
_THINGS = (
    "item", "movie", "film", "book", "product", "track", "song", "album", "artist", "game", "anime",
    "joke", "show", "series", "video", "recipe", "restaurant", "business", "place", "article",
    "course", "app", "beer",
)
# fmt: on
ITEM_IDS = frozenset(["iid", *(f"{thing}id" for thing in _THINGS)])
ITEM_WORDS = frozenset(["asin", "isbn", "sku", *_THINGS])
ITEM_TITLES = frozenset(["title", *(f"{thing}title" for thing in _THINGS)])
ITEM_NAMES = frozenset(["name", *(f"{thing}name" for thing in _THINGS)])

# In groups: a later group counts only where no earlier one occurs. Names are compared in lower
# case without anything but letters and digits, so that User-ID and user_id are userid.
# fmt: off
_NAMES: dict[Role, tuple[frozenset[str], ...]] = {
    "user": (frozenset([
        "user", "userid", "uid", "users", "customer", "customerid", "reviewer", "reviewerid",
        "member", "memberid", "person", "personid", "profileid", "accountid",
    ]),),
    "item": (ITEM_IDS, ITEM_WORDS),
    "rating": (frozenset([
        "rating", "ratings", "score", "scores", "stars", "star", "value", "overall", "starrating",
        "bookrating", "movierating", "userrating",
    ]),),
    "time": (
        frozenset(["timestamp", "unixtime", "unixreviewtime", "ts"]),
        frozenset(["time", "date", "datetime", "ratedat", "createdat", "dateadded", "reviewtime"]),
    ),
}
# fmt: on


def find_columns(
    names: Sequence[str], given: Columns | None, *, implicit: bool = False, may_show: bool = True
) -> dict[Role, int]:
    """The position of each role's column among `names`; the time may be absent.

    Args:
        names: The table's column names.
        given: What the caller says; roles not mentioned are found by name.
        implicit: Whether presence alone is read, so that no rating is looked for.
        may_show: Whether an error may show `names`. A text file's first line may turn out to be
            a person's rating instead of a header, so it is shown only if it has known names.

    Raises:
        InputError: A column is missing, or could be one of several.
    """
    given = _checked(given)
    found: dict[Role, int] = {}
    for role in _wanted(implicit):
        place = (
            given_place(names, role, given[role])
            if role in given
            else by_name(names, role, _NAMES[role])
        )
        if place is not None:
            found[role] = place
    for role in _needed(implicit):
        if role not in found:
            raise _missing(role, names, may_show or len(found) > 1)
    if len(set(found.values())) < len(found):
        raise InputError("columns names the same column for two things")
    return found


def given_positions(
    given: Columns | None, *, implicit: bool = False
) -> tuple[dict[Role, int], int] | None:
    """The positions that the caller counted out for a file without a header, if they did.

    Args:
        given: What the caller says; `fields` is how many fields every line has, as many as the
            positions reach where it is absent.
        implicit: Whether presence alone is read, so that no rating is looked for.

    Returns:
        The position of each role, and how many fields there are.

    Raises:
        InputError: Some columns are counted and others named, or one that is needed is absent.
    """
    given = _checked(given)
    places: dict[Role, int] = {
        role: place for role in _wanted(implicit) if isinstance(place := given.get(role), int)
    }
    if not places:
        if given.get(FIELDS) is not None:
            raise InputError("fields is for files without a header, whose columns are counted")
        return None
    if any(isinstance(place, str) for place in given.values()):
        raise InputError("columns must be all names (with a header) or all positions (without)")
    for role in _needed(implicit):
        if role not in places:
            example = Hint("columns", {**places, role: max(places.values()) + 1})
            raise InputError(
                f"columns lacks the position of the {role}; give it too, like {example}",
                hints=[example],
            )
    if min(places.values()) < 0 or len(set(places.values())) < len(places):
        raise InputError("columns must be different positions, counted from 0")
    counted = [at for role, at in given.items() if role != FIELDS and isinstance(at, int)]
    least, fields = max(counted) + 1, given.get(FIELDS)
    if fields is None:
        return places, least
    if not isinstance(fields, int) or not least <= fields <= _MOST_FIELDS:
        raise InputError(f"fields must be a number from {least} to {_MOST_FIELDS:,}")
    return places, fields


def normal(name: str) -> str:
    """A column's name as it is compared."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _wanted(implicit: bool) -> tuple[Role, ...]:
    """The roles whose columns are read."""
    return tuple(role for role in ROLES if not (implicit and role == "rating"))


def _needed(implicit: bool) -> tuple[Role, ...]:
    """Those that a table cannot do without: all but the time."""
    return _wanted(implicit)[:-1]


def _checked(given: Columns | None) -> Columns:
    for role in given or {}:
        if role not in (*ROLES, FIELDS):
            raise InputError(f"columns has '{role}'; it takes user, item, rating and time")
    return given or {}


def given_place(names: Sequence[str], role: str, column: str | int | None) -> int | None:
    """The position of the column that the caller named or counted.

    Raises:
        InputError: There is none, or more than one.
    """
    if column is None:
        return None
    if isinstance(column, int):
        if not 0 <= column < len(names):
            raise InputError(f"there is no column {column} for the {role}, only {len(names)}")
        return column
    places = [place for place, name in enumerate(names) if name == column]
    if len(places) != 1:
        times = "no column" if not places else "more than one column"
        raise InputError(f"{times} named '{column}', which should be the {role}")
    return places[0]


def by_name(names: Sequence[str], role: str, groups: Iterable[frozenset[str]]) -> int | None:
    """The position of the one name in the first of the groups that has any.

    Raises:
        InputError: That group has several.
    """
    for group in groups:
        places = [place for place, name in enumerate(names) if normal(name) in group]
        if len(places) > 1:
            candidates = " and ".join(f"'{names[place]}'" for place in places)
            which = Hint("columns", {role: names[places[0]]})
            raise InputError(
                f"{candidates} could each be the {role}; say which, like {which}", hints=[which]
            )
        if places:
            return places[0]
    return None


def _missing(role: Role, names: Sequence[str], show: bool) -> InputError:
    which, presence = Hint("columns", {role: "NAME"}), Hint("implicit", True)
    counted = Hint("columns", {"user": 0, "item": 1, "rating": 2, "fields": 4})
    advice = f"in a file without a header, count columns and fields, like {counted}"
    if role == "rating" and show:
        advice = f"{presence} reads presence alone, without ratings"
    has = f" among {', '.join(names)}" if show else ""
    return InputError(
        f"no column for the {role}{has}; say which with {which} ({advice})",
        hints=[which, counted, presence],
    )
