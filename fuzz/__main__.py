"""`python -m fuzz [NAME ...] --seconds 3600 --seed 1`: fuzz parsers, and print what they raise.

With atheris where it is installed (`pip install atheris`), else with a small fuzzer of our own.
"""

from __future__ import annotations

import argparse
import base64
import sys

from fuzz._atheris import INSTALLED, fuzz_with_atheris
from fuzz._fuzzer import fuzz
from fuzz.targets import TARGETS


def main() -> int:
    """1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TARGETS], default=[])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed, unit = False, "counters" if INSTALLED else "lines"
    for name in given.names or TARGETS:
        if INSTALLED:
            found = fuzz_with_atheris(name, seed=given.seed, seconds=given.seconds)
        else:
            found = fuzz(TARGETS[name], seed=given.seed, seconds=given.seconds)
        sys.stdout.write(
            f"{name}: {found.tried:,} inputs, {found.reached:,} {unit}, "
            f"{len(found.corpus):,} kept, {len(found.crashes):,} found\n"
        )
        sys.stdout.flush()
        for what, content in found.crashes.items():
            failed = True
            sys.stdout.write(f"  {what}\n  {base64.b64encode(content[:3000]).decode()}\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
