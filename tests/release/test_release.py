"""A release checks what it is made of, and cannot be changed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.release import Release, _release, register_predictors
from release._making import (
    list_section,
    make_release,
    random_lists,
    random_refined,
    random_release,
    spent,
)


def with_array(release: Release, name: str, array: np.ndarray | None) -> Release:
    arrays = {n: a for n, a in release.arrays.items() if n != name}
    if array is not None:
        arrays[name] = array
    return dataclasses.replace(release, arrays=arrays)


def test_arrays_and_parameters_are_read_only() -> None:
    told: dict[str, Any] = {"beta": [1, 2]}
    release = make_release(np.ones((2, 1)), **told)
    told["beta"].append(3)
    assert release.parameters["beta"] == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        release.arrays["factors"][0, 0] = 2
    with pytest.raises(TypeError):
        release.parameters["beta"] = 0  # type: ignore[index]


def test_repr_is_short_and_tells_the_promise() -> None:
    assert repr(make_release(np.ones((2, 1)))) == "Release(covariance, 2 items, no guarantee)"
    assert "per rating" in repr(make_release(np.ones((2, 1)), guarantee=spent()))


def test_size_is_that_of_the_arrays() -> None:
    assert make_release(np.ones((5, 2))).nbytes == 4 * (4 * 5 + 5 * 2)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("factors", None, "array 'factors' is missing"),
        ("item_effects", np.zeros(9), "type float64, not float32"),
        ("item_effects", np.zeros(9, ">f4"), "not float32"),
        ("item_effects", np.zeros(8, "f4"), "length 8 where 9 was expected"),
        ("factors", np.zeros(9, "f4"), "has 1 axes, not 2"),
        ("surprise", np.zeros(9, "f4"), "'surprise' does not belong"),
        ("weights", None, "belong together"),
        ("covariance", np.zeros(11, "f4"), "length 11 where 10 was expected"),
        ("head", np.array([0, 1, 2, 2], "i4"), "more than once"),
        ("head", np.array([0, 1, 2, 9], "i4"), "past the catalogue"),
        ("head", np.array([0, 1, 2, -1], "i4"), "below 0"),
        ("item_counts", np.full(9, -1, "f4"), "'item_counts' holds a value below 0"),
        ("item_effects", np.full(9, np.nan, "f4"), "not a finite number"),
        ("factors", np.full((9, 3), np.inf, "f4"), "not a finite number"),
        ("weights", np.full(10, -np.inf, "f4"), "not a finite number"),
    ],
)
def test_wrong_arrays_are_refused(name: str, array: np.ndarray | None, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        with_array(random_release(m=4), name, array)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("list_rows", np.zeros((4, 3), "i4"), "type int32, not int8"),
        ("list_rows", np.zeros((4, 3), "u1"), "type uint8, not int8"),
        ("list_rows", np.zeros((5, 3), "i1"), "length 5 where 4 was expected"),
        ("list_rows", np.zeros(12, "i1"), "has 1 axes, not 2"),
        ("list_scales", np.zeros(2, "f4"), "length 2 where 3 was expected"),
        ("list_axis", np.zeros(4, "f4"), "length 4 where 3 was expected"),
        ("list_tail", np.zeros(4, "f4"), "length 4 where 9 was expected"),
        ("list_scales", np.full(3, -1, "f4"), "'list_scales' holds a value below 0"),
        ("list_gain", np.full(9, -1, "f4"), "'list_gain' holds a value below 0"),
        ("list_popularity", np.full(9, -1, "f4"), "'list_popularity' holds a value below 0"),
        ("list_start", np.full(9, np.nan, "f4"), "not a finite number"),
        ("list_head", np.array([0, 1, 3, 2], "i4"), "in the catalogue's order"),
        ("list_head", np.array([0, 1, 2, 2], "i4"), "more than once"),
        ("list_head", np.array([0, 1, 2, 9], "i4"), "past the catalogue"),
        ("list_head", np.array([-1, 1, 2, 3], "i4"), "below 0"),
    ],
)
def test_a_wrong_lists_section_is_refused(name: str, array: np.ndarray, reason: str) -> None:
    for release in (random_lists(), random_refined()):
        with pytest.raises(InputError, match=reason):
            with_array(release, name, array)


@pytest.mark.parametrize("name", list_section(3, 2, 1))
def test_a_lists_section_is_whole_or_absent(name: str) -> None:
    with pytest.raises(InputError, match="belong together"):
        with_array(random_refined(), name, None)
    with pytest.raises(InputError, match=f"array '{name}' is missing"):
        with_array(random_lists(), name, None)
    with pytest.raises(InputError, match=f"'{name}' does not belong"):
        with_array(random_release(), name, list_section(9, 4, 3)[name])


@pytest.mark.parametrize(("h", "k"), [(0, 0), (0, 2), (3, 0), (9, 2)])
def test_a_lists_section_may_have_no_head_and_no_rank(h: int, k: int) -> None:
    assert random_lists(d=9, h=h, k=k).arrays["list_rows"].shape == (h, k)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("global_mean", None),
        ("global_mean", "3"),
        ("global_mean", True),
        ("rating_variance", 0),
        ("user_variance", -0.1),
        ("covariance_noise", -1),
        ("global_mean", 10**400),
        ("anything", float("nan")),
        ("anything", {1, 2}),
    ],
)
def test_wrong_parameters_are_refused(name: str, value: Any) -> None:
    release = random_release(m=4)
    with pytest.raises(InputError, match="parameter"):
        dataclasses.replace(release, parameters=dict(release.parameters) | {name: value})


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="'magic' is not a method"):
        dataclasses.replace(random_release(), method="magic")


def test_predictors_come_from_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_release, "_PREDICTORS", {})
    release = random_release()
    register_predictors("covariance", {"echo": lambda: lambda release, neighbours=1: neighbours})
    register_predictors("covariance", {"later": lambda: lambda release: "later"})
    assert release.predictor() == 1
    assert release.predictor("echo", neighbours=3) == 3
    assert release.predictor("later") == "later"
    with pytest.raises(InputError, match="'oracle' is not a predictor"):
        release.predictor("oracle")
    with pytest.raises(InputError, match="unexpected keyword argument 'depth'"):
        release.predictor("echo", depth=2)


def test_without_the_predict_room_a_release_says_what_to_import() -> None:
    program = (
        "from release._making import make_release\n"
        "from discreet.domain import InputError\n"
        "try:\n    make_release([[1.0]]).predictor()\n"
        "except InputError as error:\n    print(error)\n"
    )
    path = next(p for p in sys.path if p.endswith("tests"))
    said = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {[path, *sys.path]!r}\n{program}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "import discreet.predict first" in said.stdout
