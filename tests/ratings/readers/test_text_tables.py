"""CSV and its kin: separators, headers, quotes, line ends, identifiers, times."""

from __future__ import annotations

import gzip
from functools import partial

import pytest

from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.ratings.readers import _layouts, read_ratings
from discreet.ratings.readers.text import read_cells

_EXPECTED = {(1, "10"): (4.0, None), (1, "20"): (5.0, None), (2, "10"): (1.0, None)}
_ROWS = [("1", "10", "4"), ("2", "10", "1"), ("1", "20", "5")]


def table(separator: str, header: bool = True, end: str = "\n") -> str:
    rows = [("user", "item", "rating"), *_ROWS] if header else _ROWS
    return "".join(separator.join(row) + end for row in rows)


@pytest.mark.parametrize(
    ("name", "separator"),
    [
        ("r.csv", ","),
        ("r.csv", ";"),
        ("r.tsv", "\t"),
        ("r.txt", "\t"),
        ("r.txt", "|"),
        ("r.txt", " "),
        ("r.txt", "::"),
        ("ratings", ","),
    ],
)
def test_the_separator_is_found(write, seen, name, separator):
    assert seen(write(name, table(separator))) == _EXPECTED


@pytest.mark.parametrize("separator", ["^", "\x01", ":"])
def test_any_other_separator_is_told(write, seen, separator):
    assert seen(write("r.txt", table(separator)), separator=separator) == _EXPECTED


@pytest.mark.parametrize("separator", ["", "ab", "é", "\n", '"'])
def test_a_separator_is_one_byte(write, refusal, separator):
    assert "one ASCII character" in str(refusal(write("r.csv", "1"), separator=separator))


def test_a_line_without_any_separator_is_refused(write, refusal):
    assert "fewer than 3 fields" in str(refusal(write("r.txt", "user-item-rating\n1-2-3")))


def test_windows_line_ends(write, seen):
    assert seen(write("r.csv", table(",", end="\r\n"))) == _EXPECTED


def test_the_last_newline_may_lack(write, seen):
    assert seen(write("r.csv", table(",").removesuffix("\n"))) == _EXPECTED


def test_blank_lines_are_nothing(write, seen):
    text = "\n\r\n" + table(",").replace("\n2", "\n\n\n2") + "\n\n"
    assert seen(write("r.csv", text)) == _EXPECTED


def test_a_byte_order_mark_is_nothing(write, seen):
    assert seen(write("r.csv", b"\xef\xbb\xbf" + table(",").encode())) == _EXPECTED


def test_gzip(write, seen):
    assert seen(write("r.csv.gz", gzip.compress(table(",").encode()))) == _EXPECTED


def test_quoted_fields(write, seen):
    text = '"user","item","rating"\n"1","10","4"\n"1","20","5"\n"2","10",1\n'
    assert seen(write("r.csv", text)) == _EXPECTED


def test_quotes_keep_separators_and_newlines(write, seen):
    text = 'user,item,rating,review\na,"x,y",4,"two\nlines, and ""quotes"""\nb,z,5,ok\n'
    expected = {("a", "x,y"): (4.0, None), ("b", "z"): (5.0, None)}
    assert seen(write("r.csv", text), quoting="multiline") == expected
    assert seen(write("s.csv", text.replace("two\n", "two ")), quoting="lines") == expected


def test_quotes_may_be_bytes_like_any_other(write, seen):
    text = 'user,item,rating,review\na"b,10,4,"\n"c,20,5,"\n'
    expected = {('a"b', "10"): (4.0, None), ('"c', "20"): (5.0, None)}
    assert seen(write("r.csv", text), quoting="none") == expected


def test_spaces_around_fields_are_nothing(write, seen):
    text = "user, item, rating\n1, 10, 4\n2 ,10 ,1 \n 1,20,5\n"
    assert seen(write("r.csv", text)) == _EXPECTED


@pytest.mark.parametrize(
    "header",
    [
        "userId,movieId,rating",
        "USER_ID,ITEM_ID,SCORE",
        "User-ID,ISBN,Book-Rating",
        "customer,product,stars",
        "reviewerID,asin,overall",
        "uid,iid,value",
        "user_id,book_id,rating",
    ],
)
def test_columns_are_known_by_usual_names(write, seen, header):
    text = header + "\n" + table(",", header=False)
    assert seen(write("r.csv", text)) == _EXPECTED


def test_columns_in_any_order_and_others_between(write, seen):
    text = "x,rating,y,item,user\na,4,b,10,1\na,1,b,10,2\na,5,b,20,1\n"
    assert seen(write("r.csv", text)) == _EXPECTED


def test_columns_told_by_name(write, seen):
    text = "who,what,how\n" + table(",", header=False)
    told = {"user": "who", "item": "what", "rating": "how"}
    assert seen(write("r.csv", text), columns=told) == _EXPECTED


