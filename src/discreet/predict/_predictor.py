"""What every predictor can do: predict, recommend, explain, one person or many.

Most share a model of a rating that the release stands for:

r_j = G + M_j + b + F_j z + e_j, with the person's bias b ~ N(0, user_variance), tastes z ~ N(0, I)
and e_j ~ N(0, rating_variance + the remaining uncertainty of M_j and F_j). Given a person's
ratings, b and z have a posterior, and its mean is the prediction.

For presence data, G + M_j is about the logarithm of the share of people who have item j, there is
no bias, and an own record says F_j z = 1 + e_j: it draws tastes towards those of the people who
have that item.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from discreet.domain import (
    Catalog,
    InputError,
    OwnRatings,
    Recommendation,
    Recommendations,
    SimilarItem,
    SimilarItems,
)
from discreet.predict._lists import (
    ListScores,
    cosines,
    has_and_likes,
    likes,
    popularity_scores,
)
from discreet.predict._people import People
from discreet.release import Names, Own, Release, Where

Floats = npt.NDArray[np.float64]

# Smallest prior variance of a bias, in squared ratings; chosen so that a release which says 0
# means "no bias" instead of a division by zero.
_LEAST_BIAS_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A release's numbers as predictors use them.

    Attributes:
        baseline: G + M_j: what an unknown person is expected to rate.
        noise: The variance of e_j.
        factors: F, one row per item; no columns for releases of item pairs.
        bias_variance: The prior variance of b.
        presence: Whether records only say that they are there.
    """

    baseline: Floats
    noise: Floats
    factors: npt.NDArray[np.float32]
    bias_variance: float
    presence: bool

    @classmethod
    def of(cls, release: Release) -> Model:
        """The model of a release."""
        arrays, parameters = release.arrays, release.parameters
        uncertain = arrays["item_effect_variances"].astype(np.float64)
        return cls(
            baseline=parameters["global_mean"] + arrays["item_effects"].astype(np.float64),
            noise=parameters["rating_variance"] + uncertain + arrays.get("factor_variances", 0.0),
            factors=arrays.get("factors", np.empty((len(uncertain), 0))).astype(np.float32),
            bias_variance=float(parameters["user_variance"]),
            presence=release.scale.presence,
        )

    def residuals(self, items: npt.NDArray[np.int32], values: Floats) -> Floats:
        """x_j = r_j - G - M_j for every rating; 1 for every presence."""
        return values.copy() if self.presence else values - self.baseline[items]

    def biases(self, people: People) -> tuple[Floats, Floats]:
        """The posterior mean of each person's b (without tastes), and x_j - b for every rating.

        b = sum x_j / s_j over 1/user_variance + sum 1/s_j, s_j the noise of item j.
        """
        residuals, precisions = (
            self.residuals(people.items, people.values),
            self._precisions(people),
        )
        person = np.repeat(np.arange(len(people)), np.diff(people.starts))
        sums, weights = (
            np.bincount(person, each, len(people)) for each in (residuals * precisions, precisions)
        )
        means = sums / (self._prior + weights)
        return means, residuals - means[person]

    def bias_shares(self, own: OwnRatings) -> Floats:
        """How much each residual weighs in b."""
        precisions = self._precisions(own)
        return np.asarray(precisions / (self._prior + precisions.sum()))

    def _precisions(self, own: OwnRatings | People) -> Floats:
        return np.asarray(1 / self.noise[own.items])

    @property
    def _prior(self) -> float:
        return 1 / max(self.bias_variance, _LEAST_BIAS_VARIANCE)


Ints = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

# Own ratings that a recommendation names as its reasons, at most: what fits on a line.
_REASONS = 3

Order = Literal["best", "expected"]


