"""Lists: NDCG@10 of discreet at several budgets beside public libraries, on the same splits.

python -m benchmarks.lists --data FOLDER/ml-1m                       random tenth, latest tenth
python -m benchmarks.lists --data FOLDER/ml-1m --protocol anelli     five folds, at least 4 stars

With --json FILE the rows are kept; docs/make_figures.py draws a picture of benchmarks/lists.json.

Every rating counts as presence. All models are fitted on the same training parts and judged by the
same judge: candidates are all items outside a person's training part, everybody is folded in from
their own training items, and people without any get the most popular items. Without --data, ratings
are made up.

Peers need `pip install cornac==3.0.1 implicit==0.7.3`; those that are not installed are left out.
Their settings are those of a small grid that are best on a validation part of the training part,
made as the test part was. Constants of discreet are the same everywhere.

The protocol of Anelli et al. (2022), "Top-N recommendation algorithms: a quest for the state of the
art": ratings of at least 4 stars, the 10-core of them, each user's cut at random into five folds,
each of them the test part once. Here folds are drawn anew; figures are means over them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from discreet.domain import PRESENCE, Catalog
from discreet.evaluate import (
    Judge,
    Quality,
    Scorer,
    people_of,
    popularity,
    recent_popularity,
)
from discreet.methods import fit
from discreet.predict import People
from discreet.privacy import SeededRandomness
from discreet.ratings import (
    Ratings,
    Split,
    find_shape,
    make_ratings,
    read_ratings,
    split_by_time,
    split_random,
)

BUDGETS = {"rating": (0.5, 1.0, 4.0, math.inf), "user": (1.0, 4.0, 10.0)}
TEST_SHARE, SEED = 0.1, 1
Part = Callable[[Ratings, int], Split]
"""Makes a test part, by a seed."""
# The protocol of Anelli et al.: least rating on five stars, least records of users and of items,
# and parts that everybody's records are cut into.
LIKED, CORE, FOLDS = 4.0, 10, 5
LIBRARIES = {"EASE": "cornac", "ALS": "implicit", "item-kNN": "implicit"}


Score = Callable[[sparse.csr_matrix], np.ndarray]
"""From a matrix of people and their own items to scores of all items."""


@dataclass(frozen=True, eq=False, repr=False)
class Peer:
    """A library's model as the judge asks it.

    Attributes:
        score: From a matrix of people and their own items to scores of all items.
        counts: How often each item occurs in training: the order for people without any item.
    """

    score: Score
    counts: npt.NDArray[np.float32]
    predicts_ratings = False

    def predict_pairs(self, people: People, rows: np.ndarray, items: np.ndarray) -> np.ndarray:
        raise NotImplementedError("peers make lists alone")

    def scores(self, people: People, first: int, last: int) -> npt.NDArray[np.float32]:
        own = people.part(first, last)
        scores = np.array(self.score(table(own, len(self.counts))), dtype=np.float32)
        scores[np.diff(own.starts) == 0] = self.counts
        return scores


def table(people: People, items: int) -> sparse.csr_matrix:
    """1 where a person has an item."""
    ones = np.ones(len(people.items), np.float32)
    # Copies, because implicit cannot use columns that are locked.
    columns = (ones, people.items.copy(), people.starts.copy())
    return sparse.csr_matrix(columns, (len(people), items))


def ease(train: sparse.csr_matrix, penalty: float) -> Score:
    """EASE (Steck, 2019) by Cornac, with negative weights as in the paper."""
    from cornac.data import Dataset
    from cornac.models import EASE

    pairs = train.tocoo()
    records = zip(pairs.row.tolist(), pairs.col.tolist(), pairs.data.tolist(), strict=True)
    data = Dataset.from_uir(list(records))
    model = EASE(lamb=penalty, posB=False, verbose=False).fit(data)
    # Cornac numbers items as they come, and leaves out those that nobody has.
    known = np.array(list(data.iid_map), dtype=np.int64)
    weights = np.zeros((train.shape[1], train.shape[1]), np.float32)
    weights[np.ix_(known, known)] = model.B
    return lambda own: own @ weights


def als(train: sparse.csr_matrix, rank: int, alpha: float) -> Score:
    """Alternating least squares by implicit, which also folds people in."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=rank, alpha=alpha, random_state=SEED)
    model.fit(train, show_progress=False)
    items = np.asarray(model.item_factors)
    return lambda own: np.asarray(model.recalculate_user(np.arange(own.shape[0]), own)) @ items.T


