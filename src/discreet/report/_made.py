"""How a release was made: by whom, from what."""

from __future__ import annotations

import enum

from discreet.release import Release


class Made(enum.Enum):
    """How a release was made."""

    CURATOR = "by a curator who holds the true ratings"
    LOCAL = "by a server from reports that were randomised on people's own devices"
    OPEN = "by a server from uploads that mix true ratings with fake ones"
    CLOSED = "by a server from such uploads, of members whose tags do not show their hash values"


def made_by(release: Release) -> Made:
    """How a release was made."""
    if release.method == "open-clusters":
        return Made.OPEN
    if release.method == "closed-clusters":
        return Made.CLOSED
    if "local_reports" in release.parameters:
        return Made.LOCAL
    return Made.CURATOR
