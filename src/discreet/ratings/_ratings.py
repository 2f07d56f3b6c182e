"""Private ratings in columns: users contiguous, items as catalogue indices, values compact.

`build_ratings` makes them of rows in any order: grouped by user, sorted by item, duplicates folded.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale

# The largest bound on a user's ratings: no catalogue has more items, as indices are int32.
MOST_MOST_RATINGS = 2**31 - 1
# Positions shift with every rating that comes before: so nothing is stable that they choose.
_BY_PLACE = "a selection by position"
# Characters of a part's name, and of a clause: what a release's file accepts.
_MOST_LETTERS = 300
# Rows are numbered in 32 bits where they are sorted, and 64-bit sums are proved for as many.
MOST_RATINGS = 2**32 - 1
# What `_worst_fault` finds; where several hold, the largest is reported.
_MOST, _CODES, _ITEMS, _STARTS = 1, 2, 3, 4
# The kinds of numpy's types of integers and of text.
_NAME_KINDS = "iuUT"

_Column = npt.NDArray[Any]


class Stability(enum.Enum):
    """What one person's rows can change of the ratings (PROOF.md)."""

    RECORD = "record"
    """One row more changes one record of its person, and no other record."""
    USER = "user"
    """One person's rows change that person's records, perhaps several, and nobody else's."""
    NONE = "none"
    """One person's rows may change which records of other people are here."""

    def and_then(self, later: Stability) -> Stability:
        """What holds of a step with this stability followed by another: the weaker of the two."""
        order = list(Stability)
        return order[max(order.index(self), order.index(later))]


@dataclass(frozen=True)
class Intake:
    """How ratings came to be what they are. Public: chosen before anybody looked at a row."""

    bad_rows: str | None = None
    """`refuse` or `skip`; None where ratings were made in memory."""
    part: str | None = None
    """Which part of the data this is, in words; None for all of it."""
    stability: Stability = Stability.RECORD
    """What one person's rows can change of it."""
    most_ratings: int | None = None
    """The most ratings of one user that were kept; None for no bound."""
    assumes: tuple[str, ...] = ()
    """What must be true of the source for the stability to hold, each a clause after "that"."""
    is_latest: bool = True
    """Whether the latest records are the present; not so in the parts of most splits, which are
    judged on records of the same times."""
    between: tuple[int, int] | None = None
    """The time whose rows alone were read, before duplicates were folded: its first second since
    1970, and the first after it. None for all rows."""

    def __post_init__(self) -> None:
        most = self.most_ratings
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_MOST_RATINGS):
            raise InputError(f"most_ratings is a whole number from 1 to {MOST_MOST_RATINGS:,}")
        if not isinstance(self.stability, Stability):
            raise InputError("an intake's stability is one of Stability")
        if self.bad_rows not in (None, "refuse", "skip"):
            raise InputError("an intake's bad_rows is refuse, skip or None")
        if self.part is not None and not _is_line(self.part):
            raise InputError(f"an intake's part is one line of 1 to {_MOST_LETTERS} characters")
        if self.between is not None and not _is_span(self.between):
            raise InputError("between is two whole seconds since 1970, the first before the second")
        if not isinstance(self.assumes, tuple) or not all(map(_is_line, self.assumes)):
            raise InputError(f"an intake assumes clauses of 1 to {_MOST_LETTERS} characters")

    def assuming(self, clause: str) -> Intake:
        """The same where one thing more must be true."""
        if clause in self.assumes:
            return self
        return replace(self, assumes=(*self.assumes, clause))

    def parted(self, part: str, stability: Stability, *, is_latest: bool = False) -> Intake:
        """Of a part of the ratings, which a rule with this stability chose."""
        named = part if self.part is None else f"{part} of {self.part}"
        if len(named) > _MOST_LETTERS:
            named = f"{part} of an earlier part"
        latest = self.is_latest and is_latest
        stable = self.stability.and_then(stability)
        return replace(self, part=named, stability=stable, is_latest=latest)


def _is_span(span: object) -> bool:
    match span:
        case (int() as first, int() as after):
            return isinstance(span, tuple) and first < after
    return False


