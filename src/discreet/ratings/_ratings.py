"""Private ratings in columns: users contiguous, items as catalogue indices, values compact."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, Scale


class Stability(enum.Enum):
    """What one person's rows can change of the ratings (PROOF.md)."""

    RECORD = "record"
    """One row more changes one record of its person, and no other record."""
    USER = "user"
    """One person's rows change that person's records, perhaps several, and nobody else's."""
    NONE = "none"
    """One person's rows may change which records of other people are here."""


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


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Everybody's ratings. Private: only `measure`, `audit` and `evaluate` may look inside.

    The ratings of user `u` are the slice `starts[u]:starts[u + 1]` of the other columns, with
    items in rising order, each at most once. A rating takes 5 bytes on a stepped scale (8 on a
    continuous one) and 4 more where times are kept.
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
        n = len(self.items)
        assert self.starts.dtype == np.int64 and self.items.dtype == np.int32
        assert self.starts[0] == 0 and self.starts[-1] == n and len(self.codes) == n
        assert self.times is None or len(self.times) == n
        assert self.users is None or len(self.users) == len(self.starts) - 1

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
        """Consecutive runs of whole users, each with about `size` ratings."""
        first = 0
        while first < self.user_count:
            want = np.searchsorted(self.starts, self.starts[first] + size, side="right") - 1
            last = max(first + 1, int(want))
            yield self.select_users(first, last)
            first = last

    def select_users(self, first: int, last: int) -> Ratings:
        """The users `first` to `last - 1`, sharing memory with this object."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        return replace(
            self,
            starts=self.starts[first : last + 1] - begin,
            items=self.items[begin:end],
            codes=self.codes[begin:end],
            times=None if self.times is None else self.times[begin:end],
            users=None if self.users is None else self.users[first:last],
        )

    def where(self, keep: npt.NDArray[np.bool_]) -> Ratings:
        """The marked ratings; every user stays, possibly without ratings."""
        kept_before = np.zeros(len(keep) + 1, dtype=np.int64)
        np.cumsum(keep, out=kept_before[1:])
        return replace(
            self,
            starts=kept_before[self.starts],
            items=self.items[keep],
            codes=self.codes[keep],
            times=None if self.times is None else self.times[keep],
        )
