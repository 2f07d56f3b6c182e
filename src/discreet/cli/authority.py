"""`discreet authority`: who is in a closed system. Never run by the service's operator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import _console
from discreet.domain import Catalog, InputError, Scale
from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from discreet.protocols.closed_clusters.authority import Authority
    from discreet.protocols.closed_clusters.messages import Directory

app = typer.Typer(
    help="Closed clusters: keep the directory of members, and sign it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

State = Annotated[Path, typer.Option(help="The authority's own file, with its signing key.")]
Output = Annotated[
    Path, typer.Option("-o", "--output", help="The signed directory, for the service's operator.")
]
Keys = Annotated[
    list[str] | None,
    typer.Option("--key", help="A member's public key in hexadecimal; repeatable."),
]


@app.command()
def begin(
    state: State,
    output: Output,
    release: Annotated[
        Path | None, typer.Option(help="A release of the items that will be rated.")
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option(help="Or a CSV file with the columns id and title.")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="With --catalog: the scale, 1..5.")] = None,
    bits: Annotated[int, typer.Option(help="The length of the hash, 1 to 16.")] = 8,
    hash_kind: Annotated[str, typer.Option("--hash", help="orthogonal or lsh.")] = "orthogonal",
    beacon: Annotated[
        str, typer.Option(help="A public text that nobody could choose, such as a lottery draw.")
    ] = "",
) -> None:
    """Begin a period with a hash; the first time, also create the file with the signing key.

    Everybody's hash value is frozen until the next period. Members stay.
    """
    from discreet.protocols.clusters_common.messages import Obfuscation

    items, on = _items(release, catalog, scale)
    least = min(Obfuscation.least, len(items))
    terms = Obfuscation(items, on, bits, hash_kind, beacon, least=least)
    _check_folder(output)
    authority = _authority(state, new=True)
    _console.say(authority.public_key.hex())
    _write(output, authority.begin_epoch(terms.hash_digest, terms.bits))
    _console.note(
        "is the authority's public key: members pin it, and the operator gives it as a term"
    )


@app.command()
def admit(state: State, output: Output, key: Keys = None) -> None:
    """Admit the keys of people you know: every member can find out others' hash values."""
    wanted = [_key(text) for text in key or []]
    if not wanted:
        raise InputError("say whom to admit with --key, the key that discreet client enroll prints")
    _check_folder(output)
    authority = _authority(state)
    _check_new(wanted, authority.directory())
    _write(output, authority.change(join=b"".join(wanted)))


@app.command()
def remove(state: State, output: Output, key: Keys = None) -> None:
    """Remove members; their places disappear in the next period."""
    authority = _authority(state)
    now = authority.directory()
    slots = []
    for text in key or []:
        slot = now.slot_of(_key(text))
        if slot is None:
            raise InputError(f"no member has the key {text}")
        slots.append(slot)
    if not slots:
        raise InputError("say whom to remove with --key")
    _check_folder(output)
    _write(output, authority.change(leave=tuple(slots)))


@app.command()
def export(state: State, output: Output) -> None:
    """Write the signed directory again, as it stands."""
    _write(output, _authority(state).directory())


@app.command()
def show(state: State) -> None:
    """Print the public key, the period and the number of members."""
    authority = _authority(state)
    now = authority.directory()
    _console.write_json(
        {
            "public_key": authority.public_key.hex(),
            "epoch": now.epoch,
            "version": now.version,
            "bits": now.bits,
            "members": now.slots - len(now.gone),
        }
    )


def _authority(state: Path, *, new: bool = False) -> Authority:
    from discreet.protocols.closed_clusters.authority import Authority

    if not new and not state.exists():
        raise InputError("no such file; discreet authority begin creates one", path=state)
    return Authority(state)


def _check_folder(output: Path) -> None:
    """Before the state changes: what was changed and not written would have to be exported."""
    if not output.parent.is_dir():
        raise InputError("there is no such folder", path=output.parent)


def _items(release: Path | None, catalog: Path | None, scale: str | None) -> tuple[Catalog, Scale]:
    if release is not None and catalog is None and scale is None:
        from discreet.release import load

        found = load(release)
        return found.catalog, found.scale
    if release is None and catalog is not None and scale is not None:
        from discreet.ratings import read_catalog

        return read_catalog(catalog), Scale.parse(scale)
    raise InputError("say what will be rated: with --release, or with --catalog and --scale")


def _key(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != 32:
        raise InputError("a public key is 64 hexadecimal digits")
    return found


def _check_new(wanted: list[bytes], directory: Directory) -> None:
    """Refuse keys that are in the directory, and say where."""
    for key in wanted:
        slot = directory.slot_of(key)
        if slot is not None:
            raise InputError(f"{key.hex()} is in already, in slot {slot:,}")


def _write(path: Path, directory: Directory) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(directory.as_bytes())
    members = directory.slots - len(directory.gone)
    many = "" if members == 1 else "s"
    _console.note(f"{path}: period {directory.epoch}, {members:,} member{many}")