def _is_line(text: object) -> bool:
    return isinstance(text, str) and 1 <= len(text) <= _MOST_LETTERS and text.isprintable()


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Everybody's ratings. Private: only `measure`, `audit` and `evaluate` may look inside.

    The ratings of user `u` are the slice `starts[u]:starts[u + 1]` of the other columns, with
    items in rising order, each at most once. A rating takes 5 bytes on a stepped scale (8 on a
    continuous one) and 4 more where times are kept.

    Every sensitivity rests on this, so it is checked when ratings are made, and the columns are
    kept as views that cannot be written to. Nothing is copied: whoever made the arrays must leave
    them alone afterwards.

    Raises:
        InputError: The columns are not ratings of this scale and catalogue, a user has more of
            them than `intake.most_ratings`, or two users have the same name.
    """

    scale: Scale
    catalog: Catalog
    starts: npt.NDArray[np.int64]
    """Where each user's ratings begin; one longer than there are users."""
    items: npt.NDArray[np.int32]
    """Catalogue indices."""
    codes: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    """Values as `Scale.encode` stores them."""
    times: npt.NDArray[np.uint32] | None = None
    """Seconds since 1970, where known."""
    users: npt.NDArray[np.generic] | None = None
    """What the source calls each user, where known: integers or text."""
    duplicates: int = field(default=0)
    """How many (user, item) records were replaced by a later one."""
    skipped: int = field(default=0)
    """How many bad rows were left out on request."""
    intake: Intake = field(default_factory=Intake)
    """How they were read and chosen."""

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Scale) or not isinstance(self.catalog, Catalog):
            raise InputError("ratings need a Scale and a Catalog")
        if not isinstance(self.intake, Intake):
            raise InputError("how ratings came to be is an Intake")
        code = np.float32 if self.scale.step is None else np.uint8
        starts = read_only("starts", self.starts, (np.int64,))
        items = read_only("items", self.items, (np.int32,))
        codes = read_only("codes", self.codes, (code,))
        most = self.intake.most_ratings
        check_columns(self.scale, len(self.catalog), starts, items, codes, most)
        columns = {"starts": starts, "items": items, "codes": codes}
        if self.times is not None:
            columns["times"] = read_only("times", self.times, (np.uint32,))
            if len(self.times) != len(self.items):
                raise InputError("times must be as many as there are ratings")
        if self.users is not None:
            columns["users"] = check_names(self.users, len(self.starts) - 1)
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles are checked like anything else, and cannot be written to either.
        return Ratings, tuple(getattr(self, each.name) for each in fields(self))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def has_times(self) -> bool:
        """Whether records say when they were made; public."""
        return self.times is not None

    def __repr__(self) -> str:
        return f"Ratings(private, catalogue of {len(self.catalog):,} items, scale {self.scale})"

    @property
    def user_count(self) -> int:
        """How many users there are."""
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held by the columns."""
        columns = (self.starts, self.items, self.codes, self.times, self.users)
        return sum(c.nbytes for c in columns if c is not None)

    def values(self) -> npt.NDArray[np.float64]:
        """All ratings on their scale: 8 bytes each, so for small data or one block at a time."""
        return self.scale.decode(self.codes)

    def user_of_rating(self) -> npt.NDArray[np.int32]:
        """The user's index beside every rating."""
        return np.repeat(np.arange(self.user_count, dtype=np.int32), np.diff(self.starts))

    def blocks(self, size: int = 1 << 24) -> Iterator[Ratings]:
        """Consecutive runs of whole users, each with about `size` ratings.

        For work on all of them, piece by piece: one rating more moves people between blocks, so a
        release of one block would be of no use to anybody's privacy, and says so.
        """
        by_place = self.intake.parted(_BY_PLACE, Stability.NONE)
        first = 0
        while first < self.user_count:
            want = np.searchsorted(self.starts, self.starts[first] + size, side="right") - 1
            last = max(first + 1, int(want))
            yield self._users_from(first, last)._derive(intake=by_place)
            first = last

    def select_users(self, first: int, last: int) -> Ratings:
        """The users `first` to `last - 1`, sharing memory with this object.

        A release of them says that it is not private: who is at a place depends on who else is
        there.

        Raises:
            InputError: There are no such users.
        """
        if not 0 <= first <= last <= self.user_count:
            raise InputError("users are selected by a range within those that there are")
        by_place = self.intake.parted(_BY_PLACE, Stability.NONE)
        return self._users_from(first, last)._derive(intake=by_place)

    def where(self, keep: npt.NDArray[np.bool_]) -> Ratings:
        """The marked ratings; every user stays, possibly without ratings.

        A release of them says that it is not private: what is at a place depends on what else is
        there. Splits choose by name and time instead.

        Raises:
            InputError: `keep` is not one True or False for each rating.
        """
        by_place = self.intake.parted(_BY_PLACE, Stability.NONE)
        return self._kept(keep)._derive(intake=by_place)

    def between(self, start: int, end: int) -> Ratings:
        """The ratings of a time; every user stays, possibly without ratings.

        Each rating's own time decides, so one more moves itself alone: a release of them is as
        private as one of all, for times that are public.

        Args:
            start: The first second of it, since 1970.
            end: The first second after it.

        Raises:
            InputError: The ratings have no times.
        """
        if self.times is None:
            raise InputError("these ratings have no times")
        times = self.times.astype(np.int64)
        return self._kept((times >= start) & (times < end))

    def _users_from(self, first: int, last: int) -> Ratings:
        begin, end = int(self.starts[first]), int(self.starts[last])
        return self._derive(
            starts=locked(self.starts[first : last + 1] - begin),
            items=self.items[begin:end],
            codes=self.codes[begin:end],
            times=None if self.times is None else self.times[begin:end],
            users=None if self.users is None else self.users[first:last],
        )

    def _kept(self, keep: npt.NDArray[np.bool_]) -> Ratings:
        if keep.dtype != np.bool_ or keep.shape != self.items.shape:
            raise InputError("ratings are kept by one True or False for each of them")
        kept_before = np.zeros(len(keep) + 1, dtype=np.int64)
        np.cumsum(keep, out=kept_before[1:])
        return self._derive(
            starts=locked(kept_before[self.starts]),
            items=locked(self.items[keep]),
            codes=locked(self.codes[keep]),
            times=None if self.times is None else locked(self.times[keep]),
        )

    def _derive(self, **changes: Any) -> Ratings:
        """These ratings with other columns, for columns that follow from checked ones.

        Nothing is checked, so nothing outside this package may call it.
        """
        part = object.__new__(Ratings)
        part.__dict__.update(vars(self) | changes)
        return part


