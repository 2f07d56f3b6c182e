"""What a client has sent, which of it is true, and how later ratings join it.

The server sees every version, so nothing about a change may tell true ratings from made-up ones:
what was sent stays as it was, true or made up, whatever the person rates later; each batch of new
ratings brings new fakes at the same ratio; a true rating that is taken back stays as a fake. One
history serves every collection: two would share only the true items.

How fakes are made:

- `uniform`: any free item, any rating.
- `around-mean`: any free item, N(own mean, a quarter of the scale) rounded to the grid, as the
  paper has it on five stars.
- `popular`: as `around-mean`, but items in proportion to their popularity.
- `same-hash`: as `around-mean`, and such that the obfuscated ratings together have the hash of the
  true ones: then the hash does not reveal that anything was made up. In later batches only the new
  fakes can be chosen, so as far as they reach.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.domain import InputError
from discreet.domain.cluster_hash import ClusterHash
from discreet.privacy import Randomness
from discreet.privacy.noise import draw_below
from discreet.protocols.clusters_common.messages import Codes, Items, Obfuscation

_Floats = npt.NDArray[np.float64]

# Draws of all new codes, of which the best is taken and, if need be, repaired. Chosen by hand.
_TRIES = 256
_FLOOR = 0.1
"""Part of the mean popularity, added to each item's: an item never faked would be known true."""


def choose_places(
    free: npt.NDArray[np.bool_], count: int, popularity: _Floats | None, randomness: Randomness
) -> Items:
    """`count` of the free items in rising order, all as likely, or in proportion to popularity."""
    candidates = np.flatnonzero(free)
    count = min(count, len(candidates))
    keys = _uniforms(len(candidates), randomness)
    if popularity is not None:
        # The smallest of exponential waiting times is an item with its share of all the rates.
        weights = popularity + _FLOOR * popularity.mean() + 1e-300
        keys = -np.log(keys) / weights[candidates]
    if count < len(candidates):
        candidates = candidates[np.argpartition(keys, count)[:count]]
    return np.sort(candidates).astype(np.int32)


