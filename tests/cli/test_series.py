"""`discreet series`: what people and scripts see from the first period on."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

import pytest

from cli._calling import Outcome, call
from discreet.privacy.ledger import Ledger
from discreet.ratings import find_shape, make_ratings, write_catalog, write_ratings
from discreet.release import load
from discreet.series import Series

UNBOOKED = "Warning: without a ledger, this release's privacy cost is not recorded anywhere.\n"
# The made-up ratings lie between September 1997 and April 1998.
FIRST, SECOND, EMPTY = "1997-12", "1998-01", "2005-06"


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ratings that have times, and their items."""
    folder = tmp_path_factory.mktemp("films")
    ratings = make_ratings(find_shape("ml-100k").scaled(ratings=3000), seed=1)
    write_ratings(ratings, folder / "ratings.csv")
    write_catalog(ratings.catalog, folder / "items.csv")
    return folder


class Curator:
    """A series and a ledger in a folder."""

    def __init__(self, films: Path, folder: Path) -> None:
        self.ratings, self.items = films / "ratings.csv", films / "items.csv"
        self.series, self.ledger = folder / "films.series", folder / "members.ledger"

    @property
    def key(self) -> Path:
        return self.series.with_name("films.series.key")

    def init(self, *options: object, protect: str = "rating") -> Outcome:
        asked = ("--protect", protect, "--scale", "1..5", "--catalog", self.items)
        return call("series", "init", self.series, *asked, *options)

    def open_ledger(self, unit: str, epsilon: float) -> None:
        limit = ("--protect", unit, "--epsilon", epsilon)
        made = call("ledger", "init", self.ledger, "--population", "members", *limit)
        assert made.code == 0, made.err

    def add(self, period: str, *options: object) -> Outcome:
        return call("series", "add", self.series, self.ratings, "--period", period, *options)

    def book(self, period: str, *options: object) -> Outcome:
        return self.add(period, "--ledger", self.ledger, *options)

    @property
    def charges(self) -> int:
        return len(Ledger.open(self.ledger).history())

    @property
    def periods(self) -> list[str]:
        return [added.period.name for added in Series.open(self.series).periods]


@pytest.fixture
def curator(films: Path, tmp_path: Path) -> Curator:
    return Curator(films, tmp_path)


def lines(said: Outcome) -> str:
    """What a command printed, with single spaces."""
    assert said.code == 0, said.err
    return " ".join(said.out.split())


def test_a_series_from_its_start_to_the_second_period(curator: Curator, tmp_path: Path) -> None:
    curator.open_ledger("user-month", 1)
    made = curator.init(protect="user-month")
    assert "refined, epsilon 1, delta 1e-06, per user-month; 0 periods" in lines(made)
    assert "A person who is active in 12 periods pays epsilon 12.4" in lines(made)
    assert "keep its key in another place than the folder" in " ".join(made.out.split())
    assert curator.key.exists()
    assert curator.charges == 0

    release = tmp_path / "films.discreet"
    first = curator.book(FIRST, "-o", release)
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[:2] == [str(release), "epsilon 1, delta 1e-06, per user-month"]
    assert "its first period and all to come" in lines(first)
    before = load(release, verify=True).digest()

    second = curator.book(SECOND, "-o", release)
    assert "all 2 periods so far and all to come" in lines(second)
    assert "recorded as charge 2 in the ledger of 'members'." in lines(second)
    assert load(release, verify=True).digest() != before

    shown = call("series", "show", curator.series)
    assert "2 periods" in shown.out.splitlines()[0]
    table = [line.split() for line in shown.out.splitlines()[2:4]]
    assert [(row[0], row[-1]) for row in table] == [(FIRST, "1"), (SECOND, "2")]
    # The limit is that of the series, and the second period costs a user-month nothing more.
    assert "user-month 1 1 1e-06" in lines(call("ledger", "show", curator.ledger))


