"""Private ratings in columns: users contiguous, items as catalogue indices, values compact."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError, Scale
from discreet.ratings._check import check_columns, check_names, locked, read_only

MOST_MOST_RATINGS = 2**31 - 1
"""The largest bound on a user's ratings: no catalogue has more items, as indices are int32."""

_BY_PLACE = "a selection by position"
"""Positions shift with every rating that comes before: so nothing is stable that they choose."""
_MOST_LETTERS = 300
"""Of a part's name, and of a clause: what a release's file accepts."""


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
        if not isinstance(self.assumes, tuple) or not all(map(_is_line, self.assumes)):
            raise InputError(f"an intake assumes clauses of 1 to {_MOST_LETTERS} characters")

    def assuming(self, clause: str) -> Intake:
        """The same where one thing more must be true."""
        if clause in self.assumes:
            return self
        return replace(self, assumes=(*self.assumes, clause))

    def parted(self, part: str, stability: Stability) -> Intake:
        """Of a part of the ratings, which a rule with this stability chose."""
        named = part if self.part is None else f"{part} of {self.part}"
        if len(named) > _MOST_LETTERS:
            named = f"{part} of an earlier part"
        return replace(self, part=named, stability=self.stability.and_then(stability))


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
