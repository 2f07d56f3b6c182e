"""`discreet client`: one person's side of a service that collects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _console, _own_ratings
from discreet.cli import recommend as recommending
from discreet.domain import InputError, OwnRatings

if TYPE_CHECKING:
    from discreet.protocols.common.http import ServiceClient

app = typer.Typer(
    help="Take part in a collection: ratings are obscured at home before anything is sent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Server = Annotated[str, typer.Option(help="The service's URL.")]
State = Annotated[
    Path, typer.Option(help="Your own file: the capability, and what was ever answered.")
]
Ratings = Annotated[
    Path, typer.Option(help="Own ratings, a CSV file: an item's id or title, a rating.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Take http:// to another machine: all can read along.")
]


@app.command()
def enroll(server: Server, state: State, insecure: Insecure = False) -> None:
    """Get a capability from a service and keep it in your own file."""
    with _service(server, state, insecure) as service:
        if service.enrolled:
            _console.note(f"{state} is enrolled already")
            return
        service.enroll()
    _console.note(f"enrolled; {state} is yours alone: keep it, and keep it secret")


@app.command()
def report(
    server: Server,
    state: State,
    ratings: Ratings,
    limit: Annotated[
        float | None,
        typer.Option(help="The most epsilon for each rating, over all reports ever (local)."),
    ] = None,
    insecure: Insecure = False,
) -> None:
    """Obscure your ratings and send them; they take the place of what you sent before."""
    with _service(server, state, insecure) as service:
        if not service.enrolled:
            raise InputError("is not enrolled yet: discreet client enroll", path=state)
        make = _PROTOCOLS.get(str(service.collection().get("protocol")))
        if make is None:
            raise InputError(f"{server} collects by a protocol that this client does not know")
        message, said = make(service, state, ratings, limit)
        service.report(message)
    for sentence in said:
        _console.note(sentence)


@app.command()
def recommend(
    server: Server,
    state: State,
    ratings: Ratings,
    n: Annotated[int, typer.Option("-n", "--number", help="How many.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    insecure: Insecure = False,
) -> None:
    """Fetch the service's release, and recommend from it at home; nothing is sent."""
    file = state.with_name(f"{state.name}.release")
    with _service(server, state, insecure) as service:
        service.fetch_release(file)
    recommending.recommend(file, ratings, n=n, json=as_json)


@app.command()
def show(server: Server, state: State, insecure: Insecure = False) -> None:
    """Print what the service has of you, as JSON."""
    with _service(server, state, insecure) as service:
        _console.write_json(service.sent())


@app.command()
def delete(server: Server, state: State, insecure: Insecure = False) -> None:
    """Delete what you sent, and the capability: the next release is made without you."""
    with _service(server, state, insecure) as service:
        service.delete()
    _console.note(f"deleted at {server}; {state} still counts what was ever told")


def _service(server: str, state: Path, insecure: bool) -> ServiceClient:
    from discreet.protocols.common.http import ServiceClient

    return ServiceClient(server, state, insecure=insecure)


def _own(ratings: Path, collection: Any) -> OwnRatings:
    own = OwnRatings.onto(_own_ratings.read(ratings, None), collection.catalog, collection.scale)
    _own_ratings.report_unknown(own.unknown, collection.catalog)
    return own


def _local(
    service: ServiceClient, state: Path, ratings: Path, limit: float | None
) -> tuple[dict[str, Any], list[str]]:
    from discreet.protocols.local_reports.client import LocalClient
    from discreet.protocols.local_reports.messages import Collection

    collection = Collection.from_json(service.collection(), service.catalog())
    client = LocalClient(collection, state, limit=limit)
    repeated = client.cost == 0
    message = client.report(_own(ratings, collection))
    said = ["the answers of this epoch are frozen: the same ones were sent again"] * repeated
    return message.as_json(), [*said, str(client.spent)]


def _open(
    service: ServiceClient, state: Path, ratings: Path, limit: float | None
) -> tuple[dict[str, Any], list[str]]:
    from discreet.protocols.open_clusters.client import OpenClient
    from discreet.protocols.open_clusters.messages import Collection

    if limit is not None:
        raise InputError("--limit is for local reports: open clusters have no epsilon")
    collection = Collection.from_json(service.collection(), service.catalog())
    client = OpenClient(collection, state)
    message = client.report(_own(ratings, collection))
    return message.as_json(), client.standing().sentences()


_Reporting = Callable[["ServiceClient", Path, Path, float | None], tuple[dict[str, Any], list[str]]]
_PROTOCOLS: dict[str, _Reporting] = {"local-reports": _local, "open-clusters": _open}
"""One line a protocol. Closed clusters need a directory and a pinned authority as well."""
