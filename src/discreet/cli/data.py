"""`discreet data`: make, fetch and look at rating data."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from discreet.cli import _console, _inputs
from discreet.cli._inputs import BadRows, Json, spell
from discreet.cli._progress import bar, stages
from discreet.domain import Scale
from discreet.domain.files import whole_file

if TYPE_CHECKING:
    from discreet.ratings import Figures
    from discreet.ratings.download import DataSet
    from discreet.ratings.synthetic import Shape

# The rooms that do the work are imported where they are used: `discreet --help` stays quick.

app = typer.Typer(
    name="data",
    help="Make, fetch and look at rating data.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_WARNING = "for the curator's eyes only: these figures are not private"
_OF_VALUES = ("mean", "deviation", "values")
"""Figures that say nothing where every value is the same: of presence."""
_BAR_WIDTH = 30


@app.command("list")
def list_data(json: Json = False) -> None:
    """Show what can be made up and what can be fetched."""
    from discreet.ratings.download import data_sets
    from discreet.ratings.synthetic import SHAPES

    if json:
        shapes = [_shape_as_json(shape) for shape in SHAPES.values()]
        _console.write_json({"shapes": shapes, "data_sets": [asdict(s) for s in data_sets()]})
        return
    made = _sizes_table("Made here: discreet data make SHAPE -o FILE", "shape")
    for shape in SHAPES.values():
        _add_sizes(made, shape.name, shape.ratings, shape.users, shape.items, spell(shape.scale))
    got = _sizes_table("Fetched: discreet data get NAME", "name", "download")
    for one in data_sets():
        size = "" if one.size is None else f"{one.size / 1e6:,.0f} MB"
        _add_sizes(got, one.name, one.ratings, one.users, one.items, one.scale, size)
    _console.out.print(made, "", got, sep="\n")


@app.command()
def info(
    path: _inputs.RatingsPath,
    implicit: _inputs.Implicit = False,
    scale: _inputs.ScaleText = None,
    catalog: _inputs.CatalogName = None,
    columns: _inputs.ColumnsText = None,
    separator: _inputs.Separator = None,
    quoting: _inputs.QuotingName = None,
    layout: _inputs.LayoutName = "auto",
    on_bad_rows: _inputs.OnBadRows = BadRows.REFUSE,
    json: Json = False,
) -> None:
    """Show figures about ratings, for the curator's eyes only."""
    from discreet.ratings import figures

    how = (layout, on_bad_rows, implicit, None, separator, quoting)
    ratings = _inputs.read(path, scale, catalog, columns, *how)
    found, presence = figures(ratings), ratings.scale.presence
    if json:
        plain = found.as_json()
        for name in _OF_VALUES if presence else ():
            del plain[name]
        _console.write_json({"note": _WARNING, "scale": spell(ratings.scale)} | plain)
        return
    _say(f"{_WARNING}\n")
    _console.out.print(_figures_table(found, ratings.scale))
    if not presence:
        _console.out.print("", _values_table(found), sep="\n")


@app.command()
def make(
    shape: Annotated[str, typer.Argument(help="The data set to resemble: see discreet data list.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A .parquet or .csv file.")],
    ratings: Annotated[
        int | None, typer.Option(help="How many ratings; users and items follow.")
    ] = None,
    users: Annotated[int | None, typer.Option(help="How many users.")] = None,
    items: Annotated[int | None, typer.Option(help="How many items.")] = None,
    seed: Annotated[int, typer.Option(help="Another number makes other ratings.")] = 0,
) -> None:
    """Make up ratings that resemble a known data set.

    The catalogue is written beside them, with .items.csv for the ending.
    """
    from discreet.ratings import check_target, write_catalog, write_ratings
    from discreet.ratings.synthetic import find_shape, make_ratings

    check_target(output)
    wanted = find_shape(shape)
    wanted = wanted if ratings is None else wanted.scaled(ratings=ratings)
    wanted = wanted if users is None else replace(wanted, users=users)
    wanted = wanted if items is None else replace(wanted, items=items)
    with bar("making up") as advance:
        made = make_ratings(wanted, seed=seed, progress=advance)
    catalog = output.with_suffix(".items.csv")
    # The catalogue appears when the ratings are there: both or neither.
    with bar("writing") as advance, whole_file(catalog) as temporary:
        write_catalog(made.catalog, temporary)
        write_ratings(made, output, progress=advance)
    _say(str(output))
    _say(str(catalog))
    _console.note(
        f"{len(made):,} ratings by {made.user_count:,} users of {len(made.catalog):,} items. "
        f"Read them with:\n{_how_to_read(output, made.scale, catalog)}"
    )


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A public data set: see discreet data list.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to put its folder in.")
    ] = Path(),
    address: Annotated[
        str | None, typer.Option(help="A mirror to fetch the archive from instead.")
    ] = None,
) -> None:
    """Fetch, check and unpack a public data set."""
    from discreet.ratings.download import fetch, find_data_set

    data_set = find_data_set(name)
    with stages() as progress:
        fetched = fetch(data_set, output, address=address, progress=progress)
    _say(str(fetched.path))
    if fetched.was_there:
        _console.note("It was there already; nothing was downloaded.")
    elif not fetched.verified:
        _console.note(
            "It could not be verified: no published checksum was to be had. The SHA-256 of what "
            f"came is {fetched.sha256}"
        )
    _console.note(f"{data_set.title}: {data_set.terms}")
    _console.note(f"Look at it with:\n  discreet data info {_reading(data_set, fetched.path)}")


