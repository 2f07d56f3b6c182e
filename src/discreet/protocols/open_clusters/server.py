"""The server of open clusters: a bucket is a hash value, and a release has averages by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.domain import InputError
from discreet.privacy import Guarantee, Unit
from discreet.protocols import servers
from discreet.protocols.clusters_common.server import DENIABLE, Placed, Totals, averages
from discreet.protocols.common import spell_sum
from discreet.protocols.open_clusters.messages import PROTOCOL, Collection, Upload
from discreet.release import Release


class OpenClusters(servers.Protocol):
    """Open clusters under their public terms; see `servers.Protocol`."""

    name = PROTOCOL
    terms = Collection
    collection: Collection

    def read(self, content: Any) -> Upload:
        """See `servers.Protocol`."""
        return Upload.from_json(content, self.collection)

    def build(
        self,
        messages: Iterable[Upload],
        *,
        folder: Path | None = None,  # noqa: ARG002  (nothing waits on disk)
        **options: Any,
    ) -> Release:
        """Averages by bucket, as a release of method `open-clusters`.

        Memory is bounded by the pairs of bucket and item that occur, however many uploads there
        are. `options` are those of `averages`.
        """
        collection = self.collection
        totals = Totals.of(collection, 1 << collection.bits, self._placed(messages))
        parameters, arrays = averages(totals, **options)
        return Release(
            method=PROTOCOL,
            scale=collection.scale,
            catalog=collection.catalog,
            guarantee=self._guarantee(),
            parameters=parameters | {"hash_on": collection.hash_on, "epoch": collection.epoch},
            arrays=arrays,
        )

    def _placed(self, uploads: Iterable[Upload]) -> Iterator[Placed]:
        for upload in uploads:
            if upload.collection != self.collection.digest:
                raise InputError("an upload was made for other terms than this collection's")
            yield Placed(upload.hash, upload.sent)

    def _guarantee(self) -> Guarantee:
        event = self.collection.hash_event
        if event is None:
            return Guarantee(Unit.RATING, (), 0.0, not_private=(DENIABLE,))
        hash_alone = (
            f"randomized response covers the hash alone, with an epsilon of {event.epsilon:g} for "
            "one rating as for a whole person in each period ("
            f"{spell_sum(event, self.collection.epoch + 1)})"
        )
        return Guarantee(Unit.RATING, (event,), 0.0, not_private=(DENIABLE, hash_alone))
