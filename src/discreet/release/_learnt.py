"""What a release has learnt, in words: from its published numbers alone.

A small budget can leave a file that looks like any other and says nothing. Whether it does can be
read off what is published: counts beside their noise, levels beside their variances, directions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.privacy import Guarantee, Unit

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
