"""What closed clusters cost: a client's tags for everybody, and the server's comparing.

    python -m benchmarks.closed_clusters

`python -m papers reproduce chow-closed` draws it beside the paper's figures; here you choose how
many members there are. A client checks a directory as large as Netflix's and makes all its tags on
one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from papers.untrusted_server.closed import (
    PAPER_BYTES,
    PAPER_SECONDS,
    ClientCost,
    ServerCost,
    measure_client,
    measure_server,
)


def print_costs(server: ServerCost, client: ClientCost) -> None:
    print(f"{'server':<44} {'CPU s':>8} {'wall s':>8} {'peak MiB':>9} {'waiting MB':>11}")
    title = f"{server.users:,} uploads, {server.pairs / 1e6:.1f} million pairs"
    print(
        f"{title:<44} {server.cpu_s:>8.2f} {server.wall_s:>8.2f} {server.peak_mib:>9,.0f} "
        f"{server.waiting_mb:>11,.0f}"
    )
    print(f"{'grouping them':<44} {server.grouping_cpu_s:>8.2f}")
    print(f"clusters are the equal values: {'yes' if server.right else 'NO'}\n")
    print(f"{'a client, one core':<44} {'CPU s':>8} {'us/user':>8} {'MB up':>9} {'MB down':>11}")
    each = client.cpu_s / client.users * 1e6
    print(
        f"{f'discreet, {client.users:,} users':<44} {client.cpu_s:>8.1f} {each:>8.1f} "
        f"{client.up_mb:>9.2f} {client.down_mb:>11.2f}"
    )
    print(f"{'  of it, checking the directory':<44} {client.check_cpu_s:>8.1f}")
    print(
        f"{'the paper, 480,189 users':<44} {PAPER_SECONDS:>8.1f} "
        f"{PAPER_SECONDS / 480_188 * 1e6:>8.1f} {PAPER_BYTES / 1e6:>9.2f} {'not said':>11}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--users", type=int, default=480_189, help="in the client's directory")
    parser.add_argument("--uploads", type=int, default=5_000, help="that the server takes")
    parser.add_argument("--memory", type=int, default=1 << 27, help="bytes for a block of uploads")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    asked = parser.parse_args(argv)
    server = measure_server(asked.uploads, asked.memory)

    def show(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done:,} of {total:,}", end="", file=sys.stderr)

    client = measure_client(asked.users, None if asked.json else show)
    if asked.json:
        print(json.dumps({"client": asdict(client), "server": asdict(server)}))
    else:
        print_costs(server, client)
    return 0


if __name__ == "__main__":
    sys.exit(main())
