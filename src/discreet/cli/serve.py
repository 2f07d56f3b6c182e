"""`discreet serve`: publish a release, and collect what the next one is made of."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _console, _serving
from discreet.domain import InputError
from discreet.domain.errors import MissingPart

if TYPE_CHECKING:
    from discreet.protocols.servers import Protocol
    from discreet.serve import Admission, Server, Settings

_FILES = ("directory", "server_key")
_LOG_FORMATS = ("text", "json")
_TOKEN, _DATABASE = _serving.TOKEN, "DISCREET_DATABASE"

Release = Annotated[
    Path,
    typer.Argument(help="The file of a release; while collecting, the next one is written there."),
]
Collect = Annotated[
    str | None,
    typer.Option(
        help="Also collect by a protocol: local-reports, open-clusters or closed-clusters."
    ),
]
Db = Annotated[
    str | None,
    typer.Option(
        help=f"Where to store reports: an SQLite file or postgresql://... [default: {_DATABASE}]"
    ),
]
Term = Annotated[
    list[str] | None,
    typer.Option(help="A public parameter of the protocol, like epsilon=1; repeatable."),
]
Items = Annotated[
    Path | None,
    typer.Option(
        help="The list of items: a CSV file with the columns id and title. [default: the release's]"
    ),
]
ScaleText = Annotated[
    str | None, typer.Option(help="The rating scale: 1..5. [default: the release's]")
]
DirectoryFile = Annotated[
    Path | None, typer.Option(help="Closed clusters: the file that the authority signed.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        help="Closed clusters: the file of the server's key; created if it does not exist."
    ),
]
LeastPeople = Annotated[
    int | None,
    typer.Option(help="Never build a release from fewer people. [default: 50]"),
]
OlderEpoch = Annotated[
    bool,
    typer.Option(
        "--allow-older-period",
        "--allow-older-epoch",
        help="Collect for a period even if reports of a later one are stored.",
    ),
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 picks a free one.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        help=f"A file with the administrator's token, for its owner only. [default: {_TOKEN}]"
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(help="A curator's ledger to show to the administrator; it is never changed."),
]
PerAddress = Annotated[
    float, typer.Option(help="Requests per minute from one address; 0 for no limit.")
]
PerCapability = Annotated[
    float, typer.Option(help="Requests per minute with one capability; 0 for no limit.")
]
Enrolments = Annotated[
    float, typer.Option(help="Enrolments per minute from one address; 0 for no limit.")
]
Proxies = Annotated[
    str | None,
    typer.Option(help="Addresses of trusted proxies (for X-Forwarded-For), separated by commas."),
]
InvitationsFile = Annotated[
    Path | None,
    typer.Option(help="Require a code from this file to enrol: one on each line, each used once."),
]
WorkBits = Annotated[
    int | None,
    typer.Option(
        help="Require a proof of work to enrol: about 2^N hashes; 20 take a second or so."
    ),
]
IdentityKey = Annotated[
    Path | None,
    typer.Option(
        help="Require a signed token to enrol (JWT, EdDSA, audience discreet; once for each "
        "'sub'). This is the file of the Ed25519 public key."
    ),
]
LogFormat = Annotated[
    str, typer.Option(help="The format of the log: text, or json (one object per line).")
]
Recommends = Annotated[
    bool,
    typer.Option(
        "--recommend",
        help="Also answer POST /v1/recommend and /v1/similar, for back ends: ratings then leave "
        "people's devices. Off by default; the page never uses it.",
    ),
]


def serve(
    release: Release,
    collect: Collect = None,
    db: Db = None,
    term: Term = None,
    catalog: Items = None,
    scale: ScaleText = None,
    directory: DirectoryFile = None,
    server_key: KeyFile = None,
    least_people: LeastPeople = None,
    allow_older_epoch: OlderEpoch = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    admin_token_file: TokenFile = None,
    ledger: LedgerFile = None,
    per_address: PerAddress = 600,
    per_capability: PerCapability = 30,
    enrolments: Enrolments = 30,
    invitations: InvitationsFile = None,
    work_bits: WorkBits = None,
    identity_key: IdentityKey = None,
    proxies: Proxies = None,
    log_format: LogFormat = "text",
    recommend: Recommends = False,
) -> None:
    """Publish a release over HTTP; with --collect, collect reports and build the next one.

    Nothing about a request is logged: no address, no capability, no path. Give a database's
    password by the environment variable: everybody on the machine can read a command line.
    """
    try:
        from discreet.serve import LEAST_PEOPLE, Rate, Settings, run
    except ImportError as error:
        raise MissingPart.of(f"serving needs more ({error})", "serve") from None
    _serving.check_proxies(proxies)
    if log_format not in _LOG_FORMATS:
        raise InputError(f"--log-format is one of {', '.join(_LOG_FORMATS)}")
    settings = Settings(
        release,
        _protocol(collect, release, _terms(term or ()), (catalog, scale), (directory, server_key)),
        _database(collect, db),
        _serving.read_token(admin_token_file),
        per_address=Rate.a_minute(per_address),
        per_capability=Rate.a_minute(per_capability),
        enrolments=Rate.a_minute(enrolments),
        least_people=LEAST_PEOPLE if least_people is None else least_people,
        allow_older_epoch=allow_older_epoch,
        ledger=ledger,
        admission=_admission(collect, invitations, work_bits, identity_key),
        recommends=recommend,
    )
    if recommend:
        _console.warn(
            "ratings that are sent to /v1/recommend leave people's devices; nothing of them is "
            "stored or logged here"
        )
    _write_log(log_format)
    try:
        run(settings, host, port, proxies=proxies, ready=lambda server: _greet(server, settings))
    except InputError as error:
        reason = error.reason.replace("allow_older_epoch", "--allow-older-period")
        raise InputError(reason, path=error.path) from None


def _admission(
    collect: str | None, invitations: Path | None, bits: int | None, key: Path | None
) -> Admission | None:
    from discreet.serve import Invitations, SignedTokens, Work

    given = [each for each in (invitations, bits, key) if each is not None]
    if given and collect is None:
        raise InputError("--invitations, --work-bits and --identity-key are for --collect")
    if len(given) > 1:
        raise InputError("give one of --invitations, --work-bits and --identity-key")
    if invitations is not None:
        return Invitations(invitations)
    if bits is not None:
        return Work(bits)
    return None if key is None else SignedTokens(key)


def _greet(server: Server, settings: Settings) -> None:
    for line in _greeting(server, settings):
        _console.note(line)
    from discreet.serve import LEAST_PEOPLE

    few = settings.least_people
    if settings.protocol is not None and few < LEAST_PEOPLE:
        whom = "one person" if few == 1 else f"{few:,} people"
        _console.warn(f"a release may be built from {whom}: mostly noise, and close to who sent it")


def _greeting(server: Server, settings: Settings) -> Iterator[str]:
    if settings.protocol is None:
        yield f"serving {settings.release} at {server.url}"
        return
    yet = "" if settings.release.is_file() else " (once it is built)"
    terms = _spell(settings.protocol.announce())
    yield f"serving {settings.release}{yet} and collecting {terms} at {server.url}"
    figures = server.figures()
    here = figures["reports_of_collection"]
    other = figures["reports"] - here
    yield f"{_reports(here)} of this collection {_be(here)} stored"
    if other:
        was = "was" if other == 1 else "were"
        yield f"{_reports(other)} {was} sent under other terms and {_be(other)} not used"


def _reports(count: int) -> str:
    return f"{count:,} report" + ("" if count == 1 else "s")


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _spell(document: Mapping[str, Any]) -> str:
    """A collection in a few words: its protocol, what it promises, its epoch."""
    said = []
    if "epsilon_thousandths" in document:
        said.append(f"epsilon {document['epsilon_thousandths'] / 1000:g} for each rating")
    bits = document.get("bit_epsilon_thousandths")
    if bits is not None:
        said.append(f"epsilon {bits / 1000:g} for each hash bit" if bits else "no epsilon")
    said.append(f"period {document['epoch']:,}")
    return f"{document['protocol']} ({', '.join(said)})"


def _write_log(form: str) -> None:
    from discreet.serve import JsonLines

    if form == "json":
        formatter: logging.Formatter = JsonLines()
    else:
        formatter = logging.Formatter("%(asctime)s discreet: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler])
    logging.getLogger("discreet").setLevel(logging.INFO)


def _protocol(
    name: str | None,
    release: Path,
    terms: dict[str, str],
    items: tuple[Path | None, str | None],
    files: tuple[Path | None, Path | None],
) -> Protocol | None:
    from discreet.protocols.servers import find

    if name is None and (terms or any(items)):
        raise InputError("--term, --catalog and --scale are for --collect")
    kind = None if name is None else find(name)
    if any(files) and (kind is None or not kind.files):
        raise InputError("--directory and --server-key are for --collect closed-clusters")
    if kind is None:
        return None
    given = {name: path for name, path in zip(_FILES, files, strict=True) if path is not None}
    if set(given) != set(kind.files):
        raise InputError(
            f"--collect {name} needs --directory, --server-key and --term authority=, the "
            "authority's public key"
        )
    catalog, scale = _serving.find_items(release, *items)
    try:
        return kind.from_terms(catalog, scale, terms, **given)
    except InputError as error:
        # What a file has wrong is the file's; the rest was given by --term.
        reason = error.reason if error.path else f"--term: {error.reason}"
        raise InputError(reason, path=error.path) from None


def _terms(given: Sequence[str]) -> dict[str, str]:
    terms: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise InputError("--term names a parameter and its value, like --term epsilon=1")
        if name in terms:
            raise InputError(f"--term {name} is given twice")
        terms[name] = value
    return terms


def _database(kind: str | None, given: str | None) -> str | None:
    if kind is None:
        if given:
            raise InputError("--db is for --collect: without it nothing is stored")
        return None
    found = given or os.environ.get(_DATABASE)
    if not found:
        raise InputError(f"--collect needs a database: --db reports.db, or {_DATABASE}")
    return found
