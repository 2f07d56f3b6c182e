"""Chow, Pathak and Wang on ratings at hand: Table I, figures 2 and 3. Every client is simulated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain.cluster_hash import to_grid
from discreet.evaluate import rmse
from discreet.privacy import SeededRandomness, unbooked
from discreet.privacy.mechanisms import RandomizedResponse
from discreet.protocols.clusters_common.client import History, Terms
from discreet.protocols.clusters_common.messages import SentRatings
from discreet.protocols.clusters_common.server import report
from discreet.protocols.open_clusters.messages import Collection, Upload
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.ratings import Ratings, split_random
from discreet.release import Release
from papers.figure import COLOURS, PAPER_STYLE, Claim, Result, curve, finish, level, where
from papers.study import NETFLIX, Study, Trial

# Of the paper's hash.
BITS = 8
OWN_AND_ALL = "own mean + everybody's average"
RULES: dict[str, dict[str, Any]] = {
    "plain": {"thin": 0.0, "allow_for_fakes": False},
    "held back": {},
}
"""Plain is the paper's: whoever is in the bucket, and others only where nobody there rated it.
Held back is ours: neighbours and everybody behind a thin bucket, less what fakes add."""
# RMSE on Netflix, from the paper's Table I, figure 3 and section VI.
PAPER = {
    "user means": 1.1325,
    "item means": 1.0540,
    "lsh": 0.9932,
    "orthogonal": 0.9883,
    "fakes 200 %": 1.0380,
    "hash on obfuscated": 1.0452,
}


class Bench:
    """A split, and everything that is judged by it. Private."""

    def __init__(self, study: Study) -> None:
        self.trial = Trial(split_random(study.ratings, 0.1, seed=1))
        self.train, self.test = self.trial.split.train, self.trial.split.test
        self.codes = to_grid(self.train.scale, self.train.values())
        self.few = few_bits(self.train.user_count)

    @classmethod
    def of(cls, study: Study) -> Bench:
        """The same one for all figures of a study."""
        return study.once("buckets", lambda: cls(study))

    def __repr__(self) -> str:
        return "Bench(private)"

    def collection(self, **told: Any) -> Collection:
        """Terms. The paper's figure begins without any fakes, so without a least number too."""
        return Collection(self.train.catalog, self.train.scale, **{"least": 0} | told)

    def uploads(self, collection: Collection, **told: Any) -> list[Upload]:
        """Everybody's."""
        return list(simulated_uploads(self.train, collection, **told))

    def revealed(self) -> list[Upload]:
        """Everybody's true ratings: clusters alone."""
        return self.uploads(self.collection(), reveal=True)

    def release(self, collection: Collection, uploads: Iterable[Upload], **rule: Any) -> Release:
        """Averages by bucket, however few are in it."""
        return OpenClusters(collection).build(uploads, least_people=1, **rule)

    def judge(
        self,
        collection: Collection,
        uploads: Iterable[Upload],
        predictor: str = "buckets",
        **rule: Any,
    ) -> tuple[float, float]:
        """RMSE, and the variance of bucket sizes."""
        release = self.release(collection, uploads, **rule)
        error = self.trial.error(release.predictor(predictor))
        return error, float(release.arrays["bucket_sizes"].var())

    def moved(self, collection: Collection, uploads: Iterable[Upload]) -> list[Upload]:
        """The same uploads by the hash of another collection."""
        train = self.train
        hashes = collection.cluster_hash.values(train.starts, train.items, self.codes)
        hashes = hashes[np.diff(train.starts) > 0]
        return [
            replace(upload, hash=int(value), collection=collection.digest)
            for upload, value in zip(uploads, hashes, strict=True)
        ]

    def means(self) -> dict[str, float]:
        """The baselines: own means, items' means, own mean and everybody's average."""
        train, test, wanted = self.train, self.test, self.trial.wanted
        values, users, rows = train.values(), train.user_of_rating(), self.trial.rows
        everything = float(values.mean())
        own = _means(users, values, train.user_count, everything)
        item = _means(train.items, values, len(train.catalog), everything)
        beside = _means(train.items, values - own[users], len(train.catalog), 0.0)
        guesses = {
            "user means": own[rows],
            "item means": item[test.items],
            OWN_AND_ALL: own[rows] + beside[test.items],
        }
        scale = test.scale
        return {n: rmse(np.clip(g, scale.lo, scale.hi), wanted) for n, g in guesses.items()}


