"""The release: what a method made public, its guarantee, and what it learnt, in words."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from discreet.domain import (
    Catalog,
    InputError,
    OwnRatings,
    Recommendations,
    Scale,
    SimilarItems,
)
from discreet.privacy import Guarantee, Unit
from discreet.release._layouts import SMALL, check_contents, check_layout

Own = Mapping[str, float] | Iterable[str] | OwnRatings
"""A person's own ratings by title or id; titles alone for a release of interactions."""
Names = Iterable[str | int]
"""Ids, titles or catalogue indices."""
Where = Mapping[str, str | Iterable[str]]
"""Values that items must have in columns of the catalogue."""

# Which predictors read which method's releases, by name, each as a function that loads it. Filled
# by `discreet.predict`, so that a release can hand out predictors and this room knows none.
_PREDICTORS: dict[str, dict[str, Callable[[], Callable[..., Any]]]] = {}


def register_predictors(
    method: str, predictors: Mapping[str, Callable[[], Callable[..., Any]]]
) -> None:
    """Add predictors that read the releases of a method.

    Args:
        method: The method's name.
        predictors: For each name a function that loads the predictor: what makes it from a release
            and options. The first one registered for the method is its default.
    """
    _PREDICTORS.setdefault(method, {}).update(predictors)


class Recommender(Protocol):
    """What a release's predictor can do; `discreet.predict.Predictor` says more of it."""

    name: ClassVar[str]
    predicts_ratings: bool
    """Whether there are expected ratings: not if records only say that they are there."""

    @property
    def release(self) -> Release:
        """What it predicts from."""

    @property
    def catalog(self) -> Catalog:
        """The items that can be recommended."""

    def read(self, own: Own) -> OwnRatings:
        """Own ratings as catalogue indices and values, with the unknown names beside them."""

    def predict(
        self, own: Own, items: Iterable[str | int] | None = None
    ) -> npt.NDArray[np.float64]:
        """Expected ratings of these items, or of all, clipped to the scale."""

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
        """The items that suit the person best among those not rated yet, the best first."""

    def similar(
        self,
        item: str | int,
        n: int = 10,
        *,
        only: Names | None = None,
        exclude: Names = (),
        where: Where | None = None,
    ) -> SimilarItems:
        """The items most like this one, for anybody; the most alike first."""

    def explain(self, own: Own, item: str | int) -> list[tuple[str, float]]:
        """By how much each own rating moves this item's score, the largest first."""

    def predict_pairs(
        self, people: Any, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.float64]:
        """Expected ratings of person `rows[p]` of `discreet.predict.People` for `items[p]`."""

    def scores(self, people: Any, first: int, last: int) -> npt.NDArray[np.float32]:
        """What lists are ordered by, for the people from `first` to before `last`."""


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Everything that is made public, and its guarantee.

    Made by `fit`, by a protocol's server or by `load`; checked on construction (the content of
    arrays above 16 MiB only when it is saved or loaded with `verify`).

    Attributes:
        method: What made it, which decides what the arrays mean ("covariance").
        scale: The scale of the ratings.
        catalog: The items; arrays refer to them by index.
        guarantee: What it guarantees, to whom, under which assumptions.
        parameters: Plain numbers and texts (anything JSON can hold).
        arrays: The published arrays, read-only.
    """

    method: str
    scale: Scale
    catalog: Catalog
    guarantee: Guarantee
    parameters: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]
    _digest: str | None = field(default=None, init=False)
    """That of the file it was loaded from."""

    def __post_init__(self) -> None:
        parameters = MappingProxyType(_plain(self.parameters))
        arrays = MappingProxyType({name: _frozen(a) for name, a in self.arrays.items()})
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "arrays", arrays)
        check_layout(self.method, len(self.catalog), parameters, arrays)
        check_contents(self.method, len(self.catalog), arrays, at_most=SMALL)

    def __repr__(self) -> str:
        promise = str(self.guarantee).partition("\n")[0]
        return f"Release({self.method}, {len(self.catalog):,} items, {promise})"

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def learnt(self) -> LearntSummary:
        """What it knows of items and tastes, in numbers and in words, from its arrays alone."""
        return summarise(
            self.method,
            len(self.catalog),
            not self.scale.presence and "global_mean" in self.parameters,
            self.parameters,
            self.arrays,
            self.guarantee,
        )

    def describe(self) -> dict[str, Any]:
        """Everything about it but its numbers, as plain data: what `discreet inspect` shows.

        Example:
            >>> import discreet
            >>> ratings = discreet.make_ratings("ml-100k", ratings=2000, seed=1)
            >>> about = discreet.fit(ratings, epsilon=1.0, ledger="unbooked").describe()
            >>> about["method"], about["protect"], round(about["epsilon"], 6), about["scale"]
            ('refined', 'user', 1.0, '1..5')
        """
        guarantee = self.guarantee
        return {
            "method": self.method,
            "private": guarantee.is_private,
            "protect": str(guarantee.unit),
            "epsilon": guarantee.epsilon if guarantee.is_private else None,
            "delta": guarantee.delta,
            "items": len(self.catalog),
            "catalog": str(self.catalog.origin),
            "columns": list(self.catalog.columns),
            "scale": self.scale.spelling,
            "digest": self.digest(),
            "learnt": self.learnt.to_dict(),
            "guarantee": guarantee.to_dict(),
            "parameters": dict(self.parameters),
            "arrays": {
                name: {"type": array.dtype.name, "shape": list(array.shape)}
                for name, array in self.arrays.items()
            },
        }

    def digest(self) -> str:
        """The SHA-256 that identifies the release: that of its file, or of the one `save` writes.

        A ledger records it with the charge that paid for the release.
        """
        from discreet.release._codec import digest_of

        return digest_of(self) if self._digest is None else self._digest

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write one file that `load` reads, completely or not at all.

        Args:
            path: The file.
            overwrite: Whether to replace a file that is there. A release was paid for, and drawn
                noise cannot be drawn again, so nothing is replaced unless you say so.

        Raises:
            InputError: There is a file, it cannot be written, or an array holds a value that is
                not finite.
        """
        from discreet.release._codec import save

        save(self, path, overwrite=overwrite)

    def predictor(self, name: str | None = None, **options: Any) -> Recommender:
        """A predictor that works from this release and a person's own ratings.

        Args:
            name: Which one; the method's default if absent.
            options: The predictor's own options.

        Raises:
            InputError: There is no such predictor or option, or `discreet.predict` was never
                imported.

        Example:
            >>> import discreet
            >>> ratings = discreet.make_ratings("ml-100k", ratings=5000, seed=1)
            >>> release = discreet.fit(
            ...     ratings, epsilon=8.0, randomness=discreet.SeededRandomness(1)
            ... )
            >>> model = release.predictor()
            >>> model.name, model.predicts_ratings
            ('posterior', True)
            >>> len(model.recommend({"1": 5}, 2, exclude=["2"]))
            2
        """
        known = _PREDICTORS.get(self.method)
        if not known:
            raise InputError(
                f"no predictor reads releases of method '{self.method}'; "
                "import discreet.predict first"
            )
        if name is not None and name not in known:
            names = ", ".join(known)
            raise InputError(
                f"'{name}' is not a predictor for method '{self.method}'; it has {names}"
            )
        make = known[name or next(iter(known))]()
        try:
            inspect.signature(make).bind(self, **options)
        except TypeError as error:
            raise InputError(
                f"predictor '{name or 'default'}' does not take this: {error}"
            ) from None
        made: Recommender = make(self, **options)
        return made


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, made of what JSON can hold, that no caller has a reference to."""
    try:
        copied = json.loads(json.dumps(dict(parameters), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"a release's parameters are finite numbers and texts: {error}") from None
    assert isinstance(copied, dict)
    return copied


def _frozen(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


# What was learnt, from the published numbers alone. A small budget can leave a file that looks like
# any other and says nothing. Whether it does can be read off what is published: counts beside their
# noise, levels beside their variances, directions.

Level = Literal["nothing", "popularity", "item means", "tastes"]
"""How much a release has learnt; each level has what comes before it, too."""

# A level is known where it exceeds this many standard deviations of its error. Chosen by hand.
_CLEAR = 2.0
# Ratings hardly differ between people with this many directions or fewer: popularity, the items'
# levels, and one that independent items show too, since people who have much have rarer items.
# Chosen by hand.
_FEW_RATINGS = 3
# The largest epsilon at which a larger one is advised: above it a promise is weak already. Chosen
# by hand.
_LARGE_EPSILON = 4.0


@dataclass(frozen=True)
class LearntSummary:
    """What a release knows of its items and of tastes.

    Attributes:
        level: The most that was learnt.
        items: How many items the catalogue has.
        popular_items: Items whose counts stand out of the noise.
        rated_items: Items whose mean rating is clearly above or below the average; 0 for
            interactions.
        list_directions: Directions of taste that lists use, beyond popularity.
        rating_directions: Directions of taste that predicted ratings use.
        compared_items: Items that are compared in pairs, or averaged by groups of like-minded
            people, in releases that do that.
        has_ratings: Whether the release predicts ratings.
        advice: What would help, where little was learnt; each a clause.
    """

    level: Level
    items: int
    popular_items: int
    rated_items: int
    list_directions: int
    rating_directions: int
    compared_items: int
    has_ratings: bool
    advice: tuple[str, ...] = ()

    @property
    def is_little(self) -> bool:
        """Whether people's lists are the same, or nearly."""
        few = not self.list_directions and self.rating_directions <= _FEW_RATINGS
        return few and not self.compared_items

    def sentences(self) -> list[str]:
        """What was learnt and, where it is little, what would help."""
        said = [_SAID[self.level](self)]
        if self.advice:
            said.append(f"What would help: {'; '.join(self.advice)}.")
        return said

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the words, as a release records it."""
        return asdict(self) | {"advice": list(self.advice), "words": self.sentences()}


def summarise(
    method: str,
    items: int,
    has_ratings: bool,
    parameters: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[np.generic]],
    guarantee: Guarantee,
) -> LearntSummary:
    """What these published numbers know.

    Args:
        method: The release's.
        items: How many the catalogue has.
        has_ratings: Whether ratings are predicted.
        parameters: The release's.
        arrays: The release's.
        guarantee: The release's; advice depends on it.
    """
    lists, ratings, compared = _directions(parameters, arrays)
    is_popular = _are_popular(items, parameters, arrays)
    popular = int(np.count_nonzero(is_popular))
    rated = _rated(arrays, is_popular) if has_ratings else 0
    level: Level = "nothing"
    if lists or ratings or compared:
        level = "tastes"
    elif rated:
        level = "item means"
    elif popular:
        level = "popularity"
    found = LearntSummary(level, items, popular, rated, lists, ratings, compared, has_ratings)
    if not found.is_little:
        return found
    return replace(found, advice=_advice(method, parameters, guarantee))


def _are_popular(
    items: int, parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[np.generic]]
) -> npt.NDArray[np.bool_]:
    """Which items' counts stand out: by more than the largest of as many draws of noise.

    Of n normal draws that is about sqrt(2 ln n) standard deviations; with one more, about one
    release in a thousand has an item that is in truth noise.
    """
    counts = np.asarray(arrays.get("item_counts", np.zeros(0)), np.float64)
    noise = parameters.get("count_noise", 0.0)
    noise = noise if isinstance(noise, int | float) and noise >= 0 else 0.0
    return counts > (math.sqrt(2 * math.log(max(items, 2))) + 1) * noise


def _rated(arrays: Mapping[str, npt.NDArray[np.generic]], is_popular: npt.NDArray[np.bool_]) -> int:
    """Popular items whose level stands out of its error; others' levels may be chance alone."""
    if "item_effects" not in arrays or "item_effect_variances" not in arrays:
        return 0
    effects = np.asarray(arrays["item_effects"], np.float64)
    variances = np.asarray(arrays["item_effect_variances"], np.float64)
    return int(np.count_nonzero(is_popular & (effects**2 > _CLEAR**2 * variances)))


