"""A series beside a single release and a divided budget: RMSE and NDCG@10 after each period.

python -m benchmarks.series                                          made-up ratings, 52 periods
python -m benchmarks.series --data FOLDER --sets ml-1m [--implicit]  12 periods by time
python -m benchmarks.series --data FOLDER --sets movietweetings-100k --implicit --older-share 0.15

(a) one release with the whole budget on all records so far, which nobody could repeat;
(b) the same with a budget that allows for one such release after every period: mu / sqrt(periods);
(c) the series: each period's records measured once, with factorised noise planned for that many
    periods;
(d) the series with a half-life.

Every rating is protected, at delta 1e-6. A random tenth is held out; the other records are cut by
time into periods of equal numbers. All releases are judged on the same test part, by the same
people with all of their training records, so that figures grow with what releases know. The share
is how far (c), or (d), has come from (b) to (a). With --json FILE a table is added to those in
FILE, where other rows of the same table stay; docs/make_figures.py draws a picture of
benchmarks/series.json. --last and --ways single,divided,series measure some rows alone. --costs
shows instead what each add of the series costs, in CPU-seconds, without files and encryption.

For the curator's eyes only, as every evaluation.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.datasets import SETS
from benchmarks.lists import presence

from discreet.evaluate import Judge, Quality
from discreet.measure import Budget, RunningSpender, Stream
from discreet.measure.history_pairs import FrozenWeights
from discreet.methods import OlderRecords, PeriodTask, fit, method_of
from discreet.privacy import (
    SEEDED,
    Guarantee,
    Noise,
    NoisePlan,
    SeededRandomness,
    Unit,
    unbooked,
)
from discreet.privacy.accounting import gaussian_epsilon, gaussian_mu
from discreet.ratings import Ratings, find_shape, make_ratings, split_random
from discreet.release import Release

DELTA, TEST_SHARE, SPLIT_SEED = 1e-6, 0.1, 1
MADE_UP = "made-up"
# Periods: of real data, and of made-up ratings.
PERIODS, MADE_UP_PERIODS = 12, 52
# After how many periods, about, releases are judged unless --every says otherwise.
JUDGED = 12
WAYS = {
    "single": "(a) one release, whole budget",
    "divided": "(b) budget divided",
    "series": "(c) series",
    "forgetting": "(d) series, half-life",
}

Row = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Cut:
    """A training part in periods.

    Attributes:
        train: All of it.
        ends: The first second after each period.
    """

    train: Ratings
    ends: tuple[int, ...]

    @classmethod
    def of(cls, train: Ratings, periods: int) -> Cut:
        """Periods of equal numbers of records, but for those of the same second."""
        assert train.times is not None
        ordered = np.sort(train.times)
        places = np.arange(1, periods) * len(ordered) // periods
        return cls(train, (*(int(ordered[place]) for place in places), int(ordered[-1]) + 1))

    def begin(self, period: int) -> int:
        """The first second of a period from 1 on."""
        return 0 if period == 1 else self.ends[period - 2]

    @functools.cache  # noqa: B019 (there are few)
    def part(self, period: int) -> Ratings:
        return self.train.between(self.begin(period), self.ends[period - 1])

    def until(self, period: int) -> Ratings:
        return self.train.between(0, self.ends[period - 1])


def series_releases(
    cut: Cut, epsilon: float, plan: NoisePlan, draw: int, older_share: float = 0.0
) -> Iterator[Release]:
    """What `discreet series add` would make after each period, with seeded noise and no files."""
    train, unit = cut.train, Unit.RATING
    method = method_of(None, {"protect": unit}, presence=train.scale.presence)
    budget, label = Budget.of(unit, Noise.GAUSSIAN, epsilon, DELTA), f"{method.name} series"
    streams: dict[str, Stream] = {}
    settled: dict[str, float] = {}
    for period in range(1, len(cut.ends) + 1):
        seed = SeededRandomness(10_000 * draw + period)
        receipt = unbooked([budget.event(label)], seed)
        spender = RunningSpender(
            budget, receipt, label, plan=plan, period=period, streams=streams, settled=settled
        )
        part = cut.part(period)
        spender.measure_size(part, unit)
        older = None
        if older_share:
            span = (cut.begin(period), cut.ends[period - 1])
            older = OlderRecords(cut.until(period), *span, FrozenWeights(share=older_share))
        learnt = method.learn(PeriodTask(part, spender, None, None, older))
        promise = Guarantee(unit, spender.events, DELTA, (), (SEEDED,))
        parameters = {**learnt.parameters, "settings": {}}
        yield Release(
            str(method.name), train.scale, train.catalog, promise, parameters, learnt.arrays
        )


def single_releases(cut: Cut, epsilon: float, judged: set[int], draw: int) -> Iterator[Release]:
    """A release of all records so far after each period that is judged."""
    for period in sorted(judged):
        seed = SeededRandomness(10_000 * draw + period)
        yield fit(cut.until(period), protect="rating", epsilon=epsilon, delta=DELTA,
                  randomness=seed)  # fmt: skip


def compare(title: str, ratings: Ratings, periods: int, asked: argparse.Namespace) -> Row:
    """Print a data set's table, and return it."""
    split = split_random(ratings, TEST_SHARE, seed=SPLIT_SEED)
    judge = Judge(split)
    cut = Cut.of(split.train, periods)
    every = asked.every or max(periods // JUDGED, 1)
    judged = {periods} if asked.last else {*range(every, periods + 1, every), periods}
    print(f"\n{title}: {len(split.train):,} records in {periods} periods, {len(split.test):,} held "
          f"out; half-life {asked.half_life:g} periods")  # fmt: skip
    print(f"{'epsilon':>7}  {'':30}{'period':>7}{'RMSE':>9}{'NDCG@10':>9}{'sd':>8}{'seconds':>9}")
    rows: list[Row] = []
    for epsilon in asked.epsilons:
        less = gaussian_epsilon(gaussian_mu(epsilon, DELTA) / math.sqrt(periods), DELTA)
        plans = {
            "series": NoisePlan.factorised(None, periods, records=True),
            "forgetting": NoisePlan.factorised(asked.half_life, periods, records=True),
        }

        def make(way: str, draw: int) -> Iterator[Release]:
            if way in plans:  # noqa: B023 (called within this turn of the loop)
                made = series_releases(cut, epsilon, plans[way], draw, asked.older_share)  # noqa: B023
                return (each for n, each in enumerate(made, 1) if n in judged)
            return single_releases(cut, epsilon if way == "single" else less, judged, draw)  # noqa: B023

        for way in asked.ways:
            rows += judge_way(epsilon, way, sorted(judged), judge, make, asked.draws)
    table = {
        "title": title,
        "presence": ratings.scale.presence,
        "periods": periods,
        "half_life": asked.half_life,
        "older_share": asked.older_share,
        "rows": rows,
    }
    for line in share_lines(table):
        print(line, flush=True)
    return table


def show_costs(title: str, ratings: Ratings, periods: int, asked: argparse.Namespace) -> None:
    """Print how long each add takes, beside its period's records and those before it."""
    cut = Cut.of(split_random(ratings, TEST_SHARE, seed=SPLIT_SEED).train, periods)
    # Whoever has a file of each period need not look for its records.
    sizes = [len(cut.part(period)) for period in range(1, periods + 1)]
    plan = NoisePlan.factorised(None, periods, records=True)
    made = series_releases(cut, asked.epsilons[0], plan, 0, asked.older_share)
    print(f"\n{title}\n{'period':>6}{'records':>10}{'before':>12}{'CPU-seconds':>13}")
    began = time.process_time()
    for number, _ in enumerate(made):
        spent = time.process_time() - began
        print(
            f"{number + 1:6}{sizes[number]:10,}{sum(sizes[:number]):12,}{spent:13.2f}", flush=True
        )
        began = time.process_time()


def judge_way(
    epsilon: float,
    way: str,
    judged: list[int],
    judge: Judge,
    make: Callable[[str, int], Iterator[Release]],
    draws: int,
) -> list[Row]:
    found: dict[int, list[Quality]] = {period: [] for period in judged}
    began = time.process_time()
    for draw in range(draws):
        for period, release in zip(judged, make(way, draw), strict=True):
            found[period].append(judge.judge(release.predictor()))
    seconds = (time.process_time() - began) / draws
    rows = []
    for period in judged:
        gains = [quality.ndcg_at_10 for quality in found[period]]
        errors = [quality.rmse for quality in found[period] if quality.rmse is not None]
        rows.append({
            "epsilon": epsilon,
            "way": way,
            "period": period,
            "draws": draws,
            "rmse": round(statistics.fmean(errors), 4) if errors else None,
            "ndcg_at_10": round(statistics.fmean(gains), 4),
            "sd": round(statistics.stdev(gains), 4) if draws > 1 else None,
        })  # fmt: skip
        error = f"{rows[-1]['rmse']:.4f}" if errors else "-"
        spread = f"{rows[-1]['sd']:.4f}" if draws > 1 else ""
        spent = f"{seconds:9.1f}" if period == judged[-1] else ""
        print(f"{epsilon:>7g}  {WAYS[way]:30}{period:7}{error:>9}{rows[-1]['ndcg_at_10']:9.4f}"
              f"{spread:>8}{spent}", flush=True)  # fmt: skip
    return rows


def share_of_the_way(table: Row, epsilon: float, way: str, figure: str) -> float | None:
    """How far a way has come from the divided budget to the single release, after all periods.

    None where there is no such figure, or where both ends are the same.
    """
    last = {
        row["way"]: row[figure]
        for row in table["rows"]
        if row["epsilon"] == epsilon and row["period"] == table["periods"]
    }
    ends = last.get("single"), last.get("divided")
    if last.get(way) is None or None in ends or ends[0] == ends[1]:
        return None
    return float((last[way] - last["divided"]) / (last["single"] - last["divided"]))


def share_lines(table: Row) -> list[str]:
    lines = ["share of the way from (b) to (a), after all periods:"]
    for epsilon in dict.fromkeys(row["epsilon"] for row in table["rows"]):
        for way in ("series", "forgetting"):
            if way not in {row["way"] for row in table["rows"]}:
                continue
            shares = {
                name: share_of_the_way(table, epsilon, way, figure)
                for name, figure in (("RMSE", "rmse"), ("NDCG@10", "ndcg_at_10"))
            }
            said = ", ".join(f"{name} {s:.0%}" for name, s in shares.items() if s is not None)
            lines.append(f"{epsilon:>7g}  {WAYS[way]:30} {said or '-'}")
    return lines


def keep(path: Path, tables: list[Row]) -> None:
    """Add tables to a file; in one of the same title, rows that were measured again are replaced.

    Tables that differ in what holds for all rows, like the number of periods, are replaced whole.
    """
    kept = json.loads(path.read_text(encoding="utf-8"))["tables"] if path.exists() else []
    by_title = {table["title"]: table for table in kept}
    for table in tables:
        before = by_title.get(table["title"], {"rows": []})
        alike = {**before, "rows": 0} == {**table, "rows": 0}
        rows = {_place(row): row for row in (before["rows"] if alike else [])}
        rows |= {_place(row): row for row in table["rows"]}
        by_title[table["title"]] = {**table, "rows": [rows[place] for place in sorted(rows)]}
    kept = list(by_title.values())
    # A row a line: small, and readable in a diff.
    text = json.dumps({"tables": kept}, indent=1).replace("\n     ", " ").replace("\n    }", " }")
    path.write_text(text + "\n", encoding="utf-8")


def _place(row: Row) -> tuple[float, int, int]:
    """What a row is about, in the order of tables."""
    return row["epsilon"], list(WAYS).index(row["way"]), row["period"]


def read(name: str, asked: argparse.Namespace) -> Ratings:
    if name == MADE_UP:
        made = make_ratings(find_shape("ml-1m").scaled(ratings=int(asked.ratings)), seed=1)
        return presence(made) if asked.implicit else made
    return SETS[name](asked.data / name, asked.implicit)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder that holds the data sets")
    parser.add_argument("--sets", help=f"like ml-1m,{MADE_UP}; without --data {MADE_UP} alone")
    parser.add_argument("--ratings", type=float, default=1e5, help="how many are made up")
    parser.add_argument("--implicit", action="store_true", help="presence alone")
    parser.add_argument("--periods", type=int, help="12, or 52 of made-up ratings")
    parser.add_argument("--epsilons", default="1,4")
    parser.add_argument("--half-life", type=float, default=12.0, help="of (d), in periods")
    parser.add_argument("--older-share", type=float, default=0.0, help="as in discreet series init")
    parser.add_argument("--every", type=int, help="judge only each n-th period; about 12 in all")
    parser.add_argument("--last", action="store_true", help="judge only after all periods")
    parser.add_argument("--ways", default=",".join(WAYS), help="%(default)s, or some of them")
    parser.add_argument("--draws", type=int, default=1, help="of the noise")
    parser.add_argument(
        "--costs", action="store_true", help="CPU-seconds of each add, nothing else"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the tables to a file")
    asked = parser.parse_args(argv)
    asked.ways = asked.ways.split(",")
    if unknown := set(asked.ways) - set(WAYS):
        parser.error(
            f"--ways: there is no {', '.join(sorted(unknown))}; ways are {', '.join(WAYS)}"
        )
    asked.epsilons = [float(epsilon) for epsilon in asked.epsilons.split(",")]
    default = MADE_UP if asked.data is None else f"ml-1m,movietweetings-100k,{MADE_UP}"
    tables = []
    for name in (asked.sets or default).split(","):
        if name != MADE_UP and (asked.data is None or not (asked.data / name).is_dir()):
            print(f"{name}: not there; tell the folder that holds it with --data FOLDER")
            continue
        ratings = read(name, asked)
        if ratings.times is None:
            print(f"{name}: has no times, so that there are no periods")
            continue
        kind = "presence" if asked.implicit else "ratings"
        meeting = f", older share {asked.older_share:g}" if asked.older_share else ""
        periods = asked.periods or (MADE_UP_PERIODS if name == MADE_UP else PERIODS)
        title = f"{name}, {kind}{meeting}"
        if asked.costs:
            show_costs(title, ratings, periods, asked)
        else:
            tables.append(compare(title, ratings, periods, asked))
    if asked.json is not None:
        keep(asked.json, tables)


if __name__ == "__main__":
    main()