def test_one_column_told_the_others_found(write, seen):
    text = "user,what,rating\n" + table(",", header=False)
    assert seen(write("r.csv", text), columns={"item": "what"}) == _EXPECTED


def test_columns_counted_without_a_header(write, seen, refusal):
    text = "10,4,1\n10,1,2\n20,5,1\n"
    told = {"item": 0, "rating": 1, "user": 2}
    assert seen(write("r.csv", text), columns=told) == _EXPECTED
    assert "what separates its fields" in str(refusal(write("r.txt", text), columns=told))
    assert seen(write("r.txt", text), columns=told, separator=",") == _EXPECTED
    wide = text.replace("\n", ",x\n")
    assert 'columns={"fields": 5}' in str(refusal(write("w.csv", wide), columns=told))
    assert seen(write("w.csv", wide), columns=told | {"fields": 4}) == _EXPECTED


def test_an_id_column_goes_before_a_word(write, seen):
    text = "user,movie,movie_id,rating\n1,Alien,10,4\n2,Alien,10,1\n1,Heat,20,5\n"
    assert seen(write("r.csv", text)) == _EXPECTED


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"user": "nobody"}, "no column named 'nobody'"),
        ({"user": "user", "item": "user"}, "same column for two things"),
        ({"speed": "user"}, "'speed'"),
        ({"user": 0, "item": "item"}, "all names (with a header) or all positions"),
        ({"user": 0, "item": 1}, "lacks the position of the rating"),
        ({"user": 0, "item": 1, "rating": 1}, "different positions"),
        ({"user": 0, "item": 1, "rating": -1}, "different positions"),
        ({"user": 0, "item": 1, "rating": 3}, "does not have the 4 fields"),
        ({"user": 0, "item": 1, "rating": 2, "fields": 2}, "fields must be a number from 3"),
        ({"fields": 4}, "fields is for files without a header"),
    ],
)
def test_what_is_told_of_columns_must_fit(write, refusal, told, message):
    assert message in str(refusal(write("r.csv", table(",")), columns=told))


def test_two_columns_that_could_be_the_same_are_asked_about(write, refusal):
    error = refusal(write("r.csv", "user,uid,item,rating\n1,1,1,1\n"))
    assert "'user' and 'uid' could each be the user" in str(error)


def test_presence_alone_is_refused(write, refusal):
    error = refusal(write("r.csv", "user,item,time\n1,2,3\n"))
    assert "no column for the rating among user, item, time" in str(error)
    assert "implicit=True reads presence alone" in str(error)


def test_a_first_line_that_may_be_data_is_not_shown(write, refusal):
    message = str(refusal(write("r.csv", "alice,alien,5\nbob,heat,4\n")))
    assert "no column for the user" in message
    assert not any(cell in message for cell in ("alice", "alien"))


def test_leading_zeros_tell_identifiers_apart(write, seen):
    text = "user,item,rating\n7,007,1\n07,7,2\n7,7,3\n"
    assert seen(write("r.csv", text)) == {
        ("7", "007"): (1.0, None),
        ("07", "7"): (2.0, None),
        ("7", "7"): (3.0, None),
    }


@pytest.mark.parametrize("odd", ["+7", "-0", "007", '"007"'])
def test_odd_numbers_are_text(write, seen, odd):
    text = f"user,item,rating\n{odd},1,1\n7,1,2\n0,1,3\n"
    assert set(seen(write("r.csv", text))) == {(odd.strip('"'), "1"), ("7", "1"), ("0", "1")}


def test_integers_in_quotes_are_integers(write, seen):
    assert seen(write("r.csv", 'user,item,rating\n"7","1",5\n')) == {(7, "1"): (5.0, None)}


def test_integers_beyond_64_bits_are_text(write, seen):
    big = str(2**64)
    assert seen(write("r.csv", f"user,item,rating\n{big},1,5\n")) == {(big, "1"): (5.0, None)}


def test_users_are_in_the_order_of_their_ids(write):
    path = write("r.csv", "user,item,rating\n10,1,1\n9,1,1\n-3,1,1\n")
    assert read_ratings(path, scale=(1, 5), catalog="from-data").users.tolist() == [-3, 9, 10]
    path = write("s.csv", "user,item,rating\nb,1,1\n10,1,1\nB,1,1\n9,1,1\n")
    users = read_ratings(path, scale=(1, 5), catalog="from-data").users.tolist()
    assert users == ["9", "10", "B", "b"]


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("86400", 86_400),
        ("86400.7", 86_400),
        ("1970-01-02", 86_400),
        ("1970-01-02T00:00:05", 86_405),
        ("1970-01-02 00:00:05Z", 86_405),
        ("1970-01-02T02:00:05+02:00", 86_405),
        ("1970-01-02 00:01", 86_460),
        ("4294967295", 2**32 - 1),
        ("2106-02-07T06:28:15Z", 2**32 - 1),
        ("0", 0),
    ],
)
def test_times(write, seen, cell, seconds):
    text = f"user,item,rating,timestamp\n1,1,1,{cell}\n1,2,2,0\n"
    assert seen(write("r.csv", text))[1, "1"] == (1.0, seconds)


