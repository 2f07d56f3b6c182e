"""How popular items are, for collections that ask for made-up ratings where true ones are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.protocols.common.http import ServiceClient
    from discreet.protocols.obfuscation.messages import Obfuscation

_NOTHING = 404


def popularity_for(service: ServiceClient, terms: Obfuscation) -> dict[str, Any]:
    """What `Obfuscator` has to be told of popularity; nothing unless the terms need it.

    It is read off the release that the service offers to everybody: to fetch it tells nothing of
    the person.

    Raises:
        InputError: The service offers none that has the counts of these items.
    """
    if terms.fakes != "popular":
        return {}
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.predict import load
    from discreet.protocols.common.http import Refusal

    counts = None
    with tempfile.TemporaryDirectory(prefix="discreet.") as folder:
        file = Path(folder) / "release"
        try:
            service.fetch_release(file)
        except Refusal as refused:
            if refused.status != _NOTHING:
                raise
        else:
            release = load(file)
            if release.catalog.digest() == terms.catalog.digest():
                counts = release.arrays.get("item_counts")
        if counts is None:
            raise InputError(
                f"{service.server} asks for made-up ratings of popular items, and has no release "
                "that tells which of these are popular: ask its operator for one"
            )
        return {"popularity": np.array(counts, np.float64)}
