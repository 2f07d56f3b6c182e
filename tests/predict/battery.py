"""What every predictor must do. A predictor's test class inherits `PredictorBattery`.

class TestMine(PredictorBattery):
    name = "mine"

    def release(self) -> Release:
        ...  # made up, with a title for every item

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        ...  # the formula with plain numpy: one person's expected ratings of all items, not clipped
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.domain import InputError, OwnRatings
from discreet.predict import People, Predictor
from discreet.release import Release
from predict._reference import slow_order
from predict._worlds import crowd
from vectors.make_predictions import FILE, answer, of_file

CASES = {case["name"]: case for case in json.loads(FILE.read_text("utf-8"))["cases"]}
# Golden numbers were made on another processor: float32 may round differently.
ATOL = 2e-6
FORMS = {"scores": "<f4", "expected": "<f4", "predictions": "<f8", "contributions": "<f8"}
NOTHING = np.empty(0, np.int32), np.empty(0)


class PredictorBattery:
    """Tests of one predictor on one made-up release."""

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    tolerance: ClassVar[float] = 1e-5

    def release(self) -> Release:
        raise NotImplementedError

    def slow(self, release: Release, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @pytest.fixture
    def model(self) -> Predictor:
        made = self.release().predictor(self.name, **self.options)
        assert isinstance(made, Predictor)
        return made

    @pytest.fixture
    def plain(self, model: Predictor) -> Predictor:
        """The same, with lists ordered by the expected rating alone, if there are ratings."""
        if not model.predicts_ratings:
            return model
        made = model.release.predictor(self.name, order="expected", **self.options)
        assert isinstance(made, Predictor)
        return made

    @pytest.fixture
    def people(self, model: Predictor) -> People:
        drawn = crowd(len(model.catalog), people=14, most=len(model.catalog) - 3)
        if not model.release.scale.presence:
            return drawn
        return People(drawn.starts, drawn.items, np.ones(len(drawn.items)))

    def someone(self, people: People) -> OwnRatings:
        """Of those with few enough ratings to be recommended something, who has most."""
        return max((people[p] for p in range(len(people))), key=len)

    def by_title(self, model: Predictor, own: OwnRatings) -> dict[str, float]:
        titles = [model.catalog.titles[item] for item in own.items]
        return dict(zip(titles, own.values.tolist(), strict=True))

    def clipped(self, model: Predictor, scores: np.ndarray) -> np.ndarray:
        scale = model.release.scale
        if scale.presence:
            return np.exp(np.minimum(scores, 0))
        return np.clip(scores, scale.lo, scale.hi)

    def test_its_name_finds_it(self, model: Predictor) -> None:
        assert model.name == self.name
        assert repr(model).startswith(type(model).__name__)

    def test_agrees_with_the_slow_reference(
        self, model: Predictor, plain: Predictor, people: People
    ) -> None:
        expected, scores = (each.scores(people, 0, len(people)) for each in (plain, model))
        assert expected.dtype == scores.dtype == np.float32
        for person in range(len(people)):
            own = people[person]
            slow = self.slow(model.release, own.items, own.values)
            np.testing.assert_allclose(expected[person], slow, atol=self.tolerance)
            order = slow_order(model.release, own.items, slow)
            np.testing.assert_allclose(scores[person], order, rtol=1e-5, atol=self.tolerance)

    def test_equal_answers_in_bulk_and_alone(
        self, model: Predictor, plain: Predictor, people: People
    ) -> None:
        rng, d = np.random.default_rng(5), len(model.catalog)
        rows, items = rng.integers(len(people), size=300), rng.integers(d, size=300)
        together = model.predict_pairs(people, rows, items)
        np.testing.assert_array_equal(together, plain.predict_pairs(people, rows, items))
        scores = plain.scores(people, 3, len(people))
        for person in range(len(people)):
            alone = model.predict(people[person])
            mine = rows == person
            np.testing.assert_allclose(together[mine], alone[items[mine]], atol=1e-6)
            if person >= 3:
                shown = self.clipped(model, scores[person - 3].astype(np.float64))
                np.testing.assert_allclose(shown, alone, atol=1e-5)

    def test_contributions_add_up_to_the_personal_part(
        self, plain: Predictor, people: People
    ) -> None:
        own = self.someone(people)
        scores, nobody = plain.scores(People.one(own), 0, 1)[0], self.nobody(plain)
        for item in range(len(plain.catalog)):
            reasons = plain.explain(own, item)
            assert len(reasons) == len(own)
            sizes = [abs(moved) for _, moved in reasons]
            assert sizes == sorted(sizes, reverse=True)
            total = sum(moved for _, moved in reasons)
            assert total == pytest.approx(scores[item] - nobody[item], abs=1e-4)
        assert plain.explain({}, 0) == []

    def nobody(self, plain: Predictor) -> np.ndarray:
        """Where the scores of a person start."""
        return plain.scores(People(np.zeros(2, np.int64), *NOTHING), 0, 1)[0]

    def test_recommends_the_best_that_is_not_rated(self, model: Predictor, people: People) -> None:
        for person in range(len(people)):
            own = people[person]
            scores = model.scores(People.one(own), 0, 1)[0]
            best = model.recommend(own, 5)
            open_ = np.setdiff1d(np.arange(len(scores)), own.items)
            expected = open_[np.argsort(-scores[open_], kind="stable")][:5]
            assert [entry.item for entry in best] == expected.tolist()
            assert [entry.score for entry in best] == scores[expected].tolist()
            assert all(entry.because == () for entry in best)
            shown = [entry.expected for entry in best]
            if model.predicts_ratings:
                np.testing.assert_allclose(shown, model.predict(own, expected), atol=1e-5)
            else:
                assert shown == [None] * len(best)
        everything = dict.fromkeys(model.catalog.titles, model.release.scale.hi)
        assert model.recommend(everything) == []
        assert model.recommend(own, 0) == []

    def test_filters(self, model: Predictor, people: People) -> None:
        own = self.someone(people)
        open_ = np.setdiff1d(np.arange(len(model.catalog)), own.items)[:2].tolist()
        titles = model.catalog.titles
        offered = [titles[open_[0]], model.catalog.ids[open_[1]], titles[own.items[0]]]
        assert sorted(entry.item for entry in model.recommend(own, only=offered)) == open_
        assert [e.item for e in model.recommend(own, only=open_[:1])] == open_[:1]
        assert [e.item for e in model.recommend(own, only=offered[0])] == open_[:1]
        assert model.recommend(own, only=[]) == []
        assert [e.item for e in model.recommend(own, only=offered, exclude=offered[:1])] == open_[
            1:
        ]
        everything, first = model.recommend(own, 99), model.recommend(own, 1)[0]
        assert model.recommend(own, 99, exclude=[first.item, "Faust"]) == everything[1:]
        with pytest.raises(InputError, match="has no extra columns; fit with --keep-columns"):
            model.recommend(own, where={"genres": "Comedy"})
        with pytest.raises(InputError, match="items must lie between"):
            model.recommend(own, exclude=[10**6])

    def test_similar_items(self, model: Predictor) -> None:
        """Those of the release, or a line that it has none; never the item itself."""
        try:
            found = [model.similar(item, 99) for item in range(len(model.catalog))]
        except InputError as refused:
            assert "does not say what items are alike" in str(refused)
            return
        table = {(item, e.item): e.similarity for item, each in enumerate(found) for e in each}
        assert all(0 < size <= 1 for size in table.values())
        assert all(item != other for item, other in table)
        for (item, other), size in table.items():
            assert table[other, item] == pytest.approx(size)
        longest = max(range(len(found)), key=lambda item: len(found[item]))
        sizes = [entry.similarity for entry in found[longest]]
        assert sizes == sorted(sizes, reverse=True)
        title = model.catalog.titles[longest]
        assert model.similar(title, 2) == found[longest][:2]
        named = model.similar(title, 99, exclude=["Faust"], only=model.catalog.ids)
        assert named == found[longest] and named.unknown == ("Faust",)
        for ask in (lambda: model.similar("Nosferatu"), lambda: model.similar(title, -1)):
            with pytest.raises(InputError):
                ask()

    def test_ids_titles_and_checked_ratings_mean_the_same(
        self, model: Predictor, people: People
    ) -> None:
        own = self.someone(people)
        by_title = self.by_title(model, own)
        by_id = {model.catalog.ids[i]: v for i, v in zip(own.items, own.values, strict=True)}
        for other in (by_title, by_id):
            assert model.recommend(own, 99) == model.recommend(other, 99)

    def test_unknown_names_are_reported_and_change_nothing(
        self, model: Predictor, people: People
    ) -> None:
        own = self.by_title(model, self.someone(people))
        more = own | {"Nosferatu": model.release.scale.hi}
        best = model.recommend(more, only=[*model.catalog.titles, "Faust"], exclude=["M"])
        assert best.unknown == ("Nosferatu", "Faust", "M")
        assert model.read(more).unknown == ("Nosferatu",)
        assert best == model.recommend(own)

    def test_reasons_are_own_ratings_that_raise_the_score(
        self, model: Predictor, people: People
    ) -> None:
        own = self.someone(people)
        titles = [model.catalog.titles[item] for item in own.items]
        for entry in model.recommend(own, 3, explain=True):
            common, beyond = model._moves(own, np.array([entry.item], np.int32))
            moved = dict(zip(titles, (common + beyond[0]).tolist(), strict=True))
            assert dict(model.explain(own, entry.item)) == pytest.approx(moved)
            raised = sorted(zip(beyond[0].tolist(), titles, strict=True), reverse=True)
            unliked = set() if model._lists is None else self._unliked(model, own)
            raised = [(by, title) for by, title in raised if by > 0 and title not in unliked]
            most = [(title, pytest.approx(by)) for by, title in raised][:3]
            assert list(entry.because) == most

    @staticmethod
    def _unliked(model: Predictor, own: OwnRatings) -> set[str]:
        """Titles that were rated below 3.5 of 1 to 5, or as much of another scale."""
        scale = model.release.scale
        least = scale.lo if scale.presence else scale.lo + 0.625 * scale.range
        rated = zip(own.items, own.values, strict=True)
        return {model.catalog.titles[item] for item, value in rated if value < least}

    def test_the_order_changes_the_order_alone(
        self, model: Predictor, plain: Predictor, people: People
    ) -> None:
        own = self.someone(people)
        listed = plain.recommend(own, 99)
        shown = {entry.item: entry.expected for entry in model.recommend(own, 99)}
        assert {entry.item: entry.expected for entry in listed} == shown
        if model.predicts_ratings:
            expected = [entry.expected for entry in listed]
            assert expected == sorted(expected, reverse=True)
            np.testing.assert_array_equal(model.predict(own), plain.predict(own))
        else:
            with pytest.raises(InputError, match="order 'expected' needs ratings"):
                model.release.predictor(self.name, order="expected", **self.options)
        with pytest.raises(InputError, match="order is best or expected, not 'popular'"):
            model.release.predictor(self.name, order="popular", **self.options)

    @pytest.mark.parametrize("item", ["Nosferatu", 10**6, -1])
    def test_unknown_items_are_refused_in_one_line(self, model: Predictor, item: str | int) -> None:
        for ask in (
            lambda: model.predict({}, [item]),
            lambda: model.explain({}, item),
        ):
            with pytest.raises(InputError) as refused:
                ask()
            assert "\n" not in str(refused.value)

    def test_impossible_own_ratings_are_refused(self, model: Predictor) -> None:
        title, id_ = model.catalog.titles[0], model.catalog.ids[0]
        if not model.release.scale.presence:  # of presence, values are not looked at
            for own in ({title: model.release.scale.hi + 1}, {title: 1.0, id_: 2.0}):
                with pytest.raises(InputError):
                    model.recommend(own)
        with pytest.raises(InputError):
            model.recommend({}, -1)

    def test_indices_outside_are_refused(self, model: Predictor, people: People) -> None:
        d = len(model.catalog)
        for rows, items in (([0, 99], [0, 0]), ([-1], [0]), ([0], [d]), ([0], [-1]), ([0, 1], [0])):
            with pytest.raises(InputError):
                model.predict_pairs(people, np.array(rows), np.array(items))
        outside = OwnRatings(np.array([d], np.int32), np.array([float(model.release.scale.hi)]))
        for ask in (
            lambda: model.scores(People.one(outside), 0, 1),
            lambda: model.explain(outside, 0),
        ):
            with pytest.raises(InputError, match="outside the catalogue"):
                ask()
        with pytest.raises(InputError, match="not among"):
            model.scores(people, 0, 99)

    def test_own_ratings_do_not_show_in_reprs(self, model: Predictor, people: People) -> None:
        own = self.someone(people)
        assert "OwnRatings(private)" in repr(model.read(own))
        assert model.catalog.titles[own.items[0]] not in repr(model)

    def test_golden_vectors(self) -> None:
        cases = [case for case in CASES.values() if self.name in case["answers"]]
        assert cases
        for case in cases:
            release = of_file(zlib.decompress(base64.b64decode(case["release"])))
            model = release.predictor(self.name)
            for person, stored in zip(case["people"], case["answers"][self.name], strict=True):
                items, values = np.array(person["items"], np.int32), np.array(person["values"])
                compare(stored, answer(model, OwnRatings(items, values.astype(np.float64))))


def compare(stored: dict[str, Any], now: dict[str, Any]) -> None:
    """What a predictor says now is what the golden file says."""
    assert stored["items"] == now["items"]
    for name, dtype in FORMS.items():
        golden = np.frombuffer(base64.b64decode(stored[name]), dtype)
        np.testing.assert_allclose(golden, now[name], rtol=ATOL, atol=ATOL)
    for (item, score, because, expected), one in zip(
        stored["recommendations"], now["recommendations"], strict=True
    ):
        assert (item, [i for i, _ in because]) == (one[0], [i for i, _ in one[2]])
        assert score == pytest.approx(one[1], rel=ATOL, abs=ATOL)
        assert expected == (one[3] and pytest.approx(one[3], rel=ATOL, abs=ATOL))
        amounts = [amount for _, amount in because]
        assert amounts == pytest.approx([amount for _, amount in one[2]], rel=ATOL, abs=ATOL)
