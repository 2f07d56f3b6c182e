"""The birth-death chain over sets of items, as its paper has it. NOT PRIVATE: a reproduction only.

The chain walks over sets S_0, S_1, ... near somebody's true best k. Those sets follow from the
private ranking, so two neighbours can reach different sets and no epsilon bounds what an outcome
reveals. `discreet.measure.sets` draws from the whole catalogue instead.

With log phi(S) = f(S)/U_r, f the sum of a set's scores, the chain as printed goes up from S_j at
rate lambda_j = (phi_(j+1)/phi_j)^(eps/2) and down from S_(j+1) at rate mu_(j+1) = 1/lambda_j. By
detailed balance its law is proportional to phi^eps, not to the phi^(eps/2) that it is meant to
approximate: rates that are powers of eps/4 do that.
"""

from __future__ import annotations

import enum
import functools
import math
from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from discreet.domain import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Exponent(enum.Enum):
    """The power of phi, in epsilons, that the chain's limit is proportional to."""

    EQUATION_28 = 0.5
    """phi^(eps/2), the exponential mechanism that is aimed at."""
    EQUATION_32 = 1.0
    """phi^eps, the limit of the rates as printed in (31)."""
    PROPOSITION_4_1 = 2.0
    """phi^(2 eps), the limit of the rates that the step bound's proof writes, powers of eps."""