# What must hold of columns before they are anybody's ratings. Looking takes 2 % of the CPU time
# that reading 10 million ratings from Parquet takes, the fastest way there is to read them
# (`benchmarks/readers.py`).


def read_only(name: str, column: Any, kinds: tuple[Any, ...]) -> _Column:
    """The column as a view that cannot be written to, once its type is seen to be right.

    Args:
        name: What an error calls it.
        column: Any object; a numpy array is not copied.
        kinds: The dtypes that are right.

    Raises:
        InputError: It is not a contiguous one-dimensional array of such a type.
    """
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype not in kinds:
        wanted = " or ".join(np.dtype(kind).name for kind in kinds)
        raise InputError(f"{name} must be a one-dimensional numpy array of {wanted}")
    if not (column.flags.c_contiguous and column.flags.aligned):
        raise InputError(f"{name} must be contiguous: make it so with numpy.ascontiguousarray")
    return locked(column)


def locked(column: _Column) -> _Column:
    """A plain view of an array that cannot be written to."""
    view = np.asarray(column).view()
    view.flags.writeable = False
    return view


def check_columns(
    scale: Scale,
    item_count: int,
    starts: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    codes: _Column,
    most_ratings: int | None,
) -> None:
    """Refuse columns that are not ratings of this scale and catalogue: one pass on all cores.

    Raises:
        InputError: Says which rule is broken, and nothing of what is in the columns.
    """
    if len(items) > MOST_RATINGS:
        raise InputError(f"ratings are at most {MOST_RATINGS:,}; more are for Spark")
    if len(codes) != len(items):
        raise InputError("codes and items must be equally long: one of each for every rating")
    if not len(starts) or starts[0] != 0 or starts[-1] != len(items):
        raise InputError("starts must begin with 0 and end with the number of ratings")
    least, most = code_range(scale)
    allowed = np.iinfo(np.int64).max if most_ratings is None else most_ratings
    fault = _worst_fault(starts, items, codes, item_count, least, most, allowed)
    if fault == _STARTS:
        raise InputError("starts must never fall, from 0 to the number of ratings")
    if fault == _ITEMS:
        raise InputError(
            f"each user's items must be catalogue indices from 0 to {item_count - 1:,} in rising "
            "order, each once"
        )
    if fault == _CODES:
        raise InputError(f"a code is not on the scale {scale}; use Scale.encode")
    if fault == _MOST:
        raise InputError(
            f"a user has more than the {most_ratings:,} ratings that the intake allows; "
            "use bound_contributions"
        )


