"""MovieLens, the Netflix Prize and Jester: by hand, and the published files where they are."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from discreet.domain import CatalogOrigin, InputError, Scale
from discreet.ratings.readers import read_probe, read_ratings

_EXPECTED = {
    (1, "10"): (4.0, 978300760),
    (1, "20"): (5.0, 978302109),
    (2, "10"): (1.0, 978301968),
}
_ROWS = [
    ("1", "10", "4", "978300760"),
    ("1", "20", "5", "978302109"),
    ("2", "10", "1", "978301968"),
]
_MOVIES = "10::Alien (1979)::Horror|Sci-Fi\n20::Amélie (2001)::Comedy\n30::Heat (1995)::Crime\n"


def lines(separator: str) -> str:
    return "".join(separator.join(row) + "\n" for row in _ROWS)


def test_ml_100k(write, seen, tmp_path):
    items = "10|Alien (1979)|01-Jan-1979||http://x|0\n20|Amélie (2001)||||0\n"
    write("u.item", items.encode("latin-1"))
    for name in ("u.data", "u1.base", "u5.test", "ua.base", "ub.test"):
        path = write(name, lines("\t"))
        assert seen(path, scale=None, catalog=None) == _EXPECTED
    ratings = read_ratings(tmp_path)
    assert ratings.scale == Scale(1, 5)
    assert ratings.catalog.titles == ("Alien (1979)", "Amélie (2001)")
    assert ratings.catalog.origin is CatalogOrigin.LAYOUT


def test_ml_100k_without_its_items_asks_for_the_catalogue(write, refusal):
    error = refusal(write("u.data", lines("\t")), scale=None, catalog=None)
    assert "the list of items is not known" in error.reason


@pytest.mark.parametrize(("movies", "scale"), [(3_883, Scale(1, 5)), (10_681, Scale(0.5, 5, 0.5))])
def test_the_number_of_movies_tells_ml_1m_from_ml_10m(write, tmp_path, movies, scale):
    listed = "".join(f"{movie}::Movie {movie}::Drama\n" for movie in range(1, movies + 1))
    write("movies.dat", listed)
    write("ratings.dat", lines("::"))
    ratings = read_ratings(tmp_path)
    assert ratings.scale == scale
    assert len(ratings.catalog) == movies


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_other_dat_files_ask_for_the_scale(write, refusal, seen, tmp_path, encoding):
    write("movies.dat", _MOVIES.encode(encoding))
    path = write("ratings.dat", lines("::"))
    for source in (tmp_path, path):
        assert "the scale is not known" in str(refusal(source, scale=None, catalog=None))
        assert seen(source, scale=(1, 5), catalog=None) == _EXPECTED
    catalog = read_ratings(path, scale=(1, 5)).catalog
    assert catalog.titles == ("Alien (1979)", "Amélie (2001)", "Heat (1995)")
    assert catalog.origin is CatalogOrigin.LAYOUT


def test_single_colons_and_quotes_in_dat_files_are_text(write, seen):
    path = write("ratings.dat", 'a:b::10::4::5\n"c::10::5::6\n')
    assert seen(path) == {("a:b", "10"): (4.0, 5), ('"c', "10"): (5.0, 6)}


def test_bad_lines_in_dat_files(write, refusal):
    assert refusal(write("ratings.dat", lines("::") + "3::10::x::5\n")).line == 4
    assert refusal(write("ratings.dat", lines("::") + "\n3::10::5\n")).line == 5
    assert refusal(write("ratings.dat", lines("::") + "3:10:4:5\n")).line == 4


def test_ml_latest(write, seen, tmp_path):
    write("movies.csv", 'movieId,title,genres\n10,"Aliens, The (1979)",Horror\n20,Amélie,Comedy\n')
    path = write("ratings.csv", "userId,movieId,rating,timestamp\n" + lines(","))
    for source in (tmp_path, path):
        assert seen(source, scale=None, catalog=None) == _EXPECTED
    ratings = read_ratings(tmp_path)
    assert ratings.scale == Scale(0.5, 5, 0.5)
    assert ratings.catalog.titles == ("Aliens, The (1979)", "Amélie")
    assert ratings.catalog.origin is CatalogOrigin.LAYOUT


def test_another_header_is_no_movielens(write, refusal):
    write("movies.csv", "movieId,title\n10,a\n20,b\n")
    path = write("ratings.csv", "user,movieId,rating,timestamp\n" + lines(","))
    assert "the scale is not known" in str(refusal(path, scale=None))
    assert "is not a MovieLens file of ratings" in str(refusal(path, layout="movielens"))


def test_a_movielens_header_without_the_movies_tells_nothing(write, refusal):
    path = write("ratings.csv", "userId,movieId,rating,timestamp\n" + lines(","))
    assert "the scale is not known" in str(refusal(path, scale=None))


def test_what_the_caller_says_goes_before_the_layout(write, tmp_path):
    write("u.item", "10|a|\n20|b|\n")
    ratings = read_ratings(write("u.data", lines("\t")), scale=(0, 10), catalog="from-data")
    assert ratings.scale == Scale(0, 10)
    assert ratings.catalog.origin is CatalogOrigin.FROM_DATA


def test_columns_are_not_for_published_layouts(write, refusal):
    path = write("u.data", lines("\t"))
    assert "are for tables" in str(refusal(path, layout="movielens", columns={"user": 0}))


def test_a_folder_with_two_layouts_is_asked_about(write, refusal, tmp_path):
    write("u.data", lines("\t"))
    write("ratings.dat", lines("::"))
    assert "with u.data and ratings.dat; say which" in str(refusal(tmp_path))


_NETFLIX = "3:\n7,4,2005-09-06\n8,1,2004-02-29\n\n5:\n7,5,1999-12-31\n"
_NETFLIX_CELLS = {
    (7, "3"): (4.0, int(dt.datetime(2005, 9, 6, tzinfo=dt.UTC).timestamp())),
    (8, "3"): (1.0, int(dt.datetime(2004, 2, 29, tzinfo=dt.UTC).timestamp())),
    (7, "5"): (5.0, int(dt.datetime(1999, 12, 31, tzinfo=dt.UTC).timestamp())),
}
_TITLES = "3,1997,Character\n5,NULL,Rise, and Fall\n9,2004,Amélie\n"


def test_netflix_combined(write, seen, tmp_path):
    write("movie_titles.txt", _TITLES.encode("latin-1"))
    path = write("combined_data_1.txt", _NETFLIX)
    for source in (path, tmp_path):
        assert seen(source, scale=None, catalog=None) == _NETFLIX_CELLS
    ratings = read_ratings(tmp_path)
    assert ratings.scale == Scale(1, 5)
    assert ratings.catalog.titles == ("Character", "Rise, and Fall", "Amélie")
    assert ratings.catalog.origin is CatalogOrigin.LAYOUT
    assert ratings.users.dtype == np.int64


def test_netflix_one_file_a_movie(write, seen, tmp_path):
    write("movie_titles.txt", _TITLES.encode("latin-1"))
    write("training_set/mv_0000003.txt", "3:\r\n7,4,2005-09-06\r\n8,1,2004-02-29")
    write("training_set/mv_0000005.txt", "5:\n7,5,1999-12-31\n")
    for source in (tmp_path, tmp_path / "training_set"):
        assert seen(source, scale=None, catalog=None) == _NETFLIX_CELLS


def test_netflix_several_combined_files(write, seen, tmp_path):
    first, _, second = _NETFLIX.partition("\n\n")
    write("combined_data_1.txt", first)
    write("combined_data_2.txt", second)
    assert seen(tmp_path, scale=None, catalog=None) == _NETFLIX_CELLS


def test_netflix_without_titles_has_17770_movies(write, tmp_path):
    write("combined_data_1.txt", _NETFLIX)
    catalog = read_ratings(tmp_path).catalog
    assert (catalog.ids[0], catalog.ids[-1], len(catalog)) == ("1", "17770", 17_770)


@pytest.mark.parametrize(
    "line",
    [
        "7,4",
        "7,4,",
        "7,,2005-01-01",
        ",4,2005-01-01",
        "7,four,2005-01-01",
        "7,4,2005-02-29",
        "7,4,2005-13-01",
        "7,4,2005-00-01",
        "7,4,2005-1-01",
        "7,4,2005-01-01,",
        "7;4;2005-01-01",
        "x:",
        ":",
        "7:4",
        "7,4,2005-01-0",
    ],
)
def test_netflix_bad_lines(write, refusal, line):
    path = write("combined_data_1.txt", _NETFLIX + line + "\n8,5,2005-01-01\n")
    error = refusal(path)
    assert (error.path, error.line) == (str(path), 7)
    assert "is neither 'movie:'" in error.reason
    ratings = read_ratings(path, on_bad_rows="skip")
    assert (len(ratings), ratings.skipped) == (4, 1)


def test_netflix_ratings_are_checked(write, refusal):
    path = write("combined_data_1.txt", "3:\n7,4,2005-01-01\n8,6,2005-01-01\n")
    assert refusal(path).line == 3
    path = write("combined_data_2.txt", "17771:\n7,4,2005-01-01\n")
    assert "not in the catalogue" in str(refusal(path, catalog=None))


def test_netflix_names_the_file_among_many(write, refusal, tmp_path):
    for movie in range(1, 6):
        write(f"mv_{movie:07}.txt", f"{movie}:\n7,4,2005-01-01\n8,3,2005-01-01")
    write("mv_0000004.txt", "4:\n7,4,2005-01-01\n8,3\n")
    error = refusal(tmp_path)
    assert (error.path, error.line) == (str(tmp_path / "mv_0000004.txt"), 3)


def test_netflix_does_not_carry_a_movie_into_the_next_file(write, refusal, tmp_path):
    write("combined_data_1.txt", "3:\n7,4,2005-01-01\n")
    path = write("combined_data_2.txt", "8,4,2005-01-01\n")
    error = refusal(tmp_path)
    assert (error.path, error.line) == (str(path), 1)


@pytest.mark.parametrize("piece", [10, 24, 40])
def test_netflix_in_pieces(write, seen, refusal, monkeypatch, tmp_path, piece):
    from discreet.domain import files as _files
    from discreet.ratings.readers import _netflix

    monkeypatch.setattr(_netflix, "PIECE", piece)
    monkeypatch.setattr(_netflix, "pieces", lambda path: _files.pieces(path, piece))
    path = write("combined_data_1.txt", _NETFLIX.removesuffix("\n"))
    assert seen(path, scale=None, catalog=None) == _NETFLIX_CELLS
    write("combined_data_1.txt", _NETFLIX + "8,x,2005-01-01")
    assert refusal(path).line == 7


def test_netflix_files_without_ratings(write):
    assert len(read_ratings(write("combined_data_1.txt", "3:\n4:\n"))) == 0
    assert len(read_ratings(write("combined_data_2.txt", ""))) == 0


def test_probe(write, tmp_path):
    ratings = read_ratings(write("combined_data_1.txt", _NETFLIX))
    probe = read_probe(write("probe.txt", "3:\n8\n7\n5:\n99\n7\n20000:\n7\n"), ratings)
    assert ratings.users[probe.users].tolist() == [8, 7, 7]
    assert [ratings.catalog.ids[item] for item in probe.items] == ["3", "3", "5"]
    assert (len(probe), probe.unknown) == (3, 2)
    assert repr(probe) == "Probe(private)"


@pytest.mark.parametrize("text", ["3:\n8\nx\n", "3:\n8\n7,5\n", "3:\n8\n:\n"])
def test_probe_bad_lines(write, text):
    ratings = read_ratings(write("combined_data_1.txt", _NETFLIX))
    with pytest.raises(InputError) as caught:
        read_probe(write("probe.txt", text), ratings)
    assert caught.value.line == 3


def test_probe_needs_numbered_users(write):
    path = write("r.csv", "user,item,rating\na,3,4\n")
    ratings = read_ratings(path, scale=(1, 5), catalog="from-data")
    with pytest.raises(InputError, match="do not name their users by number"):
        read_probe(write("probe.txt", "3:\n7\n"), ratings)


def jester_line(ratings: dict[int, float], count: int | None = None) -> str:
    cells = [str(ratings.get(joke, 99)) for joke in range(1, 101)]
    return ",".join([str(len(ratings) if count is None else count), *cells]) + "\n"


def test_jester(write, seen, tmp_path):
    people = [{1: -9.95, 100: 10}, {7: 0.0}, {1: 3.25, 2: -0.05}]
    path = write("jester-data-1.csv", "".join(map(jester_line, people)))
    for source in (path, tmp_path):
        cells = seen(source, scale=None, catalog=None)
        assert set(cells) == {(0, "1"), (0, "100"), (1, "7"), (2, "1"), (2, "2")}
        assert cells[0, "1"][0] == pytest.approx(-9.95, abs=1e-6)
        assert cells[2, "2"][0] == pytest.approx(-0.05, abs=1e-6)
    ratings = read_ratings(path)
    assert ratings.scale == Scale(-10, 10, None)
    assert (ratings.users, ratings.times, len(ratings.catalog)) == (None, None, 100)
    assert ratings.catalog.origin is CatalogOrigin.LAYOUT


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (jester_line({1: 2, 2: 11}), "not on the scale -10..10"),
        (jester_line({1: 2}, count=5), "must be 101 numbers"),
        (jester_line({1: 2}).replace("99,99\n", "99\n"), "must be 101 numbers"),
        (jester_line({1: 2}).replace("99\n", "x\n"), "must be 101 numbers"),
        (jester_line({1: 2}).replace("99\n", "\n"), "must be 101 numbers"),
    ],
)
def test_jester_bad_lines(write, refusal, bad, reason):
    good = jester_line({1: 2})
    path = write("jester-data-1.csv", good + good + bad + good)
    error = refusal(path, scale=None, catalog=None)
    assert error.line == 3
    assert reason in error.reason
    assert read_ratings(path, on_bad_rows="skip").skipped == 1


@pytest.mark.parametrize(
    ("source", "options", "counts"),
    [
        ("ml-100k", {}, (100_000, 943, 1_682, 1_682)),
        ("ml-1m", {}, (1_000_209, 6_040, 3_706, 3_883)),
        ("ml-latest-small", {}, (100_836, 610, 9_724, 9_742)),
        ("jester-1", {}, (1_810_455, 24_983, 100, 100)),
        ("movietweetings-100k", {"scale": (0, 10)}, (100_000, 16_554, 10_506, 10_506)),
        ("netflix-subset/TrainingRatings-5.txt", None, (227_773, 28_968, 92, 17_770)),
        ("netflix-subset/TrainingRatings-10.txt", None, (167_753, 28_886, 185, 17_770)),
        ("netflix-subset/TestingRatings.txt", None, (100_478, 27_555, 1_701, 17_770)),
    ],
)
def test_published_files(data_folder, source, options, counts):
    if options is None:
        titles = data_folder / "netflix-subset" / "movie_titles.txt"
        columns = {"item": 0, "user": 1, "rating": 2}
        options = {"scale": (1, 5), "catalog": titles, "columns": columns, "separator": ","}
    ratings = read_ratings(data_folder / source, **options)
    rated = len(np.unique(ratings.items))
    assert (len(ratings), ratings.user_count, rated, len(ratings.catalog)) == counts
    assert ratings.duplicates == 0


def test_published_split(data_folder):
    base = read_ratings(data_folder / "ml-100k" / "u1.base")
    test = read_ratings(data_folder / "ml-100k" / "u1.test")
    assert (len(base), len(test)) == (80_000, 20_000)
    whole = read_ratings(data_folder / "ml-100k")
    assert base.values().sum() + test.values().sum() == whole.values().sum()


def test_published_times(data_folder):
    ratings = read_ratings(data_folder / "ml-100k")
    first = dt.datetime.fromtimestamp(int(ratings.times.min()), tz=dt.UTC)
    last = dt.datetime.fromtimestamp(int(ratings.times.max()), tz=dt.UTC)
    assert (first.year, first.month, last.year, last.month) == (1997, 9, 1998, 4)
