"""An executor that is killed changes nothing: its tasks are tried again, what it held is redone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.measure._source import total
from discreet.measure.engines.spark import _ratings, _sums
from discreet.measure.engines.spark._sums import sittings
from discreet.measure.pairs import CosinePairs
from discreet.privacy import Noise, Unit
from discreet.ratings import Ratings
from spark._cluster import COUNTS, SOCKETS, Dying, DyingAdder

pytestmark = SOCKETS
BAND = 150


@pytest.fixture
def in_tiles(on_stars: cluster.SparkRatings, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tiles and by crowds, and back a partition at a time: as sums of a large catalogue are."""
    monkeypatch.setattr(_ratings, "_AT_ONCE", 1 << 20)
    monkeypatch.setattr(_sums, "_FAN_IN", 2)
    monkeypatch.setattr(on_stars, "_band", BAND)


def pairs_of(stars: Ratings) -> CosinePairs:
    head = np.arange(len(stars.catalog), dtype=np.int32)
    return CosinePairs(Unit.USER, Noise.GAUSSIAN, head, stars.scale)


@pytest.mark.parametrize("late", [False, True], ids=["at first", "in a second sitting"])
def test_a_death_while_pairs_are_summed(
    stars: Ratings, on_stars: cluster.SparkRatings, in_tiles: None, tmp_path: Path, late: bool
) -> None:
    statistic = pairs_of(stars)
    count = len(sittings(len(statistic.head), BAND))
    assert count > 2
    (found,) = on_stars.triangles(Dying(statistic, tmp_path, count, late))  # type: ignore[arg-type]
    (right,) = statistic.sum_pairs(statistic.entries(stars))
    np.testing.assert_array_equal(found, right)
    assert (tmp_path / "died").exists()
    if late:  # what was done before, and lost, was done again
        lost = (tmp_path / "died").read_text()
        assert len(list(tmp_path.glob(f"begun-{lost}-*"))) >= 2
    np.testing.assert_array_equal(total(on_stars, COUNTS.measure), COUNTS.measure(stars))


def test_a_death_while_tiles_are_added(
    stars: Ratings,
    on_stars: cluster.SparkRatings,
    in_tiles: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mark = tmp_path / "died"
    monkeypatch.setattr(_ratings, "add_tiles", DyingAdder(mark))
    statistic = pairs_of(stars)
    (found,) = on_stars.triangles(statistic)
    assert mark.exists()
    (right,) = statistic.sum_pairs(statistic.entries(stars))
    np.testing.assert_array_equal(found, right)
