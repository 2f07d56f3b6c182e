"""Shapes of data sets: how many ratings, how unequal, how predictable, when."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.domain import InputError, Scale
from discreet.domain.lazy import LazyModule

if TYPE_CHECKING:
    from scipy import special
else:
    special = LazyModule("scipy.special")

_FIVE_STARS = Scale(1, 5)
# Below this share of filled cells a data set counts as sparse, and its catalogue may shrink. Chosen
# by hand, between Jester (0.72) and all others (0.063 or less).
_SPARSE = 0.25
# The share of filled cells that shrinking a sparse data set does not pass; chosen by hand.
_SCALED_DENSITY = 0.15
# Items grow like ratings to this power; between the MovieLens sets of 100 thousand, 1 million and
# 10 million ratings the exponents are 0.34 and 0.46.
_CATALOG_GROWTH = 0.4
# The busiest user has this many times the mean after scaling, if it was so before; chosen by hand.
_TOP_ABOVE_MEAN = 4.0


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What made-up ratings look like. Three figures suffice: the rest has sensible defaults.

    Curves: sorted by activity, a user at normal quantile z has `least + (top - least) exp(-h)`
    ratings, where the slope of h falls linearly in z, by the share `bend` between the median and
    the busiest user. Zero is a log-normal tail; one is flat at the very top; above one several
    share the top. The steepness follows from the number of ratings. Items obey the same law.

    Values: a rating is a level of the scale chosen by a standard normal score, which is the sum of
    an item effect, a user effect, taste (a product of user and item factors) and noise. The three
    `..._variance` fields say which share of the score's variance each explains; noise is the rest.
    """

    users: int
    items: int
    ratings: int
    name: str = "custom"
    scale: Scale = _FIVE_STARS
    value_shares: tuple[float, ...] | None = None
    """How often each level occurs, lowest first; on a continuous scale, how much falls into each
    of as many equal intervals. None for a bell around 65 % of the scale."""
    least: int = 1
    """Ratings of the least active user."""
    top_user: float | None = None
    """The busiest user's ratings as a share of the catalogue; above 1, several rate everything.
    None for what a log-normal tail of unit width gives."""
    user_bend: float = 0.6
    top_item: float = 0.5
    """The share of users who rate the most popular item."""
    rare_item: float = 0.0
    """The share of users who rate the least popular item."""
    item_bend: float = 0.9
    item_variance: float = 0.18
    user_variance: float = 0.15
    taste_variance: float = 0.16
    rank: int = 12
    """The number of taste factors; factor k has k**-0.75 times the spread of the first."""
    quality: float = 0.6
    """The correlation between an item's effect and its log popularity."""
    choice: float = 1.0
    """How much people choose what they will like: an item comes to mind in proportion to its
    popularity and is taken with probability `logistic(choice * taste)`, taste in standard units.
    Zero is choice by popularity alone."""
    range_use: float = 0.2
    """How much users differ in how much of the scale they use (log standard deviation)."""
    span: tuple[date, date] | None = (date(2001, 1, 1), date(2006, 1, 1))
    """The first day and the day after the last; None for ratings without times."""
    growth: float = 1.0
    """Arrivals by time t of the span grow like t to this power."""
    session: int = 40
    """Ratings in a sitting, on average, for those who come back."""
    returning: float = 0.4
    """The share of users who come back after their first sitting."""

    def __post_init__(self) -> None:
        self._check_size()
        self._check_tails()
        self._check_values()
        self._check_times()

    @property
    def density(self) -> float:
        """The share of (user, item) cells that are rated."""
        return self.ratings / self.users / self.items

    @property
    def mean_activity(self) -> float:
        """Ratings per user."""
        return self.ratings / self.users

    @property
    def noise_variance(self) -> float:
        """The share of the score's variance that nobody can predict."""
        return 1.0 - self.item_variance - self.user_variance - self.taste_variance

    @property
    def top_activity(self) -> float:
        """Ratings of the busiest user before the catalogue cuts them off."""
        if self.top_user is not None:
            return max(self.top_user * self.items, self.mean_activity)
        top_quantile = float(special.ndtri((self.users - 0.5) / self.users))
        # A log-normal of unit width has its z-quantile at exp(z - 1/2) times its mean.
        unbounded = self.mean_activity * math.exp(max(top_quantile - 0.5, 0.0))
        return max(min(unbounded, float(self.items)), self.mean_activity)

    def scaled(self, *, ratings: int) -> Shape:
        """The same character with another number of ratings.

        Ratings per user are kept and the catalogue grows or shrinks more slowly than the number of
        users; where that would fill more than 15 % of a sparse data set's cells, users rate fewer
        items each. A dense data set keeps its catalogue.

        Raises:
            InputError: No ratings at all.
        """
        if ratings < 1:
            raise InputError(f"a data set needs at least 1 rating, not {ratings:,}")
        items = self.items
        if self.density < _SPARSE:
            items = max(2, round(items * (ratings / self.ratings) ** _CATALOG_GROWTH))
        fullest = max(_SCALED_DENSITY, self.density) * items
        users = max(round(ratings / min(self.mean_activity, fullest)), math.ceil(ratings / items))
        users = min(max(users, 1), ratings)
        return replace(
            self,
            users=users,
            items=items,
            ratings=ratings,
            least=self._scaled_least(ratings / users),
            top_user=self._scaled_top(ratings / users / items),
        )

    def _scaled_least(self, mean: float) -> int:
        """As it is, unless the mean comes close."""
        proportional = self.least * mean / self.mean_activity
        return max(1, min(self.least, int(max(proportional + 1e-9, mean / 3))))

    def _scaled_top(self, density: float) -> float | None:
        """The same share of the catalogue, unless the mean comes close."""
        if self.top_user is None:
            return None
        above_mean = min(self.top_activity / self.mean_activity, _TOP_ABOVE_MEAN)
        return max(self.top_user, above_mean * density)

    def _check_size(self) -> None:
        for count, what in ((self.users, "user"), (self.items, "item"), (self.ratings, "rating")):
            if count < 1:
                raise InputError(f"a shape needs at least 1 {what}, not {count:,}")
        if self.ratings > self.users * self.items:
            raise InputError(
                f"{self.users:,} users and {self.items:,} items have room for at most "
                f"{self.users * self.items:,} ratings, not {self.ratings:,}"
            )
        if self.items >= 2**31:
            raise InputError(f"a catalogue holds at most {2**31 - 1:,} items, not {self.items:,}")

    def _check_tails(self) -> None:
        if not 1 <= self.least <= self.mean_activity:
            raise InputError(
                f"every user rates at least {self.least:,}, but {self.ratings:,} ratings by "
                f"{self.users:,} users are {self.mean_activity:.3g} each: least must be 1 or more "
                "and at most that"
            )
        _within("top_item", self.top_item, 0.0, 1.0)
        _within("rare_item", self.rare_item, 0.0, self.top_item)
        _within("top_user", self.top_user, 0.0, 10.0)
        _within("user_bend", self.user_bend, -1.0, 4.0)
        _within("item_bend", self.item_bend, -1.0, 4.0)

    def _check_values(self) -> None:
        for field in ("item_variance", "user_variance", "taste_variance", "noise_variance"):
            _within(field, getattr(self, field), 0.0, 1.0)
        _within("quality", self.quality, -1.0, 1.0)
        _within("choice", self.choice, 0.0, 10.0)
        _within("range_use", self.range_use, 0.0, 1.0)
        _within("rank", self.rank, 1, 256)
        if self.value_shares is not None:
            self._check_shares(self.value_shares)

    def _check_shares(self, shares: tuple[float, ...]) -> None:
        levels = self.scale.levels
        if levels is not None and len(levels) != len(shares):
            raise InputError(
                f"the scale {self.scale} has {len(levels)} levels, but there are "
                f"{len(shares)} value shares"
            )
        if min(shares, default=-1.0) < 0 or abs(math.fsum(shares) - 1) > 1e-2:
            raise InputError("value shares must be 0 or more and add up to 1")

    def _check_times(self) -> None:
        _within("growth", self.growth, 0.1, 10.0)
        _within("session", self.session, 1, 10**6)
        _within("returning", self.returning, 0.0, 1.0)
        if self.span is not None and not date(1970, 1, 1) <= self.span[0] < self.span[1]:
            raise InputError(
                f"the span {self.span[0]} to {self.span[1]} must begin in 1970 or later and end "
                "after it begins"
            )
        if self.span is not None and self.span[1] > date(2106, 1, 1):
            raise InputError(f"times are kept up to the year 2105, not to {self.span[1]}")


