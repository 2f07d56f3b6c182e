"""What is the same for every user: the items, and how scores become ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr, ndtri

from discreet.domain import Catalog, Scale
from discreet.ratings.synthetic._curves import Floats, choice_weights, item_popularity
from discreet.ratings.synthetic._kernels import ItemTable, alias_table
from discreet.ratings.synthetic._shape import Shape
from discreet.ratings.synthetic._titles import made_up_titles

_FACTOR_DECAY = 0.75
_BELL_CENTRE = 0.65
_BELL_WIDTH = 0.27
_CONTINUOUS_PARTS = 20
_NO_SPAN_YEAR = 2000


def make_items(
    shape: Shape, activity: npt.NDArray[np.int64], rng: np.random.Generator
) -> ItemTable:
    """The items' weights, effects and taste factors, in random order of popularity.

    Effects and factors are scaled so that their variances over *ratings* are the shape's.
    """
    popularity = item_popularity(shape)
    weights = choice_weights(shape, activity, popularity)
    order = rng.permutation(shape.items)
    popularity, weights = popularity[order], weights[order]
    effects = _effects(shape, popularity, rng)
    factors = _factors(shape, popularity, rng)
    cut, other = alias_table(weights)
    return ItemTable(weights, cut, other, factors, effects)


def _effects(shape: Shape, popularity: Floats, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    fame = _standardised(np.log(popularity), np.ones(shape.items))
    luck = rng.standard_normal(shape.items)
    merit = shape.quality * fame + np.sqrt(1.0 - shape.quality**2) * luck
    spread = math.sqrt(shape.item_variance)
    return (spread * _standardised(merit, popularity)).astype(np.float32)


def _factors(shape: Shape, popularity: Floats, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    factors = rng.standard_normal((shape.items, shape.rank))
    factors /= np.arange(1, shape.rank + 1) ** _FACTOR_DECAY
    squares = np.average((factors**2).sum(1), weights=popularity)
    return np.ascontiguousarray(factors / np.sqrt(squares), dtype=np.float32)


def _standardised(values: Floats, weights: Floats) -> Floats:
    centred = values - np.average(values, weights=weights)
    spread = np.sqrt(np.average(centred**2, weights=weights))
    standard: Floats = centred / spread if spread > 0 else centred
    return standard


def make_catalog(shape: Shape, rng: np.random.Generator) -> Catalog:
    """The items' numbers as ids, and titles from before the first rating."""
    ids = pl.int_range(1, shape.items + 1, eager=True).cast(pl.String).to_list()
    last_year = shape.span[0].year - 1 if shape.span else _NO_SPAN_YEAR
    return Catalog(ids, made_up_titles(shape.items, last_year, rng))


@dataclass(frozen=True)
class ValueMap:
    """A rising map from scores to ratings as they are stored."""

    scale: Scale
    knots: npt.NDArray[np.float32]
    """Between neighbouring scores here lies one level, or one part of a continuous scale."""

    @classmethod
    def fit(cls, shape: Shape, scores: Floats) -> ValueMap:
        """The map that gives a sample of scores the value frequencies of the shape."""
        shares = np.asarray(shape.value_shares or bell(shape.scale), np.float64)
        reached = np.concatenate(([0.0], np.cumsum(shares) / shares.sum()))
        knots = np.quantile(scores, np.minimum(reached, 1.0))
        return cls(shape.scale, knots.astype(np.float32))

    def encode(
        self, scores: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.uint8] | npt.NDArray[np.float32]:
        """Ratings as `Scale.encode` stores them; scores beyond the last knots are extremes."""
        if self.scale.step is not None:
            return np.searchsorted(self.knots[1:-1], scores).astype(np.uint8)
        values = np.linspace(self.scale.lo, self.scale.hi, len(self.knots))
        return np.interp(scores, self.knots, values).astype(np.float32)


def bell(scale: Scale) -> tuple[float, ...]:
    """Value shares for a scale of which nothing is known: a bell above its middle."""
    levels = scale.levels
    if levels is None:
        inner = np.arange(1, _CONTINUOUS_PARTS) / _CONTINUOUS_PARTS
    else:
        inner = (np.arange(1, len(levels)) - 0.5) / (len(levels) - 1)
    below = np.concatenate(([0.0], ndtr((inner - _BELL_CENTRE) / _BELL_WIDTH), [1.0]))
    return tuple(np.diff(below).tolist())


def with_even_habits(scores: Floats, shape: Shape, rng: np.random.Generator) -> Floats:
    """Scores made without users' habits, with as many different habits as there are scores.

    A pilot has few users, and theirs would shift everybody's ratings; evenly spaced normal
    quantiles in random order do not.
    """
    even = ndtri((np.arange(len(scores)) + 0.5) / len(scores))
    used = np.exp(shape.range_use * rng.permutation(even))
    spread: Floats = used * scores + math.sqrt(shape.user_variance) * rng.permutation(even)
    return spread