def test_programs_get_every_field(curator: Curator) -> None:
    curator.open_ledger("rating", 1)
    made = curator.init("--half-life", 12, "--json").json()
    assert (made["method"], made["protect"], made["period"]) == ("refined", "rating", "range")
    assert made["epsilon"] == pytest.approx(1.0)
    assert made["half_life"] == pytest.approx(12.0, rel=1e-3)
    assert (made["release"], made["periods"]) == (None, [])
    # A person may have any number of ratings in a period: nothing bounds what they pay.
    assert (made["epsilon_in_12_periods"], made["epsilon_in_all"]) == (None, None)

    added = curator.book(FIRST, "--json").json()
    assert Path(added["path"]) == curator.series / "release-1.discreet"
    assert load(added["path"], verify=True).method == "refined"
    assert added["series"]["periods"][0]["name"] == FIRST
    shown = call("series", "show", curator.series, "--json").json()
    assert shown == added["series"]
    (period,) = shown["periods"]
    assert (period["number"], period["charge"]) == (1, 1)
    assert datetime.datetime.fromisoformat(period["added"]).tzinfo is not None
    assert math.isfinite(period["size"]) and period["noise"] >= 1


def test_a_period_twice_is_exit_code_4_and_costs_nothing(curator: Curator, tmp_path: Path) -> None:
    curator.open_ledger("rating", 1)
    curator.init()
    assert curator.book(FIRST).code == 0
    again = curator.book(FIRST, "-o", tmp_path / "again.discreet")
    assert (again.code, again.out) == (4, "")
    assert f"period {FIRST} was added before" in again.err
    assert again.err.count("\n") == 1
    assert (curator.charges, curator.periods) == (1, [FIRST])
    # The first add may have been killed before it had written the file.
    assert (
        load(tmp_path / "again.discreet").digest() == Series.open(curator.series).periods[0].release
    )


def test_no_room_in_the_ledger_is_exit_code_3_and_measures_nothing(
    curator: Curator, tmp_path: Path
) -> None:
    curator.open_ledger("rating", 0.5)
    curator.init()
    refused = curator.book(FIRST, "-o", tmp_path / "films.discreet")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.startswith("discreet: ") and "0.5" in refused.err
    assert (curator.charges, curator.periods) == (0, [])
    assert not (tmp_path / "films.discreet").exists()


def test_the_ledger_is_named_or_declined(curator: Curator) -> None:
    curator.init()
    assert "name the ledger to charge with --ledger" in curator.add(FIRST).complaint()
    curator.open_ledger("rating", 1)
    both = ("--ledger", curator.ledger, "--no-ledger")
    assert "--no-ledger" in curator.add(FIRST, *both).complaint()
    assert curator.periods == []
    declined = curator.add(FIRST, "--no-ledger")
    assert (declined.code, declined.err) == (0, UNBOOKED)
    assert curator.periods == [FIRST]
    shown = call("series", "show", curator.series)
    assert shown.out.splitlines()[2].split()[-1] == "-"


@pytest.mark.parametrize(
    ("protect", "name", "said"),
    [
        ("user-month", "1998-W03", "is not written like a month: 2026-03"),
        ("user-week", "1998-01", "is not written like a week: 2026-W11"),
        ("user-day", "january", "is not written like a day: 2026-03-14"),
        ("user-month", "1998-13", "there is no period '1998-13'"),
        ("rating", "1998-01-20..1998-01-02", "ends after its start"),
    ],
)
def test_a_period_is_written_like_its_kind(
    curator: Curator, protect: str, name: str, said: str
) -> None:
    curator.init(protect=protect)
    assert said in curator.add(name, "--no-ledger").complaint()
    assert curator.periods == []


def test_periods_come_in_order(curator: Curator) -> None:
    curator.init()
    assert curator.add(SECOND, "--no-ledger").code == 0
    assert f"begins before the end of {SECOND}" in curator.add(FIRST, "--no-ledger").complaint()
    within = curator.add("1998-01-31..1998-02-14", "--no-ledger").complaint()
    assert "no two overlap" in within


