"""Every predictor gets right what can be told by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet.domain import InputError, OwnRatings
from discreet.predict import Predictor
from discreet.release import Release
from predict._worlds import two_tastes, two_tastes_by_matrix

Make = Callable[[], Predictor]


def _made(world: Callable[[], Release], name: str, **options: float) -> Make:
    return lambda: world().predictor(name, **options)


@pytest.fixture(
    params=[
        pytest.param(_made(two_tastes, "svd"), id="svd"),
        pytest.param(_made(two_tastes, "knn"), id="knn by factors"),
        pytest.param(_made(two_tastes_by_matrix, "knn", shrink=0.0), id="knn by matrix"),
    ]
)
def model(request: pytest.FixtureRequest) -> Predictor:
    make: Make = request.param
    return make()


def titles(model: Predictor, own: dict[str, float], n: int = 10, **options: object) -> list[str]:
    return [entry.title for entry in model.recommend(own, n, **options)]


def test_who_likes_a_comedy_gets_comedies_first(model: Predictor) -> None:
    own = {"comedy A": 5.0, "horror A": 1.0}
    assert titles(model, own) == ["comedy B", "comedy C", "horror B", "horror C"]
    assert titles(model, own, n=1) == ["comedy B"]


def test_who_likes_horror_gets_horror_first(model: Predictor) -> None:
    own = {"comedy A": 1.0, "horror A": 5.0}
    assert titles(model, own) == ["horror B", "horror C", "comedy B", "comedy C"]


def test_a_single_rating_is_enough_for_the_right_kind(model: Predictor) -> None:
    assert titles(model, {"horror C": 5.0}, n=2) == ["horror A", "horror B"]
    assert titles(model, {"horror C": 1.0}, n=3) == ["comedy A", "comedy B", "comedy C"]


def test_without_ratings_the_items_own_effects_decide(model: Predictor) -> None:
    best = model.recommend({}, 6)
    assert [entry.item for entry in best] == [0, 3, 1, 4, 2, 5]
    assert [entry.score for entry in best] == pytest.approx([3.3, 3.3, 3.2, 3.2, 3.1, 3.1])
    np.testing.assert_allclose(model.predict({}), [3.3, 3.2, 3.1, 3.3, 3.2, 3.1], atol=1e-6)


def test_ids_titles_and_checked_ratings_mean_the_same(model: Predictor) -> None:
    by_title = model.predict({"comedy A": 5.0, "horror A": 1.0})
    by_id = model.predict({"id0": 5.0, "id3": 1.0})
    own = OwnRatings(np.array([0, 3], np.int32), np.array([5.0, 1.0]))
    np.testing.assert_array_equal(by_title, by_id)
    np.testing.assert_array_equal(by_title, model.predict(own))


def test_unknown_names_are_reported_and_change_nothing(model: Predictor) -> None:
    own = {"comedy A": 5.0}
    more = own | {"Nosferatu": 4.0}
    best = model.recommend(more, available=["comedy B", "Faust"])
    assert best.unknown == ("Nosferatu", "Faust")
    assert [entry.title for entry in best] == ["comedy B"]
    assert model.read(more).unknown == ("Nosferatu",)
    np.testing.assert_array_equal(model.predict(own), model.predict(more))


def test_only_what_is_available_and_not_rated_is_recommended(model: Predictor) -> None:
    own = {"comedy A": 5.0, "horror A": 1.0}
    assert titles(model, own, available=["horror C", "id4", "comedy A"]) == ["horror B", "horror C"]
    assert titles(model, own, available=[2]) == ["comedy C"]
    assert titles(model, own, available=[]) == []
    assert titles(model, own, n=0) == []


def test_who_rated_everything_gets_nothing(model: Predictor) -> None:
    assert model.recommend({f"id{i}": 3.0 for i in range(6)}) == []


def test_predictions_are_cut_to_the_scale_and_scores_are_not(model: Predictor) -> None:
    own = {f"id{i}": 5.0 if i < 3 else 1.0 for i in range(6) if i != 1}
    (best,) = model.recommend(own, 1)
    (predicted,) = model.predict(own, ["comedy B"])
    assert best.title == "comedy B"
    assert predicted == pytest.approx(min(best.score, 5.0))
    loud = model.predict({f"id{i}": 1.0 for i in range(3)} | {"id4": 5.0, "id5": 5.0})
    assert loud.min() >= 1 and loud.max() <= 5


def test_explanations_name_the_rating_that_mattered(model: Predictor) -> None:
    own = {"comedy A": 5.0, "horror C": 3.0}
    best = model.recommend(own, 2, explain=True)
    assert best[0].title == "comedy B"
    assert best[0].because[0][0] == "comedy A"
    assert best[0].because[0][1] > 0
    assert all(entry.because == () for entry in model.recommend(own, 2))


def test_explanations_add_up_to_the_personal_part(model: Predictor) -> None:
    own = {"comedy A": 5.0, "comedy C": 4.0, "horror C": 2.0, "horror B": 3.0}
    unmoved = {entry.item: entry.score for entry in model.recommend({}, 6)}
    for entry in model.recommend(own, 6):
        reasons = model.explain(own, entry.item)
        assert [title for title, _ in reasons] != [] and len(reasons) == len(own)
        sizes = [abs(moved) for _, moved in reasons]
        assert sizes == sorted(sizes, reverse=True)
        total = sum(moved for _, moved in reasons)
        assert total == pytest.approx(entry.score - unmoved[entry.item], abs=1e-5)


def test_own_ratings_do_not_show_in_reprs(model: Predictor) -> None:
    assert "OwnRatings(private)" in repr(model.read({"comedy A": 5.0}))
    assert "comedy" not in repr(model)


@pytest.mark.parametrize("own", [{"comedy A": 6.0}, {"comedy A": 5.0, "id0": 4.0}])
def test_impossible_ratings_are_refused(model: Predictor, own: dict[str, float]) -> None:
    with pytest.raises(InputError):
        model.recommend(own)


@pytest.mark.parametrize("item", ["Nosferatu", 6, -1])
def test_asking_for_an_item_that_is_not_there_is_refused(model: Predictor, item: str | int) -> None:
    with pytest.raises(InputError):
        model.predict({}, [item])
    with pytest.raises(InputError):
        model.explain({}, item)


def test_a_negative_number_of_recommendations_is_refused(model: Predictor) -> None:
    with pytest.raises(InputError):
        model.recommend({}, -1)


def test_equal_scores_keep_the_catalogues_order() -> None:
    release = two_tastes()
    model = release.predictor("svd")
    assert [entry.item for entry in model.recommend({}, 1)] == [0]
    assert [entry.item for entry in model.recommend({}, 3)] == [0, 3, 1]
