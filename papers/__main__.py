"""`python -m papers`: the papers' figures made again, and their errata computed."""

from __future__ import annotations

import enum
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from discreet.domain import DiscreetError, InputError
from discreet.domain.files import whole_file
from papers import catalogue
from papers.catalogue import REPRODUCTIONS, all_errata, find_reproduction
from papers.erratum import PAPERS
from papers.study import Size, open_study

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

app = typer.Typer(
    name="papers",
    help="The papers that discreet started from: figures made again, and errata.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class BadRows(enum.StrEnum):
    """What to do with rows that cannot be read."""

    REFUSE = "refuse"
    SKIP = "skip"


_Figures = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Which figures, or all; see `list`.")
]
_Output = Annotated[
    Path, typer.Option("--output", "-o", help="The folder for pictures, tables and texts.")
]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="A file of ratings, the folder of a data set, or a folder that contains ml-100k or "
        "ml-1m. [default: ratings made up in the Netflix Prize's shape]"
    ),
]
_Ratings = Annotated[
    int | None,
    typer.Option(
        help="How many ratings to make up. [default: depends on --size]", min=1_000, max=100_480_507
    ),
]
_Size = Annotated[Size, typer.Option(help="All figures: minutes (small) or half an hour (full).")]
_Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the files of an earlier run.")
]
_Scale = Annotated[str | None, typer.Option(help="The rating scale: 1..5, 0.5..5/0.5.")]
_Catalog = Annotated[
    str | None, typer.Option(help="A CSV file with the columns id and title, or from-data.")
]
_Columns = Annotated[
    str | None, typer.Option(help="The columns' names: user=uid,item=mid,rating=r.")
]
_Layout = Annotated[str, typer.Option(help="auto, table, movielens, netflix or jester.")]
_OnBadRows = Annotated[BadRows, typer.Option(help="Refuse the file, or skip the rows.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(name="list")
def list_figures(as_json: _Json = False) -> None:
    """List the figures and tables that can be made again."""
    rows = [
        {
            "id": one.name,
            "what": one.title,
            "place": one.place,
            "paper": PAPERS[one.source].authors,
        }
        for one in REPRODUCTIONS.values()
    ]
    if as_json:
        _write_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for column in rows[0]:
        table.add_column(column, no_wrap=column in ("id", "place"))
    for row in rows:
        table.add_row(*row.values())
    out.print(table)


@app.command()
def reproduce(
    figures: _Figures,
    output: _Output,
    data: _Data = None,
    ratings: _Ratings = None,
    size: _Size = Size.SMALL,
    overwrite: _Overwrite = False,
    scale: _Scale = None,
    catalog: _Catalog = None,
    columns: _Columns = None,
    layout: _Layout = "auto",
    on_bad_rows: _OnBadRows = BadRows.REFUSE,
    as_json: _Json = False,
) -> None:
    """Make tables and figures of the papers again, and compare. For the curator's eyes only.

    Exit code 1: some of several figures cannot be made on these ratings.
    """
    chosen = REPRODUCTIONS if "all" in figures else dict.fromkeys(figures)
    names = [find_reproduction(name).name for name in chosen]
    if data is not None and ratings is not None:
        raise InputError("--ratings is for made-up ratings: leave --data out")
    if data is None and not (scale is catalog is columns is None and layout == "auto"):
        raise InputError("--scale, --catalog, --columns and --layout are for --data FILE")
    _check_folder(output, names, overwrite)
    options: dict[str, Any] = {"made_up": ratings, "scale": scale, "catalog": catalog}
    options |= {"columns": _parse_columns(columns), "layout": layout}
    options |= {"on_bad_rows": on_bad_rows.value}
    sentence, written, refused = _make(names, output, data, size, options)
    if as_json:
        _write_json({"data": sentence, "written": written, "refused": refused})
    elif len(names) == 1:
        _say(Path(written[names[0]][-1]).read_text(encoding="utf-8").rstrip())
    if refused:
        raise typer.Exit(1)


@app.command()
def errata(as_json: _Json = False) -> None:
    """Recompute the papers' claims that do not hold (docs/explanation/errata.md)."""
    found = all_errata()
    if as_json:
        _write_json([each.as_json() for each in found])
        return
    for short, paper in PAPERS.items():
        _say(f"{short:<8}  {paper}")
    for paper in PAPERS.values():
        _say(f"\n{paper.authors}")
        for each in (one for one in found if one.paper == paper):
            _say(f"\n  {each.claim}")
            for number in each.numbers:
                _say(f"    {number.what} = {number.text}")


def _parse_columns(text: str | None) -> dict[str, str | int | None] | None:
    """`user=uid,item=1,time=`: by name, by position from 0, or none."""
    if text is None:
        return None
    columns: dict[str, str | int | None] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals:
            raise InputError(f"--columns: '{part}' is not of the form user=uid")
        columns[role.strip()] = int(name) if name.isdecimal() else name.strip() or None
    return columns


class _Tried(Exception):
    """The file could be written, and is not kept."""


def _check_folder(folder: Path, names: list[str], overwrite: bool) -> None:
    """Refuse early what would be refused after minutes of work."""
    for name, kind in itertools.product(names, ("svg", "csv", "md")):
        path = folder / f"{name}.{kind}"
        if path.exists() and not overwrite:
            raise InputError("exists; choose another folder, or say --overwrite", path=path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror or error}", path=folder) from error
    try:
        with whole_file(folder / f"{names[0]}.md"):
            raise _Tried
    except _Tried:
        pass


def _make(
    names: list[str], output: Path, data: Path | None, size: Size, options: dict[str, Any]
) -> tuple[str, dict[str, list[str]], dict[str, str]]:
    """What they were made on, the files of each, and why some of several could not be made."""
    written: dict[str, list[str]] = {}
    refused: dict[str, str] = {}
    with _progress() as progress:
        study = open_study(data, size, progress=progress, **options)
        if study.ratings.skipped:
            _note(f"{study.ratings.skipped:,} bad rows were skipped")
        _note(study.sentence())
        for name in names:
            try:
                written[name] = [str(path) for path in catalogue.reproduce(name, study, output)]
            except InputError as error:
                if len(names) == 1:
                    raise
                refused[name] = str(error)
            _note(f"{name}: {written[name][-1] if name in written else refused[name]}")
    return study.sentence(), written, refused


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each stage on standard error, where that is a terminal."""
    with Progress(console=err, transient=True, disable=not err.is_terminal) as shown:
        bars: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage)
            shown.update(bars[stage], completed=done, total=total)

        yield advance


def _say(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)


def _note(text: str) -> None:
    err.print(text, style="dim", markup=False, soft_wrap=True)


def _write_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, allow_nan=False) + "\n")


def main() -> int:
    """Run the command line; a known error is one line on standard error and exit code 2."""
    try:
        return app(prog_name="python -m papers", standalone_mode=False) or 0
    except DiscreetError as error:
        message = str(error)
    except Exception as error:
        # The class of typer's own errors changes with its version; this method stays.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()
    is_help = "\n" in message  # where no command was named
    said = message if is_help else f"papers: {message}"
    err.print(said, style=None if is_help else "red", markup=False, soft_wrap=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())
