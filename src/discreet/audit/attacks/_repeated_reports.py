"""Averaging reports that are randomised again each time.

One report costs epsilon. A hundred fresh reports on the same rating cost a hundred times as much,
which protects nothing: so a client answers once an epoch and repeats that answer.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from discreet.audit._adversary import level_chances
from discreet.audit.attacks._attack import Attack, Outcome, judge, most_with_prior
from discreet.audit.attacks._data import Floats, pick_users
from discreet.domain import OwnRatings
from discreet.privacy import Randomness, SeededRandomness
from discreet.protocols.local_reports.client import LocalClient, draw_report
from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.ratings import Ratings

# Ratings that are attacked, reports about each, and epochs that they are spread over.
_RATINGS, _REPORTS, _EPOCHS = 1000, 50, 3
# Of one rating in one epoch.
_EPSILON = 1.0


def _outcomes(ratings: Ratings, seed: int) -> list[Outcome]:
    """Ask the same people fifty times, with clients that remember and without."""
    scene = _Scene(ratings, seed)
    forget = f"{_REPORTS} reports, drawn afresh each time"
    frozen = f"{_REPORTS} reports in one period"
    epochs = f"{_REPORTS} reports in {_EPOCHS} periods"
    return [
        scene.outcome(forget, scene.forgetting(), 0, is_protected=False),
        scene.outcome(frozen, scene.remembering(1), 1, is_protected=True),
        scene.outcome(epochs, scene.remembering(_EPOCHS), _EPOCHS, is_protected=True),
    ]


ATTACK = Attack(
    name="repeated-reports",
    about="a rating, by averaging many local reports",
    source="against any local mechanism",
    knows=(
        "every report that a person has sent by randomized response, that the person has rated the "
        "item, and how others rate it"
    ),
    tries_to="find out the rating",
    counts="the rating was found",
    remark=(
        f"Epsilon is {_EPSILON:g} a rating and period. Repeating an answer costs nothing; periods "
        "add up. Guessing names the value that others most often gave the item."
    ),
    outcomes=_outcomes,
)


class _Scene:
    """People who have rated most, as they are attacked in all of their ratings."""

    def __init__(self, ratings: Ratings, seed: int) -> None:
        counts = np.diff(ratings.starts)
        order = np.argsort(-counts, kind="stable")
        wanted = int(np.searchsorted(np.cumsum(counts[order]), _RATINGS)) + 1
        self._people = pick_users(ratings, order[:wanted])
        items, codes = (each.astype(np.int64) for each in (self._people.items, self._people.codes))
        self._chances, self._seed = level_chances(ratings, items, codes), seed
        self._collection = Collection(
            ratings.catalog, ratings.scale, Mechanism.RANDOMIZED_RESPONSE, _EPSILON
        )

    def outcome(self, name: str, scores: Floats, epochs: int, *, is_protected: bool) -> Outcome:
        """The likeliest rating, from reports and chances together, against chances alone."""
        chances = np.log(self._chances)
        blind = chances.argmax(axis=1) == self._people.codes
        won = (scores + chances).argmax(axis=1) == self._people.codes
        # Another value of a rated item is one answer's epsilon, not two.
        bound = partial(most_with_prior, epsilon=epochs * _EPSILON) if is_protected else None
        return judge(name, won, blind, is_protected=is_protected, bound=bound)

    def forgetting(self) -> Floats:
        """From a client that draws a new report each time."""
        parts = []
        for person, own in enumerate(self._owns()):
            source = self._source(f"forgetting {person}")
            reports = [draw_report(self._collection, own, source) for _ in range(_REPORTS)]
            parts.append(self._scores(own, reports))
        return np.concatenate(parts)

    def remembering(self, epochs: int) -> Floats:
        """From the real client, with its state in a file; each epoch asks as often."""
        parts = []
        asked = np.repeat(np.arange(1, epochs + 1), -(-_REPORTS // epochs))[:_REPORTS]
        with tempfile.TemporaryDirectory() as folder:
            for person, own in enumerate(self._owns()):
                state = Path(folder) / f"{person}.state"
                source = self._source(f"remembering {epochs} {person}")
                reports = [self._ask(int(epoch), state, source, own) for epoch in asked]
                parts.append(self._scores(own, reports))
        return np.concatenate(parts)

    def _ask(self, epoch: int, state: Path, source: Randomness, own: OwnRatings) -> Report:
        collection = replace(self._collection, epoch=epoch)
        return LocalClient(collection, state, randomness=source).report(own)

    def _scores(self, own: OwnRatings, reports: list[Report]) -> Floats:
        """The log of how likely all different reports are for each value of each rating.

        Equal reports of one epoch are one report: the attacker knows that clients repeat it.
        """
        law = self._collection.response
        symbols = np.zeros((len(reports), len(self._collection.catalog)), np.int64)
        for row, report in enumerate(reports):
            symbols[row, report.items] = report.values
        seen = np.unique(symbols, axis=0)[:, own.items]
        logs = np.log([law.probabilities(1 + level) for level in range(self._collection.levels)])
        return np.asarray(logs.T[seen].sum(axis=0))

    def _owns(self) -> list[OwnRatings]:
        found, values = [], self._people.values()
        for first, last in zip(self._people.starts[:-1], self._people.starts[1:], strict=True):
            found.append(OwnRatings(self._people.items[first:last], values[first:last]))
        return found

    def _source(self, name: str) -> Randomness:
        return SeededRandomness(f"repeated reports {self._seed} {name}")
