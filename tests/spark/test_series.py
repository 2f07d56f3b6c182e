"""A series on a cluster has the integers, and so the totals, of one on this machine."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import spark as cluster
from discreet.measure import RatingsSource
from discreet.privacy import SeededRandomness
from discreet.ratings import Ratings
from discreet.series import Series
from discreet.series._state import read_state
from spark._cluster import SOCKETS

pytestmark = SOCKETS


def spans(ratings: Ratings) -> list[str]:
    """Two ranges of days that have half of the records each, and leave some out."""
    assert ratings.times is not None
    cuts = np.quantile(ratings.times, [0.1, 0.5, 0.9])
    days = [datetime.datetime.fromtimestamp(int(cut), datetime.UTC).date() for cut in cuts]
    middle = days[1] + datetime.timedelta(days=1)
    return [f"{days[0]}..{days[1]}", f"{middle}..{days[2]}"]


def totals(folder: Path, source: RatingsSource, names: list[str], **terms: Any) -> dict[str, Any]:
    series = Series.create(
        folder, scale=source.scale, catalog=source.catalog, protect="rating", epsilon=4.0, **terms
    )
    for number, name in enumerate(names):
        series.add(source, name, randomness=SeededRandomness(number))
    streams, _ = read_state(series.path / "state-2.safetensors")
    return {label: stream.total for label, stream in streams.items()}


@pytest.mark.parametrize("older_share", [0.0, 0.2])
def test_totals_are_those_of_one_machine(
    tmp_path: Path, clicks: Ratings, on_clicks: cluster.SparkRatings, older_share: float
) -> None:
    terms = {"method": "lists", "head": 40, "older_share": older_share}
    names = spans(clicks)
    here = totals(tmp_path / "here", clicks, names, **terms)
    there = totals(tmp_path / "there", on_clicks, names, **terms)
    assert here.keys() == there.keys() and "presence pairs" in here
    for label, total in here.items():
        assert np.array_equal(total, there[label]), label
