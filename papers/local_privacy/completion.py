"""Completion of the matrix of reports as it is, and what theorem 3 of the paper says of it.

The paper fits any algorithm on Z, the transformed ratings, fakes and all, without debiasing. Here
are the one it analyses, nuclear-norm completion, for small data; and alternating least squares,
which scales. Z, predictions and errors are in ratings above the middle of the scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from discreet.domain import InputError, OwnRatings
from discreet.predict import People
from discreet.privacy import Randomness
from discreet.protocols.local_reports.client import draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report

Floats = npt.NDArray[np.float64]

# Dense completion is for small data: about 2 million cells take minutes. Chosen by hand.
_MOST_CELLS = 1 << 21
# Proximal steps a problem, halvings of the weight, and the relative change below which a problem is
# solved. Chosen by hand: 14 halvings of four decades leave a factor of 1.0006.
_STEPS, _HALVINGS, _STILL = 120, 14, 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Reported:
    """Z: everybody's answers, those of person p at `starts[p]:starts[p + 1]`.

    Attributes:
        starts: Where each person's answers begin.
        items: Catalogue indices, rising within a person.
        values: The answers beside them, in ratings above the middle of the scale.
        width: How many items there are.
    """

    starts: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    width: int

    @property
    def rows(self) -> npt.NDArray[np.int32]:
        """Whose answer each is."""
        people = np.arange(len(self.starts) - 1, dtype=np.int32)
        return np.repeat(people, np.diff(self.starts))

    def turned(self) -> Reported:
        """Items in place of people."""
        order = np.argsort(self.items, kind="stable")
        counts = np.bincount(self.items, minlength=self.width)
        starts = np.concatenate(([0], np.cumsum(counts)))
        width = len(self.starts) - 1
        return Reported(starts, self.rows[order], self.values[order], width)


def send_reports(
    collection: Collection, people: People, randomness: Randomness
) -> Iterator[Report]:
    """Everybody's report, one after the other: an experiment, nothing is remembered."""
    for person in range(len(people)):
        part = slice(people.starts[person], people.starts[person + 1])
        own = OwnRatings(people.items[part], people.values[part])
        yield draw_report(collection, own, randomness)


def as_matrix(collection: Collection, reports: Iterable[Report]) -> Reported:
    """Z as the server sees it."""
    items, values = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for report in reports:
        items.append(report.items)
        values.append(collection.centred(report.values))
    counts = [len(each) for each in items]
    told = np.concatenate(values).astype(np.float32) * np.float32(collection.unit)
    starts = np.cumsum(counts, dtype=np.int64)
    return Reported(starts, np.concatenate(items), told, len(collection.catalog))


def measured_rho(true: Floats, reported: Reported) -> float:
    """How far Z is from the truth, rho = ||P(Theta - Z)||, where there is a Z.

    `true` is in ratings above the middle of the scale.
    """
    off = true[reported.rows, reported.items] - reported.values
    return float(np.linalg.norm(off))


def complete_nuclear(reported: Reported, rho: float) -> Floats:
    """The matrix of least nuclear norm within `rho` of Z where Z is known: equation (4).

    It is also the minimum of ||P(M - Z)||^2/2 + w ||M||_* for one weight w, since the distance
    rises with w: w is found by halving, each problem solved by accelerated proximal gradients from
    the last one's solution. Dense, for small data.

    Raises:
        InputError: There are too many cells for that.
    """
    shape = (len(reported.starts) - 1, reported.width)
    if shape[0] * shape[1] > _MOST_CELLS:
        raise InputError(f"completion by nuclear norm is for at most {_MOST_CELLS:,} cells")
    rows, items, values = reported.rows, reported.items, reported.values.astype(np.float64)
    Z = np.zeros(shape)
    Z[rows, items] = values
    solution = np.zeros(shape)
    if np.linalg.norm(values) <= rho:
        return solution  # nothing at all is within rho already
    known = np.zeros(shape, np.bool_)
    known[rows, items] = True
    high = float(np.linalg.norm(Z, 2))
    low = 1e-4 * high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        solution = _proximal(Z, known, middle, solution)
        if np.linalg.norm((solution - Z)[known]) > rho:
            high = middle
        else:
            low = middle
    return solution


def _proximal(Z: Floats, known: npt.NDArray[np.bool_], weight: float, start: Floats) -> Floats:
    """Accelerated proximal gradients, begun again whenever the step turns back."""
    current = ahead = start
    momentum = 1.0
    for _ in range(_STEPS):
        gradient = np.where(known, ahead - Z, 0.0)
        left, strengths, right = np.linalg.svd(ahead - gradient, full_matrices=False)
        kept = np.maximum(strengths - weight, 0.0)
        following = (left * kept) @ right
        step = following - current
        if np.linalg.norm(step) <= _STILL * max(float(np.linalg.norm(following)), 1e-12):
            return np.asarray(following)
        if float(np.vdot(ahead - following, step)) > 0:
            momentum = 1.0
        after = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / after * step
        current, momentum = following, after
    return np.asarray(current)