def test_times_can_be_left_out(write, seen):
    text = "user,item,rating,timestamp\n1,1,1,nonsense\n"
    assert seen(write("r.csv", text), columns={"time": None}) == {(1, "1"): (1.0, None)}


def test_the_last_of_duplicates_wins(write):
    path = write("r.csv", "user,item,rating,time\n1,1,1,9\n1,1,5,3\n")
    ratings = read_ratings(path, scale=(1, 5), catalog="from-data")
    assert ratings.values().tolist() == [5.0]
    assert ratings.times.tolist() == [3]
    assert ratings.duplicates == 1


def test_the_catalogue_gives_order_and_titles(write):
    path = write("r.csv", table(","))
    catalog = Catalog(["30", "20", "10"], ["c", "b", "a"])
    ratings = read_ratings(path, scale="1..5", catalog=catalog)
    assert ratings.catalog is catalog
    assert ratings.items.tolist() == [1, 2, 2]


def test_from_data_says_so(write):
    path = write("r.csv", table(","))
    catalog = read_ratings(path, scale=(1, 5), catalog="from-data").catalog
    assert catalog == Catalog(["10", "20"], origin=CatalogOrigin.FROM_DATA)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ((1, 5), Scale(1, 5)),
        ((0.5, 5, 0.5), Scale(0.5, 5, 0.5)),
        ((1, 5, None), Scale(1, 5, None)),
        ("0.5..5/0.5", Scale(0.5, 5, 0.5)),
        (Scale(0, 10), Scale(0, 10)),
    ],
)
def test_the_scale_in_every_form(write, scale, expected):
    ratings = read_ratings(write("r.csv", table(",")), scale=scale, catalog="from-data")
    assert ratings.scale == expected
    assert sorted(ratings.values().tolist()) == [1.0, 4.0, 5.0]


@pytest.mark.parametrize("scale", [(1,), (1, 2, 3, 4), 5, [1, 5], ("1", "5"), (None, 5)])
def test_a_scale_of_another_form_is_refused(write, refusal, scale):
    assert "scale must be" in str(refusal(write("r.csv", table(",")), scale=scale))


def test_scale_and_catalogue_are_asked_for(write, refusal):
    path = write("r.csv", table(","))
    assert "give it, like scale=(1, 5)" in str(refusal(path, scale=None))
    message = str(refusal(path, catalog=None))
    assert 'catalog="items.csv"' in message
    assert 'catalog="from-data" reads it off the private ratings' in message


@pytest.mark.parametrize("size", [1, 7, 16, 64])
def test_pieces_of_any_size_give_the_same(write, seen, monkeypatch, size):
    text = 'user,item,rating,note\n1,10,4,"a\nb"\n\n2,10,1,é\n1,20,5,\n1,10,2,x\n'
    whole = seen(write("r.csv", text), quoting="multiline")
    monkeypatch.setattr(_layouts, "read_cells", partial(read_cells, size=size))
    assert (
        seen(write("s.csv", text), quoting="multiline")
        == whole
        == _EXPECTED | {(1, "10"): (2.0, None)}
    )


def test_integers_first_and_text_later(write, seen, monkeypatch):
    monkeypatch.setattr(_layouts, "read_cells", partial(read_cells, size=8))
    text = "user,item,rating\n1,10,4\n2,10,1\nx,10,3\n1,20,5\n"
    assert seen(write("r.csv", text)) == {
        ("1", "10"): (4.0, None),
        ("1", "20"): (5.0, None),
        ("2", "10"): (1.0, None),
        ("x", "10"): (3.0, None),
    }


def test_progress_ends_at_all_of_it(write):
    path = write("r.csv", table(","))
    told = []
    read_ratings(
        path, scale=(1, 5), catalog="from-data", progress=lambda done, of: told.append((done, of))
    )
    assert told[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_repr_shows_nothing_private(write):
    text = "user,item,rating\nalice,alien,4\n"
    ratings = read_ratings(write("r.csv", text), scale=(1, 5), catalog="from-data")
    assert "alice" not in repr(ratings)


def test_an_unknown_word_for_bad_rows_is_refused(write):
    with pytest.raises(InputError, match="refuse or skip"):
        read_ratings(write("r.csv", table(",")), scale=(1, 5), on_bad_rows="ignore")  # type: ignore[arg-type]
