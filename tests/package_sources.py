"""The package's modules, read and not imported: collecting tests need not load every library."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent


@cache
def module_sources() -> dict[str, str]:
    """The text of every module but `__main__`, by its dotted name, sorted."""
    texts = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(("discreet", *parts)).removesuffix(".__init__")
        texts[name] = path.read_text()
    del texts["discreet.__main__"]
    return dict(sorted(texts.items()))
