"""`discreet inspect`: what a release is, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from discreet.cli import _console
from discreet.cli._inputs import Json, spell
from discreet.domain import CatalogOrigin

if TYPE_CHECKING:
    from discreet.privacy import Event
    from discreet.privacy.ledger import Ledger, Pairing
    from discreet.release import Release

_ORIGINS = {
    CatalogOrigin.GIVEN: "given as public",
    CatalogOrigin.LAYOUT: "part of the data set's own files",
    CatalogOrigin.FROM_DATA: "read off the private ratings",
}


def inspect(
    file: Annotated[Path, typer.Argument(help="A release's file.")],
    ledger: Annotated[
        Path | None, typer.Option(help="Check that a charge of this ledger paid for the file.")
    ] = None,
    json: Json = False,
) -> None:
    """Check a release's file, and show what it is and what it promises.

    With --ledger the exit code is 1 if the file and the ledger do not belong together.
    """
    from discreet.privacy.ledger import Ledger
    from discreet.release import load

    release = load(file, verify=True)
    book = None if ledger is None else Ledger.open(ledger)
    pairing = None if book is None else book.pair(release.guarantee, release.digest())
    if json:
        paid = {} if book is None or pairing is None else {"ledger": pairing_data(book, pairing)}
        _console.write_json({"path": str(file)} | release_data(release) | paid)
    else:
        _console.say(f"{release.guarantee}\n")
        if pairing is not None:
            say_pairing(pairing)
        _console.out.print(_facts(release), "", _spends(release), "", _arrays(release), sep="\n")
    if pairing is not None and not pairing.is_paid:
        raise typer.Exit(1)


def say_pairing(pairing: Pairing) -> None:
    """Whether a file and a ledger belong together, in words."""
    if not pairing.is_paid:
        _console.say("The file and the ledger do not belong together:")
    _console.say("\n".join(pairing.sentences()) + "\n")


def pairing_data(ledger: Ledger, pairing: Pairing) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "path": str(ledger.path),
        "population": ledger.population,
        "fingerprint": ledger.fingerprint,
        "paid": pairing.is_paid,
        "charge": pairing.charge,
        "problems": list(pairing.problems),
    }


def release_data(release: Release) -> dict[str, Any]:
    """What there is to say about a release, for scripts."""
    guarantee = release.guarantee
    return {
        "method": release.method,
        "private": guarantee.is_private,
        "protect": str(guarantee.unit),
        "epsilon": guarantee.epsilon if guarantee.is_private else None,
        "delta": guarantee.delta,
        "items": len(release.catalog),
        "catalog": str(release.catalog.origin),
        "scale": spell(release.scale),
        "digest": release.digest(),
        "guarantee": guarantee.to_dict(),
        "parameters": dict(release.parameters),
        "arrays": {
            name: {"type": array.dtype.name, "shape": list(array.shape)}
            for name, array in release.arrays.items()
        },
    }


def _facts(release: Release) -> Table:
    table = _table(None)
    table.show_header = False
    rows = {
        "method": release.method,
        "items": f"{len(release.catalog):,}, {_ORIGINS[release.catalog.origin]}",
        "scale": str(release.scale),
        "arrays": _console.spell_size(release.nbytes),
        "digest": _short(release.digest()),
    } | _origin(release)
    told = _told(release.parameters)
    parameters = {name: _spell(value) for name, value in told.items()}
    for name, value in (rows | parameters).items():
        table.add_row(name.replace("_", " "), Text(value))
    return table


def _origin(release: Release) -> dict[str, str]:
    """What a guarantee's words leave out; the digests in full are in the JSON."""
    provenance = release.guarantee.provenance
    if provenance is None:
        return {"charge": "this file does not say whether a ledger was charged"}
    charge = provenance.charge
    paid = "not recorded in any ledger"
    if charge is not None:
        paid = f"{charge.number:,} ({_short(charge.digest)}) of ledger {_short(charge.ledger)}"
    return {"configuration": _short(provenance.configuration), "charge": paid}


def _short(digest: str) -> str:
    return f"{digest[:12]}..."


def _told(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was left to be decided, which says nothing."""
    return {name: value for name, value in values.items() if value is not None}


def _spell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_spell(each)}" for name, each in _told(value).items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _spends(release: Release) -> Table:
    table = _table(
        "what was spent",
        "what",
        "noise",
        f"its size / what one {release.guarantee.unit} moves",
        "times",
    )
    for event in release.guarantee.events:
        table.add_row(*map(Text, (event.label, event.kind, _size(event), f"{event.count:,}")))
    return table


def _size(event: Event) -> str:
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.report import number_down, number_up

    known = event.to_dict()
    size = known.get("sigma", known.get("scale"))
    if size is None:
        return f"epsilon {number_up(known['epsilon'])}"
    return number_down(size / known["sensitivity"])


def _arrays(release: Release) -> Table:
    table = _table("arrays", "name", "type", "shape")
    for name, array in release.arrays.items():
        table.add_row(name, array.dtype.name, " x ".join(f"{n:,}" for n in array.shape))
    return table


def _table(title: str | None, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column)
    return table
