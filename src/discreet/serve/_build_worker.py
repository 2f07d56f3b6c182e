"""The process that builds: an order on standard input, one line of JSON on standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from discreet.domain import DiscreetError, InputError
from discreet.serve._closed import ClosedCollector
from discreet.serve._collectors import Collector, Collects
from discreet.serve._store import Store

_NICENESS = 10


def build(order: dict[str, Any]) -> dict[str, Any]:
    """Build what was ordered: how many reports went in, of how many people, how long it took."""
    closed = order["kind"] == "closed"
    collector: Collects = (ClosedCollector if closed else Collector).from_order(order)
    begun = time.monotonic()
    counted = 0

    def contents() -> Any:
        nonlocal counted
        for content in store.contents(collector.digest):
            counted += 1
            yield content

    store = Store(order["database"])
    try:
        figures = store.figures(collector.digest)
        _check_people(figures["reports_of_collection"], order["least_people"])
        people = collector.build(contents(), Path(order["output"]))
        # Somebody may have left since they were counted, or have sent several reports.
        _check_people(people, order["least_people"])
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
        told = build(json.load(sys.stdin))
    except DiscreetError as error:
        told = {"reason": str(error)}
    except Exception as error:  # noqa: BLE001  (its message may hold what people sent)
        told = {"reason": f"the build failed: {type(error).__name__}"}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
