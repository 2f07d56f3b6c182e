"""The HTTP service: publishes a release, and collects what people send to make the next one.

Needs the optional part `serve` (`pip install '.[serve]'`). Names load when they are first used: a
build's process has no need of the web framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.serve._admission import Admission, Invitations, SignedTokens, Work
    from discreet.serve._app import Server, make_app, run
    from discreet.serve._logs import JsonLines
    from discreet.serve._requests import Rate
    from discreet.serve._settings import LEAST_PEOPLE, Settings, check_token
    from discreet.serve._store import database_url

__all__ = [
    "LEAST_PEOPLE",
    "Admission",
    "Invitations",
    "JsonLines",
    "Rate",
    "Server",
    "Settings",
    "SignedTokens",
    "Work",
    "check_token",
    "database_url",
    "make_app",
    "run",
]

_HOMES = {
    **dict.fromkeys(("Server", "make_app", "run"), lambda: import_module("discreet.serve._app")),
    **dict.fromkeys(
        ("Admission", "Invitations", "SignedTokens", "Work"),
        lambda: import_module("discreet.serve._admission"),
    ),
    "JsonLines": lambda: import_module("discreet.serve._logs"),
    "Rate": lambda: import_module("discreet.serve._requests"),
    **dict.fromkeys(
        ("LEAST_PEOPLE", "Settings", "check_token"),
        lambda: import_module("discreet.serve._settings"),
    ),
    "database_url": lambda: import_module("discreet.serve._store"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.serve' has no attribute '{name}'")
    return getattr(_HOMES[name](), name)
