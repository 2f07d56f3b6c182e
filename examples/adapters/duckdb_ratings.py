"""Fit on what a DuckDB query finds, without a file between. Needs duckdb."""

import duckdb

import discreet

with duckdb.connect() as base:
    # Types are declared: a reader that infers them from rows lets one row change all others.
    base.execute("create table log (customer text, item text, stars double)")
    base.execute(
        "insert into log select 'c' || (range % 97), 'i' || (range % 31), 1 + range % 5 "
        "from range(3000)"
    )
    items = discreet.Catalog([f"i{n}" for n in range(31)])
    ratings = discreet.read_ratings(
        base.sql("select * from log"),
        scale=(1, 5),
        catalog=items,
        columns={"user": "customer"},
    )
# Seeded, so this release says "not private": give ledger="customers.ledger" instead.
release = discreet.fit(ratings, epsilon=1.0, randomness=discreet.SeededRandomness(1))
print([item.title for item in discreet.recommend(release, {"i3": 5}, 3)])
