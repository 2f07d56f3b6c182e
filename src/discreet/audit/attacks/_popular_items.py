"""Which items of an upload are true? By how popular they are, and how their raters rate them.

An upload to open clusters holds true ratings among made-up ones. Whoever knows how often items are
rated, and how, knows how likely each rating is of a person and of the client's fakes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.audit._adversary import level_chances
from discreet.audit.attacks._attack import Attack, Outcome, judge
from discreet.audit.attacks._data import Floats, Ints, pick_users, popularity
from discreet.audit.attacks._uploads import upload_tables
from discreet.ratings import Ratings

# People whose uploads are attacked.
_PEOPLE = 300
# Fakes for 100 ratings, and how the client draws them.
_TARGETS = {
    "no fakes": (0, "around-mean"),
    "100 fakes for 100 ratings, anywhere": (100, "around-mean"),
    "100 fakes for 100 ratings, on popular items": (100, "popular"),
    "200 fakes for 100 ratings, on popular items": (200, "popular"),
}


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Name as many items of each upload as are true."""
    rng = np.random.default_rng([seed, 61])
    chosen = rng.permutation(ratings.user_count)[:_PEOPLE]
    people, outcomes = pick_users(ratings, chosen), []
    for name, (percent, fakes) in _TARGETS.items():
        known = popularity(ratings).astype(np.float64) if fakes == "popular" else None
        codes, true = upload_tables(
            people, percent, f"popular items {seed}", fakes=fakes, popularity=known
        )
        outcomes.append(_outcome(name, ratings, codes, true, fakes))
    return outcomes


ATTACK = Attack(
    name="popular-items",
    about="which items of an open upload are true, by popularity and value",
    source="against Chow, Pathak and Wang",
    knows=(
        "an upload to open clusters, how many of its items are true, how often others rate every "
        "item and with which values, and how fakes are drawn"
    ),
    tries_to="distinguish the true items from the made-up ones",
    counts="the share of the named items that is true",
    remark=(
        "Guessing draws items of the upload by lot. Deniability has no epsilon, so there is no "
        "bound."
    ),
    outcomes=_outcomes,
)


def _outcome(
    name: str, ratings: Ratings, codes: Ints, true: npt.NDArray[np.bool_], fakes: str
) -> Outcome:
    scores = np.where(codes >= 0, _scores(ratings, codes, true, fakes), -np.inf)
    numbers = true.sum(axis=1)
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    won = (true & (ranks < numbers[:, None])).sum(axis=1) / numbers
    guessed = numbers / (codes >= 0).sum(axis=1)
    return judge(name, won, guessed, is_protected=fakes == "popular")


def _scores(ratings: Ratings, codes: Ints, true: npt.NDArray[np.bool_], fakes: str) -> Floats:
    """The log of how much likelier a rating is of the person than of the client.

    Popularity and values are those of everybody else's ratings.
    """
    rated = (popularity(ratings) - true + 0.5) / ratings.user_count
    items = np.broadcast_to(np.arange(codes.shape[1]), codes.shape)
    chances = level_chances(ratings, items, np.where(true, codes, -1))
    values = np.maximum(codes, 0)
    parts = chances.shape[2] - 1
    sent = codes >= 0
    mean = np.where(sent, codes, 0).sum(axis=1) / np.maximum(sent.sum(axis=1), 1)
    grid = np.arange(parts + 1)
    made_up = np.exp(-((grid - mean[:, None]) ** 2) / (2 * (parts / 4) ** 2))
    made_up /= made_up.sum(axis=1, keepdims=True)
    person = np.log(np.take_along_axis(chances, values[:, :, None], axis=2)[:, :, 0])
    client = np.log(np.take_along_axis(made_up, values, axis=1) + 1e-9)
    if fakes == "popular":
        # Fakes are where ratings are, but for a floor: rare items are faked more often.
        return np.asarray(person - client + np.log(rated / (rated + 0.1 * rated.mean())))
    return np.asarray(person - client + np.log(rated))
