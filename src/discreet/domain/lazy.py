"""Libraries that load when they are first used, until `lazy import` comes with Python 3.15.

numpy alone takes longer to load than everything that `discreet --help` needs, and scipy three times
as long. Modules that every command loads name such a library like this, so that only those who
compute something wait for it:

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = LazyModule("numpy")
"""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Another library's module, imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        # Who imports which of our own rooms stays visible in import statements.
        assert not name.startswith("discreet")
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
