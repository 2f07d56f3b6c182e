"""Figures 4(a) and 4(b) of Park and Acharya: lists of ten by their chain, and exact private sets.

Scores are predictions without noise, cut to the scale; the largest rating is the sensitivity of
every method, as in the paper. What scores as high as the tenth counts as one of the ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.evaluate import people_of
from discreet.measure.sets import private_sets
from discreet.methods import fit
from discreet.privacy import SeededRandomness
from papers.figure import Claim, Result, curve, finish, level, where
from papers.output_perturbation.birth_death import (
    BirthDeathChain,
    Exponent,
    divergence,
    generated_share,
    paper_divergence,
    set_logs,
    window_swaps,
)
from papers.study import Study

# Items of a set, and the windows N_1 and N_2 of the paper's section 4.4.
K, LEFT, RIGHT = 10, 2, 3
# As on the axis of figure 4(a); the chain's rates overflow beyond 1,000.
EPSILONS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
CHAIN_EPSILONS = EPSILONS[:5]
# Epsilon and Delta t of figure 4(b); None is 1/20, or less where that gives negative probabilities.
WALKS = ((0.1, None), (1.0, None), (10.0, None), (100.0, None), (100.0, 1e-8))
# Where walks are compared with their limit, up to the paper's 100,000.
ITERATIONS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
EXACT: tuple[tuple[Literal["k-subset", "gumbel"], Literal["one", "all"]], ...] = (
    ("k-subset", "one"),
    ("k-subset", "all"),
    ("gumbel", "one"),
    ("gumbel", "all"),
)
CHAINS = {
    Exponent.EQUATION_32: "paper's chain as printed (not private)",
    Exponent.EQUATION_28: "paper's chain, power eps/2 (not private)",
}

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Predictions cut to the scale, people in rows, and the true order of items. Private."""

    values: _Floats
    order: npt.NDArray[np.int64]
    largest: float

    @classmethod
    def of(cls, study: Study) -> Scores:
        """The same ones for both figures."""
        return study.once("scores", lambda: _scores(study))

    @property
    def ranked(self) -> _Floats:
        """Scores from the best item down."""
        return np.take_along_axis(self.values, self.order, axis=1)

    def overlap(self, chosen: npt.NDArray[np.integer]) -> float:
        """The mean share of the ten best in sets of ten."""
        tenth = self.ranked[:, K - 1 : K]
        return float((np.take_along_axis(self.values, chosen, axis=1) >= tenth).mean())


def _scores(study: Study) -> Scores:
    ratings = study.ratings
    if len(ratings.catalog) < K + RIGHT:
        raise InputError(f"sets of {K} need a catalogue of at least {K + RIGHT} items")
    model = fit(ratings, epsilon=math.inf).predictor()
    chosen = np.zeros(ratings.user_count, dtype=np.bool_)
    rng = np.random.default_rng(0)
    chosen[rng.permutation(len(chosen))[: study.effort.people]] = True
    some = people_of(ratings, chosen)
    raw = model.scores(some, 0, len(some)).astype(np.float64)
    values = np.clip(raw, ratings.scale.lo, ratings.scale.hi)
    return Scores(values, np.argsort(-raw, axis=1, kind="stable"), ratings.scale.hi)


