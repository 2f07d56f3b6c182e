"""Relations of DuckDB are read by Arrow's protocol, without a file between."""

from __future__ import annotations

import duckdb
import pytest

import discreet

ITEMS = discreet.Catalog(["7", "8"], ["Alien", "Heat"])


def test_a_relation_is_read_as_the_table_is() -> None:
    with duckdb.connect() as base:
        base.execute("create table log (customer text, item integer, stars double, noise blob)")
        base.execute(
            "insert into log values ('ann', 7, 5, 'x'), ('bob', 8, 3, 'y'), ('ann', 8, 1, 'z')"
        )
        ratings = discreet.read_ratings(
            base.sql("select * from log where stars > 1"),
            scale=(1, 5), catalog=ITEMS, columns={"user": "customer"},
        )  # fmt: skip
    assert ratings.users is not None
    assert ratings.users.tolist() == ["ann", "bob"]
    assert ratings.values().tolist() == [5.0, 3.0]


def test_a_relation_that_fails_says_nothing_of_its_cells() -> None:
    with duckdb.connect() as base:
        relation = base.sql(
            "select 'ann' as user, 7 as item, cast('secret' || range as double) as rating "
            "from range(3)"
        )
        with pytest.raises(
            discreet.InputError, match="fails when its rows are asked for"
        ) as refused:
            discreet.read_ratings(relation, scale=(1, 5), catalog=ITEMS)
    assert "secret" not in str(refused.value) and refused.value.__cause__ is None
    assert refused.value.__context__ is None
