"""Rooms that can be called: `discreet.evaluate(...)` though `discreet.evaluate` is a module.

A room and its main function share a name. Which of the two `discreet.evaluate` is would otherwise
depend on what was imported first; so the room stays a module, and calling it calls the function.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any


class CallableRoom(ModuleType):
    """A module that passes calls on to a function of the module's own last name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of the room's name."""
        return self._function(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        # For `help`, editors and notebooks.
        return inspect.signature(self._function)

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])


def make_callable(room: str) -> None:
    """Let a room be called; it has a function of its own last name.

    Args:
        room: The module's full name, `__name__`.
    """
    sys.modules[room].__class__ = CallableRoom
