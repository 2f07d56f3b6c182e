"""`discreet demo`: the road from ratings to something public, on made-up data."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table

from discreet.cli import _console, _pictures, _progress
from discreet.domain.files import whole_file
from discreet.measure import PublicCounts, publish_item_counts
from discreet.privacy import SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.ratings import Figures, Ratings, figures, find_shape, make_ratings

_LIMIT = Limit(Unit.USER, epsilon=2.0, delta=1e-6)
_EPSILON = 1.0


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path(
        "demo-output"
    ),
    ratings: Annotated[
        int, typer.Option(help="How many ratings to make up.", min=10_000, max=10_000_000)
    ] = 200_000,
) -> None:
    """Make up ratings, publish how popular each item is, and see what it cost."""
    output.mkdir(parents=True, exist_ok=True)
    _say("1", "A shop has ratings. These are made up, with the shape of a film site's.")
    private = _make(ratings)
    found = figures(private)
    _show_figures(found)

    _say("2", "Its customers get a ledger: all that is ever published about them counts.")
    ledger = _fresh_ledger(output / "customers.ledger")

    _say(
        "3", "The shop publishes how popular each item is. The ledger is charged, then noise drawn."
    )
    public = publish_item_counts(
        private, protect=Unit.USER, epsilon=_EPSILON, delta=_LIMIT.delta, ledger=ledger
    )
    _console.out.print(f"\n{public.guarantee}\n", markup=False)
    _show_counts(private, public)

    _say("4", "The ledger afterwards, and a plan.")
    _show_ledger(ledger, public)
    _write(output, private, public)


def draw(picture: Path) -> None:
    """The demo's picture alone, from seeded noise so that it can be drawn again."""
    private = _make(200_000)
    public = publish_item_counts(
        private,
        protect=Unit.USER,
        epsilon=_EPSILON,
        delta=_LIMIT.delta,
        randomness=SeededRandomness(1),
    )
    _pictures.popularity(picture, _exact_counts(private), public)


def _make(count: int) -> Ratings:
    with _progress.bar("making up ratings") as progress:
        return make_ratings(find_shape("ml-1m").scaled(ratings=count), seed=1, progress=progress)


def _fresh_ledger(path: Path) -> Ledger:
    """A new ledger for made-up people; one that an earlier demo left is replaced."""
    path.unlink(missing_ok=True)
    return Ledger.create(path, "customers of the demo shop", [_LIMIT])


def _show_figures(found: Figures) -> None:
    table = _table("for the curator's eyes only", "")
    table.add_row("ratings", f"{found.ratings:,}")
    table.add_row("people", f"{found.users:,}")
    table.add_row("items", f"{found.items:,}")
    table.add_row("ratings a person (median, most)", _pair(found.per_user))
    table.add_row("ratings an item (median, most)", _pair(found.per_item))
    table.add_row("mean rating", f"{found.mean:.2f}")
    _console.out.print(table)


def _pair(quantiles: dict[str, int]) -> str:
    return f"{quantiles['median']:,}, {quantiles['most']:,}"


def _show_counts(private: Ratings, public: PublicCounts) -> None:
    exact = _exact_counts(private)
    table = _table("the ten most popular, as published", "votes", "noise", "true (curator only)")
    for item in np.argsort(-public.counts)[:10]:
        table.add_row(
            private.catalog.titles[item],
            f"{public.counts[item]:.1f}",
            f"± {public.spread:.1f}",
            f"{exact[item]:.1f}",
        )
    _console.out.print(table)
    agree = len(set(_top(public.counts)) & set(_top(exact)))
    _console.out.print(f"\n{agree} of the true top 100 are in the published top 100.", markup=False)


def _exact_counts(private: Ratings) -> npt.NDArray[np.float64]:
    """Everybody's votes without noise: each person divides one vote (in L2) between their items."""
    votes = 1 / np.sqrt(np.maximum(np.diff(private.starts), 1))
    shares = np.repeat(votes, np.diff(private.starts))
    return np.bincount(private.items, shares, len(private.catalog)).astype(np.float64)


def _top(counts: npt.NDArray[np.float64]) -> list[int]:
    return [int(item) for item in np.argsort(-counts)[:100]]


def _show_ledger(ledger: Ledger, public: PublicCounts) -> None:
    table = _table("spent per user", "limit", "delta", "room for another of")
    spent = _LIMIT.spent_epsilon(ledger.spent(Unit.USER))
    room = ledger.remaining(Unit.USER)
    table.add_row(
        f"epsilon {spent:.4g}", f"epsilon {_LIMIT.epsilon:g}", f"{_LIMIT.delta:g}",
        f"epsilon {room.epsilon:.4g}",
    )  # fmt: skip
    _console.out.print(table)
    plan = ledger.plan(public.guarantee.events, times=12)
    _console.out.print(f"\n{plan.words('month')}", markup=False)


def _write(output: Path, private: Ratings, public: PublicCounts) -> None:
    picture, counts, promise = (
        output / name for name in ("item-counts.png", "item-counts.csv", "guarantee.json")
    )
    with whole_file(counts) as path, path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "votes"])
        rows = zip(private.catalog.ids, private.catalog.titles, public.counts, strict=True)
        writer.writerows((item, title, f"{votes:.6g}") for item, title, votes in rows)
    with whole_file(promise) as path:
        path.write_text(json.dumps(public.guarantee.to_dict(), indent=2) + "\n", encoding="utf-8")
    _pictures.popularity(picture, _exact_counts(private), public)
    _console.out.print(f"\nWritten: {counts}, {promise}, {picture}, {output}/customers.ledger")


def _say(number: str, line: str) -> None:
    _console.out.print(f"\n[bold]{number}. {line}[/bold]\n")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table