def test_ratings_outside_the_period_are_ignored(curator: Curator) -> None:
    """At this epsilon the noise of a size is far below one rating."""
    curator.init("--epsilon", 1e6)
    whole = sum(
        line.rpartition(",")[2].strip().isdigit()
        for line in curator.ratings.read_text().splitlines()
    )
    sizes = []
    for period in ("1997-09-01..1997-12-31", "1998-01-01..1998-06-30", EMPTY):
        added = curator.add(period, "--no-ledger", "--json").json()
        sizes.append(round(added["series"]["periods"][-1]["size"]))
    assert sizes[2] == 0
    assert 0 < sizes[0] < whole
    assert sizes[0] + sizes[1] == whole


@pytest.mark.parametrize("scale", [("--scale", "1..5"), ("--implicit",)], ids=["stars", "presence"])
def test_no_other_period_decides_which_row_counts(
    curator: Curator, tmp_path: Path, scale: tuple[str, ...]
) -> None:
    """Somebody has the same items in three months: each month counts its own rows.

    Folded over the whole file, the last month, or with presence the first, would have them all,
    and a month's rows less would change other months. At this epsilon noise is far below one.
    """
    items = [line.split(",")[0] for line in curator.items.read_text().splitlines()[1:6]]
    months = ["2020-01", "2020-02", "2020-03"]
    seconds = [
        int(datetime.datetime.fromisoformat(f"{month}-15T00:00:00+00:00").timestamp())
        for month in months
    ]
    rows = [f"ann,{item},{n + 1},{time}" for n, time in enumerate(seconds) for item in items]
    source = tmp_path / "again.csv"
    source.write_text("\n".join(["user,item,rating,time", *rows]) + "\n")
    folder = tmp_path / "again.series"
    terms = ("--protect", "rating", "--epsilon", 1e6, "--catalog", curator.items, *scale)
    assert call("series", "init", folder, *terms).code == 0
    sizes = []
    for month in months:
        added = call("series", "add", folder, source, "--period", month, "--no-ledger", "--json")
        sizes.append(round(added.json()["series"]["periods"][-1]["size"]))
    assert sizes == [len(items)] * 3


def test_where_records_could_meet_older_ones_that_is_said(curator: Curator, tmp_path: Path) -> None:
    asked = ("--implicit", "--protect", "rating", "--catalog", curator.items)
    said = lines(call("series", "init", tmp_path / "clicks.series", *asked))
    assert "started with --older-share 0.15" in said
    said = lines(call("series", "init", tmp_path / "met.series", *asked, "--older-share", 0.15))
    assert "older-share" not in said
    assert "older-share" not in lines(curator.init())


def test_a_newer_list_of_items(curator: Curator, tmp_path: Path) -> None:
    curator.init()
    assert curator.add(FIRST, "--no-ledger").code == 0
    before = Series.open(curator.series).catalog
    newer = tmp_path / "newer.csv"
    # The newer list has another order, a new title for an old item, and an item more.
    rows = curator.items.read_text(encoding="utf-8").splitlines()
    newer.write_text("\n".join([rows[0], "new,A new film", f"{before.ids[0]},Renamed", *rows[2:]]))
    grown = curator.add(SECOND, "--no-ledger", "--catalog", newer, "--json").json()
    catalog = load(grown["path"]).catalog
    assert catalog.ids == (*before.ids, "new")
    assert (catalog.titles[0], catalog.titles[-1]) == ("Renamed", "A new film")
    assert Series.open(curator.series).catalog.ids == catalog.ids


