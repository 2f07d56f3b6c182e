"""Bad input: one clear line with file, line and reason, and nothing private in it."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import pytest

from discreet.domain import Catalog, InputError
from discreet.ratings.readers import _layouts, read_catalog, read_ratings
from discreet.ratings.readers.text import read_cells

_HEADER = "user,item,rating,time\n"
_GOOD = "1,1,3,5\n1,2,4,5\n2,1,5,5\n"
_CATALOG = Catalog(["1", "2", "3"])

# Each bad line stands on line 5, below a header and three good lines.
_BAD_LINES = {
    "3,1,,5": "the rating is empty",
    "3,1,five,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,nan,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,4 stars,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,6,5": "the rating is not on the scale 1..5 in steps of 1",
    "3,1,0,5": "the rating is not on the scale 1..5 in steps of 1",
    "3,1,2.5,5": "the rating is not on the scale 1..5 in steps of 1",
    "3,1,inf,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,0x4,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,\uff14,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,1_0,5": "the rating is not a number; decimals need a point, like 3.5",
    "3,1,1e999,5": "the rating is not on the scale 1..5 in steps of 1",
    ",1,4,5": "the user is empty",
    '"",1,4,5': "the user is empty",
    "3,,4,5": "the item is empty",
    "3,1,4,": "the time is empty",
    "3,1,4,soon": "the time is neither",
    "3,1,4,2005-13-01": "the time is neither",
    "3,1,4,-1": "the time is outside the years 1970 to 2106",
    "3,1,4,1133395200000": "divide milliseconds by 1000",
    "3,1,4,1969-12-31": "the time is outside the years 1970 to 2106",
    "3,1,4": "does not have the 4 fields that every line must have",
    "3,1,4,5,6": "does not have the 4 fields that every line must have",
    "3": "does not have the 4 fields that every line must have",
    "3,99,4,5": "the item is not in the catalogue of 3 items",
    "3,x,4,5": "the item is not in the catalogue of 3 items",
    "3,01,4,5": "the item is not in the catalogue of 3 items",
}


@pytest.mark.parametrize(("line", "reason"), _BAD_LINES.items())
def test_the_line_and_the_reason(write, refusal, line, reason):
    path = write("r.csv", _HEADER + _GOOD + line + "\n" + "9,1,3,5\n")
    error = refusal(path, catalog=_CATALOG)
    assert (error.path, error.line) == (str(path), 5)
    assert reason in error.reason
    assert str(error).startswith(f"{path}, line 5: ")


@pytest.mark.parametrize("line", _BAD_LINES)
def test_a_bad_line_can_be_skipped(write, line):
    path = write("r.csv", _HEADER + _GOOD + line + "\n" + "9,1,3,5\n")
    ratings = read_ratings(path, scale=(1, 5), catalog=_CATALOG, on_bad_rows="skip")
    assert ratings.users.tolist() == [1, 2, 9]
    assert ratings.values().tolist() == [3.0, 4.0, 5.0, 3.0]
    assert ratings.skipped == 1


@pytest.mark.parametrize(("line", "reason"), _BAD_LINES.items())
def test_windows_lines_blank_lines_and_a_mark_do_not_move_the_line(write, refusal, line, reason):
    text = (_HEADER + "\n" + _GOOD + "\n\n" + line + "\n").replace("\n", "\r\n")
    error = refusal(write("r.csv", b"\xef\xbb\xbf" + text.encode()), catalog=_CATALOG)
    assert error.line == 8
    assert reason in error.reason


def test_newlines_in_quotes_are_lines_too(write, refusal):
    text = 'user,item,rating,note\n1,1,3,"a\nb\n\nc"\n1,2,bad,ok\n'
    assert refusal(write("r.csv", text), quoting="multiline").line == 6


def test_the_first_of_several_bad_lines_is_named(write, refusal):
    text = _HEADER + _GOOD + "3,1,4\n3,1,bad,5\n3,1,9,5\n"
    assert refusal(write("r.csv", text)).line == 5
    text = _HEADER + _GOOD + "3,1,9,5\n3,1,bad,5\n3,1,4\n"
    assert refusal(write("r.csv", text)).line == 5


def test_skipping_counts_every_bad_line(write):
    text = _HEADER + _GOOD + "".join(line + "\n" for line in _BAD_LINES)
    path = write("r.csv", text)
    ratings = read_ratings(path, scale=(1, 5), catalog=_CATALOG, on_bad_rows="skip")
    assert (len(ratings), ratings.skipped) == (3, len(_BAD_LINES))


@pytest.mark.parametrize("size", [1, 5, 16, 1 << 20])
def test_lines_are_counted_over_pieces(write, refusal, monkeypatch, size):
    monkeypatch.setattr(_layouts, "read_cells", partial(read_cells, size=size))
    text = _HEADER + _GOOD * 20 + "\n3,1,bad,5\n" + _GOOD
    assert refusal(write("r.csv", text)).line == 63


def test_a_missing_field_and_one_too_many_do_not_cancel_out(write, refusal):
    header = "user,item,rating,note,other\n"
    text = header + "1,1,3,a,b\n1,2,4,a\n2,1,5,a,b,c\n"
    assert refusal(write("r.csv", text)).line == 3
    text = header + "1,1,3,a,b\n2,1,5,a,b,c\n1,2,4,a\n"
    assert refusal(write("s.csv", text)).line == 3


def test_without_a_header_lines_count_from_the_first(write, refusal):
    told = {"user": 0, "item": 1, "rating": 2}
    assert refusal(write("r.csv", "1,1,3\n1,2,x\n"), columns=told).line == 2


def test_a_header_where_none_was_expected_is_guessed(write, refusal):
    told = {"user": 0, "item": 1, "rating": 2}
    error = refusal(write("r.csv", "user,item,rating\n1,2,3\n"), columns=told)
    assert error.line == 1
    assert "if line 1 is a header" in error.reason


def test_unknown_items_are_counted_to_the_end(write, refusal, monkeypatch):
    monkeypatch.setattr(_layouts, "read_cells", partial(read_cells, size=16))
    text = _HEADER + _GOOD + "1,7,3,5\n1,8,3,5\n2,7,3,5\n2,1,bad,5\n"
    error = refusal(write("r.csv", text), catalog=_CATALOG)
    assert error.line == 5
    assert "3 rows with 2 different items" in error.reason
    assert 'on_bad_rows="skip"' in error.reason


def test_a_bad_line_before_unknown_items_goes_first(write, refusal):
    text = _HEADER + _GOOD + "2,1,bad,5\n1,7,3,5\n"
    error = refusal(write("r.csv", text), catalog=_CATALOG)
    assert "the rating is not a number; decimals need a point, like 3.5" in error.reason


def test_no_message_shows_what_a_cell_says(write, refusal):
    for user, item, rating, time in (
        ("secretuser", "1", "secretrating", "5"),
        ("secretuser", "secretitem", "3", "5"),
        ("secretuser", "1", "3", "secrettime"),
        ("secretuser", "1", "3.25", "5"),
        ("secretuser", "1", "3", "5,secretfield"),
    ):
        text = _HEADER + _GOOD + f"{user},{item},{rating},{time}\n"
        error = refusal(write("r.csv", text), catalog=_CATALOG)
        assert "secret" not in str(error)
        assert "3.25" not in str(error)
        assert error.__cause__ is None
        assert error.__context__ is None


def test_an_empty_file_lacks_its_header(write, refusal):
    assert "not even a header" in str(refusal(write("r.csv", "")))
    assert "not even a header" in str(refusal(write("s.csv", "\n\n")))


@pytest.mark.parametrize(
    "text", [_HEADER, _HEADER.strip(), _HEADER + "\n\n", _HEADER + "1,1,x,5\n"]
)
def test_no_ratings_are_ratings_of_nobody(write, refusal, text):
    path = write("r.csv", text)
    ratings = read_ratings(path, scale=(1, 5), catalog=_CATALOG, on_bad_rows="skip")
    assert (len(ratings), ratings.user_count) == (0, 0)
    assert "no ratings, so no catalogue" in str(refusal(path, on_bad_rows="skip"))


def test_a_file_without_header_and_rows(write):
    columns = {"user": 0, "item": 1, "rating": 2}
    ratings = read_ratings(write("r.csv", ""), scale=(1, 5), catalog=_CATALOG, columns=columns)
    assert (len(ratings), ratings.user_count) == (0, 0)


def test_a_missing_column(write, refusal):
    assert "no column for the item" in str(refusal(write("r.csv", "user,rating,time\n1,2,3\n")))


def test_a_missing_file(refusal, tmp_path):
    assert str(refusal(tmp_path / "none.csv")).endswith("none.csv: no such file")
    assert "no such file" in str(refusal(tmp_path / "none" / "none.parquet"))


def test_a_missing_catalogue_file(write, refusal, tmp_path):
    error = refusal(write("r.csv", _HEADER + _GOOD), catalog=tmp_path / "none.csv")
    assert error.path == str(tmp_path / "none.csv")


def test_a_folder_where_a_file_is_meant(write, refusal, tmp_path):
    assert "is a folder without" in str(refusal(tmp_path))
    error = refusal(write("r.csv", _HEADER + _GOOD), catalog=tmp_path)
    assert error.reason == "is a folder, not a file"


def test_a_file_without_permission(write, refusal, monkeypatch):
    path = write("r.csv", _HEADER + _GOOD)
    real = Path.open

    def forbidden(self, *args, **options):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return real(self, *args, **options)

    monkeypatch.setattr(Path, "open", forbidden)
    assert refusal(path).reason == "no permission to read it"


def test_a_broken_disk(write, refusal, monkeypatch):
    def broken(self, *args, **options):
        raise OSError(5, "Input/output error")

    path = write("r.csv", _HEADER + _GOOD)
    monkeypatch.setattr(Path, "open", broken)
    assert refusal(path).reason == "cannot be read: Input/output error"


@pytest.mark.parametrize("place", ["user", "item", "note"])
def test_bytes_that_are_not_utf8(write, refusal, place):
    cells = {"user": b"1", "item": b"1", "note": b"a"} | {place: "Fantômas".encode("latin-1")}
    bad = b",".join([cells["user"], cells["item"], b"3", cells["note"]])
    data = b"user,item,rating,note\n1,1,3,ok\n\n" + bad + b"\n"
    error = refusal(write("r.csv", data))
    assert error.line == 4
    assert "is not UTF-8" in error.reason
    ratings = read_ratings(write("r.csv", data), scale=(1, 5), catalog=_CATALOG, on_bad_rows="skip")
    assert (len(ratings), ratings.skipped) == (1, 1)


@pytest.mark.parametrize("before", [0, 33])
def test_a_line_is_too_long_by_itself(write, refusal, before):
    others = b"1,1,3,5\n" * (before << 17)
    long = b"x" * (66 << 20) + b",1,3,5\n"
    data = _HEADER.encode() + others + long
    assert "is longer than 64 MiB" in str(refusal(write("r.csv", data), on_bad_rows="skip"))


def test_a_header_is_not_cut(write, refusal):
    text = f"user,item,rating,{'x' * 70_000}\n1,1,3,x\n"
    assert "its header is longer than 64 KiB" in str(refusal(write("r.csv", text)))


def test_a_header_that_is_not_utf8(write, refusal):
    assert refusal(write("r.csv", "usér,item,rating\n1,2,3\n".encode("latin-1"))).line == 1


def test_utf16_zip_and_other_files_are_named(write, refusal):
    assert "UTF-16" in str(refusal(write("a.csv", (_HEADER + _GOOD).encode("utf-16"))))
    assert "zip archive" in str(refusal(write("b.csv", b"PK\x03\x04....")))
    assert "not a text file" in str(refusal(write("c.csv", b"\x7fELF\0\0\0")))
    assert "does not end in .gz" in str(refusal(write("d.csv", gzip.compress(b"user,item"))))
    assert "does not end in .parquet" in str(refusal(write("e.csv", b"PAR1")))


def test_a_quote_that_never_closes(write, refusal):
    path = write("r.csv", _HEADER + _GOOD + '3,"1,4,5\n3,2,4,5\n')
    error = refusal(path)
    assert (error.line, error.reason[:37]) == (5, "a quote is not closed on its line, or")
    error = refusal(path, quoting="multiline")
    assert (error.line, error.reason) == (5, "a quote is opened here and never closed")


@pytest.mark.parametrize("on_bad_rows", ["refuse", "skip"])
def test_a_quote_behind_a_backslash_makes_no_records(write, refusal, on_bad_rows):
    r"""As some programs write the text: " <newline> 1000,8,5," of user 1."""
    text = 'user,item,rating,review\n2,7,4,fine\n1,7,5,"\\" \n1000,8,5,\\""\n'
    path = write("r.csv", text)
    assert refusal(path, on_bad_rows=on_bad_rows).line == 3
    error = refusal(path, on_bad_rows=on_bad_rows, quoting="multiline")
    assert (error.line, error.reason[:37]) == (3, "a quote inside a field is not doubled")


@pytest.mark.parametrize("on_bad_rows", ["refuse", "skip"])
@pytest.mark.parametrize(
    "lines",
    [
        '1,7,5,a 12" disc\n2,7,5,fine\n3,8,4,a 7" disc\n4,8,4,ok\n',  # two people would be text
        '2,7,5,x"\n1,8,5,"l1\n1000,8,5,y\n1001,8,5,y\n"\n1,9,5,z"\n',  # two would be forged
        'a"b",1,5,x\n',
        '1,7,5,"two" "quotes"\n',
    ],
)
def test_a_quote_in_the_middle_of_a_field_is_refused(write, refusal, lines, on_bad_rows):
    path = write("r.csv", "user,item,rating,x\n" + lines)
    error = refusal(path, on_bad_rows=on_bad_rows)
    assert (error.line, "stands inside a field" in error.reason) == (2, True)
    error = refusal(path, on_bad_rows=on_bad_rows, quoting="multiline")
    assert (error.line, error.reason[:22]) == (2, "a quote inside a field")


def test_a_last_line_cut_short(write, refusal):
    error = refusal(write("r.csv", _HEADER + _GOOD + "3,1"))
    assert error.line == 5
    assert "cut short" in error.reason


def test_cut_short_is_not_said_of_other_lines(write, refusal):
    assert "cut short" not in str(refusal(write("r.csv", _HEADER + _GOOD + "3,1\n")))
    assert "cut short" not in str(refusal(write("r.csv", _HEADER + "3,1\n" + _GOOD.strip())))


def test_gzip_cut_short_or_damaged(write, refusal):
    packed = gzip.compress((_HEADER + _GOOD * 1000).encode())
    assert "is cut short" in str(refusal(write("a.csv.gz", packed[: len(packed) // 2])))
    broken = bytearray(packed)
    broken[-6] ^= 0xFF
    assert "is damaged" in str(refusal(write("b.csv.gz", bytes(broken))))


def test_an_unknown_layout(write, refusal):
    assert "none of auto, table" in str(refusal(write("r.csv", _HEADER), layout="xml"))


def test_a_wrong_catalogue_file_is_refused_before_the_ratings(write, tmp_path):
    with pytest.raises(InputError) as caught:
        read_catalog(write("items.csv", "name,year\nAlien,1979\n"))
    assert "needs a column of item ids" in caught.value.reason
