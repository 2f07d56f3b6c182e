"""At home: answers are drawn once an epoch, kept, and repeated."""

from discreet.protocols.local_reports.client._client import LocalClient, Spent
from discreet.protocols.local_reports.client._draw import draw_report

__all__ = ["LocalClient", "Spent", "draw_report"]
