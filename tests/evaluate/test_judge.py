"""The judge: what it looks at, and what it leaves out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.domain import PRESENCE, InputError, Scale
from discreet.evaluate import Judge, global_mean, item_mean, people_of, popularity, user_mean
from discreet.evaluate import _judge as module
from discreet.methods import fit
from discreet.ratings import Split, find_shape, split_random
from discreet.ratings import make_ratings as make_up
from evaluate._making import Table, make_ratings, make_split

TRAIN = [{0: 1.0}, {0: 2.0}, {0: 3.0}]
TEST = [{1: 5.0, 2: 3.0}, {3: 4.0}, {1: 2.0}]
SCORES = [[9, 4, 3, 2], [9, 1, 2, 3], [9, 1, 1, 1]]


def test_all_figures_by_hand() -> None:
    quality = Judge(make_split(TRAIN, TEST, 4)).judge(Table(SCORES))
    # Errors are 1 and 0, 1, 1.
    assert quality.rmse == pytest.approx(math.sqrt(3 / 4))
    assert quality.mae == pytest.approx(3 / 4)
    # Item 0 was rated and drops out, so both relevant items stand first; the third person has none.
    assert (quality.ndcg_at_10, quality.ndcg_at_100, quality.recall_at_20) == (1.0, 1.0, 1.0)
    assert (quality.mrr, quality.hit_rate_at_10, quality.people) == (1.0, 1.0, 3)
    # Item 0 is in no list of ten, the others in all. They count as if 1 of 3 users had them.
    assert quality.coverage == 3 / 4
    assert quality.novelty == pytest.approx(math.log2(3))


def test_novelty_goes_by_the_users_with_training_ratings() -> None:
    split = make_split(
        [{0: 1.0}, {0: 2.0}, {0: 3.0, 1: 5.0}, {}, {1: 4.0}], [{1: 5.0}, *[{}] * 4], 2
    )
    # One person is judged, and item 1 listed: 2 of the 4 who have anything have it.
    assert Judge(split).judge(popularity(split.train)).novelty == pytest.approx(1.0)


def test_people_with_few_ratings_are_judged_apart() -> None:
    train = [{0: 1.0}, {0: 2.0, 4: 1.0}, {0: 3.0, 4: 1.0}]
    test = [{1: 5.0, 2: 3.0}, {3: 4.0}, {1: 5.0}]
    split = make_split(train, test, 5)
    scores = [[9, 4, 3, 2, 1], [9, 1, 2, 3, 4], [9, 1, 2, 3, 4]]
    whole = Judge(split, few=1).judge(Table(scores))
    assert whole.few is not None
    assert (whole.people, whole.few.people, whole.few.few) == (3, 1, None)
    alone = Judge(make_split(train[:1], test[:1], 5)).judge(Table(scores))
    assert whole.few.rmse == alone.rmse == pytest.approx(math.sqrt(1 / 2))
    for name in ("mae", "ndcg_at_10", "ndcg_at_100", "recall_at_20", "mrr", "hit_rate_at_10"):
        assert getattr(whole.few, name) == getattr(alone, name)
    assert (whole.few.mrr, whole.mrr) == (1.0, pytest.approx((1 + 1 + 1 / 3) / 3))
    # The first person's list has 1, 2, 3 and 4, everybody else's 1, 2 and 3.
    assert whole.few.coverage == whole.coverage == 4 / 5
    assert Judge(split, few=2).judge(Table(scores)).few is not None
    assert Judge(split, few=0).judge(Table(scores)).few is None


def test_somebody_without_a_relevant_item_is_nobody_to_judge_lists_by() -> None:
    split = make_split([{0: 1.0}, {0: 2.0, 3: 1.0}], [{1: 2.0}, {1: 5.0}], 4)
    assert Judge(split, few=1).judge(popularity(split.train)).few is None


class ListsAlone(Table):
    """Refuses to predict ratings, and says so beforehand."""

    predicts_ratings = False

    def predict_pairs(self, people: object, rows: object, items: object) -> np.ndarray:
        raise AssertionError("nobody should ask for ratings")


def test_a_model_without_ratings_has_no_errors() -> None:
    split = make_split(TRAIN, TEST, 4)
    lists, both = (Judge(split).judge(table(SCORES)) for table in (ListsAlone, Table))
    assert (lists.rmse, lists.mae) == (None, None)
    assert lists.few is not None and lists.few.rmse is None
    assert lists.ndcg_at_10 == both.ndcg_at_10


def test_relevant_is_the_upper_quarter_of_the_scale() -> None:
    scale = Scale(-10, 10, None)
    train = make_ratings([{0: 1.0}, {0: 2.0}], 40, scale)
    for rating, counts in ((5.0, True), (4.9, False)):
        test = make_ratings([{39: rating}, {1: 9.0}], 40, scale)
        scores = [[0.0] * 39 + [1.0]] * 2  # item 39 first, item 1 tied with all others
        quality = Judge(Split(train, test)).judge(Table(scores))
        by_chance = 19 / 38  # of the places 2 to 20 of 39, tied with 38
        assert quality.recall_at_20 == pytest.approx((1 + by_chance) / 2 if counts else by_chance)


def test_where_presence_is_all_every_test_item_is_relevant() -> None:
    train = make_ratings([{0: 1.0}, {0: 1.0, 1: 1.0}, {}], 3, PRESENCE)
    test = make_ratings([{1: 1.0}, {2: 1.0}, {0: 1.0}], 3, PRESENCE)
    judge = Judge(Split(train, test))
    for baseline in (global_mean, item_mean, user_mean, popularity):
        quality = judge.judge(baseline(train))
        assert (quality.rmse, quality.mae, quality.recall_at_20) == (None, None, 1.0)
        assert math.isfinite(quality.ndcg_at_10)
    # By popularity items stand 0, 1, 2; what was there in training drops out.
    assert judge.judge(popularity(train)).ndcg_at_10 == 1.0


def test_blocks_of_people_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    split = make_split(TRAIN, TEST, 4)
    whole = Judge(split).judge(Table(SCORES))
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(module, "_CELLS", 4)
    blocks = Judge(split).judge(Table(SCORES), progress=lambda *done: told.append(done))
    assert blocks == whole
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_blocks_change_no_figure_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_random(make_up(find_shape("ml-100k").scaled(ratings=3000), seed=1), 0.2, 1)
    release = fit(split.train, epsilon=math.inf)
    whole, people = Judge(split).judge_people(release.predictor())
    monkeypatch.setattr(module, "_CELLS", 7 * len(split.train.catalog))
    blocks, same = Judge(split).judge_people(release.predictor())
    assert blocks == whole
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(
        vars(people).values(), vars(same).values(), strict=True
    ))  # fmt: skip


def test_people_of_chosen_users_are_their_ratings() -> None:
    ratings = make_ratings([{0: 1, 2: 5}, {}, {1: 3}, {0: 2, 1: 4, 2: 1}], 3)
    chosen = people_of(ratings, np.array([True, True, False, True]))
    assert chosen.starts.tolist() == [0, 2, 2, 5]
    assert chosen.items.tolist() == [0, 2, 0, 1, 2]
    assert chosen.values.tolist() == [1, 5, 2, 4, 1]


def test_a_sample_of_people_is_repeatable_and_of_that_size() -> None:
    split = split_random(make_up(find_shape("ml-100k").scaled(ratings=3000), seed=1), 0.2, 1)
    judges = [Judge(split, people=10, seed=seed) for seed in (1, 1, 2)]
    assert [len(judge) for judge in judges] == [10, 10, 10]
    first, again, other = (judge.judge(global_mean(split.train)) for judge in judges)
    assert first == again != other


def test_more_people_than_there_are_is_everybody() -> None:
    assert len(Judge(make_split(TRAIN, TEST, 4), people=99)) == 3


def test_users_without_test_ratings_are_not_judged_by() -> None:
    assert len(Judge(make_split(TRAIN, [{1: 2.0}, {}, {}], 4))) == 1


def test_nobody_to_judge_by_is_refused() -> None:
    with pytest.raises(InputError, match="no rating to test with"):
        Judge(make_split(TRAIN, [{}, {}, {}], 4))
    with pytest.raises(InputError, match="at least 1 person, not 0"):
        Judge(make_split(TRAIN, TEST, 4), people=0)
    with pytest.raises(InputError, match="a number of training ratings, not -1"):
        Judge(make_split(TRAIN, TEST, 4), few=-1)


def test_nothing_private_is_shown() -> None:
    assert repr(Judge(make_split(TRAIN, TEST, 4))) == "Judge(private)"
