"""Lists from an index of nearest neighbours. Needs faiss-cpu."""

import faiss

import discreet

ratings = discreet.make_ratings("ml-100k", ratings=20_000, seed=1)
# Seeded, so this release says "not private": give ledger="customers.ledger" instead.
release = discreet.fit(
    ratings, method="lists", epsilon=20.0, randomness=discreet.SeededRandomness(1)
)
space = discreet.vectors(release)  # the same as `discreet export films.discreet --vectors ...`
index = faiss.IndexFlatIP(space.items.shape[1])
index.add(space.items)

own = {"1": 5, "2": 4, "50": 5}
_, (found,) = index.search(space.query(own)[None], 10 + len(own))
ids = [release.catalog.ids[item] for item in found]
ids = [name for name in ids if name not in own][:10]
print(ids)
assert ids == [item.id for item in discreet.recommend(release, own, 10)]