def code_range(scale: Scale) -> tuple[Any, Any]:
    """The smallest and the largest code that a rating on this scale can have.

    Rounding to float32 keeps order, so `Scale.encode` never passes the rounded ends.
    """
    if scale.step is None:
        with np.errstate(over="ignore"):
            ends = np.float32(scale.lo), np.float32(scale.hi)
        if not np.isfinite(ends).all():
            raise InputError(f"the scale {scale} is too wide for 32-bit numbers")
        return ends
    assert scale.levels is not None
    return np.uint8(1 if scale.presence else 0), np.uint8(len(scale.levels) - 1)


def check_names(users: Any, count: int) -> _Column:
    """Users' names as a read-only view.

    Raises:
        InputError: They are not `count` different integers or texts.
    """
    if not isinstance(users, np.ndarray) or users.ndim != 1 or users.dtype.kind not in _NAME_KINDS:
        raise InputError("users must be a one-dimensional numpy array of integers or text")
    if hasattr(users.dtype, "na_object"):
        raise InputError("users must all have names: use a type of text that has no missing values")
    if len(users) != count:
        raise InputError("users must have one name for every user")
    # Readers number users in the order of their names, so this is all that is looked at.
    if not np.all(users[1:] > users[:-1]) and len(np.unique(users)) < count:
        raise InputError("two users have the same name: put all ratings of a user together")
    return locked(users)


@numba.njit(cache=True, parallel=True)
def _worst_fault(
    starts: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    codes: _Column,
    item_count: int,
    least: Any,
    most: Any,
    allowed: int,
) -> int:
    """Which rule is broken, 0 for none; rising items need a look at the first and last alone."""
    worst = 0
    for user in numba.prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        fault = 0
        if begin < 0 or end < begin or end > items.size:
            fault = _STARTS
        elif end > begin:
            rises, fits = True, True
            for place in range(begin + 1, end):
                rises &= items[place] > items[place - 1]
            for place in range(begin, end):
                # NaN is on no side of anything.
                fits &= (codes[place] >= least) & (codes[place] <= most)
            if not rises or items[begin] < 0 or items[end - 1] >= item_count:
                fault = _ITEMS
            elif not fits:
                fault = _CODES
            elif end - begin > allowed:
                fault = _MOST
        worst = max(worst, fault)
    return worst


# From loose columns to `Ratings`.

# Ratings of a user below which an insertion sort beats the general one; chosen by hand, as usual.
_INSERTION_SORT_BELOW = 24

_T = TypeVar("_T", bound=np.generic)
_Users = npt.NDArray[np.int32] | npt.NDArray[np.int64]
_Codes = npt.NDArray[np.uint8] | npt.NDArray[np.float32]


def build_ratings(
    users: _Users,
    items: npt.NDArray[np.int32],
    values: _Codes,
    times: npt.NDArray[np.uint32] | None,
    *,
    scale: Scale,
    catalog: Catalog,
    user_ids: npt.NDArray[np.generic] | None,
    skipped: int = 0,
    intake: Intake | None = None,
) -> Ratings:
    """Sort and fold columns whose rows come in any order.

    Of several rows with the same user and item the last one wins; if they say only presence, the
    one with the earliest time does, so that the rows' order does not count. How many were replaced
    is kept in `Ratings.duplicates`. The result depends on the columns alone, never on the thread
    count. Columns that are already in order are used as they are, without a copy.

    Beyond its inputs this takes 4 bytes a row for the order, and the columns of the result.

    Args:
        users: Each row's user, a number below the count of users.
        items: Each row's catalogue index.
        values: Each row's rating, as `scale.encode` stores it.
        times: Each row's time in seconds since 1970, if known.
        scale: The scale of the ratings.
        catalog: The catalogue that `items` points into.
        user_ids: What the source calls each user, in the order of the numbers in `users`; their
            count is the count of users. Where None, the largest number in `users` says it.
        skipped: How many bad rows were left out before.
        intake: How they were read and chosen.
    """
    rows, count = len(users), _user_count(users, user_ids)
    assert rows == len(items) == len(values) and rows <= MOST_RATINGS
    assert times is None or len(times) == rows
    if rows:
        assert int(users.min()) >= 0 and int(users.max()) < count
        assert int(items.min()) >= 0 and int(items.max()) < len(catalog)
    starts = _starts(users, count)
    duplicates = 0
    # Readers of files that are in order, and generators, need none of this.
    if not _in_order(users, items):
        order = _grouped(users, starts)
        items = _sorted_within(items, order, starts)
        if scale.presence and times is not None:
            _choose_earliest(items, order, starts, times)
        kept = _fold(items, order, starts)
        duplicates = rows - kept
        items, order = items[:kept], order[:kept]
        values = _gather(values, order)
        times = None if times is None else _gather(times, order)
    return Ratings(
        scale=scale,
        catalog=catalog,
        starts=starts,
        items=items,
        codes=values,
        times=times,
        users=user_ids,
        duplicates=duplicates,
        skipped=skipped,
        intake=intake or Intake(),
    )


