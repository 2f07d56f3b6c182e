"""The server of closed clusters: compares tags pair by pair, groups who agrees, averages."""

from discreet.protocols.closed_clusters.messages import Collection, Directory, Report, TagUpload
from discreet.protocols.closed_clusters.server._clusters import Clusters, group
from discreet.protocols.closed_clusters.server._matching import (
    Matching,
    find_clusters,
    read_upload,
)
from discreet.protocols.closed_clusters.server._release import build_release, read_report

__all__ = [
    "Clusters",
    "Collection",
    "Directory",
    "Matching",
    "Report",
    "TagUpload",
    "build_release",
    "find_clusters",
    "group",
    "read_report",
    "read_upload",
]
