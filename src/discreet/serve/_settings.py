"""How a service is to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from discreet.domain import InputError
from discreet.protocols.servers import Protocol
from discreet.serve._admission import Admission
from discreet.serve._requests import Rate

# Characters; even of hexadecimal digits they are 96 bits, which nobody guesses.
_SHORTEST_TOKEN = 24
# Different characters among them: fewer were typed by somebody, not drawn.
_FEWEST_DIFFERENT = 8
# Reports; a batch is one transaction, which others wait for.
_MOST_A_BATCH = 200

LEAST_PEOPLE = 50
"""A release of fewer is not built unless an operator asks for it: it would be noise, or too near
to the few who sent something."""


@dataclass(frozen=True)
class Settings:
    """Everything that `make_app` needs.

    Args:
        release: The release's file, or whatever else the protocol makes. If there is none yet,
            collecting makes it.
        protocol: The protocol to collect by, under its public terms; None: only publish.
        database: An SQLite file or a PostgreSQL URL, where what is collected is kept.
        admin_token: What an administrator's calls carry; None: there are no such calls.
        per_address: Requests of one address.
        per_capability: Requests with one capability.
        enrolments: Enrolments from one address.
        batch: The most reports in one request.
        body_seconds: How long a request's body may take to arrive.
        least_people: From fewer reports no release is built, and what is served stays.
        allow_older_epoch: Collect for an epoch though the database has reports of a later one of
            the same terms.
        ledger: A curator's ledger, which the administrator is shown; it is only ever read.
        admission: Who may enrol; None: anybody.
        recommends: Also answer `POST /v1/recommend` and `/v1/similar`, for back ends. Ratings then
            leave people's devices.
    """

    release: Path
    protocol: Protocol | None = None
    database: str | None = field(default=None, repr=False)
    admin_token: str | None = field(default=None, repr=False)
    per_address: Rate = field(default=Rate.a_minute(600), kw_only=True)
    per_capability: Rate = field(default=Rate.a_minute(30), kw_only=True)
    enrolments: Rate = field(default=Rate.a_minute(30), kw_only=True)
    batch: int = field(default=100, kw_only=True)
    body_seconds: float = field(default=30.0, kw_only=True)
    least_people: int = field(default=LEAST_PEOPLE, kw_only=True)
    allow_older_epoch: bool = field(default=False, kw_only=True)
    ledger: Path | None = field(default=None, kw_only=True)
    admission: Admission | None = field(default=None, kw_only=True, repr=False)
    recommends: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if (self.protocol is None) != (self.database is None):
            raise InputError("collecting needs both a protocol and a database")
        if self.protocol is None and not self.release.is_file():
            raise InputError("there is no release here to publish", path=self.release)
        if not 1 <= self.batch <= _MOST_A_BATCH:
            raise InputError(f"a batch is 1 to {_MOST_A_BATCH:,} reports")
        if self.least_people < 1:
            raise InputError("a release is built from 1 person or more")
        check_token(self.admin_token)
        if self.ledger is not None and self.admin_token is None:
            raise InputError("a ledger is shown to the administrator alone, who needs a token")


def check_token(token: str | None) -> None:
    """Refuse a token that could be guessed or that no header can carry.

    Raises:
        InputError: It is too short, or has other than visible ASCII; it is not repeated.
    """
    if token is None:
        return
    visible = all("!" <= letter <= "~" for letter in token)
    if len(token) < _SHORTEST_TOKEN or len({*token}) < _FEWEST_DIFFERENT or not visible:
        raise InputError(
            f"an administrator's token is {_SHORTEST_TOKEN} or more visible ASCII characters, "
            f"{_FEWEST_DIFFERENT} of them different; openssl rand -hex 32 makes one"
        )
