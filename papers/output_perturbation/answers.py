"""Figures 1(a), 1(b) and 2 of Park and Acharya: noisy answers and the linear ideal adversary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.domain import InputError
from discreet.measure.outputs import OutputFunction, OutputMethod, OutputPlan, Sensitivity
from discreet.privacy import SeededRandomness
from papers.figure import PAPER_STYLE, Claim, Result, finish, level
from papers.output_perturbation.linear_ideal import Over, RiskUtility, risk_utility
from papers.study import Study, of_people

# The paper's phi_m and T, and the length of its lists.
RATERS, RATINGS, TOP = 10, 20, 20
# The paper takes five stars to be five apart, so its Delta f is 0.5, not 0.4.
PAPER_RANGE = 5
# What the paper reads off its figure 2: utility and risk.
SAID = (0.70, 0.04)
NAMES = {Sensitivity.PAPER: "the paper's bound (does not hold)", Sensitivity.PROVED: "proved bound"}

Curves = Mapping[tuple[Sensitivity, Over], Sequence[RiskUtility]]


def lists_changed(study: Study) -> Result:
    """Figure 1(a): how much of a list noise changes."""
    curves, at = _measured(study)
    some = {whose: curves[whose, Over.PEOPLE] for whose in Sensitivity}
    claims = [
        Claim(
            "as epsilon grows, the difference", "goes to 0",
            "; ".join(f"{1 - some[w][-1].utility:.3f} at {at[-1]:g} ({NAMES[w]})" for w in some),
        ),
        Claim(
            "epsilon of an answer at which 30 % of a list differ", "not said",
            "; ".join(f"{_epsilon_said(some[w], at)} ({NAMES[w]})" for w in some),
        ),
        Claim("Delta f", "0.5 (T = 20, phi = 10, Delta r = 5)", _bounds(study)),
    ]  # fmt: skip

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for whose, looks in _looks().items():
            lost = [max(1 - point.utility, 1e-4) for point in some[whose]]
            axes.plot(at, lost, **looks)
        axes.set_yscale("log")
        finish(axes, f"figure 1(a) on {study.name}", "epsilon of one answer",
                       "part of the list that differs", log_x=True)  # fmt: skip

    return _found(study, curves, at, claims, _notes(study), draw)


def attacks_that_succeed(study: Study) -> Result:
    """Figure 1(b): how often the linear ideal adversary finds out a rating."""
    curves, at = _measured(study)
    some = {whose: curves[whose, Over.PEOPLE] for whose in Sensitivity}
    majority = some[Sensitivity.PROVED][0].majority
    claims = [
        Claim("as epsilon goes to 0", "close to 0", _risks(some, 0)),
        Claim("as epsilon grows", "goes to 1", _risks(some, -1)),
        Claim(
            "without any answer, by the most frequent rating", "not shown", f"{majority:.1%}"
        ),
    ]  # fmt: skip
    notes = [
        "The paper's adversary rounds what it solves for, also where that is no rating: so it is "
        "right less often than somebody who guesses, down to never. Cut to the scale, the same "
        "adversary never falls below what the ends of the scale give.",
        *_notes(study),
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for whose, looks in _looks().items():
            rounded = [point.risk_rounded for point in some[whose]]
            low, high = zip(*(point.risk_rounded_band for point in some[whose]), strict=True)
            axes.plot(at, rounded, **looks)
            axes.fill_between(at, low, high, color=looks["color"], alpha=0.15, linewidth=0)
            clipped = [point.risk_clipped for point in some[whose]]
            label = f"cut to the scale, {NAMES[whose]}"
            axes.plot(at, clipped, color=looks["color"], linestyle=":", label=label)
        level(axes, majority, "the most frequent rating")
        finish(axes, f"figure 1(b) on {study.name}", "epsilon of one answer",
                       "attacks that succeed", log_x=True)  # fmt: skip

    return _found(study, curves, at, claims, notes, draw)


def risk_against_utility(study: Study) -> Result:
    """Figure 2: risk against utility, over people and over records."""
    curves, at = _measured(study)
    claims = [_risk_claim(curves, whose, over, at) for whose, over in curves]
    claims.append(_cost_claim(study, curves[Sensitivity.PROVED, Over.PEOPLE], at))
    notes = [
        "An average over records, in which people with many ratings count most, comes closest to "
        "the paper's 4 %; one attack a user, as its section 3.4 tells it, succeeds more often.",
        *_notes(study),
    ]
    return _found(
        study, curves, at, claims, notes, lambda figure: _draw_risk(figure, study, curves)
    )


def _risk_claim(curves: Curves, whose: Sensitivity, over: Over, at: Sequence[float]) -> Claim:
    """Risk where people keep 70 % of their lists."""
    curve, people = curves[whose, over], curves[whose, Over.PEOPLE]
    rounded, clipped = (
        _at_said(people, [getattr(point, name) for point in curve])
        for name in ("risk_rounded", "risk_clipped")
    )
    if rounded is None or clipped is None:
        here = f"no such epsilon: {_missed(people, at)}"
    else:
        here = f"{rounded:.1%}; cut to the scale {clipped:.1%}"
    what = f"risk at 70 % utility over {over}, {NAMES[whose]}"
    majority = f"the most frequent rating alone {curve[0].majority:.1%}"
    return Claim(what, f"{SAID[1]:.0%}", f"{here}; {majority}")


def _cost_claim(study: Study, curve: Sequence[RiskUtility], at: Sequence[float]) -> Claim:
    """What a list costs of which people keep 70 %."""
    epsilon = _at_said(curve, at)
    here = f"no such epsilon: {_missed(curve, at)}"
    if epsilon is not None:
        plan = OutputPlan(
            function=_function(study, Sensitivity.PROVED), catalog=study.ratings.catalog,
            shown_to="anybody", epsilon_per_output=epsilon,
        )  # fmt: skip
        here = (
            f"epsilon {plan.cost.epsilon:,.0f}: choosing it looks at {plan.outputs:,} noisy "
            f"numbers of epsilon {epsilon:.3g} each"
        )
    return Claim("what one such list costs", "epsilon of one answer", here)


def _draw_risk(figure: Any, study: Study, curves: Curves) -> None:
    axes = figure.subplots()
    for whose, looks in _looks().items():
        for over, style in ((Over.PEOPLE, "-"), (Over.RECORDS, ":")):
            # Utility is always that of people: each has one list.
            x = [point.utility for point in curves[whose, Over.PEOPLE]]
            y = [point.risk_rounded for point in curves[whose, over]]
            label = f"over {over}, {NAMES[whose]}"
            axes.plot(x, y, **looks | {"linestyle": style, "label": label})
    axes.plot(*SAID, label="read off by the paper", **PAPER_STYLE)
    majority = curves[Sensitivity.PROVED, Over.PEOPLE][0].majority
    level(axes, majority, "the most frequent rating")
    finish(axes, f"figure 2 on {study.name}", "utility", "risk")


def _measured(study: Study) -> tuple[Curves, list[float]]:
    """The same attacks for all three figures."""
    at = [float(epsilon) for epsilon in np.logspace(-2, 4, study.effort.answers)]
    return study.once("answers", lambda: _attack(study, at)), at


def _attack(study: Study, at: list[float]) -> Curves:
    if int((np.diff(study.ratings.starts) >= RATINGS).sum()) == 0:
        raise InputError(f"nobody in {study.name} has {RATINGS} ratings, which the attacks need")
    both = [(whose, over) for whose in Sensitivity for over in Over]
    curves = {}
    # Lists of so many need as many unrated items, which the paper's people had.
    rated = np.diff(study.ratings.starts)
    ratings = of_people(study.ratings, rated <= len(study.ratings.catalog) - TOP)
    for whose, over in study.each("attacks", both):
        epsilons = [epsilon / _stretch(study, whose) for epsilon in at]
        curves[whose, over] = risk_utility(
            ratings, OutputMethod.SLOPE_ONE, epsilons, attacks=study.effort.attacks, top=TOP,
            minimum_raters=RATERS, minimum_ratings=RATINGS, sensitivity=whose, over=over,
            randomness=SeededRandomness("paper 003"),
        )  # fmt: skip
    return curves


def _stretch(study: Study, whose: Sensitivity) -> float:
    """How much more noise the paper's own Delta f means than its formula with the true range."""
    if whose is Sensitivity.PAPER:
        return max(PAPER_RANGE / study.ratings.scale.range, 1.0)
    return 1.0


