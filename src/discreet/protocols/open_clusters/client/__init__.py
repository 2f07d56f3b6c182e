"""At home: hash, made-up ratings, and what is sent."""

from discreet.protocols.open_clusters.client._client import OpenClient

__all__ = ["OpenClient"]
