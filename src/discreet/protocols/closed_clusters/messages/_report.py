"""Everything that one person sends: tags, and ratings among made-up ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.domain import InputError
from discreet.protocols.closed_clusters.messages._collection import PROTOCOL, Collection
from discreet.protocols.closed_clusters.messages._tags import TagUpload
from discreet.protocols.common import Fields
from discreet.protocols.obfuscation.messages import RATINGS_FIELDS, SentRatings

_KIND = f"{PROTOCOL} report"
_ENVELOPE = ("protocol", "version", "upload")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A person's tags and ratings; a later one takes its place.

    Args:
        tags: For everybody in the directory.
        sent: The ratings, which need not be there: whoever sends tags alone helps to find clusters
            and adds nothing to their averages.
    """

    tags: TagUpload
    sent: SentRatings

    def __repr__(self) -> str:
        return f"Report({self.tags!r}, {self.sent!r})"

    def as_json(self) -> dict[str, Any]:
        """The message."""
        return self.tags.as_json() | self.sent.as_json()

    @classmethod
    def from_json(cls, content: Any, collection: Collection) -> Report:
        """Read one; who sent the tags is still to be checked.

        Raises:
            InputError: It is not of the form, of another epoch, or its ratings do not fit.
        """
        fields = Fields(content, _KIND, (*_ENVELOPE, *RATINGS_FIELDS))
        tags = cls.tags_in(content)
        tags.check_epoch(collection)
        if collection.ratings is None:
            raise InputError(f"{_KIND}: this collection takes no ratings")
        return cls(tags, SentRatings.read(fields, collection.ratings))

    @staticmethod
    def tags_in(content: Mapping[str, Any]) -> TagUpload:
        """The tags of a report, whatever ratings are beside them.

        Raises:
            InputError: They are not of the form.
        """
        return TagUpload.from_json({name: content.get(name) for name in _ENVELOPE})
