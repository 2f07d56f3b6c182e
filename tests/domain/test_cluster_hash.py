"""The public hash: specified to the bit, orthogonal, bounded, and the same in JavaScript."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.domain import Catalog, InputError, Scale
from discreet.domain.cluster_hash import ClusterHash, from_grid, grid_parts, to_grid

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = json.loads((TESTS / "vectors" / "open_clusters_hash.json").read_text("utf-8"))["cases"]
TWIN = TESTS / "protocols" / "open_clusters" / "twin.mjs"


def numbered(d: int) -> Catalog:
    return Catalog([str(i) for i in range(d)])


def golden_catalog(case: dict[str, Any]) -> Catalog:
    return Catalog(case["ids"], case["titles"]) if "ids" in case else numbered(case["items"])


def slow_vectors(catalog: Catalog, k: int, beacon: str, bound: float) -> list[list[int]]:
    """The specification read aloud, one number at a time; first round alone."""
    d = len(catalog)
    digest = bytes.fromhex(catalog.digest())
    seed = hashlib.sha256(b"discreet cluster hash 1\n" + digest + beacon.encode()).digest()
    units: list[list[float]] = []
    attempt = 0
    while len(units) < k:
        numbers = b"".join(n.to_bytes(4, "big") for n in (0, len(units), attempt))
        key = hashlib.sha256(seed + numbers).digest()
        stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        drawn = stream.update(bytes(8 * d))
        x = [float(2 * sum(drawn[8 * j : 8 * j + 8]) - 2040) for j in range(d)]
        y = list(x)
        for e in units:
            t = 0.0
            for j in range(d):
                t += y[j] * e[j]
            y = [y[j] - t * e[j] for j in range(d)]
        square = 0.0
        for one in y:
            square += one * one
        length = math.sqrt(square)
        if max(map(abs, y)) <= bound * length * (1 + 1e-12):
            units.append([one / length for one in y])
            attempt = 0
        else:
            attempt += 1
    return [[math.floor(one * 2**24 + 0.5) for one in e] for e in units]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['bits']} bits")
def test_golden_cases(case: dict[str, Any]) -> None:
    made = ClusterHash(golden_catalog(case), case["bits"], kind=case["hash"], beacon=case["beacon"])
    assert golden_catalog(case).digest() == case["catalog"]
    assert hashlib.sha256(made.vectors.astype("<i4").tobytes()).hexdigest() == case["vectors"]
    items = [np.array(person["items"], np.int32) for person in case["people"]]
    codes = [np.array(person["codes"], np.uint8) for person in case["people"]]
    found = [made.value(*one) for one in zip(items, codes, strict=True)]
    assert found == case["values"]
    starts = np.concatenate(([0], np.cumsum([len(one) for one in items])))
    assert made.values(starts, np.concatenate(items), np.concatenate(codes)).tolist() == found


@pytest.mark.skipif(shutil.which("node") is None, reason="node is absent")
def test_javascript_agrees_to_the_bit() -> None:
    text = json.dumps({"cases": GOLDEN})
    done = subprocess.run(
        ["node", str(TWIN)], input=text, capture_output=True, text=True, check=True, timeout=60
    )
    names = ("catalog", "vectors", "values")
    assert json.loads(done.stdout) == [{name: case[name] for name in names} for case in GOLDEN]


@pytest.mark.parametrize(("d", "k", "beacon"), [(30, 3, ""), (200, 6, "ä"), (53, 16, "x")])
def test_a_slow_reading_of_the_specification_agrees(d: int, k: int, beacon: str) -> None:
    made = ClusterHash(numbered(d), k, beacon=beacon)
    assert made.vectors.tolist() == slow_vectors(numbered(d), k, beacon, made.largest)


def test_vectors_are_orthogonal_units_with_no_large_component() -> None:
    for k in range(1, 17):
        for d in (*range(k, k + 12), 100, 1_000):
            made = ClusterHash(numbered(d), k)
            unit = made.vectors / 2**24
            np.testing.assert_allclose(unit @ unit.T, np.eye(k), atol=1e-6)
            assert np.abs(unit).max() <= made.largest + 2**-24
            assert made.largest <= 1


def test_the_bound_scales_with_the_catalogue() -> None:
    # Unlike a fixed 0.03, which no unit vector of a thousand items can keep to.
    bounds = [ClusterHash(numbered(d), 8).largest for d in (100, 1_000, 17_770)]
    assert all(small < large for large, small in pairwise(bounds))
    assert 0.03 < bounds[-1] < 0.04 and 1 / math.sqrt(1_000) > 0.03
    assert np.abs(ClusterHash(numbered(17_770), 8).vectors).max() / 2**24 < 0.036


def test_plain_vectors_are_not_orthogonal_and_begin_as_ours() -> None:
    plain, ours = (ClusterHash(numbered(500), 4, kind=kind) for kind in ("lsh", "orthogonal"))
    unit = plain.vectors / 2**24
    assert np.abs(unit @ unit.T - np.eye(4)).max() > 0.005
    np.testing.assert_allclose(np.diag(unit @ unit.T), 1, atol=1e-6)
    assert plain.vectors[0].tolist() == ours.vectors[0].tolist()
    assert plain.vectors[1].tolist() != ours.vectors[1].tolist()


def test_catalogue_and_beacon_decide_the_vectors() -> None:
    one = ClusterHash(numbered(50), 3).vectors.tolist()
    assert one == ClusterHash(numbered(50), 3).vectors.tolist()
    assert one != ClusterHash(numbered(50), 3, beacon="other").vectors.tolist()
    titled = Catalog([str(i) for i in range(50)], [f"title {i}" for i in range(50)])
    assert one != ClusterHash(titled, 3).vectors.tolist()


def test_bits_are_the_signs_of_standardised_ratings() -> None:
    made = ClusterHash(numbered(300), 8)
    rng = np.random.default_rng(0)
    items = np.sort(rng.choice(300, 40, replace=False))
    codes = rng.integers(0, 5, 40)
    products = (made.vectors[:, items] / 2**24) @ (codes - codes.mean())
    assert np.abs(products).min() > 1e-6
    assert made.value(items, codes) == sum(2**v for v in range(8) if products[v] >= 0)
    # A shift of all ratings, and a stretch, change nothing.
    assert made.value(items, 3 * codes + 7) == made.value(items, codes)
    # Turned round, everything is on the other side.
    assert made.value(items, 4 - codes) == 255 - made.value(items, codes)


def test_ties_are_set() -> None:
    made = ClusterHash(numbered(40), 5)
    nothing = np.empty(0, np.int32)
    assert made.value(nothing, nothing) == 31
    assert made.value(np.arange(7), np.full(7, 3)) == 31
    assert not made.margins(np.array([0, 7]), np.arange(7), np.full(7, 3)).any()


def test_margins_do_not_overflow_at_the_largest_catalogue() -> None:
    made = ClusterHash(numbered(1), 1)
    made.items = 1_000_000
    n = made.items
    rng = np.random.default_rng(1)
    x = np.where(rng.random(n) < 0.5, -1, 1)
    made.__dict__["vectors"] = (x * round(2**24 / math.sqrt(n))).astype(np.int32)[None]
    codes = np.where(x > 0, 255, 0)
    found = int(made.margins(np.array([0, n]), np.arange(n), codes)[0, 0])
    q = made.vectors[0].astype(object)
    assert found == n * int((q * codes).sum()) - int(codes.sum()) * int(q.sum()) > 2**58


@pytest.mark.parametrize(
    ("d", "k", "kind", "complaint"),
    [
        (5, 0, "orthogonal", "1 to 16"),
        (50, 17, "orthogonal", "1 to 16"),
        (50, True, "orthogonal", "1 to 16"),
        (7, 8, "orthogonal", "need 8 items"),
        (50, 8, "minhash", "orthogonal, lsh"),
    ],
)
def test_what_cannot_be_is_refused(d: int, k: int, kind: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ClusterHash(numbered(d), k, kind=kind)


def test_codes_are_levels_or_a_grid_of_255() -> None:
    half, smooth = Scale(0.5, 5, 0.5), Scale(-10, 10, None)
    assert grid_parts(half) == 9 and grid_parts(smooth) == 255
    values = np.array([0.5, 3.0, 5.0])
    assert to_grid(half, values).tolist() == [0, 5, 9]
    np.testing.assert_allclose(from_grid(half, to_grid(half, values)), values)
    assert to_grid(smooth, np.array([-10.0, 0.0, 10.0])).tolist() == [0, 128, 255]
    between = np.linspace(-10, 10, 99)
    assert np.abs(from_grid(smooth, to_grid(smooth, between)) - between).max() <= 10 / 255 + 1e-9


def test_a_million_ratings_fill_the_buckets_evenly() -> None:
    made = ClusterHash(numbered(17_770), 8)
    rng = np.random.default_rng(2)
    people, each = 5_000, 200
    items = np.sort(rng.integers(0, 17_770, (people, each)), axis=1).ravel()
    codes = rng.integers(0, 5, people * each)
    found = made.values(np.arange(0, people * each + 1, each), items, codes)
    sizes = np.bincount(found, minlength=256)
    assert sizes.sum() == people and sizes.max() < 3 * people / 256
