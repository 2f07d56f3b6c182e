"""`discreet client`: one person's side of a service that collects."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import _console, _outputs, _own_ratings
from discreet.cli import recommend as recommending
from discreet.cli._console import bar
from discreet.domain import InputError, OwnRatings

if TYPE_CHECKING:
    from discreet.protocols.clients import Participant
    from discreet.protocols.common.http import ServiceClient

app = typer.Typer(
    help="Take part in a collection: ratings are obscured at home before anything is sent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Server = Annotated[str, typer.Option(help="The service's URL.")]
State = Annotated[
    Path, typer.Option(help="Your own file, with the capability and everything you sent.")
]
Ratings = Annotated[
    Path, typer.Option(help="Your own ratings, a CSV file: an item's id or title, and a rating.")
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="Allow http:// to another machine, readable by anybody on the way."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Items named in a complaint.
_MOST_NAMED = 3
# HTTP: there is nothing.
_NOTHING = 404
# Exit code: refused.
_REFUSED = 2


@app.command()
def terms(server: Server, as_json: Json = False, insecure: Insecure = False) -> None:
    """Show what a service collects, what a report costs and what leaves your device."""
    with _service(server, None, insecure) as service:
        if as_json:
            _console.write_json(service.collection())
            return
        _say(_join(service, None).terms())


@app.command()
def enroll(
    server: Server,
    state: State,
    authority: Annotated[
        str | None,
        typer.Option(help="Closed clusters: the authority's public key, from the authority."),
    ] = None,
    invitation: Annotated[
        str | None,
        typer.Option(help="A code or signed token from the operator, where one is needed."),
    ] = None,
    insecure: Insecure = False,
) -> None:
    """Get a capability from a service and keep it in your own file.

    For closed clusters a key is made as well, and its public part is printed: it is for the
    authority, who decides whether you are in.
    """
    with _service(server, state, insecure) as service:
        _outputs.check_writable(state)
        _make_key(service, state, authority)
        before = service.enrolled
        fresh = service.enroll(invitation)
    if before and fresh:
        _console.note("the service no longer knew your capability, and has nothing sent with it")
    if fresh:
        _console.note(f"enrolled; {state} is yours alone: keep it, and keep it secret")
    else:
        _console.note(f"{state} is enrolled already")


@app.command()
def report(
    server: Server,
    state: State,
    ratings: Ratings,
    limit: Annotated[
        float | None,
        typer.Option(
            help="The most epsilon for each rating, over all reports ever (local); your file "
            "remembers it until you set another."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would be sent and what it costs, without sending it."
        ),
    ] = False,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Send even if none of your items is known or a rating is off the scale.",
        ),
    ] = False,
    insecure: Insecure = False,
) -> None:
    """Obscure your ratings and send them; they take the place of what you sent before."""
    with _service(server, state, insecure) as service:
        if not dry_run:
            service.check_enrolled()
        part = _join(service, state, limit)
        if not dry_run:
            part.remember_limit()
        own = _own(ratings, part.collection, anyway)
        if dry_run:
            _say([*part.foresee(own), "Nothing was drawn, written or sent."])
            raise typer.Exit(0 if part.is_within_limit else _REFUSED)
        with bar("Report") as progress:
            message, said = part.report(own, progress)
        service.report(message)
    _console.note(f"sent to {service.server}, {_console.spell_size(len(json.dumps(message)))}")
    for sentence in said:
        _console.note(sentence)


@app.command()
def recommend(
    server: Server,
    ratings: Ratings,
    state: Annotated[
        Path | None, typer.Option(help="Your own file: the release is kept beside it.")
    ] = None,
    release: Annotated[
        Path | None, typer.Option(help="Where to keep the release, to fetch it once.")
    ] = None,
    n: Annotated[int, typer.Option("-n", "--number", help="How many.")] = 10,
    as_json: Json = False,
    insecure: Insecure = False,
) -> None:
    """Fetch the service's release, and recommend from it at home; nothing is sent.

    If the service does not answer, a release that was kept does.
    """
    if release is None and state is not None:
        release = state.with_name(f"{state.name}.release")
    if release is not None:
        _check_release(release, {"ratings": ratings, "state": state})
    with _service(server, None, insecure) as service, _kept(release) as file:
        _fetch(service, file)
        recommending.recommend(file, ratings, n=n, json=as_json)


@app.command()
def show(server: Server, state: State, as_json: Json = False, insecure: Insecure = False) -> None:
    """Show what the service has of you and all you ever sent; with --json the message itself."""
    from discreet.protocols.common.http import Refusal

    with _service(server, state, insecure) as service:
        try:
            message = service.sent()
        except Refusal as refused:
            if refused.status != _NOTHING or as_json:
                raise
            _say(["The service has nothing of you: nothing was sent, or it was deleted."])
            return
        if as_json:
            _console.write_json(message)
        else:
            _say(_join(service, state).describe(message))


@app.command()
def delete(server: Server, state: State, insecure: Insecure = False) -> None:
    """Delete what you sent, and the capability: the next release is made without you."""
    with _service(server, state, insecure) as service:
        service.delete()
    _console.note(f"deleted at {server}; {state} still counts what you sent")


def _make_key(service: ServiceClient, state: Path, authority: str | None) -> None:
    if service.collection().get("protocol") == "closed-clusters":
        from discreet.protocols.closed_clusters.client import make_key

        _console.say(make_key(service, state, authority))
        _console.note("is your public key: give it to the authority, and not by way of the service")
    elif authority is not None:
        raise InputError("--authority is for closed clusters, which this service does not collect")


def _service(server: str, state: Path | None, insecure: bool) -> ServiceClient:
    from discreet.protocols.common.http import ServiceClient

    return ServiceClient(server, state, insecure=insecure)


def _join(service: ServiceClient, state: Path | None, limit: float | None = None) -> Participant:
    from discreet.protocols.clients import join

    return join(service, state, limit)


def _fetch(service: ServiceClient, file: Path) -> None:
    """Bring a release up to date; the one that is there has to do if nobody answers."""
    try:
        service.fetch_release(file)
    except InputError as silent:
        if service.answered or not file.is_file():
            raise
        _console.warn(f"{silent}; the release that was kept is used as it is")


def _say(sentences: list[str]) -> None:
    for sentence in sentences:
        _console.say(sentence)


def _own(ratings: Path, collection: Any, anyway: bool) -> OwnRatings:
    """The person's ratings; stops where they do not fit the collection, unless `anyway`.

    A report on nothing costs as much as any, and is most likely a wrong file; so is one with
    ratings off the scale, which would be sent as others than they are. To stop is safe here as it
    would not be in a protocol's client: it is the person's own machine and their decision. But it
    is a decision by the ratings: whoever waits for the report learns that it did not come, and a
    catalogue or a scale can be made such that this tells something. So the line says it, and
    whoever runs this unattended gives --anyway: then whether a report is sent depends on no rating.
    """
    rated = _own_ratings.read(ratings, None)
    own = OwnRatings.onto(rated, collection.catalog, collection.scale)
    wrong = "" if len(own) else _on_nothing(own, collection)
    off = _off_scale(rated, collection)
    if (wrong or off) and not anyway:
        raise InputError(
            f"{wrong or off}; nothing was drawn or sent, which the service can see; --anyway sends"
            + " the nearest that are" * bool(off),
            path=ratings,
        )
    _own_ratings.report_unknown(own.unknown, collection.catalog)
    if off:
        _console.warn(f"{ratings}: {off}; the nearest that are stand for them")
    return own


def _on_nothing(own: OwnRatings, collection: Any) -> str:
    """That a file has nothing which a collection asks for."""
    if not own.unknown:
        return "it has no ratings"
    size = len(collection.catalog)
    return f"none of its items ({_named(own.unknown)}) is among the {size:,} of this collection"


def _off_scale(rated: Mapping[str, float], collection: Any) -> str:
    """Whose ratings are not on the scale, of the items that the collection has."""
    known = [name for name in rated if collection.catalog.find(name) is not None]
    inside = collection.scale.contains([rated[name] for name in known])
    off = [name for name, fits in zip(known, inside, strict=True) if not fits]
    if not off:
        return ""
    what = "rating of" if len(off) == 1 else f"{len(off):,} ratings of"
    be = "is" if len(off) == 1 else "are"
    return f"the {what} {_named(off)} {be} not on the scale {collection.scale}"


def _named(names: Sequence[str]) -> str:
    named = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    return named + ", ..." * (len(names) > _MOST_NAMED)


def _check_release(release: Path, others: Mapping[str, Path | None]) -> None:
    """Refuse to keep the release where something else is."""
    for what, other in others.items():
        if other is not None and other.resolve() == release.resolve():
            raise InputError(f"is your {what} file; choose another for the release", path=release)
    _outputs.check_replaceable(release)


@contextmanager
def _kept(release: Path | None) -> Iterator[Path]:
    """Where the release goes; a folder that is removed again if it is not to be kept."""
    if release is not None:
        yield release
        _console.note(f"the release is in {release}")
        return
    with tempfile.TemporaryDirectory(prefix="discreet.") as folder:
        yield Path(folder) / "release"
    _console.note("the release was not kept; --release FILE keeps it, and fetches it once")
