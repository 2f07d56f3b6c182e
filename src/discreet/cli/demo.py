"""`discreet demo`: from ratings to recommendations at home, on synthetic data."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from discreet.cli import _console, _outputs, _pictures
from discreet.domain import InputError
from discreet.evaluate import Row, evaluate
from discreet.methods import fit
from discreet.predict import Release, load
from discreet.privacy import GaussianNoise, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Ratings, Shape, figures, make_ratings, split_random

# The epsilons that are compared, per person. Chosen by hand: weak, usual and strong noise.
_BUDGETS = (0.5, 1.0, 4.0)
# What is published, the ledger's limit (room for a few releases) and the delta of both.
_EPSILON, _LIMIT, _DELTA = 1.0, 3.0, GaussianNoise.default_delta
# Ratings of the documentation's picture and of the command's default: seconds on a laptop, and
# enough per film that tastes can be learnt under epsilon 1 per person.
_RATINGS = 1_000_000
_SITE = Shape(users=12_000, items=800, ratings=_RATINGS)
_POPULATION = "members of the demo site"
_RELEASE, _PICTURE, _LEDGER = "films.discreet", "budgets.png", "members.ledger"
_MODELS = ("private", "non-private", "popularity", "item-mean", "user-mean")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path(
        "demo-output"
    ),
    ratings: Annotated[
        int, typer.Option(help="How many synthetic ratings to make.", min=20_000, max=5_000_000)
    ] = _RATINGS,
) -> None:
    """Make synthetic ratings, compare budgets, publish a release and recommend from it."""
    _outputs.check_drawing()
    _check_ledger(output / _LEDGER)
    with _whole_folder(output) as folder:
        _show_all(folder, ratings)
    written = (_RELEASE, _PICTURE, _LEDGER)
    _console.say("\nWritten: " + ", ".join(str(output / name) for name in written))
    _console.say(f"Next, the page: make serve, or discreet serve {output / _RELEASE}")


def _show_all(folder: Path, ratings: int) -> None:
    _step(1, "A film site has ratings. These are synthetic: a few hits and a long tail.")
    private = _make(ratings)
    _show_figures(private)

    _step(2, "What does a guarantee cost? Three budgets, evaluated on held-out ratings.")
    rows = _try_budgets(private)
    _show_rows(rows)
    _pictures.draw_evaluation(folder / _PICTURE, rows)

    _step(3, "The site publishes a release under epsilon 1. First its ledger is charged.")
    ledger = _fresh_ledger(folder / _LEDGER)
    release = _publish(private, ledger, folder / _RELEASE)
    _console.say(f"\n{release.guarantee}")
    _console.say("\n".join(release.learnt.sentences()))

    _step(4, "On their own device, somebody opens the file and rates a few films.")
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
    if path.exists() and Ledger.open(path).population != _POPULATION:
        raise InputError("is a ledger of something else; choose another --output", path=path)


def draw(picture: Path) -> None:
    """The demo's picture alone."""
    _pictures.draw_evaluation(picture, _try_budgets(_make(_RATINGS)))


def _make(count: int) -> Ratings:
    with _console.bar("making ratings") as progress:
        return make_ratings(_SITE.scaled(ratings=count), seed=1, progress=progress)


def _show_figures(private: Ratings) -> None:
    found = figures(private)
    rows = [
        ("ratings", f"{found.ratings:,}"),
        ("people", f"{found.users:,}"),
        ("films", f"{found.items:,}"),
    ]
    for name, quantiles in (("person", found.per_user), ("film", found.per_item)):
        spread = f"{quantiles['median']:,}, {quantiles['most']:,}"
        rows.append((f"ratings per {name} (median, most)", spread))
    _console.out.print(_console.table(("for the curator's eyes only",), ("",), rows))


def _try_budgets(private: Ratings) -> list[Row]:
    with _console.stages() as progress:
        return evaluate(
            split_random(private, 0.1, seed=1),
            protect=Unit.USER,
            epsilons=_BUDGETS,
            delta=_DELTA,
            draws=1,
            models=_MODELS,
            seed=1,
            progress=progress,
        )


def _show_rows(rows: list[Row]) -> None:
    cells = [
        (
            row.model, "" if row.epsilon is None else f"{row.epsilon:g}", f"{row.rmse:.3f}",
            f"{row.ndcg_at_10:.3f}",
        )
        for row in rows
    ]  # fmt: skip
    heads = ("epsilon", "RMSE", "NDCG@10")
    _console.out.print(_console.table(("for the curator's eyes only",), heads, cells))
    _console.say(
        "\nEpsilon protects each person with all their ratings.\n"
        "RMSE of predicted ratings: lower is better. NDCG@10 of lists: higher is better."
    )


def _fresh_ledger(path: Path) -> Ledger:
    limit = Limit(Unit.USER, epsilon=_LIMIT, delta=_DELTA)
    return Ledger.create(path, _POPULATION, [limit])


def _publish(private: Ratings, ledger: Ledger, path: Path) -> Release:
    with _console.stages() as progress:
        release = fit(
            private,
            protect=Unit.USER,
            epsilon=_EPSILON,
            delta=_DELTA,
            ledger=ledger,
            progress=progress,
        )
    release.save(path)
    return release


def _recommend(path: Path) -> None:
    release = load(path)
    popular = np.argsort(-release.arrays["item_counts"].astype(np.float64))
    titles = [release.catalog.titles[item] for item in popular[:40]]
    own = {titles[0]: 5.0, titles[7]: 5.0, titles[12]: 4.0, titles[25]: 2.0}
    rated = [(title, f"{stars:g}") for title, stars in own.items()]
    _console.out.print(_console.table(("their ratings",), ("stars",), rated))
    entries = release.predictor().recommend(own, 10, explain=True)
    rows = [(entry.title, f"{entry.expected:.2f}") for entry in entries]
    heading = "recommended"
    _console.out.print("", _console.table((heading,), ("expected",), rows))
    knows_tastes = release.learnt.list_directions > 0
    first = "how well each film goes with theirs" if knows_tastes else "popularity"
    _console.say(
        f"\nOrdered by {first} and how likely they are to like it;\n"
        "expected stars alone would put films first that hardly anybody has seen."
    )
    because = ", ".join(title for title, _ in entries[0].because)
    if because and not release.learnt.is_little:
        _console.say(f"The first one because of: {because}")


def _show_ledger(ledger: Ledger, release: Release) -> None:
    limit = ledger.limits[0]
    spent, room = limit.spent_epsilon(ledger.spent(limit.unit)), ledger.remaining(limit.unit)
    cells = (f"epsilon {spent:.4g}", f"{limit.epsilon:g}", f"{limit.delta:g}")
    heads = ("limit", "delta", "room for another of")
    rows = [(*cells, f"{room.epsilon:.4g}")]
    _console.out.print(_console.table(("spent per person",), heads, rows))
    plan = ledger.plan(release.guarantee.events, times=12)
    _console.say(f"\n{plan.words('month')}")


def _step(number: int, line: str) -> None:
    _console.out.print(f"\n[bold]{number}. {line}[/bold]\n")
