"""A judge: the same test ratings for every model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.evaluate._metrics import Places, Scorer, mae, ndcg_at, places, recall_at, rmse
from discreet.predict import People
from discreet.ratings import Ratings, Split

# Scores held at a time: 32 MiB of float32. Chosen by hand to bound memory on large catalogues.
_CELLS = 1 << 23


@dataclass(frozen=True)
class Quality:
    """How good a model's predictions and lists are.

    Attributes:
        rmse: Root of the mean squared error of test ratings.
        mae: Their mean absolute error.
        ndcg_at_10: Of lists of ten.
        recall_at_20: Of lists of twenty.
    """

    rmse: float
    mae: float
    ndcg_at_10: float
    recall_at_20: float


def people_of(ratings: Ratings, chosen: npt.NDArray[np.bool_] | None = None) -> People:
    """Ratings as predictors take them: of all users, or of the marked ones."""
    if chosen is None:
        return People(ratings.starts, ratings.items, ratings.values())
    counts = np.diff(ratings.starts)
    at = np.repeat(chosen, counts)
    starts = np.concatenate(([0], np.cumsum(counts[chosen])))
    return People(starts, ratings.items[at], ratings.scale.decode(ratings.codes[at]))


class Judge:
    """Judges models by a split's test ratings.

    A test rating is relevant for lists if it is at least hi - range/4: four stars and more on five
    stars. Lists are judged over the whole catalogue without the person's training items, and for
    people who have a relevant test item.

    Args:
        split: Models were fitted on its train part, which also holds people's own ratings.
        people: Evaluate on at most this many people, chosen at random; on all by default.
        seed: Of that choice.

    Raises:
        InputError: No person has a test rating.
    """

    def __init__(self, split: Split, *, people: int | None = None, seed: int = 0) -> None:
        chosen = _choose(np.diff(split.test.starts) > 0, people, seed)
        self.items = len(split.train.catalog)
        self._own = people_of(split.train, chosen)
        self._test = people_of(split.test, chosen)
        scale = split.test.scale
        relevant = self._test.values >= scale.hi - scale.range / 4 - 1e-6 * scale.range
        before = np.concatenate(([0], np.cumsum(relevant)))
        self._relevant_starts = before[self._test.starts]
        self._relevant = self._test.items[relevant]

    def __len__(self) -> int:
        return len(self._own)

    def __repr__(self) -> str:
        return "Judge(private)"

    def judge(
        self, scorer: Scorer, *, progress: Callable[[int, int], None] | None = None
    ) -> Quality:
        """Compare a model's predictions and lists with what people rated.

        Args:
            scorer: A predictor or a baseline.
            progress: Called with how many people are done and how many there are.
        """
        predicted: list[npt.NDArray[np.float64]] = []
        found: list[Places] = []
        for first, last in self._blocks():
            predicted.append(self._predict(scorer, first, last))
            found.append(self._find(scorer, first, last))
            if progress:
                progress(last, len(self))
        both = np.concatenate(predicted), self._test.values
        lists = Places.joined(found)
        return Quality(rmse(*both), mae(*both), ndcg_at(lists, 10), recall_at(lists, 20))

    def _blocks(self) -> Iterator[tuple[int, int]]:
        size = max(1, _CELLS // self.items)
        for first in range(0, len(self), size):
            yield first, min(first + size, len(self))

    def _predict(self, scorer: Scorer, first: int, last: int) -> npt.NDArray[np.float64]:
        test = self._test.part(first, last)
        rows = np.repeat(np.arange(last - first), np.diff(test.starts))
        return scorer.predict_pairs(self._own.part(first, last), rows, test.items)

    def _find(self, scorer: Scorer, first: int, last: int) -> Places:
        own = self._own.part(first, last)
        starts = self._relevant_starts[first : last + 1]
        relevant = self._relevant[starts[0] : starts[-1]]
        return places(scorer.scores(own, 0, len(own)), own, starts - starts[0], relevant)


def _choose(tested: npt.NDArray[np.bool_], people: int | None, seed: int) -> npt.NDArray[np.bool_]:
    """The marked users, or as many of them, chosen at random."""
    if people is not None and people < 1:
        raise InputError(f"a judgement needs at least 1 person, not {people}")
    if not tested.any():
        raise InputError("the split left no rating to test with; give more ratings or share")
    if people is None or people >= np.count_nonzero(tested):
        return tested
    drawn = np.random.default_rng(seed).choice(np.flatnonzero(tested), people, replace=False)
    chosen = np.zeros_like(tested)
    chosen[drawn] = True
    return chosen
