"""`discreet series`: releases that follow one another, from records that come in periods."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet.cli import _console, _inputs, _outputs
from discreet.cli._console import Json, stages
from discreet.cli._inputs import ReadingOptions
from discreet.cli.fit import open_book, warn_of_no_ledger
from discreet.domain import InputError, Scale
from discreet.domain.errors import PeriodExists
from discreet.privacy import Noise, Unit
from discreet.ratings import read_catalog
from discreet.release import load
from discreet.series import PlannedSeries, Series, plan_series

app = typer.Typer(
    help="Refresh a release period by period: every record is measured once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Protects = Literal["rating", "user-day", "user-week", "user-month"]

_Path = Annotated[Path, typer.Argument(help="The folder of the series.")]
_Protect = Annotated[
    _Protects,
    typer.Option(help="What is protected: single ratings, or a person's ratings of one period."),
]
_Epsilon = Annotated[
    float,
    typer.Option(help="The cost of one rating, or one person's period, over the whole series."),
]
_Delta = Annotated[
    float | None,
    typer.Option(
        help="How much the probability of any outcome may change beyond the factor e^epsilon. "
        "[default: 1e-06, with Laplace noise 0]"
    ),
]
_NoiseChoice = Annotated[Noise, typer.Option(help="The kind of noise.")]
_HalfLife = Annotated[
    float | None,
    typer.Option(
        help="Periods after which a rating counts half. [default: ratings count for ever]"
    ),
]
_Horizon = Annotated[
    int | None,
    typer.Option(
        help="For how many periods noise is planned; after that it starts afresh. "
        "[default: 64; with a half-life, as many as there may be]"
    ),
]
_Key = Annotated[
    Path | None,
    typer.Option(
        help="The file of the key that earlier noise is encrypted with. [default: beside the "
        "folder, FOLDER.key]"
    ),
]


@app.command()
def init(
    path: _Path,
    *,
    protect: _Protect = "user-week",
    epsilon: _Epsilon = 1.0,
    delta: _Delta = None,
    noise: _NoiseChoice = Noise.GAUSSIAN,
    method: _inputs.MethodChoice = None,
    implicit: Annotated[
        bool,
        typer.Option("--implicit", help="Treat rows as interactions (clicks, purchases)."),
    ] = False,
    scale: Annotated[str | None, typer.Option(help="The rating scale: 1..5.")] = None,
    catalog: Annotated[
        str, typer.Option(help="The list of items: a CSV file with the columns id and title.")
    ],
    catalog_columns: Annotated[
        str | None, typer.Option(help="The names of the list's columns: id=number,title=name.")
    ] = None,
    keep_columns: Annotated[
        str | None, typer.Option(help="Further columns to publish, for filters: genres,year.")
    ] = None,
    period: Annotated[
        Literal["day", "week", "month", "range", "any"] | None,
        typer.Option(
            help="What a period is; any for ratings without times. [default: that of --protect; "
            "for rating, range, which also takes days, weeks and months]"
        ),
    ] = None,
    half_life: _HalfLife = None,
    horizon: _Horizon = None,
    plan: Annotated[
        Literal["factorised", "fresh"],
        typer.Option(
            help="How noise is drawn: so that totals have the least (factorised), or afresh for "
            "every period, which costs people who are active in many periods less (fresh)."
        ),
    ] = "factorised",
    most_periods: Annotated[
        int | None,
        typer.Option(help="Use one person's ratings in at most this many periods.", min=1),
    ] = None,
    most_ratings: Annotated[
        int | None,
        typer.Option(help="Keep at most this many ratings per user and period.", min=1),
    ] = None,
    older_share: Annotated[
        float,
        typer.Option(
            help="Let new records meet the person's older ones, with this share of the pairs' "
            "budget: 0.15 where people come back. Every add then reads all records so far. For "
            "--implicit, with times and --protect rating.",
            min=0.0,
            max=0.9,
        ),
    ] = 0.0,
    key: _Key = None,
    json: Json = False,
) -> None:
    """Start a series in a new folder. Nothing is charged before the first period is added."""
    reading = ReadingOptions(
        implicit=implicit, scale=scale, catalog=catalog, catalog_columns=catalog_columns
    )
    if not reading.is_presence and scale is None:
        raise InputError("give the rating scale, like --scale 1..5, or --implicit")
    items = read_catalog(
        catalog,
        columns=reading.parsed_catalog_columns,
        keep_columns=_inputs.parse_names(keep_columns) or (),
    )
    series = Series.create(
        path,
        scale=Scale.parse("presence" if scale is None or implicit else scale),
        catalog=items,
        protect=protect,
        epsilon=epsilon,
        delta=delta,
        method=method,
        noise=noise,
        period=period,
        half_life=half_life,
        horizon=horizon,
        plan=plan,
        most_periods=most_periods,
        most_ratings=most_ratings,
        older_share=older_share,
        key=key,
    )
    _show(series, json)


@app.command()
@_inputs.share_options(without=("layout", "scale", "implicit", "most_ratings"))
def add(
    path: _Path,
    ratings: _inputs.RatingsPath,
    *,
    period: Annotated[
        str,
        typer.Option(
            help="The period: 2026-W12, 2026-03, 2026-03-14, 2026-03-01..2026-03-14; any name for "
            "a series that was started with --period any."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write the release to; an earlier one is replaced."
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger to charge. Needed unless --no-ledger is given.")
    ] = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Charge no ledger.")] = False,
    key: _Key = None,
    new_noise: Annotated[
        bool,
        typer.Option(
            "--new-noise",
            help="Continue although the noise of earlier periods, or its key, is lost.",
        ),
    ] = False,
    features: _inputs.FeaturesFile = None,
    reading: ReadingOptions,
    json: Json = False,
) -> None:
    """Measure one period's ratings, and write a new release of all periods so far.

    Ratings of other times are ignored. If it was interrupted, run it again: it is charged once.
    """
    series = Series.open(path)
    if output is not None:
        _outputs.check_replaceable(output)
        _outputs.check_writable(output)
    try:
        span = series.span_to_read(period)
    except PeriodExists:
        series.write_again(period, output)  # an add may have ended before the file was there
        raise
    book = open_book(ledger, no_ledger)
    catalog = series.catalog
    if reading.catalog is not None:
        newer = read_catalog(
            reading.catalog,
            columns=reading.parsed_catalog_columns,
            keep_columns=tuple(catalog.columns),
        )
        catalog = series.catalog_with(newer)
    # How many of a user's are kept is decided within the period, by the series.
    private = reading.read_with(ratings, series.scale, catalog, None, span)
    public = _inputs.read_features(features, catalog)
    if book is None:
        warn_of_no_ledger()
    with stages() as progress:
        release = series.add(
            private,
            period,
            ledger=book or "unbooked",
            out=output,
            key=key,
            new_noise=new_noise,
            features=public.get("features"),
            progress=progress,
        )
    where = output or series.release_path
    if json:
        data = {"path": str(where), "series": _data(series)}
        _console.write_json(data | release.describe())
        return
    _console.say(str(where))
    _console.say(str(release.guarantee))
    for sentence in release.learnt.sentences():
        _console.say(sentence)
    _say_size(series, period)


def _say_size(series: Series, name: str) -> None:
    """How much the period had, from the noisy count: an empty one is charged like any other."""
    size = max(series.periods[-1].size, 0.0)
    counted = "ratings" if series.unit is Unit.RATING else "people"
    _console.say(
        f"Period {name} had about {size:,.0f} {counted}, by its noisy count. If you expected more, "
        "check the times in the file: an empty period is charged like any other."
    )


@app.command()
def show(path: _Path, json: Json = False) -> None:
    """Show a series: its periods, what it promises, and how much noise its totals have."""
    _show(Series.open(path), json)


@app.command()
def plan(
    *,
    protect: _Protect = "user-week",
    epsilon: _Epsilon = 1.0,
    delta: _Delta = None,
    noise: _NoiseChoice = Noise.GAUSSIAN,
    half_life: _HalfLife = None,
    horizon: _Horizon = None,
    periods: Annotated[int, typer.Option(help="How many periods to look ahead.", min=1)] = 52,
    json: Json = False,
) -> None:
    """Look ahead: how much noise releases would have, and what people would pay. Books nothing."""
    rows = plan_series(
        protect=protect,
        epsilon=epsilon,
        delta=delta,
        noise=noise,
        half_life=half_life,
        horizon=horizon,
        periods=periods,
    )
    if json:
        _console.write_json([asdict(row) for row in rows])
        return
    right = ["periods", "noise", "if divided", "active in 12", "in all"]
    title = f"epsilon {epsilon:g} per {protect}"
    planned = [_planned(row) for row in rows]
    _console.out.print(_console.table(["noise drawn"], right, planned, title=title))
    _console.say(
        "noise: of the total, over that of a single release with this epsilon; if divided: the "
        "same for a new release of everything each period, with the budget divided between them."
    )
    _console.say(
        "active in 12, in all: the epsilon of a person who is active in 12 of the periods, or "
        "in all of them."
    )


def _planned(row: PlannedSeries) -> list[str]:
    return [
        row.plan,
        f"{row.periods:,}",
        f"{row.noise:.2f}",
        f"{row.divided:.2f}",
        _spelled(row.epsilon_of_twelve),
        _spelled(row.epsilon_of_all),
    ]


def _spelled(epsilon: float | None) -> str:
    return "no bound" if epsilon is None or math.isinf(epsilon) else f"{epsilon:.3g}"


def _show(series: Series, as_json: bool) -> None:
    if as_json:
        _console.write_json(_data(series))
        return
    _console.say(
        f"{series.path}: {series.method.name}, epsilon {series.epsilon:.4g}, delta "
        f"{series.delta:g}, per {series.unit}; {_count(len(series.periods), 'period')}"
    )
    if series.periods:
        counted = "ratings" if series.unit is Unit.RATING else "people"
        rows = [
            [
                added.period.name,
                added.added,
                f"about {max(added.size, 0.0):,.0f}",
                f"{added.noise:.2f}",
                "-" if added.charge is None else f"{added.charge:,}",
            ]
            for added in series.periods
        ]
        left, right = ["period", "added (UTC)"], [counted, "noise", "charge"]
        _console.out.print(_console.table(left, right, rows))
        assert series.release_path is not None
        for sentence in load(series.release_path).guarantee.sentences():
            _console.say(sentence)
    elif series.unit is not Unit.RATING:
        _console.say(
            f"A person who is active in 12 periods pays epsilon {series.epsilon_in(12):.4g}; "
            "discreet series plan compares this with --plan fresh."
        )
    elif series.could_meet_older:
        _console.say(
            "Records are paired within a period only. If people come back for months, and you keep "
            "all records, lists learn more in a series started with --older-share 0.15."
        )
    if series.plan.buffers:
        _console.say(
            "The noise of earlier periods is a secret: keep its key in another place than "
            "the folder (--key says where it is), and back up both."
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _data(series: Series) -> dict[str, Any]:
    return {
        "folder": str(series.path),
        "method": str(series.method.name),
        "protect": str(series.unit),
        "period": series.kind,
        "epsilon": series.epsilon,
        "delta": series.delta,
        "epsilon_in_12_periods": _finite(series.epsilon_in(12)),
        "epsilon_in_all": _finite(series.epsilon_in(max(len(series.periods), 1))),
        "half_life": None if series.plan.forgetting == 1 else math.log(0.5, series.plan.forgetting),
        "release": None if series.release_path is None else str(series.release_path),
        "periods": [
            {
                "number": added.period.number,
                "name": added.period.name,
                "added": added.added,
                "size": added.size,
                "noise": added.noise,
                "charge": added.charge,
            }
            for added in series.periods
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
