"""Write the table of rooms in CONTRIBUTING.md from the one that is enforced, or check it (--check).

Descriptions are kept as they are; a new room gets an empty one, to be written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
_TABLE = re.compile(r"(?<=\|---\|---\|---\|\n)(?:\| `.*\|\n)+")
_ROW = re.compile(r"^\| `([^`]+)` \| (.*?) *\| [^|]* \|$", re.MULTILINE)


def make_page(page: str) -> str:
    """The page with the table of `MAY_IMPORT` in tests/test_architecture.py."""
    sys.path.insert(0, str(ROOT / "tests"))
    from test_architecture import MAY_IMPORT

    descriptions = dict(_ROW.findall(page))
    rows = []
    for room, allowed in MAY_IMPORT.items():
        names = ", ".join(f"`{name}`" for name in allowed) or "nothing"
        cell = "anything" if "" in allowed else names
        rows.append(f"| `{room}` | {descriptions.get(room, '')} | {cell} |\n")
    return _TABLE.sub(lambda _: "".join(rows), page, count=1)


def main(arguments: list[str]) -> int:
    """Write the page; with --check, return 1 if it would change."""
    page = PAGE.read_text(encoding="utf-8")
    made = make_page(page)
    if "--check" in arguments:
        return int(made != page)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