def draw_codes(
    kind: str, mean: float, parts: int, shape: tuple[int, ...], randomness: Randomness
) -> Codes:
    """Made-up ratings for a person whose mean code is `mean`."""
    count = int(np.prod(shape))
    if kind == "uniform":
        uniform = draw_below(parts + 1, count, randomness)
        return np.asarray(uniform.reshape(shape), np.uint8)
    # Box and Muller, with a standard deviation of a quarter of the scale. Floats will do: made-up
    # ratings promise deniability and no epsilon, so that no exact law is claimed of them.
    radius = np.sqrt(-2 * np.log(_uniforms(count, randomness)))
    normal = radius * np.cos(2 * np.pi * _uniforms(count, randomness))
    codes = np.clip(np.floor(mean + parts / 4 * normal + 0.5), 0, parts)
    return np.asarray(codes.reshape(shape), np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class HashKeeper:
    """Chooses codes of new fakes so that everything that is sent has a wanted hash.

    Args:
        cluster_hash: The hash function.
        items: What is sent besides the new fakes.
        codes: The codes beside them.
        places: The items of the new fakes.
        wanted: The hash value.
    """

    cluster_hash: ClusterHash
    items: Items
    codes: Codes
    places: Items
    wanted: int

    def choose(self, mean: float, parts: int, randomness: Randomness) -> Codes:
        """The first of many draws with the wanted hash, else the nearest one, repaired.

        Where no ratings of these items have the hash, the result comes as close as it can.
        """
        # Each draw has a wanted hash of k bits with a chance of about 2^-k, unless what is sent
        # besides decides it already.
        draws = draw_codes("around-mean", mean, parts, (_TRIES, len(self.places)), randomness)
        products, sums = self._products(draws)
        wrong = self._wrong(products, sums)
        best = int(np.argmin(wrong))
        if wrong[best] == 0:
            return np.asarray(draws[best])
        return self._repair(draws[best], products[best], sums[best], parts)

    def _products(self, rows: Codes) -> tuple[_Floats, _Floats]:
        """The sums of q c, a row for each row of codes and a column a bit; the sums of c."""
        vectors, codes = self.cluster_hash.vectors, rows.astype(np.float64)
        old = vectors[:, self.items].astype(np.float64) @ self.codes.astype(np.float64)
        products = codes @ vectors[:, self.places].astype(np.float64).T + old
        return products, codes.sum(axis=1) + float(self.codes.sum())

    def _wrong(self, products: _Floats, sums: _Floats) -> _Floats:
        """How far each row is on the wrong side of the hash's planes; 0 is right.

        Products and sums are whole numbers below 2^53 and exact; a margin is rounded only where it
        is far from 0.
        """
        every = np.concatenate((self.items, self.places))
        plain = self.cluster_hash.vectors[:, every].sum(axis=1, dtype=np.int64)
        # A bit is the sign of q . (c - mean c). Times the number of items it is a difference of
        # whole numbers, n sum(q c) - sum(c) sum(q), so that no rounding decides.
        margins = len(every) * products - sums[:, None] * plain
        is_set = (self.wanted >> np.arange(self.cluster_hash.k)) & 1 == 1
        # A margin of 0 counts as set, so an unset bit is right from -1 on.
        off = np.where(is_set, np.maximum(-margins, 0), np.maximum(margins + 1, 0))
        found: _Floats = off.sum(axis=1)
        return found

    def _repair(self, codes: Codes, product: _Floats, total: float, parts: int) -> Codes:
        """Move one fake by one level at a time, always the one that helps most."""
        moved, m = codes.astype(np.int64), len(codes)
        columns = self.cluster_hash.vectors[:, self.places].astype(np.float64).T
        # Row m of these is fake m one level up, row m + the number of fakes the same one down.
        steps = np.concatenate((columns, -columns)), np.repeat([1.0, -1.0], m)
        now = float(self._wrong(product[None], np.array([total]))[0])
        # Each step makes it strictly less wrong; the bound only keeps a hopeless case short.
        for _ in range(parts * m):
            wrong = self._wrong(product + steps[0], total + steps[1])
            wrong[np.concatenate((moved == parts, moved == 0))] = np.inf
            best = int(np.argmin(wrong))
            if wrong[best] >= now:
                break
            now, product, total = wrong[best], product + steps[0][best], total + steps[1][best]
            moved[best % m] += 1 if best < m else -1
            if now == 0:
                break
        return moved.astype(np.uint8)


def _uniforms(count: int, randomness: Randomness) -> _Floats:
    """Above 0, up to 1."""
    return ((randomness.words(count) >> np.uint64(11)).astype(np.float64) + 1) * 2.0**-53


_NAMES = (
    "true_items",
    "true_codes",
    "fake_items",
    "fake_codes",
    "met",
    "suppressed",
    "taken_back",
    "late",
)
_ITEMS_OF = {"true_codes": "true_items", "fake_codes": "fake_items"}


@dataclass(frozen=True)
class Terms:
    """How one person obfuscates: the collection's terms, or stricter ones.

    Attributes:
        fakes: How made-up ratings are drawn.
        fake_percent: How many for every hundred true ratings that are sent, at least.
        suppress_percent: How many of a hundred true ratings are not sent.
        popularity: How popular each item is, for `popular` fakes: counts of a release.
        least: The fewest items that look rated, unless the collection asks for more.
    """

    fakes: str
    fake_percent: int
    suppress_percent: int
    popularity: npt.NDArray[np.float64] | None = None
    least: int = 0

    @classmethod
    def of(cls, collection: Obfuscation, **stricter: Any) -> Terms:
        """The collection's terms, except for those given.

        Raises:
            InputError: Something is weaker than the collection asks for, or unusable.
        """
        terms = cls(collection.fakes, collection.fake_percent, collection.suppress_percent)
        terms = replace(
            terms, **{name: value for name, value in stricter.items() if value is not None}
        )
        for name in ("fake_percent", "suppress_percent"):
            if getattr(terms, name) < getattr(collection, name):
                raise InputError(f"{name} is at least the collection's {getattr(collection, name)}")
        # The collection knows what is possible.
        replace(
            collection,
            fakes=terms.fakes,
            fake_percent=terms.fake_percent,
            suppress_percent=terms.suppress_percent,
        )
        if terms.fakes == "popular":
            known = terms.popularity
            if known is None or known.shape != (len(collection.catalog),):
                raise InputError("popular fakes need the popularity of every item of the catalogue")
            if not (np.isfinite(known).all() and known.min() >= 0):
                raise InputError("popularity is 0 or above for every item")
        return terms

    def fakes_for(self, true: int) -> int:
        """How many made-up ratings go with a number of true ones, rounded up."""
        return -(-true * self.fake_percent // 100)


def _no_items() -> Items:
    return np.empty(0, np.int32)


def _no_codes() -> Codes:
    return np.empty(0, np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """What was sent so far.

    Attributes:
        true_items: True ratings that were sent, rising, and `true_codes` beside them.
        fake_items: Made-up ones, rising, and `fake_codes` beside them.
        met: Made-up ones whose item the person has rated since; they keep what was made up.
        suppressed: Rated, and never sent. A made-up rating may be on such an item as on any other:
            else, once fakes are everywhere, what is absent would be rated.
        taken_back: Made-up ones that were true when they were first sent.
        late: Made-up ones that came without a batch, because a collection asks for more items:
            recognisable to anyone who saw both uploads.
    """

    true_items: Items = field(default_factory=_no_items)
    true_codes: Codes = field(default_factory=_no_codes)
    fake_items: Items = field(default_factory=_no_items)
    fake_codes: Codes = field(default_factory=_no_codes)
    met: Items = field(default_factory=_no_items)
    suppressed: Items = field(default_factory=_no_items)
    taken_back: Items = field(default_factory=_no_items)
    late: Items = field(default_factory=_no_items)

    def __repr__(self) -> str:
        return "History(private)"

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> History:
        """Read what `as_state` wrote."""
        try:
            columns: dict[str, Any] = {
                name: np.array(state[name], np.uint8 if "codes" in name else np.int32)
                for name in _NAMES
            }
            found = cls(**columns)
            if any(len(columns[c]) != len(columns[i]) for c, i in _ITEMS_OF.items()):
                raise ValueError
            return found
        except (KeyError, OverflowError, TypeError, ValueError):
            raise InputError("the client's state has no usable history of uploads") from None

    def as_state(self) -> dict[str, Any]:
        """Plain data for the client's own file."""
        return {name: getattr(self, name).tolist() for name in _NAMES}

    @property
    def sent(self) -> tuple[Items, Codes]:
        """Everything that looks rated, in rising order."""
        return _merge((self.true_items, self.fake_items), (self.true_codes, self.fake_codes))

    def is_within(self, size: int) -> bool:
        """Whether all its items are below `size`."""
        columns = [getattr(self, name) for name in _NAMES if name not in _ITEMS_OF]
        return all(not len(c) or (c.min() >= 0 and c.max() < size) for c in columns)

    def mentions(self, size: int, *, hidden: bool = True) -> npt.NDArray[np.bool_]:
        """Which of `size` items it mentions; without `hidden` only those sent."""
        found = np.zeros(size, np.bool_)
        # What is sent shows; what is held back shows only in that it is absent.
        found[self.true_items] = found[self.fake_items] = True
        if hidden:
            found[self.suppressed] = True
        return found

    def moved(self, places: npt.NDArray[np.int32]) -> History:
        """The same of items by other numbers, `places[item]`; without those that have none."""
        columns: dict[str, Any] = {}
        for name in _NAMES:
            column = getattr(self, _ITEMS_OF.get(name, name))
            # -1 where the other catalogue lacks an item.
            new = places[column]
            order = np.argsort(new[new >= 0], kind="stable")
            moved = getattr(self, name) if name in _ITEMS_OF else new
            columns[name] = moved[new >= 0][order]
        return History(**columns)

    def beside(self, other: History) -> History:
        """Both in one; they speak of different items."""
        joined: dict[str, Any] = {
            name: np.concatenate((getattr(self, name), getattr(other, name))) for name in _NAMES
        }
        return History(**joined)

    def news(self, items: Items) -> int:
        """How many ratings are new since."""
        # A rating of an item that was made up before is news until it is met: then it has been
        # looked at.
        known = np.concatenate((self.true_items, self.met, self.suppressed))
        return int(np.count_nonzero(~np.isin(items, known)))

    def advance(
        self,
        items: Items,
        codes: Codes,
        collection: Obfuscation,
        terms: Terms,
        randomness: Randomness,
    ) -> History:
        """What to send once these are the person's ratings.

        Args:
            items: All items that the person has rated, rising.
            codes: The ratings beside them; of what was sent before they change nothing.
            collection: The public terms.
            terms: The person's own.
            randomness: Where suppression and fakes come from.
        """
        now = _Now(items, codes, collection, terms, randomness)
        then = self.without_gone(items)
        met = np.setdiff1d(np.intersect1d(then.fake_items, items), then.suppressed).astype(np.int32)
        known = np.concatenate((then.true_items, then.fake_items, then.suppressed))
        new = ~np.isin(items, known)
        new_items, new_codes = items[new], codes[new]
        hidden = draw_below(100, len(new_items), randomness) < terms.suppress_percent
        true_items, true_codes = _merge(
            (then.true_items, new_items[~hidden]), (then.true_codes, new_codes[~hidden])
        )
        then = replace(
            then,
            true_items=true_items,
            true_codes=true_codes,
            met=met,
            suppressed=np.sort(np.concatenate((then.suppressed, new_items[hidden]))),
        )
        # By the batch, not by all there is: else the floor's fakes would do for later batches too,
        # and every item that joins would be a true one.
        newly_met = int(np.count_nonzero(~np.isin(met, self.met)))
        added = int(np.count_nonzero(~hidden)) + newly_met
        # A fake that was met is one fake less.
        wanted = terms.fakes_for(added) + newly_met
        if not len(self.sent[0]):
            wanted = max(wanted, then.lacks(collection, terms))
        return then._with_fakes(wanted, now)

    def filled_up(
        self,
        items: Items,
        codes: Codes,
        collection: Obfuscation,
        terms: Terms,
        randomness: Randomness,
    ) -> History:
        """As many more fakes as the collection asks items for; they come late, and count as known.

        Args: as `advance`.
        """
        now = _Now(items, codes, collection, terms, randomness)
        then = self._with_fakes(self.lacks(collection, terms), now)
        late = np.setdiff1d(then.fake_items, self.fake_items)
        return replace(then, late=np.union1d(self.late, late).astype(np.int32))

    def lacks(self, collection: Obfuscation, terms: Terms) -> int:
        """How many more items have to look rated, as far as there are any left."""
        sent = len(self.true_items) + len(self.fake_items)
        short = max(collection.least, terms.least) - sent
        return max(min(short, len(collection.catalog) - sent), 0)

    def without_gone(self, items: Items) -> History:
        """True ratings that the person took back become fakes; what is sent stays the same."""
        gone = ~np.isin(self.true_items, items)
        met = self.met[np.isin(self.met, items)]
        if not gone.any() and len(met) == len(self.met):
            return self
        fake_items, fake_codes = _merge(
            (self.fake_items, self.true_items[gone]), (self.fake_codes, self.true_codes[gone])
        )
        return replace(
            self,
            true_items=self.true_items[~gone],
            true_codes=self.true_codes[~gone],
            fake_items=fake_items,
            fake_codes=fake_codes,
            met=met,
            taken_back=np.union1d(self.taken_back, self.true_items[gone]).astype(np.int32),
        )

    def _with_fakes(self, count: int, now: _Now) -> History:
        """With `count` more fakes, on items that are not sent; fewer if none are left.

        Whatever is rated and not sent is suppressed, and looks like any item that is not rated.
        """
        free = np.ones(len(now.collection.catalog), np.bool_)
        for taken in (self.true_items, self.fake_items):
            free[taken] = False
        kind, parts = now.terms.fakes, now.collection.parts
        popularity = now.terms.popularity if kind == "popular" else None
        places = choose_places(free, count, popularity, now.randomness)
        if kind == "same-hash" and len(places):
            cluster_hash = now.collection.cluster_hash
            wanted = cluster_hash.value(now.items, now.codes)
            keeper = HashKeeper(cluster_hash, *self.sent, places, wanted)
            drawn = keeper.choose(now.mean, parts, now.randomness)
        else:
            drawn = draw_codes(kind, now.mean, parts, (len(places),), now.randomness)
        items, codes = _merge((self.fake_items, places), (self.fake_codes, drawn))
        return replace(self, fake_items=items, fake_codes=codes)


@dataclass(frozen=True, eq=False, repr=False)
class _Now:
    """The person's ratings as they are, and how to obfuscate them."""

    items: Items
    codes: Codes
    collection: Obfuscation
    terms: Terms
    randomness: Randomness

    @property
    def mean(self) -> float:
        return float(self.codes.mean()) if len(self.codes) else self.collection.parts / 2


def share_true(true: int, fakes: int) -> float:
    """N / (N + M): how sure anybody can be of a rating by counting alone."""
    return true / (true + fakes) if true + fakes else math.nan


def _merge(items: tuple[Items, Items], codes: tuple[Codes, Codes]) -> tuple[Items, Codes]:
    both, beside = np.concatenate(items), np.concatenate(codes)
    order = np.argsort(both, kind="stable")
    return both[order], beside[order]
