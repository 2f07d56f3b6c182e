"""At home: hash, made-up ratings, and what is sent."""

from discreet.protocols.open_clusters.client._client import OpenClient, Standing
from discreet.protocols.open_clusters.client._history import History, Terms

__all__ = ["History", "OpenClient", "Standing", "Terms"]
