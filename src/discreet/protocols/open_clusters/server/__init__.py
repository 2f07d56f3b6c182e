"""The server: uploads in, averages by bucket out, as a release; statistics that anybody may see."""

from discreet.protocols.obfuscation.server import Statistics, report
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.protocols.open_clusters.server._build import build, read_upload

__all__ = ["Collection", "Statistics", "Upload", "build", "read_upload", "report"]