def _function(study: Study, whose: Sensitivity) -> OutputFunction:
    return OutputFunction(OutputMethod.SLOPE_ONE, study.ratings.scale, RATERS, RATINGS, whose)


def _bounds(study: Study) -> str:
    width = study.ratings.scale.range
    return (
        f"{width / RATERS:.2g} by its formula with the true width of the scale, {width:g}; proved "
        f"{2 * width / (RATERS + 1):.2g}, for sums divided by max(n, phi)"
    )


def _at_said(curve: Sequence[RiskUtility], values: Sequence[float]) -> float | None:
    """Where people keep 70 % of their lists; None if at no epsilon that was tried, or at all."""
    # Utility rises with epsilon, but for the noise of so many attacks.
    kept = np.maximum.accumulate([point.utility for point in curve])
    if not kept[0] < SAID[0] <= kept[-1]:
        return None
    return float(np.interp(SAID[0], kept, values))


def _missed(curve: Sequence[RiskUtility], at: Sequence[float]) -> str:
    """What to say where `_at_said` finds nothing."""
    if curve[0].utility >= SAID[0]:
        return f"fewer differ already at {at[0]:g}"
    return f"more differ up to {at[-1]:,g}"


def _epsilon_said(curve: Sequence[RiskUtility], at: Sequence[float]) -> str:
    found = _at_said(curve, at)
    return _missed(curve, at) if found is None else f"{found:,.3g}"


