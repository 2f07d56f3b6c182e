"""`discreet reproduce`: the papers' tables and figures, made again."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli import _console, _inputs, _outputs
from discreet.cli._console import Json, stages
from discreet.cli._inputs import ReadingOptions
from discreet.cli._outputs import Overwrite, check_new
from discreet.domain import InputError

_ALL = "all"

_Names = Annotated[
    list[str] | None, typer.Argument(metavar="ID...", help="Which ones, or all; see --list.")
]
_List = Annotated[bool, typer.Option("--list", help="List what can be made, and make nothing.")]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="A file of ratings, the folder of a data set, or one that holds ml-100k, ml-1m. "
        "[default: ratings made up in the Netflix Prize's shape]"
    ),
]
_Size = Annotated[str, typer.Option(help="small takes minutes for all of them, full longer.")]
_Ratings = Annotated[
    int | None,
    typer.Option(help="How many to make up. [default: as --size says]", min=1_000, max=100_480_507),
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The folder for pictures, tables and texts.")
]


@_inputs.share_options(without=["implicit", "separator", "quoting", "most_ratings"])
def reproduce(
    figures: _Names = None,
    listing: _List = False,
    data: _Data = None,
    ratings: _Ratings = None,
    size: _Size = "small",
    output: _Output = None,
    overwrite: Overwrite = False,
    *,
    reading: ReadingOptions,
    json: Json = False,
) -> None:
    """Make tables and figures of the papers again, and compare. For the curator's eyes only.

    Exit code 1: of several, some cannot be made on these ratings.
    """
    if listing:
        _list(json)
        return
    names = _chosen(figures, size)
    if output is None:
        raise InputError("say where the files go: -o FOLDER")
    if data is not None and ratings is not None:
        raise InputError("--ratings is for made-up ones: without --data")
    if data is None and replace(reading, on_bad_rows="refuse") != ReadingOptions():
        raise InputError("--scale, --catalog, --columns and --layout are for --data FILE")
    told: dict[str, Any] = {"made_up": ratings, "scale": reading.scale, "catalog": reading.catalog}
    told |= {
        "layout": reading.layout,
        "columns": reading.parsed_columns,
        "on_bad_rows": reading.on_bad_rows,
    }
    _check_folder(output, names, overwrite)
    sentence, written, refused = _make(names, output, data, size, told)
    if json:
        _console.write_json({"data": sentence, "written": written, "refused": refused})
    elif len(names) == 1:
        _console.say(Path(written[names[0]][-1]).read_text(encoding="utf-8").rstrip())
    if refused:
        raise typer.Exit(1)


def _chosen(figures: list[str] | None, size: str) -> list[str]:
    """The names that are meant, each once."""
    # Imported where it is used: `discreet --help` stays quick.
    from discreet.evaluate.reproduce import REPRODUCTIONS, Size, find_reproduction

    if not figures:
        raise InputError("say which figures, or all; discreet reproduce --list tells them")
    if size not in list(Size):
        raise InputError(f"--size is {' or '.join(Size)}, not '{size}'")
    chosen = list(REPRODUCTIONS) if _ALL in figures else list(dict.fromkeys(figures))
    return [find_reproduction(name).name for name in chosen]


def _check_folder(folder: Path, names: list[str], overwrite: bool) -> None:
    """Refuse early what would be refused after minutes of work."""
    for name, kind in itertools.product(names, ("svg", "csv", "md")):
        check_new(folder / f"{name}.{kind}", overwrite)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}", path=folder) from error
    _outputs.check_writable(folder / f"{names[0]}.md")


def _make(
    names: list[str], output: Path, data: Path | None, size: str, told: dict[str, Any]
) -> tuple[str, dict[str, list[str]], dict[str, str]]:
    """What they were made on, the files of each, and why some of several could not be made."""
    from discreet.evaluate.reproduce import open_study, reproduce

    written: dict[str, list[str]] = {}
    refused: dict[str, str] = {}
    with stages() as progress:
        progress("reading", 0, None)
        study = open_study(data, size, progress=progress, **told)
        progress("reading", 1, 1)
        if study.ratings.skipped:
            _console.note(f"{study.ratings.skipped:,} bad rows were skipped")
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