class Predictor(abc.ABC):
    """Predictions from a release and a person's own ratings, which stay where they are.

    A predictor never changes: one serves many people, in threads too. Own ratings are a plain
    mapping from an item's id or title to a rating; names that the catalogue does not have are left
    out and reported (`read`, `Recommendations.unknown`).

    Args:
        release: What to predict from.
        order: What lists are ordered by. `best`: that the person has the item and likes it, from
            the release's lists section (from the items' popularity, where it has none) and the
            expected rating. `expected`: the expected rating alone, which favours what few people
            know.

    Raises:
        InputError: There is no such order, or it needs ratings and the release has none.
    """

    name: ClassVar[str]
    predicts_ratings: bool
    """Whether there are expected ratings: not if records only say that they are there."""

    def __init__(self, release: Release, *, order: Order = "best") -> None:
        if order not in get_args(Order):
            raise InputError(f"order is {' or '.join(get_args(Order))}, not '{order}'")
        self.release = release
        self.predicts_ratings = not release.scale.presence and release.method != "lists"
        if order == "expected" and not self.predicts_ratings:
            raise InputError("order 'expected' needs ratings, and this release predicts none")
        self._best = order == "best"
        self._lists = ListScores.of(release)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.release!r})"

    @property
    def catalog(self) -> Catalog:
        """The items that can be recommended."""
        return self.release.catalog

    def read(self, own: Own) -> OwnRatings:
        """Own ratings as catalogue indices and values, with the unknown names beside them.

        Raises:
            InputError: A rating is not on the scale, two names mean one item, or an index is
                outside the catalogue.
        """
        if isinstance(own, OwnRatings):
            People.one(own).check(len(self.catalog))
            return own
        return OwnRatings.of(own, self.catalog, self.release.scale)

    def predict(self, own: Own, items: Iterable[str | int] | None = None) -> Floats:
        """Expected ratings, clipped to the scale.

        Args:
            own: The person's own ratings.
            items: Ids, titles or catalogue indices; every item of the catalogue if absent.

        Raises:
            InputError: An item is unknown, or an own rating is not valid.
        """
        people = People.one(self.read(own))
        targets = self._indices(items)
        return self.predict_pairs(people, np.zeros(len(targets), np.int64), targets)

    def recommend(
        self,
        own: Own,
        n: int = 10,
        *,
        only: Names | None = None,
        exclude: Names = (),
        where: Where | None = None,
        explain: bool = False,
    ) -> Recommendations:
        """The items that suit the person best among those not rated yet, the best first.

        Args:
            own: The person's own ratings.
            n: How many, at most.
            only: Ids, titles or catalogue indices to choose among; all items if absent.
            exclude: Ids, titles or catalogue indices to leave out: items that the person knows
                without having rated them.
            where: Values that items must have in columns of the catalogue, by the column's name:
                `{"genres": "Comedy"}`. One of several values is enough; all columns must fit.
            explain: Name with each the own ratings that raise its score most.

        Raises:
            InputError: An own rating is not valid, n is negative, or no item has a wanted value.
        """
        if n < 0:
            raise InputError(f"n is how many items to recommend, not {n}")
        ratings = self.read(own)
        (scores,), expected = self._order(People.one(ratings))
        allowed, unknown = self._allowed(only, exclude, where)
        # Own items last: `only` may name them, and they are still not recommended.
        allowed[ratings.items] = False
        best = _highest(scores, allowed, n)
        reasons = self._reasons(ratings, best) if explain else [()] * len(best)
        scale, ids, titles = self.release.scale, self.catalog.ids, self.catalog.titles
        stars = [None] * len(best)
        if expected is not None:
            stars = np.clip(expected[0, best], scale.lo, scale.hi).tolist()
        columns = zip(best.tolist(), scores[best].tolist(), stars, reasons, strict=True)
        entries = (Recommendation(i, ids[i], titles[i], *others) for i, *others in columns)
        return Recommendations(entries, [*ratings.unknown, *unknown])

    def similar(
        self,
        item: str | int,
        n: int = 10,
        *,
        only: Names | None = None,
        exclude: Names = (),
        where: Where | None = None,
    ) -> SimilarItems:
        """The items most like this one, for anybody; the most alike first.

        An item of which the release knows nothing of its own has no similar items.

        Args:
            item: An id, title or catalogue index.
            n: How many, at most.
            only: As for `recommend`, like the next two.
            exclude: Items to leave out.
            where: Values of columns.

        Raises:
            InputError: The item is unknown, n is negative, or the release does not say what items
                are alike.
        """
        if n < 0:
            raise InputError(f"n is how many items to list, not {n}")
        target = int(self._indices([item])[0])
        found = self._similarities(target)
        allowed, unknown = self._allowed(only, exclude, where)
        allowed[target] = False
        # Rows that are orthogonal, or point the other way, are not alike.
        best = _highest(found, allowed & (found > 0), n)
        ids, titles = self.catalog.ids, self.catalog.titles
        # A cosine of two equal rows may round to a little above 1.
        sizes = np.minimum(found[best], 1.0).tolist()
        entries = (
            SimilarItem(i, ids[i], titles[i], size)
            for i, size in zip(best.tolist(), sizes, strict=True)
        )
        return SimilarItems(entries, unknown)

    def explain(self, own: Own, item: str | int) -> list[tuple[str, float]]:
        """By how much each own rating moves this item's score, the largest first.

        With a lists section, what each adds to the list score: together, its difference from where
        the item's score starts. Otherwise what each adds to the expected rating (for presence data,
        to the logarithm of the probability): together, the difference from what is expected of a
        person without ratings.
        """
        ratings, items = self.read(own), self._indices([item])
        common, specific = self._moves(ratings, items)
        moved = common + specific[0]
        order = np.argsort(-np.abs(moved), kind="stable")
        return [(self.catalog.titles[ratings.items[j]], float(moved[j])) for j in order]

    def predict_pairs(
        self, people: People, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> Floats:
        """Expected ratings of person `rows[p]` for item `items[p]`, clipped to the scale.

        For presence data, roughly the probability that the person has the item.
        """
        people.check(len(self.catalog))
        if len(rows) != len(items):
            raise InputError(f"{len(rows):,} people beside {len(items):,} items")
        _check_range("rows", rows, len(people))
        _check_range("items", items, len(self.catalog))
        expected = self._pairs(
            people, rows.astype(np.int64, copy=False), items.astype(np.int32, copy=False)
        )
        if self.release.scale.presence:
            return probability(expected)
        return np.clip(expected, self.release.scale.lo, self.release.scale.hi)

    def scores(self, people: People, first: int, last: int) -> Singles:
        """What lists are ordered by, for the people from `first` to before `last`.

        Only their order means something: the higher, the earlier in the person's list.
        """
        if not 0 <= first <= last <= len(people):
            raise InputError(f"people {first} to {last} are not among {len(people):,}")
        people = people.part(first, last)
        people.check(len(self.catalog))
        return self._order(people)[0]

    def _order(self, people: People) -> tuple[Singles, Singles | None]:
        """What lists are ordered by, and expected ratings, not clipped, where there are any."""
        lists = self._lists
        if not self.predicts_ratings:
            return self._scores(people) if lists is None else lists.scores(people), None
        expected = self._scores(people)
        # By rating alone: both columns of the result are the same numbers.
        if not self._best:
            return expected, expected
        scores = popularity_scores(self.release) if lists is None else lists.scores(people)
        return has_and_likes(scores, expected, self.release.scale), expected

    @abc.abstractmethod
    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        """Expected ratings, not clipped; every index was checked."""

    @abc.abstractmethod
    def _scores(self, people: People) -> Singles:
        """Expected ratings of all items, not clipped, one row per person; indices were checked."""

    @abc.abstractmethod
    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """What each own rating adds to the expected ratings.

        Returns:
            What it adds to every item alike (the person's level), and a row for each item with
            what it adds to that item beyond.
        """

    def _moves(self, own: OwnRatings, items: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
        """What each own rating adds to what lists are ordered by, as in `_contributions`."""
        if self._best and self._lists is not None:
            # List scores are sums over own items without a common part.
            return np.zeros(len(own)), self._lists.contributions(own, items)
        return self._contributions(own, items)

    def _indices(self, items: Iterable[str | int] | None) -> npt.NDArray[np.int32]:
        if items is None:
            return np.arange(len(self.catalog), dtype=np.int32)
        named = [item if isinstance(item, int | np.integer) else self.catalog.index(item)
                 for item in items]  # fmt: skip
        _check_range("items", np.array(named, dtype=np.int64), len(self.catalog))
        return np.array(named, dtype=np.int32)

    def _similarities(self, item: int) -> Floats:
        """How alike an item and each item are, at most 1."""
        if self._lists is not None:
            return self._lists.similarities(item)
        if "factors" not in self.release.arrays:
            method = self.release.method
            raise InputError(f"a release of method '{method}' does not say what items are alike")
        return cosines(self.release.arrays["factors"], item)

    def _allowed(
        self, only: Names | None, exclude: Names, where: Where | None
    ) -> tuple[npt.NDArray[np.bool_], list[str]]:
        """Which items may be listed, and names that are not in the catalogue."""
        unknown: list[str] = []
        allowed = np.ones(len(self.catalog), bool) if only is None else self._marked(only, unknown)
        allowed &= ~self._marked(exclude, unknown)
        for column, values in _filters(where):
            fits = np.zeros(len(allowed), bool)
            for value in values:
                fits[np.array(self.catalog.items_with(column, value))] = True
            allowed &= fits
        return allowed, unknown

    def _marked(self, names: Names, unknown: list[str]) -> npt.NDArray[np.bool_]:
        """The named items; names that the catalogue does not have are added to `unknown`."""
        marked = np.zeros(len(self.catalog), bool)
        for name in [names] if isinstance(names, str) else names:
            index = self.catalog.find(name) if isinstance(name, str) else name
            if index is None:
                unknown.append(str(name))
            else:
                marked[self._indices([index])] = True
        return marked

    def _reasons(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> list[tuple[tuple[str, float], ...]]:
        """For each item, the few own ratings that raise its score most.

        What raises all items alike is no reason for one of them. The lists section counts that
        somebody has an item, whatever they gave it; what they did not like is no reason either.
        Lists that know no taste have no reasons at all.
        """
        if self._best and self.release.parameters.get("list_directions") == 0:
            return [()] * len(items)
        _, contributions = self._moves(own, items)
        if self._best and self._lists is not None:
            contributions = np.where(likes(own.values, self.release.scale), contributions, 0.0)
        order = np.argsort(-contributions, axis=1, kind="stable")[:, :_REASONS]
        titles = self.catalog.titles
        return [
            tuple((titles[own.items[j]], float(row[j])) for j in chosen if row[j] > 0)
            for row, chosen in zip(contributions, order, strict=True)
        ]


def _filters(where: Where | None) -> Iterator[tuple[str, list[str]]]:
    """Each column with the values of which an item must have one."""
    if not isinstance(where or {}, Mapping):
        raise InputError("where is a table of columns and values, like {'genres': 'Comedy'}")
    for column, values in (where or {}).items():
        several = (
            [values] if not isinstance(values, Iterable) or isinstance(values, str) else [*values]
        )
        if not all(isinstance(value, str) for value in several):
            raise InputError("the values of a filter are texts, like {'year': '1995'}")
        yield column, several


def groups(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Each key that occurs, and where."""
    order = np.argsort(keys, kind="stable")
    found, begins = np.unique(keys[order], return_index=True)
    if len(found):
        yield from zip(found.tolist(), np.split(order, begins[1:]), strict=True)


def probability(logarithms: Floats) -> Floats:
    """For presence data, whose scores are logarithms: roughly how likely a person has an item."""
    return np.asarray(np.exp(np.minimum(logarithms, 0.0)))


def _highest(
    scores: Singles | Floats, allowed: npt.NDArray[np.bool_], n: int
) -> npt.NDArray[np.int32]:
    """The `n` allowed items with the highest scores; the first in the catalogue among equals."""
    candidates = np.flatnonzero(allowed)
    wanted = min(n, len(candidates))
    if wanted == 0:
        return np.empty(0, np.int32)
    known = scores[candidates]
    if wanted < len(known):
        # Everything from the n-th highest score on, so that equals at the edge keep their order.
        edge = np.partition(known, len(known) - wanted)[len(known) - wanted]
        candidates = candidates[known >= edge]
    order = np.argsort(-scores[candidates], kind="stable")[:wanted]
    return candidates[order].astype(np.int32)


def _check_range(what: str, indices: npt.NDArray[np.integer], length: int) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < length):
        raise InputError(f"{what} must lie between 0 and {length - 1:,}")


class ListsPredictor(Predictor):
    """Lists by the release's lists section alone: what the person has counts, not how they rate it.

    Ratings cannot be predicted: asking for them is an `InputError`.
    """

    name: ClassVar[str] = "lists"

    def _pairs(self, *_: Any, **__: Any) -> NoReturn:
        raise InputError("a release of method 'lists' predicts no ratings; ask it to recommend")

    _scores = _contributions = _pairs