def _directions(
    parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[np.generic]]
) -> tuple[int, int, int]:
    """Directions of lists and of ratings, and how many items are compared otherwise.

    Directions that cost nothing, popularity and the items' levels, are in factors whether or not
    anything was measured along them; only where it was do rows have a variance.
    """
    stated, rows = parameters.get("list_directions"), arrays.get("list_rows", np.zeros((0, 0)))
    lists = stated if isinstance(stated, int) else int(np.count_nonzero(np.any(rows, axis=0)))
    ratings = 0
    if "factors" in arrays:
        factors, variances = arrays["factors"], arrays["factor_variances"]
        # Releases that others made need not say how many items they measured together.
        is_measured = bool(lists or parameters.get("head_items", 1) or np.any(variances))
        ratings = int(np.count_nonzero(np.any(factors, axis=0))) if is_measured else 0
    compared = 0
    if "factors" not in arrays and "head" in arrays:
        compared = len(arrays["head"])
    elif "bucket_items" in arrays:
        compared = len(np.unique(arrays["bucket_items"]))
    return lists, ratings, compared


def _advice(method: str, parameters: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    """What the same data could be given to learn more; only what this method can follow."""
    said = ["ratings from more people"]
    if method in ("refined", "lists") and not parameters.get("feature_columns"):
        said.append("public features of the items, such as genres (features)")
    if guarantee.is_private and guarantee.epsilon <= _LARGE_EPSILON:
        said.append("a larger epsilon")
    if guarantee.is_private and guarantee.unit is Unit.USER:
        said.append(
            "protecting single ratings instead of people (protect rating), a weaker guarantee"
        )
    return tuple(said)


def _of(part: int, whole: int, noun: str = "items") -> str:
    return f"all {whole:,} {noun}" if part == whole else f"{part:,} of {whole:,} {noun}"


def _nothing(found: LearntSummary) -> str:
    rest = "lists are in random order"
    if found.has_ratings:
        rest += ", and every rating is predicted as about the average"
    return f"Learnt nothing: no item's popularity stands out of the noise; {rest}."


def _popularity(found: LearntSummary) -> str:
    rest = "everybody gets nearly the same list"
    if found.has_ratings:
        rest += ", and every rating is predicted as about the average"
    popular = _of(found.popular_items, found.items)
    return f"Learnt popularity only, of {popular}: {rest}."


def _means(found: LearntSummary) -> str:
    return (
        f"Learnt item means only: the mean ratings of {_of(found.rated_items, found.items)} and "
        f"the popularity of {found.popular_items:,}. Nothing was learnt of how tastes differ, so "
        "everybody gets nearly the same list."
    )


def _tastes(found: LearntSummary) -> str:
    known = [f"the popularity of {_of(found.popular_items, found.items)}"]
    if found.has_ratings and found.rated_items:
        known.append(f"the mean ratings of {found.rated_items:,}")
    if found.list_directions:
        known.append(f"{_directed(found.list_directions)} for lists")
    if found.rating_directions:
        known.append(f"{_directed(found.rating_directions)} for ratings")
    if found.compared_items:
        known.append(f"how {found.compared_items:,} items compare")
    only = "" if found.list_directions or found.compared_items else "; for lists, popularity only"
    before = f"{', '.join(known[:-1])} and " if known[1:] else ""
    return f"Learnt {before}{known[-1]}{only}."


def _directed(number: int) -> str:
    return f"{number:,} direction{'s' * (number != 1)} of taste"


_SAID = {
    "nothing": _nothing,
    "popularity": _popularity,
    "item means": _means,
    "tastes": _tastes,
}
