"""The shape of a data set: how many, how unequal, how predictable, when."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date

from scipy.special import ndtri

from discreet.domain import InputError, Scale

_FIVE_STARS = Scale(1, 5)
_SPARSE = 0.25
"""Below this share of filled cells a data set is a sparse one, and its catalogue may shrink."""
_SCALED_DENSITY = 0.15
"""The share of filled cells that shrinking a sparse data set does not pass."""
_CATALOG_GROWTH = 0.4
"""Items grow like ratings to this power; between the MovieLens sets of 100 thousand, 1 million and
10 million ratings the exponents are 0.34 and 0.46."""
_TOP_ABOVE_MEAN = 4.0
"""The busiest user has this many times the mean after scaling, if it was so before."""


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
        top_quantile = float(ndtri((self.users - 0.5) / self.users))
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
