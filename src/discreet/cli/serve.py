"""`discreet serve`: publish a release, and collect what the next one is made of."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _console
from discreet.domain import Catalog, InputError, Scale
from discreet.domain.errors import MissingPart

if TYPE_CHECKING:
    from discreet.serve import ClosedCollector, Collector, Settings

_TOKEN = "DISCREET_ADMIN_TOKEN"  # noqa: S105  (the variable's name)
_DATABASE = "DISCREET_DATABASE"
_USUAL_TERMS = {"local": {"mechanism": "modified-laplace"}}


def serve(
    release: Annotated[
        Path, typer.Argument(help="A release's file; while collecting, the next one goes there.")
    ],
    collect: Annotated[
        str | None, typer.Option(help="Also collect by a protocol: local, open or closed.")
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(
            help=f"Where reports go: an SQLite file or postgresql://... [default: {_DATABASE}]"
        ),
    ] = None,
    term: Annotated[
        list[str] | None,
        typer.Option(help="A public parameter of the protocol, epsilon=1; repeat for more."),
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option(help="A CSV file with id and title. [default: the release's]")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="The rating scale: 1..5. [default: the release's]")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(help="Closed clusters: the file that the authority signed.")
    ] = None,
    server_key: Annotated[
        Path | None,
        typer.Option(
            help="Closed clusters: the file of the server's key; made if it is not there."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any that is free.")] = 8000,
    admin_token_file: Annotated[
        Path | None,
        typer.Option(help=f"A file with the administrator's token. [default: {_TOKEN}]"),
    ] = None,
    per_address: Annotated[
        float, typer.Option(help="Requests a minute from one address; 0: no limit.")
    ] = 600,
    per_capability: Annotated[
        float, typer.Option(help="Requests a minute with one capability; 0: no limit.")
    ] = 30,
    enrolments: Annotated[
        float, typer.Option(help="Enrolments a minute from one address; 0: no limit.")
    ] = 30,
    proxies: Annotated[
        str | None,
        typer.Option(help="Addresses of proxies whose X-Forwarded-For is believed, with commas."),
    ] = None,
) -> None:
    """Publish a release over HTTP; with --collect, take what people send and build the next one.

    Of a request nothing is logged: no address, no capability, no path. A database's password is
    better told by the variable: everybody on the machine can read a command line.
    """
    try:
        from discreet.serve import Rate, Settings, run
    except ImportError as error:
        raise MissingPart(f"serving needs more: pip install 'discreet[serve]' ({error})") from None
    settings = Settings(
        release,
        _closed(term or [], directory, server_key)
        if collect == "closed"
        else _collector(release, collect, term or [], catalog, scale),
        _database(collect, db),
        _admin_token(admin_token_file),
        per_address=_rate(Rate, per_address),
        per_capability=_rate(Rate, per_capability),
        enrolments=_rate(Rate, enrolments),
    )
    logging.basicConfig(format="discreet: %(message)s")
    logging.getLogger("discreet").setLevel(logging.INFO)
    run(settings, host, port, proxies=proxies, ready=lambda url: _greet(url, settings))


def _greet(url: str, settings: Settings) -> None:
    kind = "" if settings.collector is None else f" and collecting ({settings.collector.kind})"
    _console.note(f"serving {settings.release}{kind} at {url}")


def _rate(make: Any, per_minute: float) -> Any:
    return make(per_minute, max(int(per_minute / 3), 5))


def _collector(
    release: Path, kind: str | None, terms: list[str], catalog: Path | None, scale: str | None
) -> Collector | None:
    from discreet.serve import Collector

    if kind is None:
        if terms or catalog or scale:
            raise InputError("--term, --catalog and --scale are for --collect")
        return None
    told = dict(map(_term, terms))
    return Collector.make(kind, *_items(release, catalog, scale), _USUAL_TERMS.get(kind, {}) | told)


def _closed(terms: list[str], directory: Path | None, key: Path | None) -> ClosedCollector:
    from discreet.serve import ClosedCollector

    told = {name: value for name, _, value in (text.partition("=") for text in terms)}
    if directory is None or key is None or told.keys() != {"authority"}:
        raise InputError(
            "closed clusters need --directory, --server-key and --term authority=, its public key"
        )
    return ClosedCollector.from_files(told["authority"], directory, key)


def _items(release: Path, catalog: Path | None, scale: str | None) -> tuple[Catalog, Scale]:
    if catalog is not None and scale is not None:
        from discreet.ratings import read_catalog

        return read_catalog(catalog), Scale.parse(scale)
    if catalog is not None or scale is not None or not release.is_file():
        raise InputError("without a release to begin with, give both --catalog and --scale")
    from discreet.release import load

    found = load(release)
    return found.catalog, found.scale


def _term(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError("--term names a parameter and its value, like --term epsilon=1")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value.strip()


def _database(kind: str | None, told: str | None) -> str | None:
    if kind is None:
        return None
    found = told or os.environ.get(_DATABASE)
    if not found:
        raise InputError(f"--collect needs a database: --db reports.db, or {_DATABASE}")
    return found


def _admin_token(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get(_TOKEN) or None
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError("the administrator's token cannot be read", path=path) from None
