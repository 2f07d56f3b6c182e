"""Lists by the lists section of a release: alone, and together with expected ratings."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, Catalog, InputError, Scale
from discreet.predict import People, Predictor
from discreet.predict._lists import has_and_likes
from discreet.release import Release
from predict._reference import Slow, slow_lists, slow_order, slow_rows
from predict._worlds import crowd
from predict.battery import PredictorBattery
from release._making import random_lists, random_refined


class TestLists(PredictorBattery):
    name = "lists"

    def release(self) -> Release:
        return dataclasses.replace(random_lists(d=30, h=12, k=5, seed=4), scale=PRESENCE)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        return slow_lists(release, items)

    def nobody(self, plain: Predictor) -> np.ndarray:
        return plain.release.arrays["list_start"]

    def test_equal_answers_in_bulk_and_alone(
        self, model: Predictor, plain: Predictor, people: People
    ) -> None:
        scores = model.scores(people, 3, len(people))
        for person in range(3, len(people)):
            alone = model.scores(People.one(people[person]), 0, 1)[0]
            np.testing.assert_allclose(scores[person - 3], alone, atol=1e-6)

    def test_ratings_are_refused_in_one_line(self, model: Predictor, people: People) -> None:
        for ask in (
            lambda: model.predict({}),
            lambda: model.predict_pairs(people, np.array([0]), np.array([0])),
        ):
            with pytest.raises(InputError, match="'lists' predicts no ratings") as refused:
                ask()
            assert "\n" not in str(refused.value)


class TestListsOfStars(TestLists):
    """What people rate does not matter, only that they do."""

    def release(self) -> Release:
        return random_lists(d=30, h=12, k=5, seed=4)

    def test_values_do_not_matter(self, model: Predictor) -> None:
        assert model.recommend({"1": 1.0, "4": 2.0}) == model.recommend({"1": 5.0, "4": 4.0})


class TestPosteriorWithLists(PredictorBattery):
    name = "posterior"

    def release(self) -> Release:
        return random_refined(d=30, k=5, h=12, seed=5)

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        return Slow(release).svd(items, values)

    def test_reasons_are_those_of_the_list_score(self, model: Predictor) -> None:
        release, own = model.release, {"3": 1.0, "8": 5.0, "11": 3.0}
        rows, gain = slow_rows(release), release.arrays["list_gain"]
        for entry in model.recommend(own, 30, explain=True):
            expected = {f"title {i}": gain[entry.item] * (rows[entry.item] @ rows[i])
                        for i in (3, 8, 11)}  # fmt: skip
            assert dict(model.explain(own, entry.item)) == pytest.approx(expected, abs=1e-6)
            # Of the three, only the second was liked.
            liked = {"title 8"} if expected["title 8"] > 0 else set()
            assert {title for title, _ in entry.because} == liked


class TestSvdWithLists(TestPosteriorWithLists):
    """Every predictor of a release with lists orders by them."""

    name = "svd"


@pytest.mark.parametrize(("h", "k"), [(0, 0), (0, 3), (5, 0), (20, 4)])
def test_any_head_and_rank(h: int, k: int) -> None:
    release, people = random_lists(d=20, h=h, k=k, seed=h + k), crowd(20, people=300, most=15)
    scores = release.predictor().scores(people, 0, len(people))
    for row in range(0, 300, 17):
        expected = slow_lists(release, people[row].items)
        np.testing.assert_allclose(scores[row], expected, atol=1e-5)


def checkerboard(method: str) -> Release:
    """Twelve items: who has even ones has even ones. The last four have no row of their own.

    Even items have the row (1, 0), odd ones (0, 1), and the tail lies half as far along the first.
    Popularity falls with the index, and for a person with a history counts for little.
    """
    d, h = 12, 8
    arrays = {
        "item_counts": np.linspace(9, 1, d),
        "list_popularity": np.linspace(0.9, 0.1, d),
        "list_start": np.linspace(0.09, 0.01, d),
        "list_gain": np.ones(d),
        "list_head": np.arange(h),
        "list_rows": np.array([[100, 0], [0, 100]] * (h // 2)),
        "list_scales": np.full(2, 0.01),
        "list_tail": np.full(d, 0.5),
        "list_axis": np.array([1.0, 0.0]),
    }
    types = {"list_head": np.int32, "list_rows": np.int8}
    catalog = Catalog([str(i) for i in range(d)], [f"item {i}" for i in range(d)])
    made = {name: array.astype(types.get(name, np.float32)) for name, array in arrays.items()}
    plain = random_refined(d, 0, 0)
    if method == "refined":
        zeros = np.zeros(d, np.float32)
        made |= {
            "item_effects": zeros, "item_effect_variances": zeros,
            "factors": np.zeros((d, 0), np.float32), "factor_variances": zeros,
        }  # fmt: skip
        return dataclasses.replace(plain, catalog=catalog, arrays=made)
    return Release("lists", PRESENCE, catalog, plain.guarantee, {}, made)


@pytest.mark.parametrize("method", ["lists", "refined"])
def test_what_the_checkerboard_says(method: str) -> None:
    model = checkerboard(method).predictor()

    def items(*own: str) -> list[int]:
        ratings = own if method == "lists" else dict.fromkeys(own, 5.0)
        return [entry.item for entry in model.recommend(ratings, 12)]

    assert items() == list(range(12))
    # Even ones first, then the tail, which goes half as far, then the odd ones.
    assert items("0", "4") == [2, 6, 8, 9, 10, 11, 1, 3, 5, 7]
    assert items("1") == [3, 5, 7, 0, 2, 4, 6, 8, 9, 10, 11]
    # From the tail alone it is half as much, and the order is the same.
    assert items("9") == [0, 2, 4, 6, 8, 10, 11, 1, 3, 5, 7]


@pytest.mark.parametrize("method", ["lists", "refined"])
def test_reasons_of_the_checkerboard(method: str) -> None:
    model = checkerboard(method).predictor()
    own = ["0", "1", "9"] if method == "lists" else {"0": 4.0, "1": 5.0, "9": 4.0}
    reasons = {e.item: dict(e.because) for e in model.recommend(own, 12, explain=True)}
    assert reasons[2] == pytest.approx({"item 0": 1.0, "item 9": 0.5})
    assert reasons[3] == pytest.approx({"item 1": 1.0})
    assert reasons[8] == pytest.approx({"item 0": 0.5, "item 9": 0.25})
    assert all(entry.because == () for entry in model.recommend({}, 12, explain=True))


def test_what_was_not_liked_is_no_reason() -> None:
    """It raises the score all the same, as `explain` tells."""
    model, own = checkerboard("refined").predictor(), {"0": 3.0, "9": 4.0}
    reasons = {e.item: dict(e.because) for e in model.recommend(own, 12, explain=True)}
    assert reasons[2] == pytest.approx({"item 9": 0.5})
    assert dict(model.explain(own, 2)) == pytest.approx({"item 0": 1.0, "item 9": 0.5})


def test_stars_decide_between_items_that_go_with_the_own_ones() -> None:
    """Items 2 and 6 are equally likely; of 6 more is expected. A score below 0 stays as it is."""
    release = checkerboard("refined")
    arrays = dict(release.arrays) | {
        "list_start": np.array([0, 0, 0, -0.5, 0, -0.2, 0, -0.3, 0, 0, 0, 0], np.float32),
        "item_effects": np.array([0, 0, 0, 2, 0, 0, 1, 2, 0, 0, 0, 0], np.float32),
    }
    model = dataclasses.replace(release, arrays=arrays).predictor()
    listed = model.recommend({"0": 3.0, "4": 3.0}, 12)
    assert [entry.item for entry in listed] == [6, 2, 8, 9, 10, 11, 1, 5, 7, 3]
    # Twice 0.5 (1 + erf(z/sqrt 2)) at z = (4 - 3.5)/1.5 and at z = (3 - 3.5)/1.5.
    assert [entry.score for entry in listed[:2]] == pytest.approx([2 * 0.630559, 2 * 0.369441])
    assert [entry.expected for entry in listed[:2]] == pytest.approx([4.0, 3.0])
    assert [entry.score for entry in listed[-3:]] == pytest.approx([-0.2, -0.3, -0.5])


@pytest.mark.parametrize("scale", [Scale(1, 5), Scale(-10, 10, None), Scale(0, 1, 0.1)])
def test_the_normal_distribution_is_right_everywhere_on_the_scale(scale: Scale) -> None:
    release = dataclasses.replace(random_refined(d=2001), scale=scale)
    expected = np.linspace(scale.lo - scale.range, scale.hi + scale.range, 2001)
    scores = slow_lists(release, np.arange(3)).astype(np.float32)
    found = has_and_likes(scores, expected.astype(np.float32), scale)
    slow = slow_order(release, np.arange(3), expected)
    np.testing.assert_allclose(found, slow, rtol=1e-6, atol=1e-6)


def test_items_of_the_checkerboard_are_like_those_of_their_colour() -> None:
    model = checkerboard("lists").predictor()
    even = [(entry.item, entry.similarity) for entry in model.similar("item 2", 12)]
    assert even == [(0, 1.0), (4, 1.0), (6, 1.0)]
    assert [entry.item for entry in model.similar("1", 2)] == [3, 5]
    # Of the tail one direction is known, and the same of all of it: not what each is like.
    assert model.similar("9") == []


def test_similar_items_are_those_of_nearby_rows() -> None:
    release = random_refined(d=20, h=8)
    rows, head = slow_rows(release), release.arrays["list_head"].tolist()
    item = head[3]
    slow = {j: rows[item] @ rows[j] / np.linalg.norm(rows[item]) / np.linalg.norm(rows[j])
            for j in head if j != item}  # fmt: skip
    found = {entry.item: entry.similarity for entry in release.predictor().similar(item, 20)}
    assert found == pytest.approx({j: size for j, size in slow.items() if size > 0}, abs=1e-6)


def test_lists_of_what_has_a_value_in_a_column() -> None:
    release = checkerboard("lists")
    columns = {"kind": ["Odd|even"] + [("even", " odd ")[i % 2] for i in range(1, 12)]}
    catalog = Catalog(release.catalog.ids, release.catalog.titles, columns=columns)
    model = dataclasses.replace(release, catalog=catalog).predictor()
    odd = [entry.item for entry in model.recommend([], 12, where={"kind": "ODD"})]
    assert odd == [0, 1, 3, 5, 7, 9, 11]
    both = model.recommend([], 12, where={"kind": ["odd", "even"]}, exclude=["0"], only=range(4))
    assert [entry.item for entry in both] == [1, 2, 3]
    assert [entry.item for entry in model.similar("2", where={"kind": "odd"})] == [0]


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ({"year": 1995}, "the values of a filter are texts"),
        ({"year": ["1995", 1996]}, "the values of a filter are texts"),
        ("year=1995", "where is a table of columns and values"),
    ],
)
def test_filters_of_another_type_are_refused(where: Any, complaint: str) -> None:
    release = checkerboard("lists")
    catalog = Catalog(release.catalog.ids, columns={"year": ["1995"] * 12})
    model = dataclasses.replace(release, catalog=catalog).predictor()
    for ask in (lambda: model.recommend([], where=where), lambda: model.similar("2", where=where)):
        with pytest.raises(InputError, match=complaint):
            ask()


@pytest.mark.parametrize(
    ("name", "value"),
    [("list_scales", 3e38), ("list_scales", 1e30), ("list_start", 3e38), ("factors", 3e38)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_beyond_use_are_refused_in_a_line(name: str, value: float, sign: int) -> None:
    """All of them are finite, as in a file that somebody made with care."""
    release = random_refined(d=20)
    sign = 1 if name == "list_scales" else sign
    huge = np.full_like(release.arrays[name], sign * value)
    forged = dataclasses.replace(release, arrays={**release.arrays, name: huge})
    with pytest.raises(InputError, match=r"too large to be used$"):
        forged.predictor().recommend({"3": 5.0, "4": 2.0})


def test_presence_with_lists_is_ordered_by_them_alone() -> None:
    release = dataclasses.replace(random_refined(d=20), scale=PRESENCE)
    for own in ([], ["3", "5"]):
        items = np.array([int(each) for each in own], np.int32)
        listed = release.predictor().recommend(own, 20)
        scores = slow_lists(release, items)
        assert [e.score for e in listed] == pytest.approx([scores[e.item] for e in listed])
        assert all(entry.expected is None for entry in listed)
