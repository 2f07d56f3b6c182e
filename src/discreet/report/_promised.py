"""What a release promises, about whom, and what that leaves to be found out."""

from __future__ import annotations

import math

from discreet.privacy import Event, Guarantee, Unit
from discreet.privacy.accounting import compose
from discreet.release import Release
from discreet.report import _html
from discreet.report._html import Html
from discreet.report._odds import (
    after,
    best_guess,
    number_up,
    odds_factor,
    one_in,
    percent_up,
)
from discreet.report._readers import Made, made_by

_PRIORS = (0.001, 0.01, 0.1, 0.5)
_READ_IT_SO = (
    "Read it so: somebody who knows everything else about everybody, and looks at this release for "
    "as long as they like, multiplies the odds of what they suspect by at most so much. Who has to "
    "guess between two cases that were equally likely, where 50 % is chance, is right at most so "
    "often."
)
_ANOTHER_HISTORY = (
    " Another history of the same person is the old one taken out and a new one put in: that "
    "counts twice."
)


def promises(release: Release) -> list[Html]:
    """Epsilons for a rating, a changed one, a person and their history, and what they mean."""
    guarantee = release.guarantee
    if not guarantee.is_private:
        return [_html.paragraph("Nothing that differential privacy can put into numbers.")]
    rows = [(what, *_figures(each, guarantee.delta)) for what, each in _views(release)]
    odds = f"odds grow at most{_but_for(guarantee.delta)}"
    heads = ("who or what is protected", "epsilon", "delta", odds, "best guess right")
    aside = "" if made_by(release) is Made.LOCAL else _ANOTHER_HISTORY
    parts = [_html.table(heads, rows), _html.paragraph(_READ_IT_SO + aside)]
    parts += [_html.paragraph(sentence) for sentence in guarantee.sentences()]
    return [*parts, _beliefs(guarantee)]


def _views(release: Release) -> list[tuple[str, float | None]]:
    """What may be protected, and by which epsilon; None if nothing bounds it.

    A server counts the reports it gets, so they do not hide that somebody sent one.
    """
    guarantee = release.guarantee
    presence = made_by(release) is not Made.LOCAL
    in_data = [("whether a person is in the data", guarantee.per(Unit.USER))] * presence
    history = history_epsilon(guarantee, len(release.catalog))
    if release.scale.presence:
        return [
            ("one record more or less", guarantee.per(Unit.RATING)),
            *in_data,
            ("which records a person known to be in it has", history),
        ]
    return [
        ("one rating more or less", guarantee.per(Unit.RATING)),
        ("one rating with another value", guarantee.changed_rating),
        *in_data,
        ("what a person known to be in it has rated", history),
    ]


def history_epsilon(guarantee: Guarantee, items: int) -> float | None:
    """The epsilon between any two histories of somebody who is in the data; None without a bound.

    Args:
        guarantee: A promise.
        items: How many somebody can rate.
    """
    seen = [_of_history(event, items) for event in guarantee.events]
    bounded = [event for event in seen if event is not None]
    if len(bounded) < len(seen):
        return None
    return compose(bounded).epsilon(guarantee.delta)


def _of_history(event: Event, items: int) -> Event | None:
    """One user less and one more; or all ratings less and as many more.

    A bound that covers a changed rating counts each item once.
    """
    if event.unit is Unit.USER:
        return event.scaled(2)
    if event.ratings_per_user is None:
        return None
    ratings = 2 * event.ratings_per_user
    return event.scaled(min(ratings, items) if event.covers_change else ratings)


def _figures(epsilon: float | None, delta: float) -> tuple[str, str, str, str]:
    if epsilon is None or math.isinf(epsilon):
        return "no bound", "", "without bound", "100 %"
    factor, _ = odds_factor(epsilon, delta)
    return (
        number_up(epsilon),
        number_up(delta),
        number_up(factor, 3) + " times" * math.isfinite(factor),
        percent_up(best_guess(epsilon, delta)),
    )


def _but_for(delta: float) -> str:
    """The chance that a bound on odds leaves aside, for a heading."""
    _, chance = odds_factor(1.0, delta)
    return f", but for a chance of {one_in(chance)}" if chance else ""


def _beliefs(guarantee: Guarantee) -> Html:
    factor, _ = odds_factor(guarantee.epsilon, guarantee.delta)
    whom = "person" if guarantee.unit is Unit.USER else "rating"
    rows = [
        (percent_up(prior), "no bound" if math.isinf(factor) else percent_up(after(prior, factor)))
        for prior in _PRIORS
    ]
    heads = (
        f"belief beforehand that the {whom} is in the data",
        f"at most afterwards{_but_for(guarantee.delta)}",
    )
    return _html.table(heads, rows)
