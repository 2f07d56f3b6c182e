"""`discreet inspect`: what a release is, and what it guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _console
from discreet.cli._console import Json
from discreet.domain import CatalogOrigin
from discreet.privacy.ledger import Ledger, Pairing
from discreet.release import Release, load
from discreet.report import noise_ratio

_ORIGINS = {
    CatalogOrigin.GIVEN: "given as public",
    CatalogOrigin.LAYOUT: "part of the data set's own files",
    CatalogOrigin.FROM_DATA: "taken from the private ratings",
}


def inspect(
    file: Annotated[Path, typer.Argument(help="The file of a release.")],
    ledger: Annotated[
        Path | None, typer.Option(help="Check that a charge of this ledger paid for the file.")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Show parameters, what was spent, and arrays too.")
    ] = False,
    json: Json = False,
) -> None:
    """Check the file of a release, and show what it is and what it guarantees.

    With --ledger, the exit code is 1 if the file and the ledger do not belong together.
    """
    release = load(file, verify=True)
    book = None if ledger is None else Ledger.open(ledger)
    pairing = None if book is None else book.pair(release.guarantee, release.digest())
    if json:
        paid = {} if book is None or pairing is None else {"ledger": pairing_data(book, pairing)}
        _console.write_json({"path": str(file)} | release.describe() | paid)
    else:
        _console.say(f"{release.guarantee}\n")
        _console.say("\n".join(release.learnt.sentences()) + "\n")
        if pairing is not None:
            say_pairing(pairing)
        _console.out.print(_facts(release))
        if details:
            tables = ("", _parameters(release), "", _spends(release), "", _arrays(release))
            _console.out.print(*tables, sep="\n")
        else:
            _console.say("\n--details shows parameters, what was spent, and arrays.")
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


def _facts(release: Release) -> Any:
    rows: dict[str, Any] = {
        "method": release.method,
        "items": f"{len(release.catalog):,}, {_ORIGINS[release.catalog.origin]}",
        "columns": ", ".join(release.catalog.columns) or None,
        "scale": str(release.scale),
        "arrays": _console.spell_size(release.nbytes),
        "digest": _short(release.digest()),
    } | _origin(release)
    return _console.table(("", ""), rows=list(_known(rows).items()), wraps=True)


def _parameters(release: Release) -> Any:
    # What was learnt is said in words above.
    rows = [
        (name.replace("_", " "), _spell(value))
        for name, value in _known(release.parameters).items()
        if name != "learnt"
    ]
    return _console.table(("parameter", "value"), rows=rows, title="parameters", wraps=True)


def _origin(release: Release) -> dict[str, str]:
    """What the guarantee's words leave out; the JSON has the digests in full."""
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


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without parameters that have no value."""
    return {name: value for name, value in values.items() if value is not None}


def _spell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_spell(each)}" for name, each in _known(value).items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _spends(release: Release) -> Any:
    unit = release.guarantee.unit
    headings = ("statistic", "noise", f"noise size / effect of one {unit}", "times")
    rows = [
        (event.label, event.kind, noise_ratio(event), f"{event.count:,}")
        for event in release.guarantee.events
    ]
    return _console.table(headings, rows=rows, title="what was spent", wraps=True)


def _arrays(release: Release) -> Any:
    rows = [
        (name, array.dtype.name, " x ".join(f"{n:,}" for n in array.shape))
        for name, array in release.arrays.items()
    ]
    return _console.table(("name", "type", "shape"), rows=rows, title="arrays", wraps=True)
