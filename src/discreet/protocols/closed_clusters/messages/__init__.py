"""What the parties of closed clusters send each other, as exact bytes."""

from discreet.protocols.closed_clusters.messages._collection import (
    LONGEST_HASH,
    PROTOCOL,
    VERSION,
    Collection,
)
from discreet.protocols.closed_clusters.messages._directory import (
    CHAIN_START,
    MOST_USERS,
    Directory,
    chain_keys,
)
from discreet.protocols.closed_clusters.messages._keys import (
    agree,
    check_keys,
    key_info,
    public_bytes,
)
from discreet.protocols.closed_clusters.messages._report import Report
from discreet.protocols.closed_clusters.messages._tags import TAG_BYTES, TagUpload

__all__ = [
    "CHAIN_START",
    "LONGEST_HASH",
    "MOST_USERS",
    "PROTOCOL",
    "TAG_BYTES",
    "VERSION",
    "Collection",
    "Directory",
    "Report",
    "TagUpload",
    "agree",
    "chain_keys",
    "check_keys",
    "key_info",
    "public_bytes",
]