def simulated_uploads(
    ratings: Ratings,
    collection: Collection,
    *,
    terms: Terms | None = None,
    seed: int | str = 0,
    reveal: bool = False,
) -> Iterator[Upload]:
    """The first upload of every user who has ratings, as their client would make it.

    Args:
        ratings: Everybody's.
        collection: The public terms, of the same catalogue and scale.
        terms: Everybody's own; the collection's if absent.
        seed: Of suppression and fakes, which therefore protect nobody.
        reveal: Everybody reveals all their ratings: clusters alone, without obfuscation.
    """
    terms = terms or Terms.of(collection)
    randomness = SeededRandomness(seed)
    codes = to_grid(ratings.scale, ratings.values())
    hashes = collection.cluster_hash.values(ratings.starts, ratings.items, codes)
    kind = "revealed" if reveal else "obfuscated"
    for user in np.flatnonzero(np.diff(ratings.starts)):
        part = slice(ratings.starts[user], ratings.starts[user + 1])
        own = ratings.items[part], codes[part]
        value = int(hashes[user])
        if not reveal:
            sent = History().advance(*own, collection, terms, randomness).sent
            if collection.hash_on == "obfuscated":
                value = collection.cluster_hash.value(*sent)
            own = sent
        yield Upload(collection.digest, value, SentRatings(kind, *own))


def few_bits(people: int) -> int:
    """Bits that leave about as many people in a bucket as the paper's 8 on its data."""
    return min(max(round(math.log2(max(people, 1) * 2**BITS / NETFLIX[1])), 1), 16)


def few_people(study: Study, bench: Bench) -> str:
    """Why eight bits are too many here."""
    people = study.ratings.user_count
    return (
        f"With {BITS} bits the paper has {NETFLIX[1] >> BITS:,} people in a bucket and here there "
        f"are {people / 2**BITS:,.0f}, too few to average; {spell_bits(bench.few)} "
        f"would leave {people / 2**bench.few:,.0f}. Held back is our rule: the average of a thin "
        "bucket is drawn to that of its neighbours and of everybody."
    )


def spell_bits(bits: int) -> str:
    """So many bits."""
    return f"{bits} bit{'s' * (bits != 1)}"


def randomized(collection: Collection, uploads: list[Upload]) -> list[Upload]:
    """What randomized response on every bit makes of the hashes."""
    response = RandomizedResponse(2, collection.bit_epsilon)
    places = np.arange(collection.bits)
    bits = (np.array([upload.hash for upload in uploads])[:, None] >> places) & 1
    event = response.event("hash bits", bits.size)
    said = response.release(bits, event, unbooked([event], SeededRandomness("bits")))
    values = said @ (1 << places)
    return [replace(u, hash=int(value)) for u, value in zip(uploads, values, strict=True)]


def _means(
    groups: npt.NDArray[Any], values: npt.NDArray[Any], size: int, otherwise: float
) -> npt.NDArray[Any]:
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, values, size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)


# Table I and figure 2.

_KINDS = ("lsh", "orthogonal")


def clustering_accuracy(study: Study) -> Result:
    """Table I: everybody's true ratings, several draws of the hash, and other numbers of bits."""
    bench = Bench.of(study)
    revealed = bench.revealed()
    tried = sorted({*range(1, study.effort.bits + 1), bench.few, BITS})
    rows: list[dict[str, Any]] = []
    for bits in study.each("bits", tried):
        draws = study.effort.beacons if bits in (bench.few, BITS) else 1
        for kind in _KINDS:
            rows += _draws_of_hash(bench, revealed, kind, bits, draws)
    means = bench.means()
    more = {"means": [{"level": name, "rmse": error} for name, error in means.items()]}
    claims = _table_claims(bench, rows, means)
    notes = [few_people(study, bench), _no_clusters(rows, means)]
    return Result(rows, claims, notes, lambda figure: _draw_table(figure, study, rows, means),
                 size=(8.0, 4.6), more=more)  # fmt: skip


def _draws_of_hash(
    bench: Bench, revealed: list[Upload], kind: str, bits: int, draws: int
) -> list[dict[str, Any]]:
    found: dict[str, list[tuple[float, float]]] = {rule: [] for rule in RULES}
    for draw in range(draws):
        collection = bench.collection(bits=bits, hash=kind, beacon=f"draw {draw}")
        uploads = bench.moved(collection, revealed)
        for rule, told in RULES.items():
            found[rule].append(bench.judge(collection, uploads, **told))
    rows = []
    for rule, figures in found.items():
        errors, variances = np.array(figures).T
        spread = float(errors.std(ddof=1)) if draws > 1 else 0.0
        told = {"hash": kind, "bits": bits, "rule": rule, "draws": draws}
        sizes = float(variances.mean())
        rows.append(
            told | {"rmse": float(errors.mean()), "rmse_sd": spread, "variance_of_sizes": sizes}
        )
    return rows


