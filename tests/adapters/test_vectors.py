"""Nearest neighbours in a real index are the list that `recommend` has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import discreet
from cli._calling import call
from discreet.predict import Vectors
from discreet.release import Release

PEOPLE = 40


def people(release: Release) -> list[dict[str, float]]:
    rng = np.random.default_rng(1)
    found: list[dict[str, float]] = [{}]
    for _ in range(PEOPLE):
        items = rng.choice(len(release.catalog), rng.integers(1, 40), replace=False)
        found.append({release.catalog.ids[i]: float(rng.integers(1, 6)) for i in items})
    return found


def nearest(index: Any, space: Vectors, own: dict[str, float], n: int) -> list[int]:
    _, (found,) = index.search(space.query(own)[None], n + len(own))
    ids = space.release.catalog.ids
    return [item for item in found.tolist() if ids[item] not in own][:n]


def index_of(space: Vectors) -> Any:
    index = faiss.IndexFlatIP(space.items.shape[1])
    index.add(space.items)
    return index


def test_lists_are_the_nearest_neighbours(by_lists: Release) -> None:
    space, model = discreet.vectors(by_lists), by_lists.predictor()
    index = index_of(space)
    for own in people(by_lists):
        assert nearest(index, space, own, 10) == [film.item for film in model.recommend(own, 10)]


def test_expected_ratings_are_inner_products(by_ratings: Release) -> None:
    space = discreet.vectors(by_ratings, order="expected")
    model = by_ratings.predictor(order="expected")
    index = index_of(space)
    for own in people(by_ratings):
        assert nearest(index, space, own, 10) == [film.item for film in model.recommend(own, 10)]


def test_what_the_index_finds_can_be_ordered_by_recommend(by_ratings: Release) -> None:
    space, model = discreet.vectors(by_ratings, order="lists"), by_ratings.predictor()
    index = index_of(space)
    for own in people(by_ratings):
        found = model.recommend(own, 10, only=nearest(index, space, own, 300))
        assert [film.item for film in found] == [film.item for film in model.recommend(own, 10)]


def test_orders_that_are_no_inner_product_are_refused(
    by_lists: Release, by_ratings: Release
) -> None:
    with pytest.raises(discreet.InputError, match="is not an inner product"):
        discreet.vectors(by_ratings)
    with pytest.raises(discreet.InputError, match="'expected' needs ratings"):
        discreet.vectors(by_lists, order="expected")
    order: Any = "random"
    with pytest.raises(discreet.InputError, match="order is best, lists, expected, not 'random'"):
        discreet.vectors(by_lists, order=order)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "npz"])
def test_files_hold_ids_titles_and_vectors(by_lists: Release, tmp_path: Path, ending: str) -> None:
    by_lists.save(tmp_path / "films.discreet")
    path = tmp_path / f"items.{ending}"
    told = ["export", str(tmp_path / "films.discreet"), "--vectors", str(path)]
    assert call(*told).code == 0
    assert "exists" in call(*told).complaint()
    if ending == "npz":
        with np.load(path, allow_pickle=False) as file:
            vectors, ids, about = file["vectors"], file["ids"].tolist(), str(file["about"])
    else:
        table = pq.read_table(path) if ending == "parquet" else pa.ipc.open_file(path).read_all()
        vectors = np.stack(table["vector"].to_numpy())
        ids, about = table["id"].to_pylist(), table.schema.metadata[b"discreet"].decode()
        assert pl.DataFrame(table)["title"].to_list() == list(by_lists.catalog.titles)
    assert np.array_equal(vectors, discreet.vectors(by_lists).items)
    assert ids == list(by_lists.catalog.ids)
    assert json.loads(about)["release"] == by_lists.digest()
    assert "not '.csv'" in call(*told[:-1], tmp_path / "items.csv").complaint()