def overlap_against_epsilon(study: Study) -> Result:
    """Figure 4(a): the paper's chain, and sets that are private."""
    scores = Scores.of(study)
    rows = _chain_rows(study, scores) + _exact_rows(study, scores)
    people, items = scores.values.shape
    printed = where(rows, method=CHAINS[Exponent.EQUATION_32])
    exact = where(rows, method="k-subset, moves one")
    everything = where(rows, method="k-subset, moves all")
    claims = [
        Claim(
            "least overlap at k = 10", "90 %",
            f"{min(row['overlap'] for row in printed):.1%} by the paper's chain",
        ),
        Claim("as epsilon grows", "100 %", f"{printed[-1]['overlap']:.1%} at epsilon "
              f"{printed[-1]['epsilon']:g} by the paper's chain"),
        Claim(
            f"private sets, one score moves, epsilon {_said(exact)}", "-", _overlaps(exact)
        ),
        Claim(
            f"private sets, all scores move, epsilon {_said(everything)}", "-",
            _overlaps(everything),
        ),
        Claim(
            "people for whom a step of 1/20 is too large (equation 36), epsilon 100",
            "none (proposition 4.1)",
            f"{where(printed, epsilon=100.0)[0]['people_whose_step_breaks']:.0%}",
        ),
    ]  # fmt: skip
    notes = [
        "The floor of 90 % is there at any epsilon because nine of the ten items never change; so "
        "two neighbours with different rankings reach different sets, and no finite epsilon "
        "bounds what a set tells: the chain protects nobody (docs/explanation/errata.md).",
        f"Private sets are drawn from all sets of ten out of {items:,} items. At a small epsilon "
        f"they overlap as chance does, {K / items:.1%}; ten good items cannot be private there if "
        "every score may move by the whole scale. Releases and lists at home are the way out.",
        f"{people:,} people; scores come from a fit without noise, the paper does not say from "
        "what.",
    ]
    return Result(rows, claims, notes, lambda figure: _draw_overlaps(figure, study, rows),
                 size=(8.0, 4.8))  # fmt: skip


def _said(rows: Sequence[Any]) -> str:
    return " / ".join(f"{row['epsilon']:g}" for row in rows)


def _overlaps(rows: Sequence[Any]) -> str:
    return " / ".join(f"{row['overlap']:.1%}" for row in rows)


def _chain_rows(study: Study, scores: Scores) -> list[dict[str, Any]]:
    logs = set_logs(scores.ranked, K, scores.largest, LEFT, RIGHT)
    _, taken = window_swaps(scores.values.shape[1], K, LEFT, RIGHT)
    tied = np.insert(scores.ranked[:, taken] >= scores.ranked[:, K - 1 : K], 0, True, axis=1)
    rng = np.random.default_rng(1)
    tried = [(exponent, epsilon) for exponent in CHAINS for epsilon in CHAIN_EPSILONS]
    rows = []
    for exponent, epsilon in study.each("chains", tried):
        chains = [BirthDeathChain(one, epsilon, exponent=exponent) for one in logs]
        pairs = list(zip(chains, tied, strict=True))
        ends = [not best[chain.end(study.effort.iterations, rng)] for chain, best in pairs]
        limits = [1 - chain.limit()[best].sum() for chain, best in pairs]
        # Every set but the first has nine of the ten, and one that may score as high.
        rows.append({
            "method": CHAINS[exponent], "epsilon": epsilon,
            "overlap": float(1 - np.mean(ends) / K),
            "overlap_in_the_limit": float(1 - np.mean(limits) / K),
            "people_whose_step_breaks": float(np.mean([c.largest_step < 1 / 20 for c in chains])),
        })  # fmt: skip
    return rows


def _exact_rows(study: Study, scores: Scores) -> list[dict[str, Any]]:
    tried = [(mechanism, moves, e) for mechanism, moves in EXACT for e in EPSILONS]
    rows = []
    for mechanism, moves, epsilon in study.each("private sets", tried):
        made = private_sets(
            scores.values, K, protect="rating", epsilon=epsilon, sensitivity=scores.largest,
            moves=moves, mechanism=mechanism, randomness=SeededRandomness(f"{epsilon}"),
        )  # fmt: skip
        rows.append({
            "method": f"{mechanism}, moves {moves}", "epsilon": epsilon,
            "overlap": scores.overlap(made.items), "overlap_in_the_limit": "",
            "people_whose_step_breaks": "",
        })  # fmt: skip
    return rows


def _draw_overlaps(figure: Any, study: Study, rows: Sequence[Any]) -> None:
    axes = figure.subplots()
    for place, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        some = where(rows, method=method)
        style = "--" if "not private" in method else "-"
        curve(axes, some, "epsilon", "overlap", method, place, linestyle=style)
    level(axes, 0.9, "the paper's least", ":")
    finish(axes, f"figure 4(a) on {study.name}: ten items a list", "epsilon",
                   "overlap with the true ten", log_x=True)  # fmt: skip