def test_without_its_key_a_series_goes_on_only_when_told(curator: Curator, tmp_path: Path) -> None:
    curator.open_ledger("rating", 1)
    curator.init()
    assert curator.book(FIRST).code == 0
    curator.key.rename(tmp_path / "kept")
    said = curator.book(SECOND).complaint()
    assert "the key of the series cannot be read" in said and "--new-noise" in said
    assert (curator.charges, curator.periods) == (1, [FIRST])
    assert curator.book(SECOND, "--new-noise").code == 0
    assert curator.periods == [FIRST, SECOND]
    assert curator.key.read_bytes() != (tmp_path / "kept").read_bytes()
    assert curator.book("1998-02").code == 0  # with the new key, as usual


def test_a_key_elsewhere(curator: Curator, tmp_path: Path) -> None:
    key = tmp_path / "safe.key"
    curator.open_ledger("rating", 1)
    curator.init("--key", key)
    assert key.exists() and not curator.key.exists()
    assert (
        "films.series.key: the key of the series cannot be read" in curator.book(FIRST).complaint()
    )
    assert curator.charges == 0
    for period in (FIRST, SECOND):
        assert curator.book(period, "--key", key).code == 0


def test_a_fresh_plan_has_no_key(curator: Curator) -> None:
    made = curator.init("--plan", "fresh", protect="user-month")
    assert made.code == 0 and "secret" not in made.out
    assert "pays epsilon 3.9" in lines(made)
    assert not curator.key.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--older-share", 0.15), "new records meet older ones (older_share) in a series of"),
        (("--protect", "user-week", "--period", "month"), "has periods of a week, not 'month'"),
        (("--epsilon", 0), "epsilon"),
        (("--half-life", 0), "half-life"),
        (("--horizon", 0), "a horizon is a whole number of periods"),
    ],
)
def test_what_does_not_go_together_makes_no_folder(
    curator: Curator, options: tuple[object, ...], said: str
) -> None:
    assert said in curator.init(*options).complaint()
    assert not curator.series.exists() and not curator.key.exists()


def test_a_scale_is_needed_and_a_folder_is_never_overwritten(curator: Curator) -> None:
    bare = ("series", "init", curator.series, "--catalog", curator.items)
    assert "give the rating scale, like --scale 1..5, or --implicit" in call(*bare).complaint()
    assert curator.init().code == 0
    assert "exists already; a series starts in a new folder" in curator.init().complaint()


def test_a_folder_that_is_no_series(curator: Curator, tmp_path: Path) -> None:
    for asked in (("show", tmp_path), ("add", tmp_path, curator.ratings, "--period", FIRST)):
        said = call("series", *asked).complaint()
        assert "is not a series; discreet series init makes one" in said


def test_a_plan_compares_the_ways_to_draw_noise() -> None:
    said = call("series", "plan", "--protect", "user-week", "--periods", 52)
    rows = [line.split() for line in said.out.splitlines()]
    table = {(row[0], row[1]): row[2:] for row in rows if row[0] in ("factorised", "fresh")}
    assert table["factorised", "52"] == ["1.96", "7.21", "12.4", "66.4"]
    assert table["fresh", "52"] == ["7.21", "7.21", "3.9", "9.09"]
    assert "no bound" in call("series", "plan", "--protect", "rating").out


def test_a_plan_for_programs() -> None:
    asked = ("series", "plan", "--half-life", 12, "--periods", 52, "--json")
    planned = json.loads(call(*asked).out)
    noise = {(row["plan"], row["periods"]): row["noise"] for row in planned}
    assert noise["factorised", 52] == pytest.approx(1.62, abs=0.005)
    assert noise["fresh", 52] == pytest.approx(3.02, abs=0.005)
    pure = json.loads(call("series", "plan", "--noise", "laplace", "--json").out)
    assert {row["plan"] for row in pure} == {"fresh"}
    assert (
        "1 to 10,000 periods, not 20000" in call("series", "plan", "--periods", 20000).complaint()
    )


def test_a_period_that_has_not_begun_is_refused(curator: Curator) -> None:
    curator.init()
    assert "period 9000-03 has not begun yet" in curator.add("9000-03", "--no-ledger").complaint()
