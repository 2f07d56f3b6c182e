"""Who can do what with a release, by how it was made."""

from __future__ import annotations

import enum

from discreet.privacy import Unit
from discreet.release import Release

Rows = list[tuple[str, str, str]]
"""Who, what they can do, what they cannot."""


class Made(enum.Enum):
    """How a release came to be."""

    CURATOR = "by a curator who holds the true ratings"
    LOCAL = "by a server from reports that were randomised on people's own devices"
    OPEN = "by a server from uploads in which true ratings stand among made-up ones"
    CLOSED = "by a server from such uploads, of members whose tags do not show their hash values"


def made_by(release: Release) -> Made:
    """How a release came to be."""
    if release.method == "open-clusters":
        return Made.OPEN
    if release.method == "closed-clusters":
        return Made.CLOSED
    if "local_reports" in release.parameters:
        return Made.LOCAL
    return Made.CURATOR


def who_can(release: Release) -> Rows:
    """The public, the operator, another user, somebody with side information."""
    made = made_by(release)
    if made in (Made.OPEN, Made.CLOSED):
        return _of_clusters(made)
    unit = "person" if release.guarantee.unit is Unit.USER else "rating"
    is_private = release.guarantee.is_private
    promise = (
        f"tell whether any one {unit} is in the data, beyond the odds above"
        if is_private
        else "nothing is ruled out: without a guarantee single ratings may be read off it"
    )
    return [
        (
            "the public",
            "predict and recommend from the file and their own ratings, at home, as often as they "
            "like and at no further cost; learn what people in general like",
            promise,
        ),
        _operator(made),
        (
            "another user",
            "the same as the public; take part with made-up ratings or many accounts, and so move "
            "the release as much as so many people do",
            f"learn more about somebody else by that; {promise}" if is_private else promise,
        ),
        (
            "somebody with side information",
            "use what they know already, up to all other people's ratings, and what the release "
            "says of people in general, to guess about one person",
            f"{promise}, whatever they know" if is_private else promise,
        ),
    ]


def _operator(made: Made) -> tuple[str, str, str]:
    if made is Made.LOCAL:
        return (
            "the operator",
            "read the randomised reports, see who sends one and from where, and build other "
            "releases from the same reports at no further cost to anybody",
            "see true ratings: noise was drawn before anything was sent, if the client is the one "
            "that people checked",
        )
    return (
        "the operator",
        "everything with the true ratings, which it holds: this release does not protect from it",
        "publish again without paying, where its ledger is kept",
    )


def _of_clusters(made: Made) -> Rows:
    read = "; hash the mean of a cluster's uploads, which nearly always gives its hash value"
    hidden = "see the hash values of honest members from their tags alone"
    if made is Made.OPEN:
        read = ""
        hidden = (
            "be sure that an item of an upload is true, unless it is popular or in other uploads"
        )
    return [
        (
            "the public",
            "predict at home from the averages of buckets; with sums of a bucket whose other "
            "members they control, read the last one's upload as it was sent",
            "tell true from made-up ratings in such an upload with certainty; no epsilon bounds "
            "how well they can guess",
        ),
        (
            "the operator",
            "read every upload, in which the true ratings stand; see who is in a bucket or cluster "
            f"together while a release is built{read}",
            hidden,
        ),
        (
            "another user",
            "join with several accounts, and subtract their own uploads from what is published",
            "see other people's uploads in buckets of five honest people or more",
        ),
        (
            "somebody with side information",
            "compare uploads with a public profile, or two uploads of one person with each other: "
            "what is in both, or is popular, is most likely true",
            "nothing is ruled out: this is deniability and no guarantee",
        ),
    ]
