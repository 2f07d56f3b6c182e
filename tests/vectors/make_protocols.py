"""Write protocols.json: laws, reports and uploads that Python and the browser both make.

python tests/vectors/make_protocols.py

Both sides take the same bytes (`Stream`) in the same order, so messages agree to the byte. Laws are
first bits of probabilities, as whole numbers in hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from discreet.domain import Catalog, Scale
from discreet.privacy import Randomness
from discreet.privacy.mechanisms import ModifiedLaplace, RandomizedResponse
from discreet.privacy.noise import GeometricLaw, draw_below, draw_noise, flip_coins
from discreet.protocols.local_reports import messages as local
from discreet.protocols.local_reports.client import FakeCount, LocalClient
from discreet.protocols.open_clusters import messages as open_
from discreet.protocols.open_clusters.client import OpenClient

FILE = Path(__file__).with_name("protocols.json")
_LONGEST = 400

LOCAL: tuple[tuple[int, str, str, float, int], ...] = (
    (1, "1..5", "modified-laplace", 1.0, 1),
    (1, "1..5", "randomized-response", 1.0, 0),
    (7, "0..1", "modified-laplace", 0.5, 7),
    (64, "1..5", "modified-laplace", 2.0, 9),
    (64, "1..5", "randomized-response", 2.0, 9),
    (300, "0.5..5/0.5", "modified-laplace", 0.25, 40),
    (300, "0.5..5/0.5", "randomized-response", 4.0, 40),
    (300, "1..10/3.0", "randomized-response", 0.05, 20),
    (200, "0..255", "modified-laplace", 0.01, 100),
    (200, "-10..10/continuous", "modified-laplace", 0.25, 60),
    (200, "-10..10/continuous", "modified-laplace", 0.01, 100),
    (900, "0..254", "randomized-response", 6.5, 100),
    (900, "0..255", "randomized-response", 6.5, 100),
    (2_000, "1..5", "modified-laplace", 50.0, 100),
    (17_770, "1..5", "modified-laplace", 1.0, 100),
    (17_770, "1..5", "randomized-response", 1.0, 100),
    (64, "1..5", "rounded-response", 2.0, 9),
    (300, "0.5..5/0.5", "rounded-response", 0.25, 40),
    (200, "-10..10/continuous", "rounded-response", 1.0, 60),
)  # fmt: skip
"""Items, scale, mechanism, epsilon, how many are rated."""

OPEN: tuple[tuple[int, str, dict[str, Any], dict[str, Any]], ...] = (
    (120, "1..5", {"bits": 4}, {}),
    (400, "1..5", {"bits": 8, "beacon": "Zürich ☂"}, {"batch": 1, "fake_percent": 150}),
    (400, "0.5..5/0.5", {"bits": 8, "fakes": "uniform", "suppress_percent": 30}, {"batch": 1}),
    (400, "-10..10/continuous", {"bits": 5, "hash_on": "obfuscated"}, {"batch": 1}),
    (400, "1..5", {"bits": 6, "fakes": "popular", "fake_percent": 200}, {"batch": 1}),
    (600, "1..5", {"bits": 8, "fakes": "same-hash"}, {"batch": 1}),
    (600, "1..5", {"bits": 16, "fakes": "same-hash", "least": 0}, {"batch": 1}),
    (300, "1..5", {"bits": 16, "bit_epsilon_thousandths": 700, "hash": "lsh"}, {"batch": 1}),
    (300, "1..5", {"bits": 8, "bit_epsilon_thousandths": 250}, {"hash_only": True}),
    (300, "1..5", {"bits": 8, "fake_percent": 0, "least": 0}, {"reveal": True}),
    (50, "1..5", {"bits": 3, "fake_percent": 0, "least": 0}, {}),
)
"""Items, scale, the collection's terms, the client's."""


class Stream(Randomness):
    """Some first bytes, then SHA-256 of "name 0", of "name 1", ... one after the other."""

    is_private = False

    def __init__(self, name: str, first: bytes = b"") -> None:
        self._name, self._left, self._next = name, first, 0

    def fill(self, buffer: memoryview) -> None:
        while len(self._left) < len(buffer):
            self._left += hashlib.sha256(f"{self._name} {self._next}".encode()).digest()
            self._next += 1
        buffer[:] = self._left[: len(buffer)]
        self._left = self._left[len(buffer) :]


def catalog_of(items: int, first: int = 0) -> Catalog:
    return Catalog([str(i) for i in range(first, first + items)])


def brief(message: dict[str, Any]) -> str:
    """A message as JSON without spaces; the digest of a long one."""
    text = json.dumps(message, separators=(",", ":"))
    return text if len(text) <= _LONGEST else hashlib.sha256(text.encode()).hexdigest()


def own_of(items: int, count: int, scale: Scale, rng: np.random.Generator) -> dict[str, float]:
    """Ratings of the scale, among them some beside it, which are brought onto it."""
    chosen = np.sort(rng.choice(items, count, replace=False))
    values = scale.nearest(np.round(rng.uniform(scale.lo, scale.hi, count), 2)) + rng.choice(
        [0.0, 0.0, 0.0, 0.1, -7.25, 99.0], count
    )
    return {str(i): round(float(v), 2) for i, v in zip(chosen, values, strict=True)}


def columns(own: dict[str, float], catalog: Catalog) -> list[list[float]]:
    """Items of the catalogue, rising, and the ratings beside them."""
    items = sorted((item for item in own if catalog.find(item) is not None), key=int)
    return [[catalog.index(item) for item in items], [own[item] for item in items]]


def first_bits(value: Any, bits: int) -> str:
    return format(int(mpmath.floor(mpmath.ldexp(value, bits))), "x")


def make_laws() -> dict[str, list[dict[str, Any]]]:
    """First bits of the chances to keep, to lie in noise's cells, to be refused there.

    `ties` are draws whose first bits are those of the threshold, so that more have to decide.
    """
    keeps, cells, refusals = [], [], []
    with mpmath.workprec(420):
        for symbols, epsilon in ((1, 0.01), (1, 1.0), (5, 1.0), (9, 4.0), (256, 0.05), (5, 50.0)):
            keeps.append(_keep(RandomizedResponse(symbols + 1, epsilon), symbols, epsilon))
        for reach, epsilon in ((2, 1.0), (9, 0.25), (1, 50.0), (100, 0.25), (255, 0.01), (3, 0.7)):
            laplace = ModifiedLaplace(reach, epsilon)
            keeps.append(_keep(laplace, 1, epsilon / 2))
            law = GeometricLaw(laplace.scale)
            cells.append({"reach": reach, "epsilon": epsilon, **_cells(law)})
            for inside in range(1, 1 << law.shift, 19):
                told = {"reach": reach, "epsilon": epsilon, "inside": inside}
                refusals.append(told | _refused(law, inside))
    return {"keeps": keeps, "cells": cells, "refusals": refusals}


def _keep(mechanism: Any, ways: int, exponent: float) -> dict[str, Any]:
    bits = [first_bits(mechanism._exact_keep(), b) for b in (64, 128, 320)]
    word = np.array([int(bits[0], 16)], np.uint64).tobytes()
    exact = mechanism._exact_keep
    ties = [bool(flip_coins(exact, 1, Stream(f"tie {i}", word))[0]) for i in range(8)]
    return {"ways": ways, "exponent": exponent, "bits": bits, "ties": ties}


def _cells(law: GeometricLaw) -> dict[str, Any]:
    """Up to the first whose bits are all set."""
    made: dict[str, Any] = {}
    exact_edge = cache(law.exact_edge)
    for bits in (63, 127) if law.shift < 3 else (63,):
        edges, last = [""], format((1 << bits) - 1, "x")
        while edges[-1] != last:
            edges.append(first_bits(exact_edge(len(edges) - 1), bits))
        digest = hashlib.sha256(" ".join(edges[1:]).encode()).hexdigest()
        made[str(bits)] = {"first": edges[1], "count": len(edges) - 1, "digest": digest}
    if not law.shift:
        word = np.array([int(made["63"]["first"], 16) << 1], np.uint64).tobytes()
        made["ties"] = [int(draw_noise(law, 1, Stream(f"tie {i}", word))[0]) for i in range(8)]
    return made


def _refused(law: GeometricLaw, inside: int) -> dict[str, Any]:
    place = inside << (64 - law.shift)
    share = mpmath.ldexp(place, -64)
    bits = [first_bits(law.exact_reject(1, share), b) for b in (32, 96)]
    # A word in the middle of the second cell, this place, and the coin that is the threshold's.
    middle = int(mpmath.ldexp(law.exact_edge(0) + law.exact_edge(1), 63))
    words = np.array([middle, place], np.uint64).tobytes()
    coin = np.array([int(bits[0], 16)], np.uint32).tobytes()
    ties = [int(draw_noise(law, 1, Stream(f"tie {i}", words + coin))[0]) for i in range(4)]
    return {"shift": law.shift, "bits": bits, "middle": format(middle, "x"), "ties": ties}


def make_below() -> list[dict[str, Any]]:
    """Whole numbers below a bound where the first words are refused, some of them twice."""
    high = np.array([2**64 - 1] * 3 + [7, 2**64 - 1], np.uint64).tobytes()
    return [
        {"bound": bound, "drawn": draw_below(bound, 4, Stream("below", high)).tolist()}
        for bound in (1, 2, 3, 5, 100, 255, 17_570)
    ]


def make_counts() -> list[dict[str, Any]]:
    """How many of some items show where the uniform number begins with a word; ties among them."""
    found = []
    stream = Stream("counts")
    for items, ways, exponent in (
        (0, 1, 0.5), (1, 1, 0.5), (5, 5, 1.0), (40, 1, 2.0), (1_000, 1, 0.005), (1_000, 5, 50.0),
        (1_000, 255, 0.01), (17_570, 1, 0.5), (17_570, 5, 1.0),
    ):  # fmt: skip
        law = FakeCount(items, ways, exponent)
        words = [0, 1, 1 << 32, 1 << 63, 2**64 - 2, 2**64 - 1]
        words += [int(w) for w in stream.words(4)]
        words += _ties(law)
        drawn = [law.settle(word, 64, Stream(f"more {word:x}")) for word in words]
        found.append(
            {"items": items, "ways": ways, "exponent": exponent}
            | {"words": [format(w, "x") for w in words], "drawn": drawn}
        )
    return found


def _ties(law: FakeCount) -> list[int]:
    """Words that are the first bits of P(at most k), for some k."""
    with mpmath.workprec(300):
        odds = law.ways * mpmath.exp(-mpmath.mpf(law.exponent))
        share = odds / (1 + odds)
        mean = int(law.items * share)
        found, total, term = [], mpmath.mpf(0), (1 - share) ** law.items
        for k in range(min(mean + 2, law.items)):
            total += term
            term *= odds * (law.items - k) / (k + 1)
            if k in (0, mean - 1, mean, mean + 1):
                found.append(int(first_bits(total, 64), 16))
        return [word for word in found if 0 < word < 2**64 - 1]


def make_local() -> list[dict[str, Any]]:
    rng, cases = np.random.default_rng(7), []
    for number, (items, scale, mechanism, epsilon, count) in enumerate(LOCAL):
        catalog, told = catalog_of(items), Scale.parse(scale)
        stream, steps = Stream(f"local {number}"), []
        with tempfile.TemporaryDirectory() as folder:
            own = own_of(items, count, told, rng)
            for epoch in (1, 1, 2):
                terms = local.Collection(catalog, told, mechanism, epsilon, epoch)  # type: ignore[arg-type]
                client = LocalClient(terms, Path(folder) / "state", randomness=stream)
                message = client.report(own).as_json()
                steps.append(
                    {"epoch": epoch, "own": columns(own, catalog), "message": brief(message)}
                )
                own = own_of(items, count // 2, told, rng)
            spent = client.spent
        cases.append(
            {"items": items, "collection": terms.as_json(), "steps": steps}
            | {"perRating": spent.per_rating, "perUser": spent.per_user}
        )
    return cases


def histories(items: int, scale: Scale, rng: np.random.Generator) -> list[dict[str, float]]:
    """Ratings as they grow: the same, a few more, others taken back, changed, back again."""
    count = min(30, items // 2)
    everything = own_of(items, count, scale, rng)
    names = list(everything)
    rng.shuffle(names)
    first = {name: everything[name] for name in names[: count // 2]}
    more = {name: everything[name] for name in names[: count - 4]}
    fewer = {name: everything[name] for name in names[6 : count - 2]}
    changed = {name: scale.lo + scale.hi - value for name, value in fewer.items()}
    most = everything | own_of(items, count, scale, rng)
    return [first, first, more, fewer, changed, most, most, most, most]


def announced(number: int) -> list[open_.Collection]:
    """The first, its next epoch, one on another catalogue, one that asks for more items."""
    items, scale, public, _ = OPEN[number]
    terms = open_.Collection(catalog_of(items), Scale.parse(scale), **public)
    other = catalog_of(items, items // 3)
    return [
        terms,
        replace(terms, epoch=1),
        replace(terms, catalog=other, epoch=1),
        replace(terms, least=items * 3 // 4, epoch=2),
    ]


_WHICH = (0, 0, 0, 0, 0, 0, 1, 2, 3)
"""Of `announced`, a number for each of the `histories`: fakes stay, and some come late."""


def make_open() -> list[dict[str, Any]]:
    rng, cases = np.random.default_rng(8), []
    for number, (items, scale, public, private) in enumerate(OPEN):
        collections, options = announced(number), dict(private)
        if public.get("fakes") == "popular":
            options["popularity"] = np.arange(items, dtype=np.float64) % 17
        stream, steps = Stream(f"open {number}"), []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state"
            for which, own in zip(_WHICH, histories(items, Scale.parse(scale), rng), strict=True):
                terms = collections[which]
                client = OpenClient(terms, path, randomness=stream, **options)
                steps.append(
                    {"first": int(terms.catalog.ids[0]), "terms": which}
                    | {"own": columns(own, terms.catalog)}
                    | {"message": brief(client.report(own).as_json())}
                )
            state = json.loads(path.read_text("utf-8"))["state"] if path.exists() else {}
            standing = client.standing()
        first = collections[0].as_json()
        changes = [
            {name: told for name, told in terms.as_json().items() if told != first[name]}
            for terms in collections
        ]
        cases.append(
            {"items": items, "collection": first, "changes": changes}
            | {"options": private, "steps": steps, "sentences": standing.sentences()}
            | {"obfuscation": brief(state.get("obfuscation", {}))}
            | {"answers": state.get("answers", {})}
        )
    return cases


def make() -> dict[str, list[dict[str, Any]]]:
    laws = {**make_laws(), "below": make_below(), "counts": make_counts()}
    return {**laws, "local": make_local(), "open": make_open()}


def main() -> None:
    parts = [
        f'"{name}": [\n'
        + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        + "\n]"
        for name, cases in make().items()
    ]
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
