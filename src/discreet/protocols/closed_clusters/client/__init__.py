"""What runs away from the server: a person's client, and the directory authority.

The authority stands here because the server's operator must not be it: a service cannot load this.
"""

from discreet.protocols.closed_clusters.client._authority import Authority
from discreet.protocols.closed_clusters.client._client import ClosedClient
from discreet.protocols.closed_clusters.client._pairs import Progress, pair_tags

__all__ = ["Authority", "ClosedClient", "Progress", "pair_tags"]
