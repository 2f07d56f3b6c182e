"""From uploads to a release: a bucket is a hash value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from discreet.domain import InputError
from discreet.privacy import Guarantee, Unit
from discreet.protocols.obfuscation.server import DENIABLE, Placed, Totals, averages
from discreet.protocols.open_clusters.messages import PROTOCOL, Collection, Upload
from discreet.release import Release


def read_upload(collection: Collection, content: Any) -> Upload:
    """An upload from a parsed JSON object.

    Raises:
        InputError: Says in one line why it is none that this collection takes.
    """
    return Upload.from_json(content, collection)


def build(collection: Collection, uploads: Iterable[Upload], **told: Any) -> Release:
    """Averages by bucket, as a release of method `open-clusters`.

    Args:
        collection: The public terms.
        uploads: One a person, in any order; memory is bounded by the pairs of bucket and item that
            occur, not by how many uploads there are.
        told: Further arguments of `averages`.

    Raises:
        InputError: There are no uploads with ratings, one was made for other terms, or an argument
            makes no sense.
    """
    totals = Totals.of(collection, 1 << collection.bits, _placed(collection, uploads))
    parameters, arrays = averages(totals, **told)
    return Release(
        method=PROTOCOL,
        scale=collection.scale,
        catalog=collection.catalog,
        guarantee=_guarantee(collection),
        parameters=parameters | {"hash_on": collection.hash_on, "epoch": collection.epoch},
        arrays=arrays,
    )


def _placed(collection: Collection, uploads: Iterable[Upload]) -> Iterator[Placed]:
    for upload in uploads:
        if upload.collection != collection.digest:
            raise InputError("an upload was made for other terms than this collection's")
        yield Placed(upload.hash, upload.sent)


def _guarantee(collection: Collection) -> Guarantee:
    event = collection.hash_event
    if event is None:
        return Guarantee(Unit.RATING, (), 0.0, not_private=(DENIABLE,))
    hash_alone = (
        f"randomized response covers the hash alone, with an epsilon of {event.epsilon:g} for one "
        "rating as for a whole person"
    )
    return Guarantee(Unit.RATING, (event,), 0.0, not_private=(DENIABLE, hash_alone))
