"""The curator's figures, against figures worked out by hand."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from discreet.domain import Catalog, Scale
from discreet.ratings import Ratings, _figures
from discreet.ratings._figures import figures

# User 0 rated items 0, 1, 2 with 1, 2, 5; user 1 nothing; user 2 item 2 with 5; user 3 0 and 2
# with 4 and 5. Nobody rated item 3.
RATINGS = Ratings(
    scale=Scale(1, 5),
    catalog=Catalog(["a", "b", "c", "d"]),
    starts=np.array([0, 3, 3, 4, 6]),
    items=np.array([0, 1, 2, 2, 0, 2], dtype=np.int32),
    codes=np.array([0, 1, 4, 4, 3, 4], dtype=np.uint8),
    times=np.array([86400, 5, 7, 9, 172800, 3], dtype=np.uint32),
    duplicates=7,
    skipped=8,
)


def test_counts() -> None:
    found = figures(RATINGS)
    assert (found.ratings, found.users, found.items, found.rated_items) == (6, 3, 4, 3)
    assert found.density == 6 / (3 * 4)
    assert (found.duplicates, found.skipped) == (7, 8)
    assert found.nbytes == RATINGS.nbytes


def test_quantiles_are_counts_that_occur() -> None:
    found = figures(RATINGS)
    assert list(found.per_user.items()) == [
        ("least", 1),
        ("25%", 1),
        ("median", 2),
        ("75%", 3),
        ("95%", 3),
        ("most", 3),
    ]
    assert list(found.per_item.values()) == [0, 0, 1, 2, 3, 3]


def test_values() -> None:
    found = figures(RATINGS)
    assert found.values == {"1": 1, "2": 1, "3": 0, "4": 1, "5": 3}
    assert found.mean == pytest.approx(22 / 6)
    assert found.deviation == pytest.approx(statistics.pstdev([1, 2, 5, 5, 4, 5]))


def test_times() -> None:
    found = figures(RATINGS)
    assert found.first == datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert found.last == datetime(1970, 1, 3, tzinfo=UTC)
    assert figures(replace(RATINGS, times=None)).first is None


def test_a_continuous_scale_is_counted_in_tenths() -> None:
    values = np.array([-10, -8, -7.9, 0, 9.99, 10], dtype=np.float32)
    found = figures(replace(RATINGS, scale=Scale(-10, 10, None), codes=values))
    assert found.values == {
        "-10 to -8": 1,
        "-8 to -6": 2,
        "-6 to -4": 0,
        "-4 to -2": 0,
        "-2 to 0": 0,
        "0 to 2": 1,
        "2 to 4": 0,
        "4 to 6": 0,
        "6 to 8": 0,
        "8 to 10": 2,
    }
    assert found.mean == pytest.approx(-5.91 / 6, abs=1e-6)


def test_levels_of_fractions_have_plain_names() -> None:
    found = figures(replace(RATINGS, scale=Scale(0, 0.4, 0.1)))
    assert list(found.values) == ["0", "0.1", "0.2", "0.3", "0.4"]


def test_figures_do_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = figures(RATINGS)
    monkeypatch.setattr(_figures, "_BLOCK", 1)
    assert figures(RATINGS) == whole


def test_nothing_has_figures_too() -> None:
    found = figures(RATINGS.select_users(0, 0))
    assert (found.ratings, found.users, found.density, found.mean) == (0, 0, 0.0, None)
    json.dumps(found.as_json(), allow_nan=False)


def test_json_has_every_figure_in_plain_types() -> None:
    plain = json.loads(json.dumps(figures(RATINGS).as_json(), allow_nan=False))
    assert plain["last"] == "1970-01-03T00:00:00+00:00"
    assert plain["per_user"]["most"] == 3


def test_repr_shows_nothing() -> None:
    assert repr(figures(RATINGS)) == "Figures(private)"
