"""What every reader must pass. A new reader's test is a class that inherits `ReaderBattery`.

class TestMyLayout(ReaderBattery):
    def write(self, folder, records):
        ...  # write the records in the layout, and give what `read_ratings` takes
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from discreet.domain import Catalog, InputError
from discreet.ratings import Ratings, Stability
from discreet.ratings.readers import read_ratings

DAY = 86_400


class Record(NamedTuple):
    """A row: who rated what, how, and on which day since 1970."""

    user: Any
    item: int
    value: float
    day: int


RECORDS = [
    Record(user, item, (user + 2 * item) % 5 + 1, 10_000 + 7 * user + item)
    for user in (3, 5, 8, 11, 21, 34, 55)
    for item in range(1, 7)
    if (user * item) % 4
]
CATALOG = Catalog([str(item) for item in range(1, 7)])
SECRET = 77


class ReaderBattery:
    """Each test reads records that were written in the layout under test."""

    options: ClassVar[dict[str, Any]] = {"scale": (1, 5), "catalog": CATALOG}
    has_times = True
    has_names = True
    """Whether people have names in the layout; otherwise they are known by their order."""
    odd_users: ClassVar[list[Any]] = ["abc", "007", "+7", "-0", "a b", "é", 2**63 - 1, 2**63, "1e5"]
    """Names that other readers let count for more than their own row."""
    names_lines = True
    """Whether errors name a line of a file; otherwise a row of a table."""

    def write(self, folder: Path, records: list[Record]) -> Any:
        """The records in this layout: a path, or a table in memory."""
        raise NotImplementedError

    def read(self, folder: Path, records: list[Record], **options: Any) -> Ratings:
        return read_ratings(self.write(folder, records), **self.options | options)

    def found(self, ratings: Ratings) -> dict[tuple[str, str], tuple[float, int | None]]:
        """Every rating and time by the names of user and item."""
        names = range(ratings.user_count) if ratings.users is None else ratings.users.tolist()
        users = [str(names[user]) for user in ratings.user_of_rating().tolist()]
        items = [ratings.catalog.ids[item] for item in ratings.items.tolist()]
        times = [None] * len(ratings) if ratings.times is None else ratings.times.tolist()
        values = zip(ratings.values().tolist(), times, strict=True)
        return dict(zip(zip(users, items, strict=True), values, strict=True))

    def expected(self, records: list[Record]) -> dict[tuple[str, str], tuple[float, int | None]]:
        users = [record.user for record in records]
        names = dict(zip(users, map(str, users), strict=True))
        if not self.has_names:
            names = {user: str(place) for place, user in enumerate(sorted(names))}
        return {
            (names[user], str(item)): (float(value), day * DAY if self.has_times else None)
            for user, item, value, day in records
        }

    def test_every_rating_is_read(self, tmp_path: Path) -> None:
        ratings = self.read(tmp_path, RECORDS)
        assert self.found(ratings) == self.expected(RECORDS)
        assert (ratings.duplicates, ratings.skipped) == (0, 0)
        assert ratings.intake.bad_rows == "refuse"
        assert ratings.intake.stability is Stability.RECORD

    def test_the_order_of_rows_does_not_count(self, tmp_path: Path) -> None:
        mixed = sorted(RECORDS, key=lambda record: (record.item * 37 + record.user * 11) % 50)
        if not self.has_names:
            mixed = RECORDS
        assert self.found(self.read(tmp_path, mixed)) == self.expected(RECORDS)

    def test_no_rows_are_ratings_of_nobody(self, tmp_path: Path) -> None:
        nobody = self.read(tmp_path, [])
        assert (len(nobody), nobody.user_count) == (0, 0)

    @pytest.mark.parametrize("at", [0, 9, len(RECORDS)])
    def test_one_person_more_changes_nobody_else(self, tmp_path: Path, at: int) -> None:
        before = self.found(self.read(tmp_path, RECORDS))
        for user in self.odd_users:
            more = [*RECORDS[:at], Record(user, 2, 4, 9_999), *RECORDS[at:]]
            after = self.found(self.read(tmp_path, more))
            assert before.items() <= after.items()
            assert {key[0] for key in after.keys() - before.keys()} == {str(user)}

    @pytest.mark.parametrize("at", [0, 9, len(RECORDS)])
    def test_a_bad_row_is_refused_by_its_place_and_reason(self, tmp_path: Path, at: int) -> None:
        bad = [*RECORDS[:at], Record(89, 2, SECRET, 9_999), *RECORDS[at:]]
        with pytest.raises(InputError) as caught:
            self.read(tmp_path, bad)
        message = str(caught.value)
        assert "\n" not in message
        assert str(SECRET) not in caught.value.reason and "89" not in caught.value.reason
        if self.names_lines:
            assert caught.value.path is not None and caught.value.line is not None
        else:
            assert caught.value.reason.startswith(f"row {at + 1:,}: ")

    @pytest.mark.parametrize("at", [0, 9, len(RECORDS)])
    def test_a_bad_row_is_skipped_alone(self, tmp_path: Path, at: int) -> None:
        bad = [*RECORDS[:at], Record(89, 2, SECRET, 9_999), *RECORDS[at:]]
        ratings = self.read(tmp_path, bad, on_bad_rows="skip")
        assert self.found(ratings) == self.expected(RECORDS)
        assert ratings.skipped == 1
        assert ratings.intake.bad_rows == "skip"

    def test_progress_reaches_the_end(self, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        self.read(tmp_path, RECORDS, progress=lambda done, size: seen.append((done, size)))
        assert seen and seen[-1][0] == seen[-1][1] > 0
        assert seen == sorted(seen)

    def test_at_most_so_many_ratings_of_each_user_are_kept(self, tmp_path: Path) -> None:
        bounded = self.read(tmp_path, RECORDS, most_ratings=2)
        assert bounded.intake.most_ratings == 2
        assert max(bounded.starts[1:] - bounded.starts[:-1]) == 2
        assert self.found(bounded).items() <= self.expected(RECORDS).items()
