"""How errors read, and that they survive a trip between processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from discreet.domain import DiscreetError, InputError
from discreet.domain.errors import MissingPart, NotCharged, printable
from discreet.privacy import NotCharged as FromPrivacy


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        (None, None, "no rating"),
        ("a.csv", None, "a.csv: no rating"),
        (Path("b") / "a.csv", 7, "b/a.csv, line 7: no rating"),
        ("a.csv", 1234567, "a.csv, line 1,234,567: no rating"),
        (None, 3, "input, line 3: no rating"),
    ],
)
def test_an_input_error_says_where(
    path: str | Path | None, line: int | None, expected: str
) -> None:
    error = InputError("no rating", path=path, line=line)
    assert str(error) == expected
    assert error.reason == "no rating"
    assert error.path == (None if path is None else str(path))
    assert error.line == line


@pytest.mark.parametrize("kind", [InputError, MissingPart])
def test_an_input_error_can_be_pickled(kind: type[InputError]) -> None:
    error = pickle.loads(pickle.dumps(kind("no rating", path="a.csv", line=7)))
    assert type(error) is kind
    assert str(error) == "a.csv, line 7: no rating"
    assert (error.reason, error.path, error.line) == ("no rating", "a.csv", 7)


def test_everything_is_caught_at_the_root() -> None:
    with pytest.raises(DiscreetError, match="no rating"):
        raise MissingPart("no rating")
    assert FromPrivacy is NotCharged


def test_a_file_s_name_gives_no_orders_to_a_terminal() -> None:
    error = InputError("is empty", path="a\x1b[31m\r\nb\u202e\udcff.csv", line=3)
    assert str(error) == "a\\x1b[31m\\r\\nb\\u202e\\udcff.csv, line 3: is empty"
    assert error.path == "a\x1b[31m\r\nb\u202e\udcff.csv"
    assert printable("Amélie\t1 👩\u200d🚀\nHeat") == "Amélie\t1 👩\u200d🚀\nHeat"
