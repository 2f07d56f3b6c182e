"""The HTTP service: publishes a release, and collects what people send to make the next one.

Needs the parts that `pip install 'discreet[serve]'` brings.
"""

from discreet.serve._app import make_app
from discreet.serve._closed import ClosedCollector
from discreet.serve._collectors import KINDS, Collector, Collects
from discreet.serve._rates import Rate
from discreet.serve._run import Server, run
from discreet.serve._settings import LEAST_PEOPLE, Settings, check_token
from discreet.serve._store import database_url
from discreet.serve._terms import make_collection

__all__ = [
    "KINDS",
    "LEAST_PEOPLE",
    "ClosedCollector",
    "Collector",
    "Collects",
    "Rate",
    "Server",
    "Settings",
    "check_token",
    "database_url",
    "make_app",
    "make_collection",
    "run",
]
