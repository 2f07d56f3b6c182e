"""Where made-up ratings go and what they are.

`uniform`: any free item, any rating. `around-mean`: any free item, N(own mean, a quarter of the
scale) rounded to the grid, as the paper has it on five stars. `popular`: as `around-mean`, but
items in proportion to how popular they are. `same-hash`: as `around-mean`, and such that the
obfuscated ratings together have the hash of the true ones: then no look at the hash can tell that
anything was made up. In later batches only the new fakes can be chosen, so as far as they reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.domain.cluster_hash import ClusterHash
from discreet.privacy import Randomness
from discreet.privacy.noise import draw_below
from discreet.protocols.obfuscation.messages import Codes, Items

_Floats = npt.NDArray[np.float64]

_TRIES = 256
_FLOOR = 0.1
"""Of the mean popularity, added to each item's: what nobody fakes would be seen to be true."""


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
    """Made-up ratings for somebody whose mean code is `mean`."""
    count = int(np.prod(shape))
    if kind == "uniform":
        uniform = draw_below(parts + 1, count, randomness)
        return np.asarray(uniform.reshape(shape), np.uint8)
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
        margins = len(every) * products - sums[:, None] * plain
        is_set = (self.wanted >> np.arange(self.cluster_hash.k)) & 1 == 1
        off = np.where(is_set, np.maximum(-margins, 0), np.maximum(margins + 1, 0))
        found: _Floats = off.sum(axis=1)
        return found

    def _repair(self, codes: Codes, product: _Floats, total: float, parts: int) -> Codes:
        """Move one fake by one level at a time, always the one that helps most."""
        moved, m = codes.astype(np.int64), len(codes)
        columns = self.cluster_hash.vectors[:, self.places].astype(np.float64).T
        steps = np.concatenate((columns, -columns)), np.repeat([1.0, -1.0], m)
        now = float(self._wrong(product[None], np.array([total]))[0])
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
