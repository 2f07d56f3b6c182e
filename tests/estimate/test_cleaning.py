"""Cleaning finds what was planted, drops what is noise, and needs nothing private."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domain import InputError
from discreet.estimate import _directions, clean_auto, clean_none, clean_paper
from discreet.estimate._directions import largest_eigenpairs
from discreet.release import pack, packed_size, unpack


def noise(m: int, sigma: float, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.normal(0, 1, (m, m)), 1) * sigma
    return upper + upper.T


def spiked(m: int, strengths: list[float], sigma: float, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Noise plus planted directions, as strong as told in noise edges; and the directions."""
    rng = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(rng.normal(size=(m, len(strengths))))
    edge = 2 * sigma * np.sqrt(m)
    matrix = noise(m, sigma, rng) + (directions * np.array(strengths) * edge) @ directions.T
    np.fill_diagonal(matrix, 0)
    return matrix, directions


class TestAuto:
    def test_noise_alone_has_no_factors(self) -> None:
        for seed in range(5):
            cov = noise(200, 3.0, np.random.default_rng(seed))
            assert clean_auto(cov, np.full(200, 50.0), 3.0).shape == (200, 0)

    def test_what_stands_out_is_found_and_what_does_not_is_dropped(self) -> None:
        cov, directions = spiked(300, [5.0, 2.0, 0.2], sigma=0.7)
        factors = clean_auto(cov, np.full(300, 50.0), 0.7)
        assert factors.shape == (300, 2)
        for found, planted in zip(factors.T, directions.T, strict=False):
            cosine = abs(found @ planted) / np.linalg.norm(found)
            # Theory of spiked matrices: cos^2 = 1 - (e / 2)^2 / strength^2; clipping costs some.
            assert cosine > 0.95

    def test_equal_counts_give_the_length_by_hand(self) -> None:
        """One direction of entries +-1/sqrt(m): rms 1, not clipped, times 0.2."""
        m = 64
        sign = np.where(np.arange(m) % 2, 1.0, -1.0)
        factors = clean_auto(np.outer(sign, sign), np.full(m, 9.0), 0.0, rank=1)
        np.testing.assert_allclose(np.abs(factors[:, 0]), 0.2, rtol=1e-9)
        np.testing.assert_allclose(factors[:, 0] * factors[0, 0] * sign * sign[0] > 0, True)
        wide = clean_auto(np.outer(sign, sign), np.full(m, 9.0), 0.0, rank=1, width=20.0)
        np.testing.assert_allclose(np.abs(wide[:, 0]), 1.0, rtol=1e-9)

    def test_the_unmeasured_diagonal_does_not_matter(self) -> None:
        cov, _ = spiked(100, [4.0], sigma=1.0)
        other = cov.copy()
        np.fill_diagonal(other, 1e6)
        counts = np.full(100, 5.0)
        np.testing.assert_array_equal(
            np.abs(clean_auto(cov, counts, 1.0)), np.abs(clean_auto(other, counts, 1.0))
        )
        assert other[0, 0] == 1e6

    def test_the_diagonal_is_filled_in(self) -> None:
        """Without noise, imputing brings the found direction nearer to the planted one."""
        planted = np.linspace(0.2, 3, 40)
        cov = np.outer(planted, planted)
        np.fill_diagonal(cov, 0)
        counts = np.full(40, 7.0)
        (found,) = clean_auto(cov, counts, 0.0, rank=1).T
        (rough,) = np.linalg.eigh(cov)[1][:, -1:].T

        def angle(v: np.ndarray) -> float:
            return 1 - abs(v @ planted) / np.linalg.norm(v) / np.linalg.norm(planted)

        assert angle(found) < angle(rough) / 10

    def test_the_recipe_step_by_step(self) -> None:
        cov, _ = spiked(120, [6.0, 3.0, 1.0, 0.55], sigma=1.0, seed=3)
        counts = np.linspace(0, 1000, 120)
        edge, matrix = 2 * np.sqrt(120), cov.copy()
        for _ in range(3):
            values, vectors = np.linalg.eigh(matrix)
            shrunk = np.sqrt(np.maximum(values**2 - edge**2, 0)) * (values > edge)
            kept = np.flatnonzero(shrunk > edge / 4)[::-1]
            np.fill_diagonal(matrix, vectors[:, kept] ** 2 @ shrunk[kept])
        columns = vectors[:, kept] / (counts + np.median(counts))[:, None]
        columns /= np.sqrt(np.average(columns**2, axis=0, weights=counts))
        expected = np.clip(columns, -2.5, 2.5) * 0.2 * np.sqrt(shrunk[kept] / shrunk.max())
        assert (np.abs(columns) > 2.5).any()
        factors = clean_auto(cov, counts, 1.0)
        np.testing.assert_allclose(np.abs(factors), np.abs(expected), atol=1e-9)

    def test_without_noise_the_rank_is_kept(self) -> None:
        F = np.random.default_rng(1).normal(size=(50, 6))
        assert clean_auto(F @ F.T, np.ones(50), 0.0, rank=4).shape == (50, 4)

    def test_counts_of_zero_are_no_trouble(self) -> None:
        cov, _ = spiked(50, [5.0], sigma=1.0)
        assert np.isfinite(clean_auto(cov, np.zeros(50), 1.0)).all()

    def test_mismatched_input_is_refused(self) -> None:
        with pytest.raises(InputError):
            clean_auto(np.zeros((3, 3)), np.ones(4), 1.0)


