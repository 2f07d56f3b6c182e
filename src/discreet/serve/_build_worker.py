"""The process that builds: an order on standard input, one line of JSON on standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.domain import DiscreetError, InputError
from discreet.protocols import servers
from discreet.serve._store import Store

# Behind the processes that serve.
_NICENESS = 10


def build(order: dict[str, Any]) -> dict[str, Any]:
    """Build what was ordered: how many reports went in, of how many people, how long it took."""
    protocol = servers.from_order(order)
    output = Path(order["output"])
    begun = time.monotonic()
    counted = 0

    def messages() -> Iterator[Any]:
        nonlocal counted
        for content in store.contents(protocol.digest):
            counted += 1
            yield protocol.read(json.loads(content))

    store = Store(order["database"])
    try:
        figures = store.figures(protocol.digest)
        _check_people(figures["reports_of_collection"], order["least_people"])
        release = protocol.build(messages(), folder=output.parent)
        # Somebody may have left since they were counted; and a protocol that knows people by
        # something else than their capability says itself how many they are.
        people = int(release.parameters.get("people", counted))
        _check_people(people, order["least_people"])
        release.save(output, overwrite=True)
    finally:
        store.close()
    seconds = round(time.monotonic() - begun, 3)
    return {"reports": counted, "people": people, "building_seconds": seconds}


def _check_people(found: int, least: int) -> None:
    if found < least:
        raise InputError(
            f"too few people: fewer than the {least:,} that a release needs have a report under "
            "these terms; what is served stays"
        )


def main() -> None:
    """Do it, behind those who serve."""
    os.nice(_NICENESS)
    try:
        outcome = build(json.load(sys.stdin))
    except DiscreetError as error:
        outcome = {"reason": str(error)}
    except Exception as error:  # noqa: BLE001  (its message may hold what people sent)
        outcome = {"reason": f"the build failed: {type(error).__name__}"}
    json.dump(outcome, sys.stdout)


if __name__ == "__main__":
    main()