def _table_claims(bench: Bench, rows: list[Any], means: dict[str, float]) -> list[Claim]:
    claims = [
        Claim(name, f"{PAPER[name]:.4f}" if name in PAPER else "not shown", f"{error:.4f}")
        for name, error in means.items()
    ]
    for kind in _KINDS:
        for bits in dict.fromkeys((BITS, bench.few)):
            plain, held = where(rows, hash=kind, bits=bits)
            said = f"{PAPER[kind]:.4f}" if bits == BITS else "-"
            claims.append(
                Claim(
                    f"{kind}, {spell_bits(bits)}",
                    said,
                    f"{plain['rmse']:.4f} plain (+- {plain['rmse_sd']:.4f} by draw), "
                    f"{held['rmse']:.4f} held back",
                )
            )
    lsh, ours = (where(rows, hash=kind, bits=BITS, rule="plain")[0] for kind in _KINDS)
    less = 1 - ours["variance_of_sizes"] / max(lsh["variance_of_sizes"], 1e-9)
    claims.append(
        Claim(
            "orthogonal vectors against LSH",
            "0.0049 more accurate, sizes vary 2 % less",
            f"{lsh['rmse'] - ours['rmse']:+.4f}, sizes vary {less:.1%} less",
        )
    )
    return claims


def _no_clusters(rows: list[Any], means: dict[str, float]) -> str:
    best = min(row["rmse"] for row in rows)
    gain = means[OWN_AND_ALL] - best
    return (
        f"'{OWN_AND_ALL}' uses no clusters at all and is not in the paper's table. Here it has "
        f"{means[OWN_AND_ALL]:.4f}; the best that clusters reach is {best:.4f}, {abs(gain):.4f} "
        f"{'better' if gain > 0 else 'worse'}."
    )


def _draw_table(figure: Any, study: Study, rows: list[Any], means: dict[str, float]) -> None:
    axes = figure.subplots()
    for place, (kind, rule) in enumerate((k, r) for r in RULES for k in _KINDS):
        some = where(rows, hash=kind, rule=rule)
        style = ":" if kind == "lsh" else "-"
        curve(axes, some, "bits", "rmse", f"{kind}, {rule}", place, linestyle=style)
    axes.plot([BITS], [PAPER["orthogonal"]], label="the paper, on Netflix", **PAPER_STYLE)
    axes.plot([BITS], [PAPER["lsh"]], **PAPER_STYLE)
    for name, style in ((OWN_AND_ALL, "-"), ("item means", "--"), ("user means", ":")):
        level(axes, means[name], name, style)
    finish(axes, f"Table I on {study.name}", "bits of the hash", "RMSE")


def diversity(study: Study) -> Result:
    """Figure 2: c-values of true ratings, in a typical bucket and at most in each."""
    bench = Bench.of(study)
    revealed = bench.revealed()
    told: dict[int, Any] = {}
    rows: list[dict[str, Any]] = []
    for bits in dict.fromkeys((BITS, bench.few)):
        collection = bench.collection(bits=bits)
        told[bits] = report(bench.release(collection, bench.moved(collection, revealed)))
        edges = told[bits].c_edges
        for place, edge in enumerate(edges):
            rows.append({
                "bits": bits, "c_from": edge,
                "c_to": edges[place + 1] if place + 1 < len(edges) else "",
                "items_in_a_typical_bucket": told[bits].c_typical[place],
                "buckets_by_largest_c": told[bits].c_largest_histogram[place],
            })  # fmt: skip
    claims = [claim for bits, found in told.items() for claim in _diversity_claims(bits, found)]
    notes = [
        few_people(study, bench),
        "A small bucket has large c-values: an item that three of four people have rated has c = "
        "3. Where everybody in a bucket has rated an item, c has no bound, and nobody there can "
        "deny it; such buckets are counted in the last bin.",
        "Which bucket is the typical one is not said in the paper; here it is that of median size.",
    ]
    if not study.is_netflix:
        notes.append(
            f"There are {len(study.ratings.catalog):,} items where Netflix has {NETFLIX[2]:,}, so "
            "an item is rated by more of the people."
        )
    return Result(rows, claims, notes, lambda figure: _draw_diversity(figure, rows), size=(9, 4.2))