def _say(line: str) -> None:
    _console.out.print(line, markup=False, soft_wrap=True)


def _reading(data_set: DataSet, folder: Path) -> str:
    """What `discreet data info` needs to be told to read a fetched set."""
    path = shlex.quote(str(folder))
    if data_set.layout == "movielens":
        return path
    catalog = shlex.quote(str(folder / data_set.files[1]))
    return f"{path} --scale={data_set.scale} --catalog {catalog}"


def _how_to_read(path: Path, scale: Scale, catalog: Path) -> str:
    text = spell(scale)
    files = [shlex.quote(str(file)) for file in (path, catalog)]
    call = f"discreet.read_ratings({str(path)!r}, scale={_argument(scale)}, catalog="
    return (
        f"  discreet data info {files[0]} --scale={text} --catalog {files[1]}\n"
        f"  {call}{str(catalog)!r})"
    )


def _argument(scale: Scale) -> str:
    """The scale as Python code."""
    numbers = f"{scale.lo:g}, {scale.hi:g}"
    if scale.step == 1:
        return f"({numbers})"
    return f"discreet.Scale({numbers}, {None if scale.step is None else f'{scale.step:g}'})"


def _shape_as_json(shape: Shape) -> dict[str, Any]:
    names = ("name", "ratings", "users", "items")
    return {name: getattr(shape, name) for name in names} | {"scale": spell(shape.scale)}


def _sizes_table(title: str, first: str, *more: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in ("ratings", "users", "items", "scale", *more):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _add_sizes(table: Table, name: str, ratings: int, users: int, items: int, *more: str) -> None:
    table.add_row(name, f"{ratings:,}", f"{users:,}", f"{items:,}", *more)


def _figures_table(found: Figures, scale: Scale) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    span = (
        "unknown"
        if not found.first or not found.last
        else (f"{found.first:%Y-%m-%d} to {found.last:%Y-%m-%d}")
    )
    rows = {
        "ratings": f"{found.ratings:,}",
        "users": f"{found.users:,}",
        "items": f"{found.items:,} in the catalogue, {found.rated_items:,} of them rated",
        "cells filled": f"{found.density:.3%}",
        "ratings per user": _spread(found.per_user),
        "ratings per item": _spread(found.per_item),
        "scale": str(scale),
        "mean": _average(found.mean, scale),
        "standard deviation": _average(found.deviation, scale),
        "times": span,
        "duplicates replaced": f"{found.duplicates:,}",
        "bad rows skipped": f"{found.skipped:,}",
        "memory": _console.spell_size(found.nbytes),
    }
    for name, text in rows.items():
        if text:
            table.add_row(name, text)
    return table


def _average(value: float | None, scale: Scale) -> str:
    return "" if value is None or scale.presence else f"{value:.4f}"


def _spread(quantiles: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in quantiles.items())


def _values_table(found: Figures) -> Table:
    table = Table(title="values", title_justify="left", box=None, show_header=False, pad_edge=False)
    for justify in ("left", "right", "right", "left"):
        table.add_column(justify=justify)
    most = max(found.values.values(), default=0) or 1
    for name, count in found.values.items():
        share = count / max(found.ratings, 1)
        bar = "█" * round(_BAR_WIDTH * count / most)
        table.add_row(name, f"{count:,}", f"{share:.1%}", bar)
    return table
