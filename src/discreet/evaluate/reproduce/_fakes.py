"""Figure 3 of Chow, Pathak and Wang: what made-up ratings cost."""

from __future__ import annotations

from collections.abc import Sequence
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
    randomized,
    spell_bits,
)
from discreet.evaluate.reproduce._found import Claim, Found
from discreet.evaluate.reproduce._study import Study
from discreet.protocols.clusters_common.client import Terms
from discreet.protocols.open_clusters.messages import Collection, Upload

FAKE_RULES: dict[str, dict[str, Any]] = RULES | {"by fit": {"predictor": "clusters"}}
"""By fit is what closed clusters do: no hash leads to the bucket."""


def fake_ratings(study: Study) -> Found:
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
        "bounds what it tells (docs/protocols.md).",
    ]
    return Found(rows, claims, notes, lambda figure: _draw_fakes(figure, study, rows, means))


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
    last = max(row["fake_percent"] for row in _curves.where(rows, part="figure 3"))
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
    return {row["rule"]: row["rmse"] for row in _curves.where(rows, **wanted)}


def _draw_fakes(figure: Any, study: Study, rows: list[Any], means: dict[str, float]) -> None:
    drawn = _curves.where(rows, part="figure 3")
    bits = list(dict.fromkeys(row["bits"] for row in drawn))
    panels = figure.subplots(1, len(bits), squeeze=False, sharey=True)[0]
    for axes, number in zip(panels, bits, strict=True):
        for place, (kind, rule) in enumerate(
            (k, r) for r in FAKE_RULES for k in ("around-mean", "uniform")
        ):
            some = _curves.where(drawn, bits=number, fakes=kind, rule=rule)
            style = ":" if kind == "uniform" else "-"
            _curves.curve(axes, some, "fake_percent", "rmse", f"{kind}, {rule}", place,
                          linestyle=style)  # fmt: skip
        ends = (PAPER["orthogonal"], PAPER["fakes 200 %"])
        axes.plot([0, 200], ends, label="the paper, on Netflix, 8 bits", **_curves.PAPER)
        _curves.level(axes, means[OWN_AND_ALL], f"{OWN_AND_ALL}, no fakes")
        _curves.finish(axes, f"figure 3 on {study.name}, {spell_bits(number)}",
                       "fakes for 100 true ratings", "RMSE")  # fmt: skip
