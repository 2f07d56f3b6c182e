"""Closed clusters: the own mean, and how the clusters that fit the own ratings rate an item."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from discreet.domain import OwnRatings
from discreet.predict._buckets import BucketAverages
from discreet.predict._people import People
from discreet.predict._predictor import Floats, Order, Predictor
from discreet.release import Release

# People whose scores of all items are in memory at once: 20,000 items take 40 MiB of float64.
# Chosen by hand; it does not change results.
_BLOCK = 256
# The standard deviation of a rating around what its cluster expects, as a share of the scale's
# range: one star of five. Chosen by hand.
_SPREAD = 0.25


class ClusterPredictor(Predictor):
    """Own mean + the clusters' averages of the item, each by how well it fits the own ratings.

    People do not learn which cluster they are in, and members and others use a release alike.
    Cluster c with n people weighs n exp(-sum (x - a_c)^2 / 2 s^2), over the own ratings less their
    mean, x, and the cluster's averages of the same items, shrunk to everybody's, a_c; s is a
    quarter of the scale's range. Everybody's averages count as a cluster of one person, for people
    whom no cluster fits.

    Args:
        release: Of method `closed-clusters` or `open-clusters`.
        order: See `Predictor`.
        thin: The number of ratings at which a cluster's average counts as much as everybody's;
            the release's if absent.
    """

    name: ClassVar[str] = "clusters"

    def __init__(
        self, release: Release, *, order: Order = "best", thin: float | None = None
    ) -> None:
        super().__init__(release, order=order)
        self._level = float(release.parameters["global_mean"])
        averages = BucketAverages(release, thin)
        self._effects = averages.everybody
        beyond = averages.entries() - self._effects[averages.items]
        # One row per cluster, and an empty one for everybody.
        begins = np.concatenate(([0], averages.ends, averages.ends[-1:]))
        if not len(averages):
            begins = np.zeros(2, np.int64)
        shape = (len(averages) + 1, len(self._effects))
        self._beyond = sparse.csr_array((beyond, averages.items, begins), shape=shape)
        self._squares = self._beyond.power(2)
        # A cluster whose averages are not shown attracts nobody.
        raters = np.where(np.diff(begins)[:-1] > 0, release.arrays["bucket_raters"], 0)
        with np.errstate(divide="ignore"):
            self._prior = np.log(np.append(raters.astype(np.float64), 1.0))
        self._spread = (_SPREAD * release.scale.range) ** 2

    def weights(self, people: People) -> Floats:
        """Each cluster's weight, everybody's last, one row per person; a row sums to 1."""
        off = people.values - np.repeat(people.means(self._level), np.diff(people.starts))
        off = off - self._effects[people.items]
        found: Floats = special.softmax(self._prior + self._fits(people, off), axis=1)
        return found

    def _fits(self, people: People, off: Floats) -> Floats:
        """Logarithms of how much better each cluster explains the ratings than everybody does."""
        shape = (len(people), len(self._effects))
        products = sparse.csr_array((off, people.items, people.starts), shape=shape)
        rated = sparse.csr_array((np.ones_like(off), people.items, people.starts), shape=shape)
        gains = 2 * (products @ self._beyond.T) - rated @ self._squares.T
        found: Floats = gains.toarray() / (2 * self._spread)
        return found

    def _expected(self, people: People) -> Floats:
        personal: Floats = self.weights(people) @ self._beyond
        return people.means(self._level)[:, None] + self._effects + personal

    def _scores(self, people: People) -> npt.NDArray[np.float32]:
        return self._expected(people).astype(np.float32)

    def _pairs(
        self, people: People, rows: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
    ) -> Floats:
        found = np.empty(len(rows))
        order = np.argsort(rows, kind="stable")
        sorted_rows = rows[order]
        for first in range(0, len(people), _BLOCK):
            last = min(first + _BLOCK, len(people))
            begin, end = np.searchsorted(sorted_rows, (first, last))
            where = order[begin:end]
            if len(where):
                expected = self._expected(people.part(first, last))
                found[where] = expected[rows[where] - first, items[where]]
        return found

    def _contributions(
        self, own: OwnRatings, items: npt.NDArray[np.int32]
    ) -> tuple[Floats, Floats]:
        """Its share of the own mean, and of what distinguished the clusters.

        A rating counts by how much better it fits the clusters that gained weight.
        """
        mean: Floats = (own.values - self._level) / max(len(own), 1)
        if not len(own):
            return mean, np.zeros((len(items), 0))
        gained = self.weights(People.one(own))[0] - special.softmax(self._prior)
        here = self._beyond[:, own.items].toarray()
        off = own.values - own.values.mean() - self._effects[own.items]
        pushes = np.maximum(gained @ (2 * off * here - here**2), 0.0)
        # If no rating distinguished the clusters, their weights did not change.
        shares = pushes / max(pushes.sum(), 1e-300)
        return mean, np.outer((gained @ self._beyond)[items], shares)
