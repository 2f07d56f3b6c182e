"""`discreet demo`: the whole road, from ratings to recommendations at home, on made-up data."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table

from discreet.cli import _console, _evaluation_picture, _progress
from discreet.domain import InputError

if TYPE_CHECKING:
    from discreet.evaluate import Row
    from discreet.predict import Release
    from discreet.privacy.ledger import Ledger
    from discreet.ratings import Ratings

_BUDGETS = (0.5, 1.0, 4.0)
_EPSILON, _LIMIT, _DELTA = 1.0, 3.0, 1e-6
_POPULARITY = 1.0
"""In lists: expected ratings alone would bring up what few people know."""
_POPULATION = "members of the demo site"
_RELEASE, _PICTURE, _LEDGER = "films.discreet", "budgets.png", "members.ledger"
_MODELS = ("private", "non-private", "popularity", "item-mean", "user-mean")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path(
        "demo-output"
    ),
    ratings: Annotated[
        int, typer.Option(help="How many ratings to make up.", min=20_000, max=5_000_000)
    ] = 400_000,
) -> None:
    """Make up ratings, see what privacy costs, publish a release, and recommend from it."""
    _evaluation_picture.check_installed()
    _check_ledger(output / _LEDGER)
    with _whole_folder(output) as folder:
        _show_all(folder, ratings)
    written = (_RELEASE, _PICTURE, _LEDGER)
    _console.say("\nWritten: " + ", ".join(str(output / name) for name in written))


def _show_all(folder: Path, ratings: int) -> None:
    _step(1, "A film site has ratings. These are made up, with the shape of a real site's.")
    private = _make(ratings)
    _show_figures(private)

    _step(2, "What does a guarantee cost? Three budgets, judged by ratings held back.")
    rows = _try_budgets(private)
    _show_rows(rows)
    _evaluation_picture.draw(folder / _PICTURE, rows)

    _step(3, "The site publishes under one of them. First its ledger is charged.")
    ledger = _fresh_ledger(folder / _LEDGER)
    release = _publish(private, ledger, folder / _RELEASE)
    _console.say(f"\n{release.guarantee}")

    _step(4, "At home, somebody opens the file and says what they like.")
    _recommend(folder / _RELEASE)

    _step(5, "The ledger afterwards, and a plan.")
    _show_ledger(ledger, release)


@contextmanager
def _whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder whose files go to `path` when the block ends well, and nowhere if not.

    Raises:
        InputError: The folder cannot be made.
    """
    was_there = path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".demo.", dir=path))
    except OSError as error:
        raise InputError(f"cannot be written to: {error.strerror}", path=path) from error
    try:
        yield temporary
        for file in sorted(temporary.iterdir()):
            file.replace(path / file.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if not was_there and not any(path.iterdir()):
            path.rmdir()


def _check_ledger(path: Path) -> None:
    """Refuse to replace a ledger that no earlier demo left."""
    from discreet.privacy.ledger import Ledger

    if path.exists() and Ledger.open(path).population != _POPULATION:
        raise InputError("is somebody else's ledger; choose another --output", path=path)


def draw(picture: Path) -> None:
    """The demo's picture alone."""
    _evaluation_picture.draw(picture, _try_budgets(_make(400_000)))


def _make(count: int) -> Ratings:
    from discreet.ratings import find_shape, make_ratings

    with _progress.bar("making up ratings") as progress:
        return make_ratings(find_shape("ml-1m").scaled(ratings=count), seed=1, progress=progress)


def _show_figures(private: Ratings) -> None:
    from discreet.ratings import figures

    found = figures(private)
    table = _table("for the curator's eyes only", "")
    table.add_row("ratings", f"{found.ratings:,}")
    table.add_row("people", f"{found.users:,}")
    table.add_row("films", f"{found.items:,}")
    for name, quantiles in (("a person", found.per_user), ("a film", found.per_item)):
        spread = f"{quantiles['median']:,}, {quantiles['most']:,}"
        table.add_row(f"ratings {name} (median, most)", spread)
    _console.out.print(table)


def _try_budgets(private: Ratings) -> list[Row]:
    from discreet.evaluate import evaluate
    from discreet.ratings import split_random

    with _progress.stages() as progress:
        return evaluate(
            split_random(private, 0.1, seed=1),
            protect="rating",
            epsilons=_BUDGETS,
            delta=_DELTA,
            draws=1,
            models=_MODELS,
            seed=1,
            popularity=_POPULARITY,
            progress=progress,
        )


def _show_rows(rows: list[Row]) -> None:
    table = _table("for the curator's eyes only", "epsilon", "RMSE", "NDCG@10")
    for row in rows:
        epsilon = "" if row.epsilon is None else f"{row.epsilon:g}"
        table.add_row(row.model, epsilon, f"{row.rmse:.3f}", f"{row.ndcg_at_10:.3f}")
    _console.out.print(table)
    _console.say(
        "\nRMSE, of expected ratings: less is better. NDCG@10, of lists: more is better; in lists"
        f"\nbeing popular counts too (evaluate and recommend have --popularity {_POPULARITY:g})."
    )


def _fresh_ledger(path: Path) -> Ledger:
    """A new ledger for made-up people."""
    from discreet.privacy import Unit
    from discreet.privacy.ledger import Ledger, Limit

    limit = Limit(Unit.RATING, epsilon=_LIMIT, delta=_DELTA)
    return Ledger.create(path, _POPULATION, [limit])


def _publish(private: Ratings, ledger: Ledger, path: Path) -> Release:
    from discreet.methods import fit

    with _progress.stages() as progress:
        release = fit(
            private,
            protect="rating",
            epsilon=_EPSILON,
            delta=_DELTA,
            ledger=ledger,
            progress=progress,
        )
    release.save(path)
    return release


def _recommend(path: Path) -> None:
    from discreet.predict import load

    release = load(path)
    popular = np.argsort(-release.arrays["item_counts"].astype(np.float64))
    titles = [release.catalog.titles[item] for item in popular[:40]]
    own = {titles[0]: 5.0, titles[7]: 5.0, titles[12]: 4.0, titles[25]: 2.0}
    told = _table("they say", "stars")
    for title, stars in own.items():
        told.add_row(title, f"{stars:g}")
    _console.out.print(told)
    table = _table("discreet recommends, by expected stars and popularity", "expected")
    entries = release.predictor(popularity=_POPULARITY).recommend(own, 10, explain=True)
    for entry in entries:
        table.add_row(entry.title, f"{entry.score:.2f}")
    _console.out.print("", table)
    because = ", ".join(f"{title} ({moved:+.2f})" for title, moved in entries[0].because)
    if because:
        _console.say(f"\nThe first one because of: {because}")


def _show_ledger(ledger: Ledger, release: Release) -> None:
    limit = ledger.limits[0]
    spent, room = limit.spent_epsilon(ledger.spent(limit.unit)), ledger.remaining(limit.unit)
    table = _table("spent per rating", "limit", "delta", "room for another of")
    table.add_row(
        f"epsilon {spent:.4g}", f"{limit.epsilon:g}", f"{limit.delta:g}", f"{room.epsilon:.4g}"
    )
    _console.out.print(table)
    plan = ledger.plan(release.guarantee.events, times=12)
    _console.say(f"\n{plan.words('month')}")


def _step(number: int, line: str) -> None:
    _console.out.print(f"\n[bold]{number}. {line}[/bold]\n")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right", no_wrap=True)
    return table
