"""Write open_clusters_hash.json: golden cases of the cluster hash for Python and the browser.

python tests/vectors/make_open_clusters_hash.py
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import Catalog
from discreet.domain.cluster_hash import ClusterHash

FILE = Path(__file__).with_name("open_clusters_hash.json")
SHAPES: tuple[dict[str, Any], ...] = (
    {"items": 1, "bits": 1, "hash": "orthogonal", "beacon": ""},
    {"items": 8, "bits": 8, "hash": "orthogonal", "beacon": "Zürich, 2026-01-01 ☂"},
    {"items": 16, "bits": 16, "hash": "orthogonal", "beacon": "x"},
    {"items": 40, "bits": 5, "hash": "lsh", "beacon": ""},
    {"items": 1682, "bits": 8, "hash": "orthogonal", "beacon": ""},
    {"items": 17770, "bits": 16, "hash": "orthogonal", "beacon": ""},
    {"ids": ["a", "ä", "日本", "d"], "titles": ["Alien", "Älien", "映画", "Alien"], "bits": 3,
     "hash": "orthogonal", "beacon": "titles"},
)  # fmt: skip


def catalog_of(case: dict[str, Any]) -> Catalog:
    ids = case.get("ids") or [str(i) for i in range(case["items"])]
    return Catalog(ids, case.get("titles"))


def people_of(items: int, rng: np.random.Generator) -> list[dict[str, list[int]]]:
    """Random people, and those at ties: nothing rated, one item, all codes equal."""
    people: list[tuple[Any, Any]] = [([], []), ([items - 1], [3])]
    some = np.arange(min(items, 5))
    people.append((some, np.full(len(some), 4)))
    for most in (4, 4, 4, 255):
        chosen = np.sort(rng.choice(items, min(items, 60), replace=False))
        people.append((chosen, rng.integers(0, most + 1, len(chosen))))
    return [{"items": np.asarray(i).tolist(), "codes": np.asarray(c).tolist()} for i, c in people]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    catalog = catalog_of(case)
    made = ClusterHash(catalog, case["bits"], kind=case["hash"], beacon=case["beacon"])
    values = [
        made.value(np.array(p["items"], np.int32), np.array(p["codes"], np.int64))
        for p in case["people"]
    ]
    vectors = hashlib.sha256(made.vectors.astype("<i4").tobytes()).hexdigest()
    return {"catalog": catalog.digest(), "vectors": vectors, "values": values}


def main() -> None:
    rng = np.random.default_rng(2)
    cases = []
    for shape in SHAPES:
        case = dict(shape)
        catalog = catalog_of(case)
        if "titles" in case:
            case["titles"] = list(catalog.titles)
        case["people"] = people_of(len(catalog), rng)
        cases.append(case | answer(case))
    FILE.write_text(json.dumps({"cases": cases}, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
