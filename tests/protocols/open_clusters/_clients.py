"""Clients of open clusters, and what they sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import OwnRatings
from discreet.domain.cluster_hash import from_grid
from discreet.privacy import SeededRandomness
from discreet.protocols.open_clusters.client import OpenClient
from discreet.protocols.open_clusters.messages import Collection, Upload
from protocols.open_clusters._terms import FIVE_STARS


def own(items: Any, codes: Any) -> OwnRatings:
    return OwnRatings(np.asarray(items, np.int32), from_grid(FIVE_STARS, np.asarray(codes)))


def client(folder: Path, collection: Collection, **told: Any) -> OpenClient:
    told = {"randomness": SeededRandomness(1)} | told
    return OpenClient(collection, folder / "state", **told)


def sent_codes(upload: Upload) -> dict[int, int]:
    return dict(zip(upload.items.tolist(), upload.codes.tolist(), strict=True))
