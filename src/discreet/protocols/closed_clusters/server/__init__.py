"""The server of closed clusters: compares tags pair by pair and groups who agrees."""

from discreet.protocols.closed_clusters.messages import Collection, Directory, TagUpload
from discreet.protocols.closed_clusters.server._clusters import Clusters, group
from discreet.protocols.closed_clusters.server._matching import Matching, build, read_upload

__all__ = [
    "Clusters",
    "Collection",
    "Directory",
    "Matching",
    "TagUpload",
    "build",
    "group",
    "read_upload",
]