class TestPaper:
    def test_shrinking_scaling_and_rank_by_plain_formulas(self) -> None:
        rng = np.random.default_rng(2)
        F = rng.normal(0, 0.5, (30, 4))
        wgt = rng.uniform(1, 9, (30, 30))
        wgt = (wgt + wgt.T) / 2
        cov = (F @ F.T + np.eye(30)) * wgt
        counts = rng.uniform(1, 99, 30)
        factors = clean_paper(cov, wgt, counts, 5, shrink_diagonal=2.0, shrink_rest=0.5)
        off = ~np.eye(30, dtype=bool)
        average = np.zeros((30, 30))
        for part, beta in ((off, 0.5), (~off, 2.0)):
            average[part] = (cov[part] + beta * cov[part].mean()) / (
                wgt[part] + beta * wgt[part].mean()
            )
        root = np.diag(np.sqrt(counts))
        values, vectors = np.linalg.eigh(root @ average @ root)
        low_rank = (vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T
        expected = np.linalg.inv(root) @ low_rank @ np.linalg.inv(root)
        np.testing.assert_allclose(factors @ factors.T, expected, atol=1e-9)

    def test_items_without_count_get_nothing(self) -> None:
        F = np.random.default_rng(3).normal(size=(8, 2))
        factors = clean_paper(F @ F.T, np.ones((8, 8)), np.array([5.0] * 6 + [0.0, -2.0]), 3)
        assert (factors[6:] == 0).all() and (factors[:6] != 0).any(axis=1).all()

    def test_only_the_positive_part_is_kept(self) -> None:
        factors = clean_paper(-np.eye(5), np.ones((5, 5)), np.ones(5), 5)
        assert factors.shape == (5, 0)


class TestNone:
    def test_a_covariance_of_the_rank_comes_back(self) -> None:
        rng = np.random.default_rng(4)
        F = rng.normal(size=(20, 3))
        wgt = np.full((20, 20), 7.0)
        factors = clean_none(F @ F.T * wgt, wgt, np.ones(20), 3)
        np.testing.assert_allclose(factors @ factors.T, F @ F.T, atol=1e-9)

    def test_entries_without_weight_do_not_explode(self) -> None:
        wgt = np.full((6, 6), 10.0)
        wgt[0, 1] = wgt[1, 0] = 1e-9
        wgt[2, 3] = wgt[3, 2] = -4.0
        factors = clean_none(np.ones((6, 6)), wgt, np.ones(6), 6)
        assert np.abs(factors @ factors.T).max() < 0.2


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of test size take the way of large ones."""
    monkeypatch.setattr(_directions, "_SMALL", 50)


@pytest.mark.usefixtures("small_limit")
class TestLargeMatrices:
    def test_pairs_above_the_level_agree_with_a_full_decomposition(self) -> None:
        matrix, _ = spiked(500, [4.0, 2.0, 1.2], sigma=1.0, seed=5)
        edge = 2 * np.sqrt(500)
        diagonal = np.linspace(0, 3, 500)
        full = matrix.copy()
        np.fill_diagonal(full, diagonal)
        values, vectors = np.linalg.eigh(full)
        found, columns = largest_eigenpairs(matrix, diagonal, 20, above=1.1 * edge)
        assert len(found) == (values > 1.1 * edge).sum() == 3
        np.testing.assert_allclose(found, values[::-1][:3], rtol=1e-4)
        cosines = np.abs(np.einsum("ij,ij->j", columns, vectors[:, ::-1][:, :3]))
        np.testing.assert_allclose(cosines, 1, atol=1e-3)

    def test_a_wanted_number_of_pairs_without_level(self) -> None:
        F = np.random.default_rng(6).normal(size=(400, 12)) * np.linspace(1, 3, 12)
        matrix = F @ F.T
        values = np.linalg.eigvalsh(matrix)[::-1]
        found, columns = largest_eigenpairs(matrix, np.diagonal(matrix), 8)
        np.testing.assert_allclose(found, values[:8], rtol=1e-4)
        np.testing.assert_allclose(columns.T @ columns, np.eye(8), atol=1e-4)

    def test_noise_alone_has_nothing_above_the_level(self) -> None:
        matrix = noise(400, 1.0, np.random.default_rng(7))
        values, vectors = largest_eigenpairs(matrix, np.zeros(400), 5, above=1.1 * 40)
        assert values.shape == (0,) and vectors.shape == (400, 0)

    def test_cleaning_is_the_same_either_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cov, _ = spiked(400, [5.0, 2.5], sigma=1.0, seed=8)
        counts = np.random.default_rng(9).uniform(5, 500, 400)
        large = clean_auto(cov.astype(np.float32), counts, 1.0)
        monkeypatch.setattr(_directions, "_SMALL", 1000)
        small = clean_auto(cov, counts, 1.0)
        np.testing.assert_allclose(large @ large.T, small @ small.T, atol=2e-3)

    def test_the_same_matrix_gives_the_same_pairs(self) -> None:
        matrix, _ = spiked(300, [3.0], sigma=1.0)
        once, again = (largest_eigenpairs(matrix, np.zeros(300), 2) for _ in range(2))
        np.testing.assert_array_equal(once[1], again[1])


def test_more_pairs_than_rows_are_all_rows() -> None:
    values, vectors = largest_eigenpairs(np.zeros((3, 3)), np.array([3.0, 1.0, 2.0]), 9)
    np.testing.assert_allclose(values, [3, 2, 1])
    np.testing.assert_allclose(np.abs(vectors), np.eye(3)[:, [0, 2, 1]])


def test_triangles_there_and_back() -> None:
    matrix = np.array([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    np.testing.assert_array_equal(pack(matrix), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(unpack(pack(matrix)), matrix)
    assert packed_size(3) == 6
    with pytest.raises(InputError):
        unpack(np.zeros(4))
    with pytest.raises(InputError):
        pack(np.zeros((2, 3)))