def _risks(some: Mapping[Sensitivity, Sequence[RiskUtility]], place: int) -> str:
    return "; ".join(
        f"{curve[place].risk_rounded:.1%} rounded, {curve[place].risk_clipped:.1%} cut to the "
        f"scale ({NAMES[whose]})"
        for whose, curve in some.items()
    )


def _notes(study: Study) -> list[str]:
    width = study.ratings.scale.range
    ratio = 2 * width / (RATERS + 1) / max(PAPER_RANGE / RATERS, width / RATERS)
    return [
        "The paper's theorem 3.1 does not hold: where the tenth co-rater comes or goes, one record "
        "moves an answer by ten times its bound (docs/explanation/errata.md). Both bounds are "
        f"drawn; the noise of the proved one is {ratio:.2g} times as large at the same epsilon.",
        "Epsilon is that of one answer. A list of twenty is chosen by looking at every noisy "
        "answer, and costs all of them.",
        "Attacks and lists are carried out, not reckoned; bands are of 95 %.",
    ]


def _looks() -> dict[Sensitivity, dict[str, Any]]:
    colours = {Sensitivity.PAPER: "#D55E00", Sensitivity.PROVED: "#000000"}
    return {
        whose: {"color": colour, "label": NAMES[whose], "marker": "o", "markersize": 3}
        for whose, colour in colours.items()
    }


def _found(
    study: Study,
    curves: Curves,
    at: Sequence[float],
    claims: Sequence[Claim],
    notes: Sequence[str],
    draw: Callable[[Any], None],
) -> Result:
    rows = [
        {
            "method": str(OutputMethod.SLOPE_ONE), "sensitivity": str(whose), "over": str(over),
            "epsilon": epsilon, "noise_sd": point.spread, "utility": point.utility,
            "utility_band": point.utility_band, "difference": 1 - point.utility,
            "risk_rounded": point.risk_rounded, "risk_rounded_band": point.risk_rounded_band,
            "risk_clipped": point.risk_clipped, "risk_clipped_band": point.risk_clipped_band,
            "most_frequent_rating": point.majority, "attacks": study.effort.attacks,
        }
        for (whose, over), curve in curves.items()
        for epsilon, point in zip(at, curve, strict=True)
    ]  # fmt: skip
    return Result(rows, claims, notes, draw, size=(7.0, 4.6))
