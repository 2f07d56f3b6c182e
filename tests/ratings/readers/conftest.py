"""What the readers' tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import InputError
from discreet.ratings import Ratings
from discreet.ratings.readers import read_ratings

Cells = dict[tuple[object, str], tuple[float, int | None]]


def cells(ratings: Ratings) -> Cells:
    """Each rating and time by user id and item id: everything that a reader is there to find."""
    names = range(ratings.user_count) if ratings.users is None else ratings.users.tolist()
    times = [None] * len(ratings) if ratings.times is None else ratings.times.tolist()
    users = [names[user] for user in ratings.user_of_rating().tolist()]
    items = [ratings.catalog.ids[item] for item in ratings.items.tolist()]
    values = zip(ratings.values().tolist(), times, strict=True)
    return dict(zip(zip(users, items, strict=True), values, strict=True))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file by name and content, and gives its path."""

    def do(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return do


@pytest.fixture
def seen() -> Callable[..., Cells]:
    """Reads a source and gives its cells; scale 1..5 and a catalogue off the data by default."""

    def do(source: object, **options: Any) -> Cells:
        return cells(read_ratings(source, **{"scale": (1, 5), "catalog": "from-data"} | options))

    return do


@pytest.fixture
def refusal() -> Callable[..., InputError]:
    """Reads a source that must be refused, and gives the error."""

    def do(source: object, **options: Any) -> InputError:
        with pytest.raises(InputError) as caught:
            read_ratings(source, **{"scale": (1, 5), "catalog": "from-data"} | options)
        message = str(caught.value)
        assert "\n" not in message
        return caught.value

    return do
