"""`discreet plant-canaries`: ratings with synthetic users among them, to audit one release by."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from discreet.audit.lower_bound import Canaries, insert_canaries
from discreet.cli import _console, _inputs, _outputs
from discreet.cli._inputs import ReadingOptions
from discreet.cli._outputs import Overwrite, check_new
from discreet.domain import InputError
from discreet.privacy import SystemRandomness
from discreet.ratings import check_target, write_ratings

_ON_FROM_DATA = (
    "canaries rate items of a public list that hardly anybody has rated, but from-data lists only "
    "items that somebody has rated; give --catalog a file with the columns id and title"
)


@_inputs.share_options(without=["most_ratings"])
def plant_canaries(
    ratings: _inputs.RatingsPath,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The ratings to write: .csv or .parquet.")
    ],
    key: Annotated[Path, typer.Option(help="The key file to write; keep it secret.")],
    count: Annotated[
        int, typer.Option(help="How many canaries; each is included with probability one half.")
    ] = 400,
    reading: ReadingOptions,
    overwrite: Overwrite = False,
) -> None:
    """Add synthetic users (canaries) to ratings, so that a release made from them can be audited.

    The file contains all users, with their times if there are any, followed by the canaries.
    """
    if reading.catalog == "from-data":
        raise InputError(_ON_FROM_DATA)
    _refuse_overwriting(ratings, reading.catalog, output, key)
    for path in (output, key):
        check_new(path, overwrite)
    check_target(output)
    _outputs.check_writable(output)
    _outputs.check_writable(key)
    mixed, coins = insert_canaries(reading.read(ratings), count, SystemRandomness())
    coins.save(key)
    write_ratings(mixed, output)
    _console.note(
        f"{output} contains {int(coins.included.sum()):,} of {count:,} canaries; fit it with the "
        f"same --catalog, then: discreet audit --release FILE --canaries {key}"
    )


def _refuse_overwriting(ratings: str, catalog: str | None, output: Path, key: Path) -> None:
    """Never replace an input, nor the ratings by their key.

    Raises:
        InputError: Two of the files are one, or another kind of file is where the key should go.
    """
    named = {"the ratings": Path(ratings), "--output": output, "--key": key}
    if catalog is not None:
        named["--catalog"] = Path(catalog)
    for (one, path), (other, again) in combinations(named.items(), 2):
        if _is_same(path, again):
            raise InputError(f"{one} and {other} are the same file; choose another name", path=path)
    for path in (output, key):
        if path.exists() and Path(ratings).resolve() in path.resolve().parents:
            raise InputError("is a file of the ratings; choose another name", path=path)
    if key.is_file():
        try:
            Canaries.load(key)
        except InputError:
            message = "exists and is not a key of canaries; choose another name"
            raise InputError(message, path=key) from None


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names lead to one file, by links too."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