@dataclass(frozen=True, eq=False, repr=False)
class Factorisation:
    """mean + U V^T, fitted on Z; a row for each person and each item."""

    mean: float
    people: Floats
    items: Floats

    def predict(self, rows: npt.NDArray[np.integer], items: npt.NDArray[np.integer]) -> Floats:
        """Ratings above the middle of the scale."""
        both: Floats = np.einsum("pk,pk->p", self.people[rows], self.items[items])
        return self.mean + both

    def at_home(self, own: Reported, *, ridge: float = 8.0) -> Factorisation:
        """The same items for people who are known by their true ratings: what homes could do."""
        centred = own.values - np.float32(self.mean)
        side = Reported(own.starts, own.items, centred, own.width)
        people = _solve_side(side, self.items, _penalty(centred, ridge))
        return Factorisation(self.mean, people, self.items)


def factorise(
    reported: Reported, *, rank: int = 8, ridge: float = 8.0, rounds: int = 12, seed: int = 0
) -> Factorisation:
    """Alternating least squares with a penalty as large as the answers scatter.

    It takes Z for ratings: that is the paper's point, and its price.

    Args:
        reported: Z.
        rank: How many factors.
        ridge: The penalty in variances of an answer.
        rounds: How often both sides are solved for.
        seed: Of the start.
    """
    mean = float(reported.values.sum(dtype=np.float64)) / max(len(reported.values), 1)
    centred = (reported.values - np.float32(mean)).astype(np.float32)
    by_person = Reported(reported.starts, reported.items, centred, reported.width)
    by_item = by_person.turned()
    penalty = _penalty(centred, ridge)
    rng = np.random.default_rng(seed)
    items = 0.1 * rng.standard_normal((reported.width, rank))
    for _ in range(rounds):
        people = _solve_side(by_person, items, penalty)
        items = _solve_side(by_item, people, penalty)
    return Factorisation(mean, people, items)


def _penalty(centred: npt.NDArray[np.float32], ridge: float) -> float:
    scatter = float(np.sum(centred**2, dtype=np.float64)) / max(len(centred), 1)
    return ridge * scatter + 1e-9


def _solve_side(side: Reported, fixed: Floats, ridge: float) -> Floats:
    """For each row the ridge regression of its values on the rows of `fixed`."""
    rank, shape = fixed.shape[1], (len(side.starts) - 1, side.width)
    present = csr_array((np.ones(len(side.items)), side.items, side.starts), shape)
    values = csr_array((side.values, side.items, side.starts), shape)
    squares = np.einsum("ip,iq->ipq", fixed, fixed).reshape(len(fixed), -1)
    grams = (present @ squares).reshape(-1, rank, rank) + ridge * np.eye(rank)
    solved: Floats = np.linalg.solve(grams, (values @ fixed)[:, :, None])
    return solved[:, :, 0]


@dataclass(frozen=True)
class Theorem3:
    """The bound on rho, in the paper's units: [-1, 1] for modified Laplace, levels 1 to d else.

    On real data s and rho_0 are private, and Theta is nobody's to know: s is the number of ratings,
    and rho_0, how far a rating lies from what its person truly thinks (root mean square), can be
    had from below by the error of a good prediction without noise. In experiments both are made.

    Attributes:
        mechanism: Which of the two bounds, (6) or (7).
        users: m.
        items: n.
        ratings: s.
        rho_0: See above.
        levels: d, for randomized response.
        tolerance: gamma: the bound holds with probability 1 - gamma at least.
    """

    mechanism: Mechanism
    users: int
    items: int
    ratings: int
    rho_0: float
    levels: int = 5
    tolerance: float = 0.1

    @property
    def floor(self) -> float:
        """rho_0 sqrt(s): what the bound falls to as epsilon grows."""
        return self.rho_0 * math.sqrt(self.ratings)

    def bound(self, epsilon: float) -> float:
        """The most that rho is, but for a chance of `tolerance`."""
        return self.floor + self.excess(epsilon)

    def excess(self, epsilon: float) -> float:
        """What the mechanism adds to the floor."""
        cells = self.users * self.items
        if self.mechanism is Mechanism.RANDOMIZED_RESPONSE:
            share = 1 / (1 + math.exp(epsilon) / self.levels)
            return 2 * (self.levels - 1) * math.sqrt(2 * cells * share / self.tolerance)
        fakes = 2 * cells / ((math.exp(epsilon / 2) + 1) * self.tolerance)
        noise = 4 / epsilon * math.sqrt(self.ratings / self.tolerance)
        return noise + math.sqrt(fakes * (1 + 8 / epsilon**2))

    def enough(self) -> float:
        """The epsilon at which what the mechanism adds is as large as the floor.

        The bound reaches the floor itself only at infinity; here it is twice that, which is what
        the paper calls matching its order.
        """
        return _falls_to(self.excess, self.floor)


def _falls_to(falling: Callable[[float], float], target: float) -> float:
    """Where a falling function of epsilon has a value; infinite if it is above at 500."""
    low, high = 1e-3, 500.0
    if falling(high) > target:
        return math.inf
    while high - low > 1e-6 * high:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if falling(middle) > target else (low, middle)
    return high
