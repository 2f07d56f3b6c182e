"""The inputs on which theorems of the papers fail: what errata compute and audits are tried on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.audit._neighbours import STARS, Neighbours
from discreet.audit._tags import BITS, Group, large_group
from discreet.domain import PRESENCE
from discreet.measure.centring import ItemLevels, PaperCentring
from discreet.measure.outputs import OutputFunction, OutputMethod, Sensitivity
from discreet.privacy import Unit
from discreet.ratings import Ratings

__all__ = [
    "BITS",
    "LISTED",
    "MINIMUM_RATERS",
    "MINIMUM_RATINGS",
    "Answer",
    "Centred",
    "Group",
    "generated_law",
    "generated_sets",
    "large_group",
    "theorem_3_1",
    "theorem_3_2",
    "theorem_3_mu",
    "theorem_4",
]

MINIMUM_RATERS, MINIMUM_RATINGS = 10, 20
"""Park and Acharya's phi_m and T."""
LISTED = 10
"""How long their lists are."""
_LEFT, _RIGHT, _CANDIDATES, _LARGEST = 2, 3, 40, 5.0


def theorem_3_mu(epsilon: float, delta: float) -> float:
    """McSherry and Mironov, Theorem 3: the mu of noise with sigma = sqrt(2 ln(2/delta))/epsilon."""
    return epsilon / math.sqrt(2 * math.log(2 / delta))


@dataclass(frozen=True, eq=False)
class Centred:
    """McSherry and Mironov, Theorem 4: somebody rates at one end, and then one item at the other.

    Items average far from those ratings: once that is taken off, ratings span up to twice the
    scale, and the theorem reckons with the scale.

    Attributes:
        neighbours: With the last rating and without.
        levels: Of the items.
        clamp: The paper's B.
        fictitious: Its beta.
    """

    neighbours: Neighbours
    levels: ItemLevels
    clamp: float
    fictitious: int = 20

    @property
    def centring(self) -> PaperCentring:
        """As in the paper, with the range that residuals really have."""
        span = STARS.range + float(np.ptp(self.levels.effects))
        return PaperCentring(self.clamp, self.fictitious, span)

    @property
    def claimed(self) -> float:
        """The theorem's bound on the squared movement: alpha^2/(4 beta) + B^2."""
        return STARS.range**2 / (4 * self.fictitious) + self.clamp**2


def theorem_4(old: int, effect: float, clamp: float = 1.0) -> Centred:
    """So many ratings of 1 on items that average 3 + effect, then a 5 on one of 3 - effect.

    With a negative effect it is the other way round: many 5s, then a 1.
    """
    low, high = (1.0, 5.0) if effect > 0 else (5.0, 1.0)
    effects = np.append(np.full(old, effect), -effect)
    rated = dict.fromkeys(range(old), low)
    neighbours = Neighbours.by_rating(old + 1, rated, (old, high))
    return Centred(neighbours, ItemLevels(3.0, effects), clamp)


@dataclass(frozen=True, eq=False)
class Answer:
    """Park and Acharya: one record moves the answer to person 0 on item 0.

    Attributes:
        paper: The answers of the paper, whose `claimed` is the theorem's bound.
        ours: What is answered here, and its bound `by_others`.
        neighbours: With the record and without.
    """

    paper: OutputFunction
    ours: OutputFunction
    neighbours: Neighbours

    def measure(self, ratings: Ratings) -> npt.NDArray[np.int64]:
        """The paper's answer, in grid units."""
        return self.paper.measure(ratings, np.array([0]), np.array([0]))

    @property
    def moved(self) -> float:
        """How far the record moves it."""
        more, less = (self.measure(self.neighbours.ratings(world))[0, 0] for world in (0, 1))
        return float(abs(more - less) / self.paper.grid)


def theorem_3_1() -> Answer:
    """Ten raters of twenty items rate item 0 a 5 and the others a 1; an eleventh rates item 0."""
    items = range(1, MINIMUM_RATINGS + 1)
    rest = dict.fromkeys(items, 1.0)
    others = (dict.fromkeys(items, 3.0), *(({0: 5.0, **rest},) * MINIMUM_RATERS))
    neighbours = Neighbours(MINIMUM_RATINGS + 1, Unit.RATING, rest, {0: 5.0}, others)
    return Answer(*_functions(OutputMethod.SLOPE_ONE), neighbours)


def theorem_3_2() -> Answer:
    """Two people with the same twenty items; one of them buys item 0, which a third one has.

    The third one has nineteen other items. So every norm is above 0, before and after.
    """
    own = dict.fromkeys(range(1, MINIMUM_RATINGS + 1), 1.0)
    third = dict.fromkeys((0, *range(MINIMUM_RATINGS + 1, 2 * MINIMUM_RATINGS)), 1.0)
    neighbours = Neighbours(2 * MINIMUM_RATINGS, Unit.RATING, own, {0: 1.0}, (own, third), PRESENCE)
    return Answer(*_functions(OutputMethod.COSINE), neighbours)


def _functions(method: OutputMethod) -> tuple[OutputFunction, OutputFunction]:
    scale = PRESENCE if method is OutputMethod.COSINE else STARS
    paper = OutputFunction(method, scale, MINIMUM_RATERS, MINIMUM_RATINGS, Sensitivity.PAPER)
    return paper, OutputFunction(method, scale, MINIMUM_RATERS, MINIMUM_RATINGS, Sensitivity.PROVED)


def generated_sets(world: int) -> list[frozenset[int]]:
    """Park and Acharya, 4.4: the best ten, and swaps of their last two for later places, by threes.

    In world 1 the forty items are ranked as they are numbered; in world 0 one from the middle has
    risen to the top.
    """
    ranking = np.argsort(-_scores(world), kind="stable").tolist()
    best = ranking[:LISTED]
    found = [frozenset(best)]
    for first in range(LISTED, len(ranking) - _RIGHT + 1, _RIGHT):
        for dropped in range(1, _LEFT + 1):
            kept = best[: LISTED - dropped] + best[LISTED - dropped + 1 :]
            found += [frozenset([*kept, new]) for new in ranking[first : first + _RIGHT]]
    return found


def generated_law(world: int, epsilon: float) -> npt.NDArray[np.float64]:
    """How likely each of those sets is drawn by the exponential mechanism on them."""
    scores = _scores(world)
    logs = np.array([scores[list(each)].sum() for each in generated_sets(world)])
    weights = np.exp(epsilon / 2 * (logs - logs.max()) / _LARGEST)
    return np.asarray(weights / weights.sum())


def _scores(world: int) -> npt.NDArray[np.float64]:
    """From nearly 5 to 1 in steps; in world 0 an item from the middle has a 5."""
    scores = np.linspace(_LARGEST - 0.01, 1.0, _CANDIDATES)
    if world == 0:
        scores[_CANDIDATES // 2] = _LARGEST
    return scores
