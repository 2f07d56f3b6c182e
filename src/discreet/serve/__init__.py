"""The HTTP service: publishes a release, and collects what people send to make the next one.

Needs the parts that `pip install 'discreet[serve]'` brings.
"""

from discreet.serve._app import Server, make_app, run
from discreet.serve._requests import Rate
from discreet.serve._settings import LEAST_PEOPLE, Settings, check_token
from discreet.serve._store import database_url

__all__ = [
    "LEAST_PEOPLE",
    "Rate",
    "Server",
    "Settings",
    "check_token",
    "database_url",
    "make_app",
    "run",
]
