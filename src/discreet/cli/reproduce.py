"""`discreet reproduce`: the papers' tables and figures, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli import _console, _inputs
from discreet.cli._progress import stages
from discreet.domain import InputError

_ALL = "all"

_Name = Annotated[str | None, typer.Argument(metavar="ID", help="Which one, or all; see --list.")]
_List = Annotated[bool, typer.Option("--list", help="List what can be made, and make nothing.")]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="The folder of a data set, or one that holds ml-100k, ml-1m. "
        "[default: ratings made up in the Netflix Prize's shape]"
    ),
]
_Size = Annotated[str, typer.Option(help="small takes minutes for all of them, full longer.")]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The folder for pictures, tables and texts.")
]


def reproduce(
    figure: _Name = None,
    listing: _List = False,
    data: _Data = None,
    size: _Size = "small",
    output: _Output = None,
    json: _inputs.Json = False,
) -> None:
    """Make a table or figure of the papers again, and compare. For the curator's eyes only.

    Exit code 1: of all, some cannot be made on these ratings.
    """
    if listing:
        _list(json)
        return
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.evaluate.reproduce import REPRODUCTIONS, Size, find_reproduction

    if figure is None:
        raise InputError("say which figure, or all; discreet reproduce --list tells them")
    if size not in list(Size):
        raise InputError(f"--size is {' or '.join(Size)}, not '{size}'")
    if output is None:
        raise InputError("say where the files go: -o FOLDER")
    names = list(REPRODUCTIONS) if figure == _ALL else [find_reproduction(figure).name]
    told, written, refused = _make(names, data, size, output)
    if json:
        _console.write_json({"data": told, "written": written, "refused": refused})
    elif len(names) == 1:
        _console.say(Path(written[names[0]][-1]).read_text(encoding="utf-8").rstrip())
    if refused:
        raise typer.Exit(1)


def _make(
    names: list[str], data: Path | None, size: str, output: Path
) -> tuple[str, dict[str, list[str]], dict[str, str]]:
    """What they were made on, the files of each, and why some of several could not be made."""
    from discreet.evaluate.reproduce import open_study, reproduce

    written: dict[str, list[str]] = {}
    refused: dict[str, str] = {}
    with stages() as progress:
        progress("reading", 0, None)
        study = open_study(data, size, progress=progress)
        progress("reading", 1, 1)
        _console.note(study.sentence())
        for name in names:
            try:
                written[name] = [str(path) for path in reproduce(name, study, output)]
            except InputError as error:
                if len(names) == 1:
                    raise
                refused[name] = str(error)
            _console.note(f"{name}: {written[name][-1] if name in written else refused[name]}")
    return study.sentence(), written, refused


def _list(as_json: bool) -> None:
    from discreet.evaluate.reproduce import REPRODUCTIONS

    rows = [
        {"id": one.name, "paper": one.paper, "place": one.place, "what": one.title}
        for one in REPRODUCTIONS.values()
    ]
    if as_json:
        _console.write_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    for column in ("what", "where", "paper"):
        table.add_column(column, no_wrap=column == "where")
    for row in rows:
        table.add_row(row["id"], row["what"], row["place"], row["paper"])
    _console.out.print(table)
