"""Taking the randomisation off again, on average; and how much noise that leaves.

Let z be an answer, centred, in grid steps, and s whether there is one. In both mechanisms

    x = slope z s            is (r - mid) if the item was rated and 0 if not, on average,
    e = (s - fake)/gap       is 1 and 0 likewise,

where `fake` is the chance that an unrated item shows and `fake + gap` that a rated one does. With a
level m above mid, y = x - m e is r - mid - m or 0 on average. Answers for two items are independent
given the ratings, so products of their y (or e) are unbiased for products of what they stand for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.protocols.local_reports.messages import Collection, Mechanism

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """What is known of answers beforehand.

    Attributes:
        slope: Ratings per grid step, once debiased.
        fake: The chance that an unrated item shows.
        gap: How much more likely a rated one does.
        fake_square: The mean of z^2 s for an unrated item.
        kept: Of a rated item, the mean of z^2 s is fake_square + kept z_true^2 + added.
        added: See `kept`.
    """

    slope: float
    fake: float
    gap: float
    fake_square: float
    kept: float
    added: float

    @classmethod
    def of(cls, collection: Collection) -> Law:
        """The law of a collection's answers."""
        if collection.mechanism is Mechanism.MODIFIED_LAPLACE:
            keep = collection.laplace.keep
            noise = geometric_variance(collection.laplace.scale)
            fake = 1 - keep
            return cls(
                slope=collection.unit / keep, fake=fake, gap=2 * keep - 1,
                fake_square=fake * noise, kept=keep, added=(2 * keep - 1) * noise,
            )  # fmt: skip
        keep = collection.response.keep
        other = keep * math.exp(-collection.epsilon)
        levels = np.linspace(-collection.reach, collection.reach, collection.levels)
        return cls(
            slope=collection.unit / (keep - other), fake=collection.levels * other,
            gap=keep - other, fake_square=other * float(levels @ levels), kept=keep - other,
            added=0.0,
        )  # fmt: skip

    def presence_variance(self, shares: _Floats) -> _Floats:
        """The variance of e for items that these shares of people rated."""
        shown = self.fake + self.gap
        both = (1 - shares) * self.fake * (1 - self.fake) + shares * shown * (1 - shown)
        return np.asarray(both / self.gap**2)

    def moment(self, levels: _Floats, shares: _Floats, spread: float, unit: float) -> _Floats:
        """The mean of y^2 over people.

        Args:
            levels: m: what people who rated the item rate above mid, on average.
            shares: How many of all people that is.
            spread: The variance of their ratings.
            unit: A grid step on the scale.
        """
        missing = self.slope**2 * self.fake_square + levels**2 * (
            self.fake * (1 - self.fake) / self.gap**2
        )
        square = (levels**2 + spread) / unit**2
        shown = self.fake + self.gap
        squares = self.slope**2 * (self.fake_square + self.kept * square + self.added)
        # z s is levels/slope on average and is 0 unless s is 1, so s - fake is 1 - fake there.
        crossed = 2 * levels**2 * (1 - self.fake) / self.gap
        marks = levels**2 * (shown * (1 - 2 * self.fake) + self.fake**2) / self.gap**2
        present = squares - crossed + marks
        return np.asarray((1 - shares) * missing + shares * present)


def geometric_variance(scale: float) -> float:
    """Of two-sided geometric noise: 2q/(1 - q)^2 with q = e^(-1/scale)."""
    ratio = math.exp(-1 / scale)
    return 2 * ratio / math.expm1(-1 / scale) ** 2
