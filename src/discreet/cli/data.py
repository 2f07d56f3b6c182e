"""`discreet data`: list, make, fetch and describe rating data."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _console, _inputs
from discreet.cli._console import Json
from discreet.cli._inputs import ReadingOptions
from discreet.domain import Scale
from discreet.domain.files import whole_file
from discreet.ratings import Figures, check_target, figures, write_catalog, write_ratings
from discreet.ratings.download import DataSet, data_sets, fetch, find_data_set
from discreet.ratings.synthetic import SHAPES, Shape, find_shape, make_ratings

app = typer.Typer(
    name="data",
    help="List, make, fetch and describe rating data.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_WARNING = "for the curator's eyes only: these figures are not private"
# Figures that say nothing where every value is the same: for interactions.
_OF_VALUES = ("mean", "deviation", "values")
# The width of the longest bar of the histogram, in characters.
_BAR_WIDTH = 30


@app.command("list")
def list_data(json: Json = False) -> None:
    """List the shapes that data can be made in and the data sets that can be fetched."""
    if json:
        shapes = [_shape_as_json(shape) for shape in SHAPES.values()]
        _console.write_json({"shapes": shapes, "data_sets": [asdict(s) for s in data_sets()]})
        return
    sizes = ("ratings", "users", "items", "scale")
    made = [(s.name, *_sizes(s), s.scale.spelling) for s in SHAPES.values()]
    fetched = [(one.name, *_sizes(one), one.scale, _download(one)) for one in data_sets()]
    _console.out.print(
        _console.table(
            ("shape",), sizes, made, title="Synthetic: discreet data make SHAPE -o FILE"
        ),
        "",
        _console.table(
            ("name",), (*sizes, "download"), fetched, title="Public: discreet data get NAME"
        ),
        sep="\n",
    )


def _sizes(one: Shape | DataSet) -> list[str]:
    return [f"{count:,}" for count in (one.ratings, one.users, one.items)]


def _download(one: DataSet) -> str:
    return "" if one.size is None else f"{one.size / 1e6:,.0f} MB"


@app.command()
@_inputs.share_options(without=["most_ratings"])
def info(path: _inputs.RatingsPath, reading: ReadingOptions, *, json: Json = False) -> None:
    """Describe ratings in figures, for the curator's eyes only."""
    ratings = reading.read(path)
    found, presence = figures(ratings), ratings.scale.presence
    if json:
        plain = found.as_json()
        for name in _OF_VALUES if presence else ():
            del plain[name]
        _console.write_json({"note": _WARNING, "scale": ratings.scale.spelling} | plain)
        return
    _console.say(f"{_WARNING}\n")
    _console.out.print(_console.table(("", ""), rows=_facts(found, ratings.scale), wraps=True))
    if not presence:
        _console.out.print("", _histogram(found), sep="\n")


@app.command()
def make(
    shape: Annotated[str, typer.Argument(help="The data set to imitate: see discreet data list.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .parquet or .csv.")
    ],
    ratings: Annotated[
        int | None,
        typer.Option(help="The number of ratings; users and items are scaled accordingly."),
    ] = None,
    users: Annotated[int | None, typer.Option(help="The number of users.")] = None,
    items: Annotated[int | None, typer.Option(help="The number of items.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
) -> None:
    """Make synthetic ratings that resemble a known data set.

    The catalogue is written to a file beside the ratings that ends in .items.csv.
    """
    check_target(output)
    wanted = find_shape(shape)
    wanted = wanted if ratings is None else wanted.scaled(ratings=ratings)
    wanted = wanted if users is None else replace(wanted, users=users)
    wanted = wanted if items is None else replace(wanted, items=items)
    with _console.bar("making") as advance:
        made = make_ratings(wanted, seed=seed, progress=advance)
    catalog = output.with_suffix(".items.csv")
    # The catalogue appears when the ratings are there: both or neither.
    with _console.bar("writing") as advance, whole_file(catalog) as temporary:
        write_catalog(made.catalog, temporary)
        write_ratings(made, output, progress=advance)
    _console.say(str(output))
    _console.say(str(catalog))
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
    data_set = find_data_set(name)
    with _console.stages() as progress:
        fetched = fetch(data_set, output, address=address, progress=progress)
    _console.say(str(fetched.path))
    if fetched.was_there:
        _console.note("It was there already; nothing was downloaded.")
    elif not fetched.verified:
        _console.note(
            "It could not be verified: no published checksum was available. The SHA-256 of the "
            f"download is {fetched.sha256}"
        )
    _console.note(f"{data_set.title}: {data_set.terms}")
    _console.note(f"Look at it with:\n  discreet data info {_reading(data_set, fetched.path)}")


def _reading(data_set: DataSet, folder: Path) -> str:
    """The arguments with which `discreet data info` reads a fetched data set."""
    path = shlex.quote(str(folder))
    if data_set.layout == "movielens":
        return path
    catalog = shlex.quote(str(folder / data_set.files[1]))
    return f"{path} --scale={data_set.scale} --catalog {catalog}"


def _how_to_read(path: Path, scale: Scale, catalog: Path) -> str:
    files = [shlex.quote(str(file)) for file in (path, catalog)]
    call = f"discreet.read_ratings({str(path)!r}, scale={_argument(scale)}, catalog="
    return (
        f"  discreet data info {files[0]} --scale={scale.spelling} --catalog {files[1]}\n"
        f"  {call}{str(catalog)!r})"
    )


def _argument(scale: Scale) -> str:
    """The scale as Python code."""
    numbers = f"{scale.lo:g}, {scale.hi:g}"
    if scale.step == 1:
        return f"({numbers})"
    return f"({numbers}, {None if scale.step is None else f'{scale.step:g}'})"


def _shape_as_json(shape: Shape) -> dict[str, Any]:
    names = ("name", "ratings", "users", "items")
    return {name: getattr(shape, name) for name in names} | {"scale": shape.scale.spelling}


def _facts(found: Figures, scale: Scale) -> list[tuple[str, str]]:
    span = "unknown"
    if found.first and found.last:
        span = f"{found.first:%Y-%m-%d} to {found.last:%Y-%m-%d}"
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
    return [(name, text) for name, text in rows.items() if text]


def _average(value: float | None, scale: Scale) -> str:
    return "" if value is None or scale.presence else f"{value:.4f}"


def _spread(quantiles: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in quantiles.items())


def _histogram(found: Figures) -> Any:
    """How often each value was given, as a table with bars."""
    most = max(found.values.values(), default=0) or 1
    width = max((len(f"{count:,}") for count in found.values.values()), default=0)
    rows = [
        (
            name,
            f"{count:>{width},}  {count / max(found.ratings, 1):>6.1%}",
            "█" * round(_BAR_WIDTH * count / most),
        )
        for name, count in found.values.items()
    ]
    return _console.table(("", "", ""), rows=rows, title="values")