def _within(field: str, value: float | None, lo: float, hi: float) -> None:
    if value is not None and not lo <= value <= hi:
        raise InputError(f"{field} must be between {lo:g} and {hi:g}, not {value:g}")


# Shapes of well-known data sets: their published sizes, tails and value frequencies.
#
# The variance shares are set so that simple predictors err as much as they do on the real data. For
# Netflix, published errors belong to the probe set, whose standard deviation is 1.13, not the 1.085
# of all ratings: movie means 1.05, with user effects 0.98, factors 0.91. In proportion to 1.085
# these are 1.01, 0.94 and 0.87. The shape lies between.

_HALF_STARS = Scale(0.5, 5, 0.5)
# Twenty intervals of width one, from -10 to 10.
_JESTER_SHARES = (
    *(0.0414, 0.0311, 0.0323, 0.0359, 0.0295, 0.0393, 0.0402, 0.0381, 0.0427, 0.0715),
    *(0.0641, 0.0694, 0.0706, 0.0737, 0.0618, 0.0652, 0.0606, 0.0537, 0.0579, 0.0210),
)

_ALL = (
    Shape(
        name="netflix", users=480_189, items=17_770, ratings=100_480_507,
        value_shares=(0.046, 0.101, 0.287, 0.336, 0.230),
        top_user=0.993, user_bend=0.35, top_item=0.4851, rare_item=3e-4, item_bend=1.1,
        item_variance=0.1, user_variance=0.14, taste_variance=0.19,
        span=(date(1999, 11, 11), date(2006, 1, 1)), growth=3.0, session=8, returning=0.9,
    ),
    Shape(
        name="ml-100k", users=943, items=1_682, ratings=100_000,
        value_shares=(0.0611, 0.1137, 0.27145, 0.34174, 0.21201),
        least=20, top_user=0.438, user_bend=0.95, top_item=0.618, rare_item=1e-3, item_bend=1.0,
        item_variance=0.18, user_variance=0.15, taste_variance=0.2,
        span=(date(1997, 9, 20), date(1998, 4, 23)),
    ),
    Shape(
        name="ml-1m", users=6_040, items=3_706, ratings=1_000_209,
        value_shares=(0.05616, 0.10753, 0.26114, 0.34889, 0.22628),
        least=20, top_user=0.6244, user_bend=0.77, top_item=0.5675, rare_item=1.6e-4, item_bend=0.9,
        item_variance=0.245, user_variance=0.13, taste_variance=0.185,
        span=(date(2000, 4, 26), date(2003, 3, 1)), growth=0.4,
    ),
    Shape(
        name="ml-latest-small", users=610, items=9_724, ratings=100_836,
        scale=_HALF_STARS, value_shares=(
            0.0136, 0.0279, 0.0178, 0.0749, 0.0550,
            0.1988, 0.1303, 0.2660, 0.0848, 0.1310,
        ),
        least=20, top_user=0.2775, user_bend=0.55, top_item=0.5393, rare_item=1.6e-3, item_bend=0.9,
        item_variance=0.21, user_variance=0.17, taste_variance=0.19,
        span=(date(1996, 3, 29), date(2018, 9, 25)),
    ),
    Shape(
        name="ml-10m", users=69_878, items=10_677, ratings=10_000_054,
        scale=_HALF_STARS, value_shares=(
            0.0095, 0.0384, 0.0118, 0.0790, 0.0370,
            0.2357, 0.0880, 0.2876, 0.0585, 0.1545,
        ),
        least=20, top_user=0.689, user_bend=0.5, top_item=0.499, rare_item=1e-5, item_bend=0.95,
        item_variance=0.225, user_variance=0.125, taste_variance=0.19,
        span=(date(1995, 1, 9), date(2009, 1, 6)),
    ),
    Shape(
        name="ml-20m", users=138_493, items=26_744, ratings=20_000_263,
        scale=_HALF_STARS, value_shares=(
            0.0120, 0.0340, 0.0140, 0.0715, 0.0442,
            0.2146, 0.1100, 0.2781, 0.0767, 0.1449,
        ),
        least=20, top_user=0.346, user_bend=0.5, top_item=0.486, rare_item=7e-6, item_bend=1.0,
        item_variance=0.22, user_variance=0.14, taste_variance=0.19,
        span=(date(1995, 1, 9), date(2015, 4, 1)),
    ),
    Shape(
        name="ml-32m", users=200_948, items=84_432, ratings=32_000_204,
        scale=_HALF_STARS, value_shares=(
            0.0160, 0.0310, 0.0160, 0.0660, 0.0510,
            0.1960, 0.1270, 0.2660, 0.0880, 0.1430,
        ),
        least=20, top_user=0.395, user_bend=0.0, top_item=0.512, rare_item=5e-6, item_bend=0.95,
        item_variance=0.22, user_variance=0.14, taste_variance=0.19,
        span=(date(1995, 1, 9), date(2023, 10, 14)),
    ),
    Shape(
        name="goodbooks", users=53_424, items=10_000, ratings=5_976_479,
        value_shares=(0.0208, 0.0601, 0.2294, 0.3579, 0.3318),
        least=19, top_user=0.02, user_bend=0.5, top_item=0.4269, rare_item=1e-3, item_bend=0.6,
        item_variance=0.09, user_variance=0.2, taste_variance=0.11,
        span=None,
    ),
    Shape(
        name="jester", users=24_983, items=100, ratings=1_810_455,
        scale=Scale(-10, 10, None), value_shares=_JESTER_SHARES,
        least=35, top_user=1.1, user_bend=3.0, top_item=1.0, rare_item=0.34, item_bend=3.0,
        item_variance=0.095, user_variance=0.235, taste_variance=0.16, rank=6, quality=0.0,
        span=None,
    ),
)  # fmt: skip

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
