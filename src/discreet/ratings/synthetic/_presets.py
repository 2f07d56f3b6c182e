"""Shapes of well-known data sets: their published sizes, tails and value frequencies.

The variance shares are set so that simple predictors err as much as they do on the real data. For
Netflix, published errors belong to the probe set, whose standard deviation is 1.13, not the 1.085
of all ratings: movie means 1.05, with user effects 0.98, factors 0.91. In proportion to 1.085 these
are 1.01, 0.94 and 0.87. The shape lies between.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType

from discreet.domain import InputError, Scale
from discreet.ratings.synthetic._shape import Shape

_HALF_STARS = Scale(0.5, 5, 0.5)

# Twenty intervals of width one, from -10 to 10.
_JESTER_SHARES = (
    *(0.0414, 0.0311, 0.0323, 0.0359, 0.0295, 0.0393, 0.0402, 0.0381, 0.0427, 0.0715),
    *(0.0641, 0.0694, 0.0706, 0.0737, 0.0618, 0.0652, 0.0606, 0.0537, 0.0579, 0.0210),
)

_ALL = (
    Shape(
        name="netflix",
        users=480_189,
        items=17_770,
        ratings=100_480_507,
        value_shares=(0.046, 0.101, 0.287, 0.336, 0.230),
        top_user=0.993,
        user_bend=0.35,
        top_item=0.4851,
        rare_item=3e-4,
        item_bend=1.1,
        item_variance=0.1,
        user_variance=0.14,
        taste_variance=0.19,
        span=(date(1999, 11, 11), date(2006, 1, 1)),
        growth=3.0,
        session=8,
        returning=0.9,
    ),
    Shape(
        name="ml-100k",
        users=943,
        items=1_682,
        ratings=100_000,
        value_shares=(0.0611, 0.1137, 0.27145, 0.34174, 0.21201),
        least=20,
        top_user=0.438,
        user_bend=0.95,
        top_item=0.618,
        rare_item=1e-3,
        item_bend=1.0,
        item_variance=0.18,
        user_variance=0.15,
        taste_variance=0.2,
        span=(date(1997, 9, 20), date(1998, 4, 23)),
    ),
    Shape(
        name="ml-1m",
        users=6_040,
        items=3_706,
        ratings=1_000_209,
        value_shares=(0.05616, 0.10753, 0.26114, 0.34889, 0.22628),
        least=20,
        top_user=0.6244,
        user_bend=0.77,
        top_item=0.5675,
        rare_item=1.6e-4,
        item_bend=0.9,
        item_variance=0.245,
        user_variance=0.13,
        taste_variance=0.185,
        span=(date(2000, 4, 26), date(2003, 3, 1)),
        growth=0.4,
    ),
    Shape(
        name="ml-latest-small",
        users=610,
        items=9_724,
        ratings=100_836,
        scale=_HALF_STARS,
        value_shares=(
            0.0136,
            0.0279,
            0.0178,
            0.0749,
            0.0550,
            0.1988,
            0.1303,
            0.2660,
            0.0848,
            0.1310,
        ),
        least=20,
        top_user=0.2775,
        user_bend=0.55,
        top_item=0.5393,
        rare_item=1.6e-3,
        item_bend=0.9,
        item_variance=0.21,
        user_variance=0.17,
        taste_variance=0.19,
        span=(date(1996, 3, 29), date(2018, 9, 25)),
    ),
    Shape(
        name="ml-10m",
        users=69_878,
        items=10_677,
        ratings=10_000_054,
        scale=_HALF_STARS,
        value_shares=(
            0.0095,
            0.0384,
            0.0118,
            0.0790,
            0.0370,
            0.2357,
            0.0880,
            0.2876,
            0.0585,
            0.1545,
        ),
        least=20,
        top_user=0.689,
        user_bend=0.5,
        top_item=0.499,
        rare_item=1e-5,
        item_bend=0.95,
        item_variance=0.225,
        user_variance=0.125,
        taste_variance=0.19,
        span=(date(1995, 1, 9), date(2009, 1, 6)),
    ),
    Shape(
        name="ml-20m",
        users=138_493,
        items=26_744,
        ratings=20_000_263,
        scale=_HALF_STARS,
        value_shares=(
            0.0120,
            0.0340,
            0.0140,
            0.0715,
            0.0442,
            0.2146,
            0.1100,
            0.2781,
            0.0767,
            0.1449,
        ),
        least=20,
        top_user=0.346,
        user_bend=0.5,
        top_item=0.486,
        rare_item=7e-6,
        item_bend=1.0,
        item_variance=0.22,
        user_variance=0.14,
        taste_variance=0.19,
        span=(date(1995, 1, 9), date(2015, 4, 1)),
    ),
    Shape(
        name="ml-32m",
        users=200_948,
        items=84_432,
        ratings=32_000_204,
        scale=_HALF_STARS,
        value_shares=(
            0.0160,
            0.0310,
            0.0160,
            0.0660,
            0.0510,
            0.1960,
            0.1270,
            0.2660,
            0.0880,
            0.1430,
        ),
        least=20,
        top_user=0.395,
        user_bend=0.0,
        top_item=0.512,
        rare_item=5e-6,
        item_bend=0.95,
        item_variance=0.22,
        user_variance=0.14,
        taste_variance=0.19,
        span=(date(1995, 1, 9), date(2023, 10, 14)),
    ),
    Shape(
        name="goodbooks",
        users=53_424,
        items=10_000,
        ratings=5_976_479,
        value_shares=(0.0208, 0.0601, 0.2294, 0.3579, 0.3318),
        least=19,
        top_user=0.02,
        user_bend=0.5,
        top_item=0.4269,
        rare_item=1e-3,
        item_bend=0.6,
        item_variance=0.09,
        user_variance=0.2,
        taste_variance=0.11,
        span=None,
    ),
    Shape(
        name="jester",
        users=24_983,
        items=100,
        ratings=1_810_455,
        scale=Scale(-10, 10, None),
        value_shares=_JESTER_SHARES,
        least=35,
        top_user=1.1,
        user_bend=3.0,
        top_item=1.0,
        rare_item=0.34,
        item_bend=3.0,
        item_variance=0.095,
        user_variance=0.235,
        taste_variance=0.16,
        rank=6,
        quality=0.0,
        span=None,
    ),
)

SHAPES: Mapping[str, Shape] = MappingProxyType({shape.name: shape for shape in _ALL})
"""The shapes that have a name."""


def find_shape(name: str) -> Shape:
    """The shape with this name.

    Raises:
        InputError: There is none.
    """
    if name not in SHAPES:
        raise InputError(f"there is no shape '{name}'; there are {', '.join(SHAPES)}")
    return SHAPES[name]
