"""The client: draws a report once an epoch, keeps it, and keeps count of what it cost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.domain import InputError, OwnRatings
from discreet.privacy import Event, Randomness, SystemRandomness, Unit, event_from_dict
from discreet.privacy.accounting import compose
from discreet.protocols.common import Limit, StateFile
from discreet.protocols.local_reports.client._draw import draw_report
from discreet.protocols.local_reports.client._fakes import FakeCount
from discreet.protocols.local_reports.messages import PROTOCOL, Collection, Mechanism, Report

_ENVELOPE_BYTES = 250


@dataclass(frozen=True)
class Spent:
    """What a person's reports have cost so far, over all epochs and collections.

    Attributes:
        events: One for each report that was drawn.
    """

    events: tuple[Event, ...]

    @property
    def reports(self) -> int:
        """How many reports were drawn; repeating one costs nothing."""
        return len(self.events)

    @property
    def per_rating(self) -> float:
        """Epsilon for one rating: epsilons add up."""
        return compose(self.events).epsilon(0.0)

    @property
    def per_user(self) -> float:
        """Epsilon for everything that the person rated or not: n times as much, n the catalogue."""
        seen = [event.seen_by(Unit.USER) for event in self.events]
        bounded = [event for event in seen if event is not None]
        return compose(bounded).epsilon(0.0)

    def __str__(self) -> str:
        reports = f"{self.reports:,} report" + ("" if self.reports == 1 else "s")
        return (
            f"{reports} drawn: epsilon {self.per_rating:,.4g} for each rating, "
            f"{self.per_user:,.6g} for all of them together"
        )


class LocalClient:
    """One person's side of a collection.

    Args:
        collection: What the server announces. A server can announce epoch after epoch to get
            fresh answers: look at `cost` before `report`, or set a limit.
        state: The person's own file, or where it shall be. Without it the client has forgotten
            its answers: it would draw new ones, and could not count the old.
        limit: The most epsilon for each rating that all reports together may cost; a report that
            would pass it is refused. See `Limit`.
        randomness: For tests and experiments; from the operating system if absent.
    """

    def __init__(
        self,
        collection: Collection,
        state: StateFile | str | os.PathLike[str],
        *,
        limit: float | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self.collection = collection
        self._file = state if isinstance(state, StateFile) else StateFile(state, PROTOCOL)
        self.limit = Limit(self._file, limit)
        self._randomness = randomness or SystemRandomness()

    def __repr__(self) -> str:
        return "LocalClient(private)"

    @property
    def spent(self) -> Spent:
        """The running total."""
        return _spent(self._file, self._file.read())

    @property
    def cost(self) -> float:
        """What `report` would add to each rating's epsilon: 0 if the answer is there already.

        Raises:
            InputError: The epoch is over.
        """
        kept = self._kept(self._file.read())
        return 0.0 if kept is not None else self.collection.epsilon

    @property
    def is_within_limit(self) -> bool:
        """Whether `report` would keep to the limit."""
        return self.limit.allows(self.spent.per_rating, self.cost)

    @property
    def usual_bytes(self) -> int:
        """About how large a report is as JSON: nearly the same for everybody."""
        collection, size = self.collection, len(self.collection.catalog)
        laplace = collection.mechanism is Mechanism.MODIFIED_LAPLACE
        ways = 1 if laplace else collection.levels
        law = FakeCount(size, ways, collection.epsilon / 2 if laplace else collection.epsilon)
        values = size * law.odds / (1 + law.odds) * np.dtype(collection.number).itemsize
        return _ENVELOPE_BYTES + round((size / 8 + values) * 4 / 3)

    def report(self, own: Mapping[str, float] | OwnRatings) -> Report:
        """The answers for this epoch: the first ever given, or new ones, on disk before they leave.

        Within an epoch later ratings and changed ones change nothing.

        Args:
            own: The person's own ratings; names that the catalogue does not have are left out, and
                ratings are brought onto the announced scale: whether a report is sent may not
                depend on them.

        Raises:
            InputError: A rating is no number, the epoch is over, the limit would be passed, or the
                state cannot be read or written; nothing was drawn.
        """
        self.limit.remember()
        collection = self.collection
        if not isinstance(own, OwnRatings):
            own = OwnRatings.onto(own, collection.catalog, collection.scale)
        with self._file.change() as state:
            kept = self._kept(state)
            if kept is not None:
                return kept
            self.limit.check(state, _spent(self._file, state).per_rating, collection.epsilon)
            drawn = draw_report(collection, own, self._randomness)
            state["events"] = [*state.get("events", []), collection.event.to_dict()]
            state["reports"] = state.get("reports", {}) | {collection.digest: drawn.as_json()}
        return drawn

    def _kept(self, state: dict[str, Any]) -> Report | None:
        """The answers that were given in this epoch."""
        reports = state.get("reports", {})
        if not isinstance(reports, dict):
            raise InputError("the kept reports are damaged", path=self._file.path)
        told = reports.get(self.collection.digest)
        if told is None:
            return None
        epoch = told.get("epoch") if isinstance(told, dict) else None
        if not isinstance(epoch, int):
            raise InputError("a kept report is damaged", path=self._file.path)
        if epoch > self.collection.epoch:
            raise InputError(
                f"epoch {self.collection.epoch:,} is over: this client has answered epoch "
                f"{epoch:,}, and a second answer would cost again"
            )
        if epoch < self.collection.epoch:
            return None
        return Report.from_json(told, self.collection)


def _spent(file: StateFile, state: dict[str, Any]) -> Spent:
    events = state.get("events", [])
    if not isinstance(events, list):
        raise InputError("the events are damaged", path=file.path)
    return Spent(tuple(event_from_dict(event) for event in events))