def divergence_against_iterations(study: Study) -> Result:
    """Figure 4(b): how far the chain is from the law it is meant to approximate."""
    scores = Scores.of(study)
    ranked = scores.ranked[: study.effort.walkers]
    logs = set_logs(ranked, K, scores.largest, LEFT, RIGHT)
    steps = [n for n in ITERATIONS if n <= study.effort.iterations]
    rng = np.random.default_rng(2)
    rows: list[dict[str, Any]] = []
    for epsilon, step in study.each("walks", WALKS):
        chains = [BirthDeathChain(one, epsilon, step) for one in logs]
        shares = [generated_share(one, K, epsilon / scores.largest, LEFT, RIGHT) for one in ranked]
        rows += _walk(chains, shares, epsilon, steps, rng)
    small, frozen = (where(rows, walk=w)[-1] for w in (rows[0]["walk"], rows[-1]["walk"]))
    claims = [
        Claim(
            f"divergence at epsilon {small['epsilon']:g} after {small['iterations']:,} iterations",
            "converges towards 0",
            f"{small['paper_kl_top_10']:.3f} over the paper's ten sets, "
            f"{small['kl_of_visits']:.2f} over all",
        ),
        Claim(
            "divergence at epsilon 100, step 1e-8", "0 since the beginning",
            f"{frozen['paper_kl_top_10']:.3f} over the {frozen['sets_explored']:g} sets seen, "
            f"{frozen['kl_of_visits']:.2f} over all",
        ),
    ]  # fmt: skip
    notes = [
        "The paper compares the first ten sets only, or as many as were seen. At epsilon 100 with "
        "a small step the chain never leaves its first set, so that one set is compared with "
        "itself: 0 from the start, and no convergence.",
        "'KL of law' in the table is the divergence of the chain's exact law after so many "
        "iterations, without sampling; 'from all subsets' adds that the chain only ever sees the "
        "sets near the true best ten.",
        f"Means over {len(ranked)} people, one walk each. Steps are 1/20, or the largest that "
        "leaves probabilities where 1/20 is too large.",
    ]
    return Result(rows, claims, notes, lambda figure: _draw_walks(figure, study, rows),
                 size=(8.0, 4.8))  # fmt: skip


def _walk(
    chains: list[BirthDeathChain],
    shares: list[float],
    epsilon: float,
    steps: list[int],
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    limits = [chain.limit() for chain in chains]
    visits = [chain.visits(tuple(steps), rng) for chain in chains]
    step = float(np.mean([chain.step for chain in chains]))
    rows = []
    for place, iterations in enumerate(steps):
        here = [seen[place] for seen in visits]
        pairs = list(zip(here, limits, strict=True))
        laws = [divergence(c.law_after(iterations), c.limit()) for c in chains]
        beyond = [law - share for law, share in zip(laws, shares, strict=True)]
        rows.append({
            "walk": f"epsilon {epsilon:g}, step {step:.2g}", "epsilon": epsilon, "step": step,
            "iterations": iterations,
            "sets_explored": float(np.mean([np.count_nonzero(seen) for seen in here])),
            "paper_kl_top_10": float(np.mean([paper_divergence(*pair) for pair in pairs])),
            "kl_of_visits": float(np.mean([divergence(*pair) for pair in pairs])),
            "kl_of_law": float(np.mean(laws)),
            "kl_of_law_from_all_subsets": float(np.mean(beyond)),
        })  # fmt: skip
    return rows


def _draw_walks(figure: Any, study: Study, rows: Sequence[Any]) -> None:
    axes = figure.subplots()
    for place, walk in enumerate(dict.fromkeys(row["walk"] for row in rows)):
        some = where(rows, walk=walk)
        curve(axes, some, "iterations", "paper_kl_top_10", walk, place)
        curve(axes, some, "iterations", "kl_of_visits", "", place, linestyle="--",
                      marker="")  # fmt: skip
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(bottom=-0.002)
    title = f"figure 4(b) on {study.name}: solid the paper's first ten sets, dashed all"
    finish(axes, title, "iterations", "KL divergence", log_x=True)
