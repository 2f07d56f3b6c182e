"""What runs away from the server: a person's client, and the directory authority.

The authority stands here because the server's operator must not be it: a service cannot load this.
"""

from discreet.protocols.closed_clusters.client._authority import Authority
from discreet.protocols.closed_clusters.client._client import Client
from discreet.protocols.closed_clusters.client._pairs import Progress, pair_tags

__all__ = ["Authority", "Client", "Progress", "pair_tags"]
