"""The server: reports come in, a release goes out. It never sees a true rating."""

from discreet.protocols.local_reports.messages import Collection, Mechanism, Report
from discreet.protocols.local_reports.server._build import build, read_upload, report

__all__ = ["Collection", "Mechanism", "Report", "build", "read_upload", "report"]