def _user_count(users: _Users, user_ids: npt.NDArray[np.generic] | None) -> int:
    if user_ids is not None:
        return len(user_ids)
    return int(users.max()) + 1 if len(users) else 0


@numba.njit(cache=True)
def _starts(users: _Users, count: int) -> npt.NDArray[np.int64]:
    """Where each user's rows begin once they are grouped."""
    starts = np.zeros(count + 1, np.int64)
    for row in range(users.size):
        starts[users[row] + 1] += 1
    for user in range(count):
        starts[user + 1] += starts[user]
    return starts


@numba.njit(cache=True)
def _in_order(users: _Users, items: npt.NDArray[np.int32]) -> bool:
    """Whether (user, item) rises strictly from row to row."""
    for row in range(1, users.size):
        before, here = users[row - 1], users[row]
        if here < before or (here == before and items[row] <= items[row - 1]):
            return False
    return True


@numba.njit(cache=True)
def _grouped(users: _Users, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """The rows' numbers, user by user, in input order within a user (a counting sort)."""
    order = np.empty(users.size, np.uint32)
    # Where the next row of each user goes. Rows are visited in order, so a user's stay in order.
    cursor = starts[:-1].copy()
    for row in range(users.size):
        user = users[row]
        order[cursor[user]] = row
        cursor[user] += 1
    return order


@numba.njit(cache=True, parallel=True)
def _sorted_within(
    items: npt.NDArray[np.int32], order: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """Each user's items in rising order; `order` is rearranged alike, equal items keep theirs."""
    out = np.empty(items.size, np.int32)
    for user in numba.prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        rising = True
        for place in range(begin, end):
            out[place] = items[order[place]]
            rising = rising and (place == begin or out[place - 1] <= out[place])
        if not rising:
            _sort_together(out[begin:end], order[begin:end])
    return out


@numba.njit(cache=True)
def _sort_together(items: npt.NDArray[np.int32], order: npt.NDArray[np.uint32]) -> None:
    """Sort both by item. `order` rises on entry, so item and order in one key make it stable."""
    keys = np.empty(items.size, np.int64)
    for place in range(items.size):
        # Items are below 2^31 and rows below 2^32: both fit, and the item decides first.
        keys[place] = (np.int64(items[place]) << 32) | np.int64(order[place])
    if keys.size < _INSERTION_SORT_BELOW:
        _insertion_sort(keys)
    else:
        keys.sort()
    for place in range(items.size):
        items[place] = keys[place] >> 32
        order[place] = keys[place] & 0xFFFFFFFF


@numba.njit(cache=True)
def _insertion_sort(keys: npt.NDArray[np.int64]) -> None:
    for place in range(1, keys.size):
        key, hole = keys[place], place
        while hole > 0 and keys[hole - 1] > key:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key


@numba.njit(cache=True, parallel=True)
def _choose_earliest(
    items: npt.NDArray[np.int32],
    order: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    times: npt.NDArray[np.uint32],
) -> None:
    """Put the earliest row of equal items at their end, where `_fold` takes it."""
    for user in numba.prange(starts.size - 1):
        for place in range(starts[user] + 1, starts[user + 1]):
            again = items[place] == items[place - 1]
            # The earliest so far is carried along a run of equal items, to its last place.
            if again and times[order[place - 1]] < times[order[place]]:
                order[place] = order[place - 1]


@numba.njit(cache=True)
def _fold(
    items: npt.NDArray[np.int32], order: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]
) -> int:
    """Keep the last of equal items within each user, in place; returns how many rows are left."""
    kept = 0
    begin = starts[0]
    for user in range(starts.size - 1):
        end = starts[user + 1]
        for place in range(begin, end):
            # `kept` never passes `place`, so nothing is overwritten before it was read.
            if place + 1 == end or items[place + 1] != items[place]:
                items[kept], order[kept] = items[place], order[place]
                kept += 1
        begin = end
        starts[user + 1] = kept
    return kept


@numba.njit(cache=True, parallel=True)
def _gather(column: npt.NDArray[_T], order: npt.NDArray[np.uint32]) -> npt.NDArray[_T]:
    """`column[order]`, without the 8-byte copy of `order` that numpy would make."""
    out = np.empty(order.size, column.dtype)
    for place in numba.prange(order.size):
        out[place] = column[order[place]]
    return out
