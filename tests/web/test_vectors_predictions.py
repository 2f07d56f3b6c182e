"""The golden predictions are what Python says now, of releases that it still reads."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest

from discreet.domain import OwnRatings
from discreet.release import METHODS
from discreet.release._release import _PREDICTORS
from vectors.make_predictions import (
    FILE,
    SCALES,
    names_of,
    of_file,
    releases,
    scale_case,
    twin_of,
)

STORED = json.loads(FILE.read_text("utf-8"))
CASES = {case["name"]: case for case in STORED["cases"]}


def own_of(person: dict[str, list[float]]) -> OwnRatings:
    return OwnRatings(np.array(person["items"], np.int32), np.array(person["values"], np.float64))


@pytest.mark.parametrize("name", CASES)
def test_releases_are_still_read_by_the_same_predictors(name: str) -> None:
    """What they say is compared in the battery of predictors."""
    case = CASES[name]
    release = of_file(zlib.decompress(base64.b64decode(case["release"])))
    assert case["predictors"] == names_of(release)
    tested = {twin_of(predictor, case["predictors"]) for predictor in case["predictors"]}
    assert case["answers"].keys() == tested


@pytest.mark.parametrize("name", CASES)
def test_svd_and_posterior_are_one_formula(name: str) -> None:
    """So that one of them is enough in the file."""
    case = CASES[name]
    release = of_file(zlib.decompress(base64.b64decode(case["release"])))
    left_out = set(case["predictors"]) - case["answers"].keys()
    assert left_out <= {"svd", "posterior"} and len(left_out) <= 1
    for predictor in left_out:
        twin = ({"svd", "posterior"} - left_out).pop()
        own = own_of(case["people"][-1])
        one, other = (release.predictor(each).predict(own) for each in (predictor, twin))
        np.testing.assert_array_equal(one, other)


def test_every_method_scale_and_predictor_is_there() -> None:
    made = releases()
    assert made.keys() == CASES.keys()
    assert {release.method for release in made.values()} == METHODS.keys()
    for method, predictors in _PREDICTORS.items():
        cases = [CASES[name] for name, release in made.items() if release.method == method]
        assert {name for case in cases for name in case["predictors"]} == predictors.keys()
    scales = {release.scale for release in made.values()}
    assert any(scale.step is None for scale in scales)
    assert any(scale.presence for scale in scales)
    counts = [len(person["items"]) for case in CASES.values() for person in case["people"]]
    assert {0, 1} < set(counts) and max(counts) > 40


def test_the_makers_releases_are_those_stored() -> None:
    for name, release in releases().items():
        stored = of_file(zlib.decompress(base64.b64decode(CASES[name]["release"])))
        assert (release.scale, release.catalog) == (stored.scale, stored.catalog)
        assert release.parameters == stored.parameters
        for array, values in release.arrays.items():
            np.testing.assert_allclose(values, stored.arrays[array], rtol=1e-5)


def test_stored_scales_are_what_python_says() -> None:
    assert [scale_case(scale) for scale in SCALES] == STORED["scales"]


def test_the_file_is_small() -> None:
    assert FILE.stat().st_size < 250_000
