"""A judge: the same test ratings for every model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.evaluate._metrics import (
    Places,
    Scorer,
    Shown,
    hit_rate_at,
    hit_rate_of,
    mae,
    mean_known,
    mean_reciprocal_rank,
    ndcg_at,
    ndcg_of,
    places,
    recall_at,
    recall_of,
    reciprocal_rank_of,
    rmse,
)
from discreet.predict import People
from discreet.ratings import Ratings, Split

FEW_RATINGS = 20
"""The most training ratings that count as few, by default. Chosen by hand: everybody in MovieLens
has at least 20, and a new visitor of a site has fewer."""

# Scores held at a time: 32 MiB of float32. Chosen by hand to bound memory on large catalogues.
_CELLS = 1 << 23
# The length of the lists whose coverage and novelty are measured: what fits on a page.
_PAGE = 10


@dataclass(frozen=True)
class Quality:
    """How good a model's predictions and lists are.

    Lists are judged by people who have a relevant test item; errors, coverage and novelty by
    everybody who has a test rating.

    Attributes:
        people: How many people have a test rating.
        rmse: Root of the mean squared error of test ratings; None where there are no ratings, or
            the model predicts none.
        mae: Their mean absolute error; None likewise.
        ndcg_at_10: Normalised discounted cumulative gain of lists of ten.
        ndcg_at_100: Of lists of a hundred.
        recall_at_20: The share of somebody's relevant items that a list of twenty has.
        mrr: Mean reciprocal rank of the first relevant item.
        hit_rate_at_10: The share of people whose list of ten has a relevant item.
        coverage: The share of the catalogue that is in anybody's list of ten.
        novelty: The mean over lists of ten of -log2 of the share of training users who have the
            item; an item that nobody has counts as if one user had it.
        few: The same for people with few training ratings alone; None if none of them has a
            relevant test item.
    """

    people: int
    rmse: float | None
    mae: float | None
    ndcg_at_10: float
    ndcg_at_100: float
    recall_at_20: float
    mrr: float
    hit_rate_at_10: float
    coverage: float
    novelty: float
    few: Quality | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PersonQuality:
    """The same figures person by person, in columns: private, as they are about single people.

    A figure is not a number where the person has no test rating, or no relevant one.

    Attributes:
        user: The person's place in the ratings that were split.
        training: How many training ratings the person has.
        tested: How many test ratings.
        rmse: Of the person's test ratings; None without predicted ratings.
        mae: Likewise.
        ndcg_at_10: See `Quality`, as those below.
        recall_at_20: Of a list of twenty.
        reciprocal_rank: Of the first relevant item.
        hit_rate_at_10: Of a list of ten.
    """

    user: npt.NDArray[np.int64]
    training: npt.NDArray[np.int64]
    tested: npt.NDArray[np.int64]
    rmse: npt.NDArray[np.float64] | None
    mae: npt.NDArray[np.float64] | None
    ndcg_at_10: npt.NDArray[np.float64]
    recall_at_20: npt.NDArray[np.float64]
    reciprocal_rank: npt.NDArray[np.float64]
    hit_rate_at_10: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return "PersonQuality(private)"


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
    people who have a relevant test item. Scores are held for a block of people at a time.

    Args:
        split: Models were fitted on its train part, which also holds people's own ratings.
        people: Evaluate on at most this many people, chosen at random; on all by default.
        seed: Of that choice.
        few: People with at most this many training ratings are also judged apart.

    Attributes:
        items: The size of the catalogue.
        candidates: How many people have a test rating; `len(judge)` of them are judged by.

    Raises:
        InputError: No person has a test rating, or an argument cannot be used.
    """

    def __init__(
        self, split: Split, *, people: int | None = None, seed: int = 0, few: int = FEW_RATINGS
    ) -> None:
        if few < 0:
            raise InputError(f"few is a number of training ratings, not {few}")
        chosen = _choose(np.diff(split.test.starts) > 0, people, seed)
        self.items = len(split.train.catalog)
        self.candidates = int(np.count_nonzero(np.diff(split.test.starts)))
        self._users = np.flatnonzero(chosen)
        self._own = people_of(split.train, chosen)
        self._test = people_of(split.test, chosen)
        self._few = np.diff(self._own.starts) <= few
        self._surprise = _surprise(split.train)
        scale = split.test.scale
        self._rated = not scale.presence
        # A millionth of the range below: what is on the edge is relevant, however floats round it.
        relevant = self._test.values >= scale.hi - scale.range / 4 - 1e-6 * scale.range
        # How many relevant ratings come before each test rating; at the people's starts, where
        # theirs begin.
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
            scorer: A predictor, a baseline, or a model of your own.
            progress: Called with how many people are done and how many there are.
        """
        return self.judge_people(scorer, progress=progress)[0]

    def judge_people(
        self, scorer: Scorer, *, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Quality, PersonQuality]:
        """As `judge`, with the figures of each person beside the means.

        Args:
            scorer: A predictor, a baseline, or a model of your own.
            progress: Called with how many people are done and how many there are.
        """
        rated = self._rated and getattr(scorer, "predicts_ratings", True)
        predicted: list[npt.NDArray[np.float64]] = []
        found: list[Places] = []
        shown = Shown(_PAGE, self._surprise, groups=2)
        for first, last in self._blocks():
            if rated:
                predicted.append(self._predict(scorer, first, last))
            scores = self._scores(scorer, first, last)
            found.append(self._find(scores, first, last))
            shown.add(scores, self._few[first:last].astype(np.int64))
            if progress:
                progress(last, len(self))
        errors = np.concatenate(predicted) - self._test.values if rated else None
        lists = Places.joined(found)
        return self._quality(errors, lists, shown), self._of_people(errors, lists)

    def _of_people(self, errors: npt.NDArray[np.float64] | None, lists: Places) -> PersonQuality:
        root_mean_square, mean_absolute = None, None
        if errors is not None:
            root_mean_square = np.sqrt(self._mean_by_person(errors**2))
            mean_absolute = self._mean_by_person(np.abs(errors))
        return PersonQuality(
            user=self._users,
            training=np.diff(self._own.starts),
            tested=np.diff(self._test.starts),
            rmse=root_mean_square,
            mae=mean_absolute,
            ndcg_at_10=ndcg_of(lists, 10),
            recall_at_20=recall_of(lists, 20),
            reciprocal_rank=reciprocal_rank_of(lists),
            hit_rate_at_10=hit_rate_of(lists, 10),
        )

    def _mean_by_person(self, of_ratings: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        running = np.concatenate(([0.0], np.cumsum(of_ratings)))
        starts = self._test.starts
        means: npt.NDArray[np.float64] = running[starts[1:]] - running[starts[:-1]]
        return means / np.diff(starts)

    def _quality(
        self, errors: npt.NDArray[np.float64] | None, lists: Places, shown: Shown
    ) -> Quality:
        """Everybody's figures, and those of people with few ratings within."""
        everybody = np.ones(len(self), np.bool_)
        few = None
        # Without a relevant item among them there is no list to judge them by.
        if np.any(np.diff(lists.starts)[self._few]):
            few = self._of_group(errors, lists, shown, self._few, [1])
        return self._of_group(errors, lists, shown, everybody, [0, 1], few)

    def _of_group(
        self,
        errors: npt.NDArray[np.float64] | None,
        lists: Places,
        shown: Shown,
        among: npt.NDArray[np.bool_],
        groups: list[int],
        few: Quality | None = None,
    ) -> Quality:
        root_mean_square, mean_absolute = None, None
        if errors is not None:
            theirs = errors[np.repeat(among, np.diff(self._test.starts))]
            root_mean_square, mean_absolute = rmse(theirs, 0.0), mae(theirs, 0.0)
        return Quality(
            people=int(np.count_nonzero(among)),
            rmse=root_mean_square,
            mae=mean_absolute,
            ndcg_at_10=ndcg_at(lists, 10, among),
            ndcg_at_100=ndcg_at(lists, 100, among),
            recall_at_20=recall_at(lists, 20, among),
            mrr=mean_reciprocal_rank(lists, among),
            hit_rate_at_10=hit_rate_at(lists, 10, among),
            coverage=shown.coverage(groups),
            novelty=mean_known(shown.novelties(), among),
            few=few,
        )

    def _blocks(self) -> Iterator[tuple[int, int]]:
        # A block's scores are people x items: so many people that they stay within `_CELLS`
        # numbers.
        size = max(1, _CELLS // self.items)
        for first in range(0, len(self), size):
            yield first, min(first + size, len(self))

    def _predict(self, scorer: Scorer, first: int, last: int) -> npt.NDArray[np.float64]:
        test = self._test.part(first, last)
        rows = np.repeat(np.arange(last - first), np.diff(test.starts))
        return scorer.predict_pairs(self._own.part(first, last), rows, test.items)

    def _scores(self, scorer: Scorer, first: int, last: int) -> npt.NDArray[np.float32]:
        own = self._own.part(first, last)
        scores = np.asarray(scorer.scores(own, 0, len(own)))
        if scores.shape != (len(own), self.items) or scores.dtype != np.float32:
            raise InputError(
                f"a scorer's scores are float32, a row for each of {len(own):,} people and a "
                f"column for each of {self.items:,} items, not {scores.dtype} of {scores.shape}"
            )
        return scores

    def _find(self, scores: npt.NDArray[np.float32], first: int, last: int) -> Places:
        starts = self._relevant_starts[first : last + 1]
        relevant = self._relevant[starts[0] : starts[-1]]
        return places(scores, self._own.part(first, last), starts - starts[0], relevant)


def _surprise(train: Ratings) -> npt.NDArray[np.float64]:
    """For each item, -log2 of the share of training users who have it, at least one of them."""
    users = max(int(np.count_nonzero(np.diff(train.starts))), 1)
    counts = np.bincount(train.items, minlength=len(train.catalog))
    surprise: npt.NDArray[np.float64] = np.log2(users) - np.log2(np.maximum(counts, 1))
    return surprise


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
