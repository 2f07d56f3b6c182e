"""Small data sets that differ in one rating or in one user, and a search for worse ones."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numba
import numpy as np
import numpy.typing as npt

from discreet.domain import Catalog, Scale
from discreet.privacy import Unit
from discreet.ratings import Ratings

Person = dict[int, float]
_Ints = npt.NDArray[np.int64]

STARS = Scale(1, 5)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Kernels on one thread: sharing out a small data set takes longer than working on it.

    A fit's numbers do not depend on threads.
    """
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)


@functools.cache
def catalog_of(items: int) -> Catalog:
    """Items that are called by their number."""
    return Catalog([str(item) for item in range(items)])


def ratings_of(people: Sequence[Person], items: int, scale: Scale = STARS) -> Ratings:
    """Ratings by catalogue index, a mapping for each person."""
    starts = np.concatenate(([0], np.cumsum([len(each) for each in people]))).astype(np.int64)
    rated = [item for each in people for item in sorted(each)]
    values = [each[item] for each in people for item in sorted(each)]
    codes = scale.encode(np.array(values, np.float64))
    return Ratings(scale, catalog_of(items), starts, np.array(rated, np.int32), codes)


@dataclass(frozen=True)
class Neighbours:
    """The two worlds: with something of one person, and without it.

    Attributes:
        items: How many the catalogue has.
        unit: Whose neighbours these are: one rating more, or one user.
        without: The person's ratings in the second world; none at all if users are protected.
        added: What the first world has beside them: one rating, or all of the person's.
        others: Everybody else, in both worlds alike; people come after them.
        scale: Of the ratings.
    """

    items: int
    unit: Unit
    without: Person
    added: Person
    others: tuple[Person, ...] = ()
    scale: Scale = STARS

    def __post_init__(self) -> None:
        assert self.added and not self.added.keys() & self.without.keys()
        assert not self.without if self.unit is Unit.USER else len(self.added) == 1

    @classmethod
    def by_rating(
        cls, items: int, old: Person, new: tuple[int, float], scale: Scale = STARS
    ) -> Neighbours:
        """Somebody with these ratings gives one more: item and value."""
        return cls(items, Unit.RATING, old, dict([new]), scale=scale)

    @classmethod
    def by_user(cls, items: int, own: Person, scale: Scale = STARS) -> Neighbours:
        """Somebody with these ratings comes."""
        return cls(items, Unit.USER, {}, own, scale=scale)

    @classmethod
    def of(
        cls, unit: Unit, items: int, old: Person, new: tuple[int, float], scale: Scale = STARS
    ) -> Neighbours:
        """Somebody has all these ratings, and in the other world all but the new one, or none."""
        if unit is Unit.RATING:
            return cls.by_rating(items, old, new, scale)
        return cls.by_user(items, old | dict([new]), scale)

    def ratings(self, world: int) -> Ratings:
        """Everybody's ratings in a world: 0 is the one that has more."""
        own = self.without | self.added if world == 0 else self.without
        return ratings_of([*self.others, own], self.items, self.scale)


Movement = Callable[[Neighbours], float]
"""How far apart two worlds are: what a search makes as large as it can."""


def search(
    start: Neighbours, movement: Movement, steps: int, rng: np.random.Generator
) -> tuple[Neighbours, float]:
    """Climb from neighbours to worse ones: changes that move no less are kept.

    Args:
        start: Where to begin; the unit stays.
        movement: What to make large.
        steps: How many changes to try.
        rng: Where they come from.
    """
    best, far = start, movement(start)
    for _ in range(steps):
        tried = _changed(best, rng)
        moved = movement(tried)
        # Equals are taken too: on a plateau the climb wanders, and finds ways up that it would
        # miss.
        if moved >= far:
            best, far = tried, moved
    return best, far


def _changed(now: Neighbours, rng: np.random.Generator) -> Neighbours:
    """One to three ratings put in, taken out or changed, of the person or of others."""
    for _ in range(int(rng.integers(1, 4))):
        which = int(rng.integers(len(now.others) + 1))
        item, value = int(rng.integers(now.items)), _value(now.scale, rng)
        if which < len(now.others):
            others = list(now.others)
            others[which] = _with(others[which], item, value)
            now = replace(now, others=tuple(others))
        # What was added is never taken out: without it the two worlds would be one.
        elif item in now.added:
            now = replace(now, added={**now.added, item: value or now.added[item]})
        elif now.unit is Unit.USER:
            now = replace(now, added=_with(now.added, item, value))
        else:
            now = replace(now, without=_with(now.without, item, value))
    return now


def _value(scale: Scale, rng: np.random.Generator) -> float | None:
    """A rating, most often at an end of the scale; None takes it out."""
    if scale.presence:
        return 1.0 if rng.random() < 0.6 else None
    if rng.random() < 0.2:
        return None
    levels = scale.levels
    if levels is None or rng.random() < 0.7:
        return float(rng.choice([scale.lo, scale.hi]))
    return float(rng.choice(levels))


def _with(person: Person, item: int, value: float | None) -> Person:
    rest = {each: rated for each, rated in person.items() if each != item}
    if value is None:
        return rest if rest else person
    return rest | {item: value}