def _diversity_claims(bits: int, found: Any) -> list[Claim]:
    worst = max((c for c in found.c_largest if c is not None), default=float("nan"))
    certain = sum(c is None for c in found.c_largest)
    paper = bits == BITS
    total, small = sum(found.c_typical), found.c_typical[0]
    below = sum(found.c_largest_histogram[:10])
    return [
        Claim(
            f"{spell_bits(bits)}: items of a typical bucket with c up to 0.1",
            "17,064 of 17,770" if paper else "-", f"{small:,} of {total:,}",
        ),
        Claim(
            f"{spell_bits(bits)}: items of it with c above 1", "a handful" if paper else "-",
            f"{sum(found.c_typical[10:]):,}",
        ),
        Claim(
            f"{spell_bits(bits)}: buckets whose largest c is below 1",
            "most of 256" if paper else "-",
            f"{below:,} of {sum(found.c_largest_histogram):,}",
        ),
        Claim(
            f"{spell_bits(bits)}: largest c", "about 1.8" if paper else "-",
            f"{worst:.2f}; {certain:,} buckets have an item that everybody there rated",
        ),
    ]  # fmt: skip


def _draw_diversity(figure: Any, rows: list[Any]) -> None:
    left, right = figure.subplots(1, 2)
    bits = list(dict.fromkeys(row["bits"] for row in rows))
    width = 0.09 / len(bits)
    for place, number in enumerate(bits):
        some = where(rows, bits=number)
        at = [row["c_from"] + place * width for row in some]
        looks = {"width": width, "align": "edge", "color": COLOURS[place]}
        left.bar(at, [row["items_in_a_typical_bucket"] for row in some], label=spell_bits(number),
                 **looks)  # fmt: skip
        right.bar(at, [row["buckets_by_largest_c"] for row in some], label=spell_bits(number),
                  **looks)  # fmt: skip
    left.set_yscale("symlog")
    finish(left, "2a: items of a typical bucket", "c (the last bin has no end)", "items")
    finish(right, "2b: largest c of each bucket", "c (the last bin has no end)", "buckets")


# Figure 3.

FAKE_RULES: dict[str, dict[str, Any]] = RULES | {"by fit": {"predictor": "clusters"}}
"""By fit is what closed clusters do: no hash leads to the bucket."""


def fake_ratings(study: Study) -> Result:
    """Figure 3: fakes around the mean and uniform ones; and what the paper tried once or not."""
    bench = Bench.of(study)
    both = list(dict.fromkeys((BITS, bench.few)))
    tried = [(k, p) for k in ("around-mean", "uniform") for p in study.effort.percents]
    rows: list[dict[str, Any]] = []
    for kind, percent in study.each("fakes", tried):
        wide = bench.collection(fakes=kind, fake_percent=percent, bits=BITS)
        uploads = bench.uploads(wide)
        for bits in both:
            other = bench.collection(fakes=kind, fake_percent=percent, bits=bits)
            rows += _judged(bench, "figure 3", other, bench.moved(other, uploads), FAKE_RULES)
    for bits in study.each("other fakes", both):
        rows += _others(bench, bits)
    means = bench.means()
    claims = _fake_claims(bench, rows)
    notes = [
        few_people(study, bench),
        "Plain is the paper's rule. Held back takes off what fakes are expected to add, which "
        "follows from the public terms; by fit is what members of a closed system do, whom nobody "
        "tells their bucket.",
        f"Without clusters, '{OWN_AND_ALL}' of true ratings has {means[OWN_AND_ALL]:.4f}.",
        "Fakes protect by deniability alone: what is sent holds the true ratings, and no epsilon "
        "bounds what it tells (docs/explanation/protocols.md).",
    ]
    return Result(rows, claims, notes, lambda figure: _draw_fakes(figure, study, rows, means))


