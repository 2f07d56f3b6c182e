"""Table I and figure 2 of Chow, Pathak and Wang: clusters of true ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.evaluate.reproduce import _curves
from discreet.evaluate.reproduce._buckets import (
    BITS,
    OWN_AND_ALL,
    PAPER,
    RULES,
    Bench,
    few_people,
    spell_bits,
)
from discreet.evaluate.reproduce._found import Claim, Found
from discreet.evaluate.reproduce._study import NETFLIX, Study
from discreet.protocols.clusters_common.server import report
from discreet.protocols.open_clusters.messages import Upload

_KINDS = ("lsh", "orthogonal")


def clustering_accuracy(study: Study) -> Found:
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
    return Found(rows, claims, notes, lambda figure: _draw_table(figure, study, rows, means),
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
            plain, held = _curves.where(rows, hash=kind, bits=bits)
            said = f"{PAPER[kind]:.4f}" if bits == BITS else "-"
            claims.append(
                Claim(
                    f"{kind}, {spell_bits(bits)}",
                    said,
                    f"{plain['rmse']:.4f} plain (+- {plain['rmse_sd']:.4f} by draw), "
                    f"{held['rmse']:.4f} held back",
                )
            )
    lsh, ours = (_curves.where(rows, hash=kind, bits=BITS, rule="plain")[0] for kind in _KINDS)
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
        some = _curves.where(rows, hash=kind, rule=rule)
        style = ":" if kind == "lsh" else "-"
        _curves.curve(axes, some, "bits", "rmse", f"{kind}, {rule}", place, linestyle=style)
    axes.plot([BITS], [PAPER["orthogonal"]], label="the paper, on Netflix", **_curves.PAPER)
    axes.plot([BITS], [PAPER["lsh"]], **_curves.PAPER)
    for name, style in ((OWN_AND_ALL, "-"), ("item means", "--"), ("user means", ":")):
        _curves.level(axes, means[name], name, style)
    _curves.finish(axes, f"Table I on {study.name}", "bits of the hash", "RMSE")


def diversity(study: Study) -> Found:
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
    return Found(rows, claims, notes, lambda figure: _draw_diversity(figure, rows), size=(9, 4.2))


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
        some = _curves.where(rows, bits=number)
        at = [row["c_from"] + place * width for row in some]
        looks = {"width": width, "align": "edge", "color": _curves.COLOURS[place]}
        left.bar(at, [row["items_in_a_typical_bucket"] for row in some], label=spell_bits(number),
                 **looks)  # fmt: skip
        right.bar(at, [row["buckets_by_largest_c"] for row in some], label=spell_bits(number),
                  **looks)  # fmt: skip
    left.set_yscale("symlog")
    _curves.finish(left, "2a: items of a typical bucket", "c (the last bin has no end)", "items")
    _curves.finish(right, "2b: largest c of each bucket", "c (the last bin has no end)", "buckets")
