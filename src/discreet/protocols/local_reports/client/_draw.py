"""One report: answers for what was rated, and fakes among all the rest. See PROOF.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError, OwnRatings
from discreet.privacy import Randomness, unbooked
from discreet.privacy.noise import GeometricLaw, draw_below, draw_noise
from discreet.protocols.local_reports.client._fakes import FakeCount, draw_places
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report

_Ints = npt.NDArray[np.int64]
_PART = "a local report's rated items"


def draw_report(collection: Collection, own: OwnRatings, randomness: Randomness) -> Report:
    """Draw fresh answers for every item of the catalogue.

    Nothing is remembered: calling it again costs epsilon again. `LocalClient` remembers.

    Raises:
        InputError: An item is not in the catalogue or a rating not on the scale.
    """
    rated = own.items.astype(np.int64)
    size = len(collection.catalog)
    inside = len(rated) == 0 or bool(rated[0] >= 0 and rated[-1] < size)
    if not inside or not np.all(np.diff(rated) > 0):
        raise InputError(f"own items are catalogue indices below {size:,} in rising order")
    if not np.all(collection.scale.contains(own.values)):
        raise InputError(f"an own rating is not on the scale {collection.scale}")
    values = collection.to_grid(own.values)
    if collection.mechanism is Mechanism.MODIFIED_LAPLACE:
        told = _laplace(collection, rated, values, randomness)
    else:
        told = _response(collection, rated, values, randomness)
    return Report.of(collection, *told)


def _laplace(
    collection: Collection, rated: _Ints, values: _Ints, randomness: Randomness
) -> tuple[_Ints, _Ints]:
    mechanism = collection.laplace
    answers, shown = values[:0], np.empty(0, np.bool_)
    if len(rated):
        part = mechanism.event(_PART, len(rated))
        present = np.ones(len(rated), np.bool_)
        answers, shown = mechanism.release(values, present, part, unbooked([part], randomness))
    fakes = _fakes(collection, rated, 1, collection.epsilon / 2, randomness)
    noise = draw_noise(GeometricLaw(mechanism.scale), len(fakes), randomness)
    both = np.concatenate((answers[shown], noise))
    cut = np.clip(both, collection.least, collection.largest)
    return np.concatenate((rated[shown], fakes)), cut


def _response(
    collection: Collection, rated: _Ints, values: _Ints, randomness: Randomness
) -> tuple[_Ints, _Ints]:
    mechanism = collection.response
    answers = values[:0]
    if len(rated):
        part = mechanism.event(_PART, len(rated))
        step = 2 * collection.reach // (collection.levels - 1)
        symbols = (values + collection.reach) // step + 1
        answers = mechanism.release(symbols, part, unbooked([part], randomness))
    shown = answers > 0
    fakes = _fakes(collection, rated, collection.levels, collection.epsilon, randomness)
    others = 1 + draw_below(collection.levels, len(fakes), randomness)
    return np.concatenate((rated[shown], fakes)), np.concatenate((answers[shown], others))


def _fakes(
    collection: Collection, rated: _Ints, ways: int, exponent: float, randomness: Randomness
) -> _Ints:
    """Which items that were not rated get an answer."""
    others = len(collection.catalog) - len(rated)
    count = FakeCount(others, ways, exponent).draw(randomness)
    places = draw_places(count, others, randomness)
    # The j-th item that was not rated has as many rated ones before it as have r_i - i <= j.
    before = np.searchsorted(rated - np.arange(len(rated)), places, side="right")
    return np.asarray(places + before)