def _judged(
    bench: Bench,
    part: str,
    collection: Collection,
    uploads: list[Upload],
    rules: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    rows = []
    for rule, told in rules.items():
        error, variance = bench.judge(collection, uploads, **told)
        rows.append({
            "part": part, "fakes": collection.fakes, "fake_percent": collection.fake_percent,
            "bits": collection.bits, "rule": rule, "rmse": error, "variance_of_sizes": variance,
        })  # fmt: skip
    return rows


def _others(bench: Bench, bits: int) -> list[dict[str, Any]]:
    """As many fakes as ratings: what the paper left untried, and what it tried once."""
    train = bench.train
    popularity = np.bincount(train.items, minlength=len(train.catalog)).astype(np.float64)
    rows: list[dict[str, Any]] = []
    for kind in ("popular", "same-hash"):
        collection = bench.collection(fakes=kind, bits=bits)
        terms = Terms.of(collection, popularity=popularity)
        rows += _judged(bench, kind, collection, bench.uploads(collection, terms=terms), RULES)
    terms_of: dict[str, dict[str, Any]] = {
        "hash on obfuscated": {"hash_on": "obfuscated"},
        "30 % suppressed": {"suppress_percent": 30},
        "at least 80 items": {"least": min(80, len(train.catalog))},
    }
    for name, told in terms_of.items():
        collection = bench.collection(bits=bits, **told)
        rows += _judged(bench, name, collection, bench.uploads(collection), RULES)
    for epsilon in (0.5, 1, 2):
        collection = bench.collection(bits=bits, bit_epsilon_thousandths=int(1000 * epsilon))
        sent = randomized(collection, bench.uploads(collection))
        rows += _judged(bench, f"randomized response, {epsilon:g} a bit", collection, sent, RULES)
    return rows


def _fake_claims(bench: Bench, rows: Sequence[Any]) -> list[Claim]:
    last = max(row["fake_percent"] for row in where(rows, part="figure 3"))
    claims = []
    for kind in ("around-mean", "uniform"):
        for bits in dict.fromkeys((BITS, bench.few)):
            first = _errors(rows, part="figure 3", fakes=kind, bits=bits, fake_percent=0)
            end = _errors(rows, part="figure 3", fakes=kind, bits=bits, fake_percent=last)
            of_paper = bits == BITS and kind == "around-mean"
            said = f"{PAPER['orthogonal']:.4f} to {PAPER['fakes 200 %']:.4f}" if of_paper else "-"
            here = "; ".join(f"{rule} {first[rule]:.4f} to {end[rule]:.4f}" for rule in end)
            claims.append(Claim(f"{kind}, {spell_bits(bits)}: no fakes to {last} %", said, here))
    better = {
        kind: _errors(rows, part="figure 3", fakes=kind, bits=bench.few, fake_percent=last)
        for kind in ("around-mean", "uniform")
    }
    worse = better["uniform"]["plain"] - better["around-mean"]["plain"]
    claims.append(
        Claim("fakes around the mean cost less than uniform ones", "yes", f"by {worse:+.4f}, plain")
    )
    for bits in dict.fromkeys((BITS, bench.few)):
        errors = _errors(rows, part="hash on obfuscated", bits=bits)
        said = f"{PAPER['hash on obfuscated']:.4f}" if bits == BITS else "-"
        here = ", ".join(f"{rule} {error:.4f}" for rule, error in errors.items())
        claims.append(Claim(f"hash on obfuscated ratings, {spell_bits(bits)}, 100 %", said, here))
    return claims


def _errors(rows: Sequence[Any], **wanted: Any) -> dict[str, float]:
    return {row["rule"]: row["rmse"] for row in where(rows, **wanted)}


def _draw_fakes(figure: Any, study: Study, rows: list[Any], means: dict[str, float]) -> None:
    drawn = where(rows, part="figure 3")
    bits = list(dict.fromkeys(row["bits"] for row in drawn))
    panels = figure.subplots(1, len(bits), squeeze=False, sharey=True)[0]
    for axes, number in zip(panels, bits, strict=True):
        for place, (kind, rule) in enumerate(
            (k, r) for r in FAKE_RULES for k in ("around-mean", "uniform")
        ):
            some = where(drawn, bits=number, fakes=kind, rule=rule)
            style = ":" if kind == "uniform" else "-"
            curve(axes, some, "fake_percent", "rmse", f"{kind}, {rule}", place,
                          linestyle=style)  # fmt: skip
        ends = (PAPER["orthogonal"], PAPER["fakes 200 %"])
        axes.plot([0, 200], ends, label="the paper, on Netflix, 8 bits", **PAPER_STYLE)
        level(axes, means[OWN_AND_ALL], f"{OWN_AND_ALL}, no fakes")
        finish(axes, f"figure 3 on {study.name}, {spell_bits(number)}",
                       "fakes for 100 true ratings", "RMSE")  # fmt: skip
