"""From reports to a release: a bucket is a cluster that the tags made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.privacy import Guarantee, Unit
from discreet.protocols.closed_clusters.messages import PROTOCOL, Collection, Directory, Report
from discreet.protocols.closed_clusters.server._clusters import Clusters
from discreet.protocols.closed_clusters.server._matching import Matching
from discreet.protocols.obfuscation.messages import Obfuscation, SentRatings
from discreet.protocols.obfuscation.server import (
    DENIABLE,
    LEAST_PEOPLE,
    Placed,
    Totals,
    averages,
)
from discreet.release import Release

TELLING = "the averages of a cluster tell the hash value of the people in it, whoever they are"
_BUCKETS = ("sizes", "raters", "fakes", "fake_means", "ends")


def read_report(collection: Collection, content: Any) -> Report:
    """A report from a parsed JSON object; `Matching.check` of its tags is the next step.

    Raises:
        InputError: Says in one line why it is none that this collection takes.
    """
    return Report.from_json(content, collection)


def build_release(
    collection: Collection,
    directory: Directory,
    private: bytes,
    reports: Iterable[Report],
    *,
    least_people: int = LEAST_PEOPLE,
    folder: str | os.PathLike[str] | None = None,
    memory: int = 1 << 27,
    **told: Any,
) -> tuple[Release, Clusters]:
    """Averages by cluster, as a release of method `closed-clusters`; and who is together.

    The release says of clusters how large they are and how they rate, the largest first and equals
    by lot; who is in them stays with the caller. Of a slot the first report counts.

    Args:
        collection: The announced parameters, with terms for ratings.
        directory: The whole directory.
        private: The server's X25519 private key, 32 bytes.
        reports: In any order; their ratings stay in memory, their tags do not.
        least_people: Clusters with fewer people are not in the release. Their ratings count in the
            averages over everybody, unless they are of fewer people than this altogether.
        folder: Where tags wait while they are compared; see `Matching`.
        memory: About how many bytes to use for a block of tags.
        told: Further arguments of `averages`.

    Raises:
        InputError: A report is refused, or there are too few.
    """
    if collection.ratings is None:
        raise InputError("this collection takes tags alone, and no release comes of them")
    sent: dict[int, SentRatings] = {}
    with Matching(collection, directory, private, folder, memory) as matching:
        matching.add(_tags(directory, reports, sent))
        clusters = matching.clusters()
    totals, large = _totals(collection.ratings, clusters, sent, least_people)
    shown = np.arange(large + 1) < large
    parameters, arrays = averages(totals, least_people=least_people, shown=shown, **told)
    for name in _BUCKETS:
        arrays[f"bucket_{name}"] = arrays[f"bucket_{name}"][:large]
    people = int((clusters.labels >= 0).sum())
    parameters |= {"epoch": collection.epoch, "people": people, "clusters": len(clusters.sizes)}
    release = Release(
        method=PROTOCOL,
        scale=collection.ratings.scale,
        catalog=collection.ratings.catalog,
        guarantee=Guarantee(Unit.RATING, (), 0.0, not_private=(DENIABLE, TELLING)),
        parameters=parameters,
        arrays=arrays,
    )
    return release, clusters


def _tags(
    directory: Directory, reports: Iterable[Report], sent: dict[int, SentRatings]
) -> Iterator[Any]:
    """The tags, one report a slot; the ratings go to `sent`.

    What was sent for a newer directory than this waits for the next release.
    """
    gone = set(directory.gone.tolist())
    for report in reports:
        slot = report.tags.slot
        newer = report.tags.stop > directory.slots
        if slot not in sent and slot not in gone and not newer:
            sent[slot] = report.sent
            yield report.tags


def _totals(
    terms: Obfuscation, clusters: Clusters, sent: dict[int, SentRatings], least_people: int
) -> tuple[Totals, int]:
    """Sums by cluster, the large ones first and all others in one more; and how many are large."""
    labels = clusters.labels
    count = len(clusters.sizes)
    rated = [slot for slot, ratings in sent.items() if ratings.kind != "none"]
    raters = np.bincount(labels[np.array(rated, np.int64)], minlength=count)
    shown = np.flatnonzero(raters >= least_people)
    # By size, and equals by lot: in the order of labels they would tell of slots.
    lot = np.frombuffer(os.urandom(8 * len(shown)), np.uint64)
    shown = shown[np.lexsort((lot, -raters[shown]))]
    place: npt.NDArray[np.int64] = np.full(count, len(shown))
    place[shown] = np.arange(len(shown))
    people = (Placed(int(place[labels[slot]]), ratings) for slot, ratings in sent.items())
    return Totals.of(terms, len(shown) + 1, people), len(shown)
