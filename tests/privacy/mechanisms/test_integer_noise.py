"""Adding noise to arrays: which arrays, where the result goes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.domain import InputError
from discreet.privacy import SeededRandomness, Unit, unbooked
from discreet.privacy.mechanisms import RoundedGaussian, TwoSidedGeometric
from discreet.privacy.noise import GaussianLaw, GeometricLaw, draw_noise

MECHANISMS = [RoundedGaussian(2.0**12), TwoSidedGeometric(2.0**12)]


@pytest.fixture(params=MECHANISMS, ids=str)
def mechanism(request: pytest.FixtureRequest) -> RoundedGaussian | TwoSidedGeometric:
    return request.param


def _release(
    mechanism: RoundedGaussian | TwoSidedGeometric,
    values: npt.NDArray[Any],
    *,
    in_place: bool = False,
    seed: int | None = None,
) -> npt.NDArray[np.int64]:
    event = mechanism.event(1.0, Unit.RATING, "sums")
    receipt = unbooked([event], None if seed is None else SeededRandomness(seed))
    return mechanism.release(values, event, receipt, in_place=in_place)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4), (0,), (0, 4), (70_000,)])
def test_every_shape_keeps_its_shape(
    mechanism: RoundedGaussian | TwoSidedGeometric, shape: tuple[int, ...]
) -> None:
    values = np.arange(int(np.prod(shape))).reshape(shape)
    before = values.copy()
    noisy = _release(mechanism, values)
    assert noisy.shape == shape
    assert noisy.dtype == np.int64
    assert np.array_equal(values, before)
    assert noisy is not values


def test_the_noise_is_the_law_s_and_does_not_depend_on_the_values(
    mechanism: RoundedGaussian | TwoSidedGeometric,
) -> None:
    # 70,000 entries are three chunks. The same seed gives the same noise under other values.
    gaussian = isinstance(mechanism, RoundedGaussian)
    law = GaussianLaw(2.0**12) if gaussian else GeometricLaw(2.0**12)
    noise = draw_noise(law, 70_000, SeededRandomness(3))
    for values in (
        np.zeros(70_000, np.int64),
        np.arange(70_000) * 10**9,
        np.full(70_000, -(2**61)),
    ):
        assert np.array_equal(_release(mechanism, values, seed=3) - values, noise)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ">i8"])
def test_all_integers_are_welcome(
    mechanism: RoundedGaussian | TwoSidedGeometric, dtype: npt.DTypeLike
) -> None:
    values = np.arange(100).astype(dtype)
    expected = _release(mechanism, np.arange(100), seed=1)
    assert np.array_equal(_release(mechanism, values, seed=1), expected)


def test_views_are_read_as_what_they_show(mechanism: RoundedGaussian | TwoSidedGeometric) -> None:
    whole = np.arange(600).reshape(20, 30)
    for view in (whole.T, whole[::2], whole[:, 3:9], whole[::-1]):
        expected = _release(mechanism, view.copy(), seed=2)
        assert np.array_equal(_release(mechanism, view, seed=2), expected)


@pytest.mark.parametrize("values", [[0.5, 1.0], [1.0, 2.0], [True, False], [1 + 0j], ["1"]])
def test_anything_but_integers_is_refused(
    mechanism: RoundedGaussian | TwoSidedGeometric, values: list[Any]
) -> None:
    with pytest.raises(InputError, match="integers on a grid"):
        _release(mechanism, np.array(values))
    with pytest.raises(InputError, match="integers on a grid"):
        _release(mechanism, np.array(values, dtype=object))


@pytest.mark.parametrize("value", [2**61, 2**63 - 1, -(2**63)])
def test_sums_are_modulo_2_to_the_64_and_nothing_is_refused_for_its_size(
    mechanism: RoundedGaussian | TwoSidedGeometric, value: int
) -> None:
    """A refusal, or a cut, would tell of a private value; a remainder is post-processing."""
    small, large = (_release(mechanism, np.full(5000, v), seed=3) for v in (0, value))
    assert [int(v) % 2**64 for v in large] == [(int(v) + value) % 2**64 for v in small]


def test_large_values_keep_their_noise(mechanism: RoundedGaussian | TwoSidedGeometric) -> None:
    wide = type(mechanism)(2.0**50)
    values = np.array([2**61, -(2**61)] * 5000)
    noise = (_release(wide, values) - values).astype(np.float64)
    # 2^61 + 2^56 fits, and 64 scales of noise have probability below e^-63.
    assert np.abs(noise).max() < 2.0**56


def test_in_place_changes_the_array_itself(mechanism: RoundedGaussian | TwoSidedGeometric) -> None:
    values = np.arange(70_000).reshape(7, -1)
    expected = _release(mechanism, values, seed=4)
    noisy = _release(mechanism, values, in_place=True, seed=4)
    assert noisy is values
    assert np.array_equal(values, expected)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(10, np.int32),
        np.zeros(10, np.uint64),
        np.zeros(10, ">i8"),
        np.zeros((4, 4), np.int64).T[:, :2],
        np.zeros(10, np.int64)[::2],
        np.asfortranarray(np.zeros((3, 4), np.int64)),
    ],
    ids=["int32", "uint64", "big-endian", "view", "strided", "fortran"],
)
def test_in_place_is_for_contiguous_int64_alone(
    mechanism: RoundedGaussian | TwoSidedGeometric, values: npt.NDArray[Any]
) -> None:
    event = mechanism.event(1.0, Unit.RATING, "sums")
    receipt = unbooked([event])
    with pytest.raises(InputError, match="contiguous, writeable int64"):
        mechanism.release(values, event, receipt, in_place=True)
    assert not values.any()
    receipt.redeem(event)  # nothing was drawn, nothing was used up
