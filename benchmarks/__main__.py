"""The table of figures, made by one command: `make bench`, or `python -m benchmarks`.

Every benchmark of the table runs at the size that stands here; `--write` puts the table into
README.md. The others need data, a browser or a service, or take hours: `python -m benchmarks.NAME`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._cost import ROWS

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table: python -m benchmarks --write -->\n", "<!-- end of the table -->\n"
TABLE = {
    "noise": "--samples 10000000 --rows 200",
    "readers": "--rows 1000000 --runs 3",
    "synthetic": "--ratings 1e6",
    "covariance": "--ratings 1e6",
    "pairs": "--ratings 1e6",
    "top_k": "--users 500",
    "predict": "",
    "knn_peer": "",
    "fit": "--ratings 1e5",
    "stages": "--ratings 1e6 --methods refined,lists,covariance",
    "spark": "--ratings 1e6 --workers 1",
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these of the table; else all")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    asked = parser.parse_args(argv)
    unknown = sorted(set(asked.names) - set(TABLE))
    if unknown:
        parser.error(f"the table has no {', '.join(unknown)}; it has {', '.join(TABLE)}")
    if asked.write and asked.names:
        parser.error("the table is written whole: leave the names out")
    table = make_table(asked.names or list(TABLE))
    print(table, end="")
    if asked.write:
        text = README.read_text()
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        README.write_text(before + BEGIN + table + END + after)


def make_table(names: list[str]) -> str:
    """All rows of some benchmarks, each in a process of its own."""
    lines = ["| command | what | figure | beside a peer |\n", "|---|---|---|---|\n"]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(f"== {name} {TABLE[name]}".rstrip(), flush=True)
            rows = Path(folder, name)
            command = [sys.executable, "-m", f"benchmarks.{name}", *TABLE[name].split()]
            subprocess.run(command, check=True, env=os.environ | {ROWS: str(rows)})
            found = rows.read_text().splitlines() if rows.exists() else []
            shown = f"`{name} {TABLE[name]}`".replace(" `", "`")
            lines += [f"| {shown} | {each}\n" for each in found]
    return "".join(lines)


if __name__ == "__main__":
    main()