def window_swaps(items: int, k: int, left: int = 2, right: int = 3) -> tuple[Ints, Ints]:
    """Which place of the ranking each set after S_0 drops, and which it takes in; from 0.

    Block b drops, for a = 1..left, the a-th place from the end of the best k and takes in, for
    t = 1..right, the place k + b right + t. (The formulas as printed repeat sets and leave the
    window.) Blocks that the catalogue has no room for are left out.

    Args:
        items: In the catalogue.
        k: In a set.
        left: N_1, how many places of the best k may be given up.
        right: N_2, how many places are offered in a block.
    """
    if not (1 <= left <= k and right >= 1 and k + right <= items):
        raise InputError(
            f"windows of {left} and {right} do not fit around place {k} of {items:,} items"
        )
    j = np.arange(left * right * ((items - k) // right))
    block, rest = np.divmod(j, left * right)
    return k - 1 - rest // right, k + block * right + rest % right


def set_logs(
    ranked: npt.ArrayLike, k: int, largest: float, left: int = 2, right: int = 3
) -> Floats:
    """What log phi(S_j) - log phi(S_0) is, of every generated set; S_0 comes first.

    Args:
        ranked: Scores from the highest to the lowest, a row a person or one row.
        k: In a set.
        largest: U_r, the largest rating there is.
        left: N_1.
        right: N_2.
    """
    scores = np.asarray(ranked, dtype=np.float64)
    if np.any(np.diff(scores, axis=-1) > 0):
        raise InputError("scores must be ranked, the highest first")
    dropped, taken = window_swaps(scores.shape[-1], k, left, right)
    gains = (scores[..., taken] - scores[..., dropped]) / largest
    return np.concatenate([np.zeros((*scores.shape[:-1], 1)), gains], axis=-1)


def proposed_step(logs: Floats) -> float:
    """Delta t = 1/U_s of Proposition 4.1: U_s/2 bounds phi_j/phi_(j+1) over all j.

    The proposition takes it for enough to keep (36). For rates that are powers p of phi it is so
    for p <= 1 alone: p is eps in its proof and eps/2 in (31), so it fails for a large enough ratio
    as soon as eps passes 1, or 2.
    """
    return float(0.5 * np.exp(np.diff(logs).min()))


@dataclass(frozen=True, eq=False, repr=False)
class BirthDeathChain:
    """One person's chain. Not private.

    Args:
        logs: log phi of the sets, in the order that they are walked in.
        epsilon: The paper's parameter; a bound on nothing.
        step: Delta t; None for the largest that (36) allows, up to 1/20.
        exponent: Which law it goes to.

    Raises:
        InputError: The step breaks (36): to stay would have a negative probability.
    """

    logs: Floats
    epsilon: float
    step: float | None = None
    exponent: Exponent = Exponent.EQUATION_32

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InputError(f"epsilon must be a positive number, not {self.epsilon:g}")
        if not self.largest_step > 0:
            raise InputError(f"with epsilon {self.epsilon:g} the chain's rates pass every float")
        if self.step is None:
            object.__setattr__(self, "step", min(1 / 20, self.largest_step))
        elif not 0 < self.step <= self.largest_step:
            raise InputError(
                f"a step of {self.step:g} gives a negative probability to stay; "
                f"at most {self.largest_step:.4g} is possible here"
            )

    @functools.cached_property
    def rates(self) -> tuple[Floats, Floats]:
        """lambda_j, 0 for the last set, and mu_j, 0 for the first."""
        power = self.exponent.value * self.epsilon / 2
        with np.errstate(over="ignore"):
            up = np.exp(power * np.diff(self.logs))
            down = np.exp(-power * np.diff(self.logs))
        return np.append(up, 0.0), np.insert(down, 0, 0.0)

    @property
    def largest_step(self) -> float:
        """The largest Delta t with 1 - (lambda_j + mu_j) Delta t >= 0 for all j."""
        up, down = self.rates
        return float(1 / (up + down).max())

    @property
    def jumps(self) -> tuple[Floats, Floats]:
        """The probabilities to go up and to go down in one iteration."""
        assert self.step is not None
        up, down = self.rates
        return up * self.step, down * self.step

    def limit(self) -> Floats:
        """The law that the chain goes to: proportional to phi^(exponent eps)."""
        weights = self.exponent.value * self.epsilon * self.logs
        law = np.exp(weights - weights.max())
        return np.asarray(law / law.sum())

    def law_after(self, iterations: int) -> Floats:
        """The exact law of the set after this many iterations from S_0."""
        return np.asarray(_law_after(*self.jumps, iterations))

    def visits(self, checkpoints: npt.ArrayLike, rng: np.random.Generator) -> Ints:
        """A row for each number of iterations: how often each set was visited by then.

        One walk from S_0, whose start counts as the first visit.
        """
        return np.asarray(_visits(*self.jumps, np.asarray(checkpoints, np.int64), rng))

    def end(self, iterations: int, rng: np.random.Generator) -> int:
        """The set that one walk of this many iterations ends in."""
        return int(_end(*self.jumps, iterations, rng))


def paper_divergence(visits: Ints, law: Floats, most: int = 10) -> float:
    """KL(law || visits) as the paper plots it, over the first min(most, sets explored) sets.

    Both are scaled to sum to 1 there. Where only S_0 was visited that is one set, and the
    divergence is 0 whatever the law is.
    """
    size = min(most, int(np.count_nonzero(visits)))
    return _divergence(law[:size], visits[:size].astype(np.float64))


def divergence(found: npt.ArrayLike, law: Floats) -> float:
    """KL(found || law) over all sets: counts of visits, or the law after some iterations."""
    return _divergence(np.asarray(found, dtype=np.float64), law)


def generated_share(ranked: Floats, k: int, rate: float, left: int = 2, right: int = 3) -> float:
    """The log of how likely the exponential mechanism over all k-subsets draws a generated set.

    A law on generated sets is farther from that mechanism than from its restriction to generated
    sets, in KL(law || .), by the negative of this; in KL(. || law) it is infinitely far.

    Args:
        ranked: One person's scores from the highest to the lowest.
        k: In a set.
        rate: The log weight of a set is `rate` times the sum of its scores.
        left: N_1.
        right: N_2.
    """
    weights = rate * ranked
    sets = rate * set_logs(ranked, k, 1.0, left, right) + weights[:k].sum()
    top = sets.max()
    return float(top + np.log(np.exp(sets - top).sum()) - _log_symmetric(weights, k))


def _divergence(first: Floats, second: Floats) -> float:
    p, q = first / first.sum(), second / second.sum()
    known = p > 0
    with np.errstate(divide="ignore"):
        return float(max(0.0, np.sum(p[known] * np.log(p[known] / q[known]))))


@nb.njit(cache=True)
def _next(state, up, down, u):  # type: ignore[no-untyped-def]
    if u < up[state]:
        return state + 1
    return state - 1 if u < up[state] + down[state] else state


@nb.njit(cache=True)
def _visits(up, down, checkpoints, rng):  # type: ignore[no-untyped-def]
    rows = np.zeros((len(checkpoints), len(up)), np.int64)
    counts = np.zeros(len(up), np.int64)
    state, done = 0, 0
    counts[0] = 1
    for place in range(len(checkpoints)):
        for _ in range(done, checkpoints[place]):
            state = _next(state, up, down, rng.random())
            counts[state] += 1
        done = checkpoints[place]
        rows[place] = counts
    return rows


@nb.njit(cache=True)
def _end(up, down, iterations, rng):  # type: ignore[no-untyped-def]
    state = 0
    for _ in range(iterations):
        state = _next(state, up, down, rng.random())
    return state


@nb.njit(cache=True)
def _law_after(up, down, iterations):  # type: ignore[no-untyped-def]
    """Only sets up to the number of iterations can have been reached."""
    size = len(up)
    law, after = np.zeros(size), np.zeros(size)
    law[0] = 1.0
    for done in range(iterations):
        reached = min(size, done + 2)
        for j in range(reached):
            mass = law[j] * (1.0 - up[j] - down[j])
            if j > 0:
                mass += law[j - 1] * up[j - 1]
            if j + 1 < size:
                mass += law[j + 1] * down[j + 1]
            after[j] = mass
        law, after = after, law
    return law


@nb.njit(cache=True)
def _log_symmetric(weights, k):  # type: ignore[no-untyped-def]
    """The log of the sum over all k-subsets of e^(sum of their weights)."""
    table = np.full(k + 1, -np.inf)
    table[0] = 0.0
    for weight in weights:
        for t in range(k, 0, -1):
            table[t] = np.logaddexp(table[t], table[t - 1] + weight)
    return table[k]