def item_knn(train: sparse.csr_matrix, neighbours: int) -> Score:
    """Nearest neighbours of items by cosine similarity, by implicit."""
    from implicit.nearest_neighbours import CosineRecommender

    model = CosineRecommender(K=neighbours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the kind of matrix that it makes itself
        model.fit(train, show_progress=False)
    return lambda own: (own @ model.similarity).toarray()


# Each peer's routine and the settings that are tried: chosen by hand. On MovieLens 1M some winners
# lie at an edge: rank 16 by time and in the folds, 10 neighbours in the folds.
PEERS: dict[str, tuple[Callable[..., Any], list[dict[str, float]]]] = {
    "EASE": (ease, [{"penalty": penalty} for penalty in (300.0, 1000.0, 3000.0, 10000.0, 30000.0)]),
    "ALS": (
        als,
        [
            {"rank": rank, "alpha": alpha}
            for rank in (16, 32, 64, 128)
            for alpha in (1.0, 3.0, 10.0)
        ],
    ),
    "item-kNN": (item_knn, [{"neighbours": count} for count in (10, 20, 50, 100, 200)]),
}


def make_peer(name: str, train: Ratings, setting: dict[str, float]) -> Peer:
    items = len(train.catalog)
    score = PEERS[name][0](table(people_of(train), items), **setting)
    return Peer(score, np.bincount(train.items, minlength=items).astype(np.float32))


def choose_setting(name: str, train: Ratings, part: Part) -> dict[str, float]:
    """The setting that is best on a validation part of the training part."""
    split = part(train, SEED + 1)  # the seed of the test part would hold out nothing
    judge = Judge(split)

    def gain(setting: dict[str, float]) -> float:
        return judge.judge(make_peer(name, split.train, setting)).ndcg_at_10

    return max(PEERS[name][1], key=gain)


def random_tenth(ratings: Ratings, seed: int = SEED) -> Split:
    return split_random(ratings, TEST_SHARE, seed=seed)


def latest_tenth(ratings: Ratings, _: int = SEED) -> Split:
    return split_by_time(ratings, TEST_SHARE)


def core(ratings: Ratings) -> Ratings:
    """What was liked, as presence, of users and items that have at least ten of it."""
    keep = ratings.values() >= LIKED
    users = ratings.user_of_rating()
    while True:
        of_user = np.bincount(users[keep], minlength=ratings.user_count)
        of_item = np.bincount(ratings.items[keep], minlength=len(ratings.catalog))
        enough = keep & (of_user[users] >= CORE) & (of_item[ratings.items] >= CORE)
        if enough.sum() == keep.sum():
            break
        keep = enough
    left = np.flatnonzero(of_item >= CORE)
    place = np.zeros(len(ratings.catalog), np.int32)
    place[left] = np.arange(len(left))
    catalog = Catalog([ratings.catalog.ids[i] for i in left])
    counts = of_user[of_user >= CORE]
    return Ratings(
        PRESENCE,
        catalog,
        np.concatenate(([0], np.cumsum(counts))),
        place[ratings.items[keep]],
        PRESENCE.encode(np.ones(keep.sum())),
        None if ratings.times is None else ratings.times[keep],
    )


def folds(ratings: Ratings, seed: int = SEED) -> list[Split]:
    """Everybody's records in five equal parts at random; each is the test part once."""
    draw = np.random.default_rng(seed).random(len(ratings))
    users = ratings.user_of_rating()
    order = np.lexsort((draw, users))
    ranks = np.empty(len(ratings), np.int64)
    ranks[order] = np.arange(len(ratings)) - ratings.starts[users]
    return [Split(ratings.where(ranks % FOLDS != k), ratings.where(ranks % FOLDS == k))
            for k in range(FOLDS)]  # fmt: skip


def first_fold(ratings: Ratings, seed: int) -> Split:
    return folds(ratings, seed)[0]


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """Splits that are averaged over, and how a validation part is made."""

    title: str
    splits: Sequence[Split]
    part: Part

    def run(self, asked: argparse.Namespace) -> list[dict[str, Any]]:
        """Print a line per model and budget, and return them as rows."""
        judges = [Judge(split) for split in self.splits]
        train, test = self.splits[0].train, self.splits[0].test
        print(f"\n{self.title}: {len(train):,} records to train, {len(test):,} to test")
        print(f"{'model':36}{'epsilon':>8}{'NDCG@10':>9}{'sd':>8}{'recall@20':>11}"
              f"{'coverage':>10}{'few':>8}{'seconds':>9}")  # fmt: skip
        rows: list[dict[str, Any]] = []

        def tell(name: str, epsilon: float | None, make: Callable[[Split, int], Scorer],
                 draws: int = 1, unit: str | None = None) -> None:  # fmt: skip
            began = time.perf_counter()
            found = [
                judge.judge(make(split, draw))
                for judge, split in zip(judges, self.splits, strict=True)
                for draw in range(draws)
            ]
            shown = name if unit is None else f"{name}, per {unit}"
            print(line(shown, epsilon, found, time.perf_counter() - began), flush=True)
            rows.append({"split": self.title, **row(name, unit, epsilon, found)})

        tell("popularity", None, lambda split, _: popularity(split.train))
        if train.times is not None:
            tell("recent popularity", None, lambda split, _: recent_popularity(split.train))
        for unit, budgets in BUDGETS.items():
            for epsilon in budgets:

                def ours(
                    split: Split, draw: int, unit: str = unit, epsilon: float = epsilon
                ) -> Any:
                    return fit(
                        split.train, method=asked.method, protect=unit, epsilon=epsilon,
                        ledger=None if math.isinf(epsilon) else "unbooked",
                        randomness=SeededRandomness(draw),
                    ).predictor()  # fmt: skip

                # Folds differ already; the noise of each is drawn once.
                many = math.isfinite(epsilon) and len(self.splits) == 1
                tell("discreet", epsilon, ours, asked.draws if many else 1, unit)
        for name in asked.peers:
            setting = choose_setting(name, train, self.part)
            spelt = ", ".join(f"{key} {value:g}" for key, value in setting.items())
            # Called within this turn of the loop, so that it sees this turn's name and setting.
            tell(f"{name}, {spelt}", None, lambda split, _: make_peer(name, split.train, setting))  # noqa: B023
        return rows


def row(name: str, unit: str | None, epsilon: float | None, found: list[Quality]) -> dict[str, Any]:
    """A line as it is kept; without noise the epsilon is None."""
    gains = [quality.ndcg_at_10 for quality in found]
    recall = statistics.fmean(quality.recall_at_20 for quality in found)
    return {
        "model": name,
        "unit": unit,
        "epsilon": epsilon if epsilon is not None and math.isfinite(epsilon) else None,
        "ndcg_at_10": round(statistics.fmean(gains), 4),
        "sd": round(statistics.stdev(gains), 4) if len(gains) > 1 else 0.0,
        "recall_at_20": round(recall, 4),
    }


def line(name: str, epsilon: float | None, found: list[Quality], seconds: float) -> str:
    gains = [quality.ndcg_at_10 for quality in found]
    spread = f"{statistics.stdev(gains):.4f}" if len(gains) > 1 else ""
    recall = statistics.fmean(quality.recall_at_20 for quality in found)
    coverage = statistics.fmean(quality.coverage for quality in found)
    few = [quality.few.ndcg_at_10 for quality in found if quality.few is not None]
    few_shown = f"{statistics.fmean(few):.4f}" if few else ""
    budget = "" if epsilon is None else f"{epsilon:g}"
    return (
        f"{name:36}{budget:>8}{statistics.fmean(gains):9.4f}{spread:>8}{recall:11.4f}"
        f"{100 * coverage:8.1f} %{few_shown:>8}{seconds / len(found):9.1f}"
    )


def experiments(asked: argparse.Namespace) -> list[Experiment]:
    if asked.protocol == "anelli":
        kept = core(read(asked, implicit=False))
        parts = folds(kept)
        return [Experiment("liked at least 4, 10-core, five folds", parts, first_fold)]
    ratings = read(asked, implicit=True)
    found = [Experiment("a random tenth", [random_tenth(ratings)], random_tenth)]
    if ratings.times is not None:
        found.append(Experiment("the latest tenth", [latest_tenth(ratings)], latest_tenth))
    return found


def read(asked: argparse.Namespace, *, implicit: bool) -> Ratings:
    if asked.data is not None:
        return read_ratings(asked.data, implicit=implicit)
    made = make_ratings(find_shape("ml-100k").scaled(ratings=int(asked.ratings)), seed=1)
    return presence(made) if implicit else made


def presence(ratings: Ratings) -> Ratings:
    """The same records without their values."""
    codes = PRESENCE.encode(np.ones(len(ratings)))
    columns = (ratings.starts, ratings.items, codes, ratings.times, ratings.users)
    return Ratings(PRESENCE, ratings.catalog, *columns)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="ratings, like the folder ml-1m")
    parser.add_argument("--ratings", type=float, default=2e4, help="how many are made up")
    parser.add_argument("--protocol", choices=("tenth", "anelli"), default="tenth")
    parser.add_argument("--method", help="of discreet; its default for presence")
    parser.add_argument("--draws", type=int, default=3, help="of the noise")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of the default, or none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows")
    asked = parser.parse_args(argv)
    wanted = [name for name in asked.peers.split(",") if name in PEERS]
    asked.peers = []
    for name in wanted:
        if importlib.util.find_spec(LIBRARIES[name]) is None:
            print(f"without {name}: pip install {LIBRARIES[name]}")
        else:
            asked.peers.append(name)
    rows = [row for experiment in experiments(asked) for row in experiment.run(asked)]
    if asked.json is not None:
        data = "made-up ratings" if asked.data is None else asked.data.name
        kept = json.dumps({"data": data, "rows": rows}, indent=1)
        asked.json.write_text(kept + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
