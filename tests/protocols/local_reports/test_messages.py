"""The two messages: there and back, and one line for everything that is wrong."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, Catalog, InputError, Scale
from discreet.protocols.local_reports.messages import Collection, Report
from discreet.protocols.local_reports.server import LocalReports
from protocols.local_reports._making import MECHANISMS, make_collection


def test_what_is_announced_is_read_back() -> None:
    for mechanism in MECHANISMS:
        told = make_collection(11, mechanism, 0.125, epoch=7)
        again = Collection.from_json(json.loads(json.dumps(told.as_json())), told.catalog)
        assert again == told
        assert again.digest == told.digest


def test_the_digest_names_everything_but_the_epoch() -> None:
    told = make_collection(5)
    assert told.digest == make_collection(5, epoch=9).digest
    others = [
        make_collection(6),
        make_collection(5, "randomized-response"),
        make_collection(5, epsilon=1.001),
        make_collection(5, scale=Scale(0, 5)),
    ]
    assert len({told.digest, *(other.digest for other in others)}) == 5


@pytest.mark.parametrize(
    ("scale", "reach", "unit"),
    [
        (Scale(1, 5), 2, 1.0),
        (Scale(0.5, 5, 0.5), 9, 0.25),
        (Scale(0, 1), 1, 0.5),
        (Scale(-10, 10, None), 100, 0.1),
    ],
)
def test_the_grid_has_every_rating(scale: Scale, reach: int, unit: float) -> None:
    told = make_collection(3, scale=scale)
    assert (told.reach, told.unit) == (reach, pytest.approx(unit))
    ratings = scale.levels if scale.levels is not None else np.array([-10, -0.1, 0, 10.0])
    grid = told.to_grid(ratings)
    assert np.abs(grid).max() == reach
    np.testing.assert_allclose(scale.mid + grid * told.unit, ratings, atol=1e-12)


def test_levels_are_centred_as_ratings_are() -> None:
    for scale in (Scale(1, 5), Scale(0.5, 5, 0.5)):
        told = make_collection(3, "randomized-response", scale=scale)
        assert scale.levels is not None
        numbers = np.arange(1, told.levels + 1)
        np.testing.assert_array_equal(told.centred(numbers), told.to_grid(scale.levels))


@pytest.mark.parametrize(
    ("epsilon", "epoch", "mechanism", "scale", "complaint"),
    [
        (0.0, 1, "modified-laplace", Scale(1, 5), "epsilon is from"),
        (1.00005, 1, "modified-laplace", Scale(1, 5), "three decimals at most"),
        (float("nan"), 1, "modified-laplace", Scale(1, 5), "epsilon is from"),
        (1.0, 0, "modified-laplace", Scale(1, 5), "a period is"),
        (1.0, True, "modified-laplace", Scale(1, 5), "a period is"),
        (1.0, 1, "coin", Scale(1, 5), "mechanism is one of"),
        (1.0, 1, "randomized-response", Scale(1, 5, None), "a scale in steps"),
        (1.0, 1, "modified-laplace", PRESENCE, "presence alone"),
    ],
)
def test_a_collection_that_makes_no_sense_is_refused(
    epsilon: float, epoch: int, mechanism: Any, scale: Scale, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        Collection(Catalog(["a", "b"]), scale, mechanism, epsilon, epoch)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("catalog", "0" * 64, "not the digest of the catalogue"),
        ("items", 4, "'items' does not follow"),
        ("reach", 2.0, "'reach' does not follow"),
        ("number", "int32", "'number' does not follow"),
        ("digest", "0" * 64, "'digest' does not follow"),
        ("epsilon_thousandths", 1.0, "'epsilon_thousandths' should be a whole number"),
        ("version", 2, "'version' should be"),
        ("protocol", "open-clusters", "'protocol' should be"),
        ("extra", 1, "a field that it does not have"),
        ("scale", "five", "is not a scale"),
    ],
)
def test_an_announcement_that_contradicts_itself_is_refused(
    field: str, value: Any, complaint: str
) -> None:
    told = make_collection(5)
    with pytest.raises(InputError, match=complaint) as refused:
        Collection.from_json(told.as_json() | {field: value}, told.catalog)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_report_is_read_back(mechanism: Any) -> None:
    told = make_collection(21, mechanism)
    items, values = np.array([20, 0, 9]), np.array([1, 2, 2])
    sent = json.loads(json.dumps(Report.of(told, items, values).as_json()))
    read = Report.from_json(sent, told)
    np.testing.assert_array_equal(read.items, [0, 9, 20])
    np.testing.assert_array_equal(read.values, [2, 2, 1])
    assert base64.b64decode(sent["reported"]) == bytes([1, 2, 16])


def test_integers_are_no_wider_than_they_must_be() -> None:
    assert make_collection(3, "randomized-response").number == "uint8"
    wide = Scale(0, 255)
    assert make_collection(3, "randomized-response", scale=wide).number == "int16"
    assert make_collection(3, epsilon=0.01).number == "int16"
    assert make_collection(3, epsilon=0.01, scale=Scale(0, 1, None)).number == "int32"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_report_is_longer_than_announced(mechanism: Any) -> None:
    told = make_collection(1001, mechanism, 0.01)
    full = Report.of(told, np.arange(1001), np.full(1001, told.largest))
    length = len(json.dumps(full.as_json(), indent=2))
    largest = LocalReports(told).largest
    assert largest - 1024 < length < largest


def _bits(*items: int) -> str:
    marks = sum(1 << item for item in items)
    return base64.b64encode(marks.to_bytes(2, "little")).decode()


def _bytes(*values: int) -> str:
    return base64.b64encode(bytes(values)).decode()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"collection": "0" * 64}, "answers another collection"),
        ({"epoch": 2}, "this is period 1"),
        ({"epoch": "1"}, "'epoch' should be a whole number"),
        ({"reported": "AQ=="}, "'reported' should be base64 of 2 bytes"),
        ({"reported": "%%%%"}, "'reported' should be base64"),
        ({"reported": _bits(1, 15)}, "past the end of the catalogue"),
        ({"reported": _bits(1)}, "1 items are marked beside 2 values"),
        ({"values": _bytes(1)}, "2 items are marked beside 1 values"),
        ({"values": _bytes(0, 1)}, "'values' are from 1 to 5"),
        ({"values": _bytes(5, 6)}, "'values' are from 1 to 5"),
        ({"values": _bytes(*[1] * 13)}, "'values' should be base64 of 0 to 10 bytes"),
        ({"values": None}, "'values' is missing"),
        ({"type": "collection"}, "'type' should be"),
        ({"name": "me"}, "a field that it does not have"),
    ],
)
def test_a_report_that_cannot_be_right_is_refused(changed: dict[str, Any], complaint: str) -> None:
    told = make_collection(10, "randomized-response")
    good = Report.of(told, np.array([1, 5]), np.array([5, 1])).as_json()
    assert Report.from_json(good, told).values.tolist() == [5, 1]
    with pytest.raises(InputError, match=complaint) as refused:
        Report.from_json(good | changed, told)
    assert "\n" not in str(refused.value)


def test_what_is_no_object_is_refused() -> None:
    strange: tuple[Any, ...] = (None, [], "report", 3)
    for content in strange:
        with pytest.raises(InputError, match="an object was expected"):
            Report.from_json(content, make_collection(3))
