"""The ratings that attacks are tried on: made up or given, and cut to a size that takes seconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, InputError
from discreet.ratings import Ratings, make_ratings

SHAPE = "ml-100k"
"""The shape of the made-up ratings that are attacked if none are given."""
# Larger data is cut to this size, so that every attack takes seconds and dense tables fit.
MOST_PEOPLE, MOST_ITEMS = 1000, 4000
# Smaller data is refused: uploads need 80 items and as many again for fakes, intervals need people.
_FEWEST_PEOPLE, _FEWEST_ITEMS = 100, 120
# People with enough ratings, at least, for an attack to mean anything.
_FEWEST_VICTIMS = 20

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


def prepare(ratings: Ratings | None, seed: int) -> Ratings:
    """What to attack: the given ratings, or made-up ones, cut to a size that takes seconds.

    Of many people 1,000 are drawn at random. The catalogue is then what they have rated, or the
    4,000 items that they have rated most.

    Raises:
        InputError: There are too few, or nothing can be guessed about their values.
    """
    found = make_ratings(SHAPE, seed=seed) if ratings is None else ratings
    if found.scale.presence or found.scale.step is None:
        raise InputError(
            "the attacks guess ratings, so they need a scale with steps like 1..5, not "
            + ("presence alone" if found.scale.presence else "a continuous one")
        )
    rng = np.random.default_rng([seed, 1])
    found = pick_users(found, np.flatnonzero(np.diff(found.starts)))
    if found.user_count > MOST_PEOPLE:
        found = pick_users(found, rng.choice(found.user_count, MOST_PEOPLE, replace=False))
    found = _pick_items(found)
    if found.user_count < _FEWEST_PEOPLE or len(found.catalog) < _FEWEST_ITEMS:
        raise InputError(
            f"attacks need at least {_FEWEST_PEOPLE} people and {_FEWEST_ITEMS} rated items, "
            f"not {found.user_count:,} and {len(found.catalog):,}"
        )
    return found


def pick_users(ratings: Ratings, users: npt.NDArray[np.integer]) -> Ratings:
    """These people alone, in rising order."""
    chosen = np.sort(users)
    counts = np.diff(ratings.starts)
    marks = np.zeros(ratings.user_count, np.bool_)
    marks[chosen] = True
    at = np.repeat(marks, counts)
    return replace(
        ratings,
        starts=np.concatenate(([0], np.cumsum(counts[chosen]))),
        items=ratings.items[at],
        codes=ratings.codes[at],
        times=None if ratings.times is None else ratings.times[at],
        users=None,
    )


def _pick_items(ratings: Ratings) -> Ratings:
    """Only items that somebody rated, and of very many the most rated."""
    counts = np.bincount(ratings.items, minlength=len(ratings.catalog))
    kept = np.flatnonzero(counts)
    if len(kept) > MOST_ITEMS:
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_ITEMS])
    if len(kept) == len(ratings.catalog):
        return ratings
    places = np.full(len(ratings.catalog), -1, np.int32)
    places[kept] = np.arange(len(kept))
    fewer = ratings.where(places[ratings.items] >= 0)
    ids, titles = ratings.catalog.ids, ratings.catalog.titles
    catalog = Catalog(
        [ids[item] for item in kept], [titles[item] for item in kept], ratings.catalog.origin
    )
    return replace(fewer, catalog=catalog, items=places[fewer.items])


def join(first: Ratings, second: Ratings) -> Ratings:
    """The people of both, one after the other; times are left out."""
    assert first.codes.dtype == second.codes.dtype == np.uint8
    codes = np.concatenate((first.codes.view(np.uint8), second.codes.view(np.uint8)))
    return replace(
        first,
        starts=np.concatenate((first.starts, len(first) + second.starts[1:])),
        items=np.concatenate((first.items, second.items)),
        codes=codes,
        times=None,
        users=None,
    )


def table(ratings: Ratings) -> Ints:
    """A row for each person: the codes, and -1 where nothing is rated."""
    codes = np.full((ratings.user_count, len(ratings.catalog)), -1, np.int64)
    codes[ratings.user_of_rating(), ratings.items] = ratings.codes
    return codes


def popularity(ratings: Ratings) -> Ints:
    """How many people rated each item."""
    return np.bincount(ratings.items, minlength=len(ratings.catalog))


def levels(ratings: Ratings) -> int:
    """How many values a rating can have."""
    assert ratings.scale.levels is not None
    return len(ratings.scale.levels)


def some_of_each(ratings: Ratings, users: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Places of `count` ratings of each of these people, without repeats: a row each."""
    sizes = np.diff(ratings.starts)[users]
    assert sizes.min() >= count
    keys = rng.random((len(users), int(sizes.max())))
    keys[np.arange(keys.shape[1]) >= sizes[:, None]] = np.inf
    return np.asarray(ratings.starts[users][:, None] + np.argsort(keys, axis=1)[:, :count])


def people_with(ratings: Ratings, least: int, most: int, rng: np.random.Generator) -> Ints:
    """At most `most` people, drawn at random, who have rated at least `least` items.

    Raises:
        InputError: There are too few.
    """
    fit = np.flatnonzero(np.diff(ratings.starts) >= least)
    if len(fit) < _FEWEST_VICTIMS:
        raise InputError(f"too few can be attacked: {len(fit)} people have {least} ratings or more")
    return np.sort(rng.choice(fit, min(most, len(fit)), replace=False))
