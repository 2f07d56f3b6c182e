"""The participant's side of every protocol, as `discreet client` uses it.

A new protocol is a subclass of `Participant` beside its client, and one line in `_CLIENTS`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.domain import InputError, OwnRatings

if TYPE_CHECKING:
    from discreet.protocols.common.http import ServiceClient

_CLIENTS: dict[str, Callable[[], type[Participant]]] = {
    "closed-clusters": lambda: (
        import_module("discreet.protocols.closed_clusters.client").ClosedParticipant
    ),
    "local-reports": lambda: (
        import_module("discreet.protocols.local_reports.client").LocalParticipant
    ),
    "open-clusters": lambda: (
        import_module("discreet.protocols.open_clusters.client").OpenParticipant
    ),
}

NAMES = tuple(_CLIENTS)

SEEN = (
    "The service also sees your address, when you send and how often. Your ratings file, your name "
    "and titles never leave your device."
)
OTHER_TERMS = (
    "The service has a message of yours that was made under other terms than its present ones: "
    "it stays there until you send again or delete it, and is not used."
)
BEYOND_LIMIT = "That would pass your limit: the report would be refused, until --limit raises it."

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


def join(service: ServiceClient, state: Path | None, limit: float | None = None) -> Participant:
    """Take part in what a service collects; see `Participant`.

    Raises:
        InputError: This version does not know the protocol, or the terms cannot be used.
    """
    name = str(service.collection().get("protocol"))
    if name not in _CLIENTS:
        raise InputError(f"{service.server} collects by a protocol that this client does not know")
    return _CLIENTS[name]()(service, state, limit)


class Participant(abc.ABC):
    """One person's side of a collection, with sentences that explain it to them.

    Args:
        service: Whose collection it is.
        state: The person's own file; None to look at the terms alone.
        limit: The most epsilon they allow, where the protocol has one.

    Attributes:
        collection: The public terms; it has a `catalog` and a `scale`.
    """

    collection: Any

    @abc.abstractmethod
    def __init__(self, service: ServiceClient, state: Path | None, limit: float | None) -> None: ...

    @property
    def is_within_limit(self) -> bool:
        """Whether a report would stay within the person's limit."""
        return True

    def remember_limit(self) -> None:  # noqa: B027  (not every protocol has an epsilon)
        """Write the limit to the person's file, whatever comes after it."""

    @abc.abstractmethod
    def terms(self) -> list[str]:
        """The protocol, what a report costs, and what leaves the device."""

    @abc.abstractmethod
    def foresee(self, own: OwnRatings) -> list[str]:
        """What a report would send and cost; nothing is drawn or written."""

    @abc.abstractmethod
    def report(
        self, own: OwnRatings, progress: Progress | None = None
    ) -> tuple[Mapping[str, Any], list[str]]:
        """The message to send, and what to say once it is sent."""

    @abc.abstractmethod
    def describe(self, message: Mapping[str, Any]) -> list[str]:
        """What the service has."""
