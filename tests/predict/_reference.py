"""Slow twins: the predictors' formulas with plain numpy, one person and one item at a time."""

from __future__ import annotations

import math

import numpy as np

from discreet.release import Release, unpack


def slow_rows(release: Release) -> np.ndarray:
    """The rows u of a lists section."""
    arrays = {name: array.astype(np.float64) for name, array in release.arrays.items()}
    rows = np.outer(arrays["list_tail"], arrays["list_axis"])
    for place, item in enumerate(release.arrays["list_head"].tolist()):
        rows[item] = arrays["list_rows"][place] * arrays["list_scales"]
    return rows


def slow_lists(release: Release, own: np.ndarray) -> np.ndarray:
    """The list score of every item: popularity, or what every own item adds."""
    if len(own) == 0:
        return release.arrays["list_popularity"].astype(np.float64)
    rows, scores = slow_rows(release), release.arrays["list_start"].astype(np.float64)
    for j in range(len(scores)):
        for item in own.tolist():
            scores[j] += float(release.arrays["list_gain"][j]) * (rows[item] @ rows[j])
    return scores


def slow_order(release: Release, own: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """What lists are ordered by, from the expected ratings (presence: whatever was the score)."""
    if "list_rows" in release.arrays:
        scores = slow_lists(release, own)
    elif release.scale.presence:
        return expected
    else:
        scores = release.arrays["item_counts"] + 0.1 * release.arrays["item_counts"].mean()
    if release.scale.presence or release.method == "lists":
        return scores
    lo, hi = release.scale.lo, release.scale.hi
    like, doubt = hi - 0.375 * (hi - lo), 0.375 * (hi - lo)
    z = (np.clip(expected, lo, hi) - like) / doubt
    likely = np.array([0.5 * (1 + math.erf(each / math.sqrt(2))) for each in z.tolist()])
    return np.where(scores > 0, scores * likely, scores)


class Slow:
    """A release in float64, and the sums that predictors make of it."""

    def __init__(self, release: Release) -> None:
        arrays = {n: np.asarray(a, dtype=np.float64) for n, a in release.arrays.items()}
        self.release, self.arrays = release, arrays
        self.baseline = release.parameters["global_mean"] + arrays["item_effects"]
        self.noise = release.parameters["rating_variance"] + (
            arrays["item_effect_variances"] + arrays["factor_variances"]
        )
        self.bias_variance = release.parameters["user_variance"]
        self._averages: dict[float, np.ndarray] = {}

    def svd(self, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The conditional mean of jointly normal ratings: no ridge regression, no factors' gram."""
        F = self.arrays["factors"]
        prior = F @ F.T + self.bias_variance
        own = prior[np.ix_(items, items)] + np.diag(self.noise[items])
        x = values - self.baseline[items]
        return self.baseline + prior[:, items] @ np.linalg.solve(own, x)

    def bias(self, items: np.ndarray, values: np.ndarray) -> float:
        precision = 1 / self.noise[items]
        x = values - self.baseline[items]
        return float((precision * x).sum() / (1 / self.bias_variance + precision.sum()))

    def knn_by_factors(
        self, items: np.ndarray, values: np.ndarray, target: int, neighbours: int, ridge: float
    ) -> float:
        F, b = self.arrays["factors"], self.bias(items, values)
        covariance = F @ F.T
        variance = np.diag(covariance) + self.noise
        others = items[items != target]
        explained = covariance[target, others] ** 2 / variance[others]
        near = others[np.argsort(-explained, kind="stable")[:neighbours]]
        A = covariance[np.ix_(near, near)] + np.diag(self.noise[near] + ridge)
        w = np.linalg.solve(A, covariance[near, target])
        rating = dict(zip(items.tolist(), values, strict=True))
        y = np.array([rating[i] - self.baseline[i] - b for i in near.tolist()])
        return float(self.baseline[target] + b + w @ y)

    def averages(self, shrink: float) -> np.ndarray:
        """m + (C - m W) W / (W^2 + beta W + s^2 / v), off the diagonal and on it."""
        cov, wgt = unpack(self.arrays["covariance"]), unpack(self.arrays["weights"])
        told = self.release.parameters
        off = ~np.eye(len(cov), dtype=bool)
        means = {on: cov[part].mean() / wgt[part].mean() for on, part in ((0, off), (1, ~off))}
        s2 = told["covariance_noise"] ** 2 + (means[0] * told["weights_noise"]) ** 2
        spread = (cov - means[0] * wgt)[off]
        v = (np.sum(spread**2) - len(spread) * s2) / np.sum(wgt[off] ** 2)
        out = np.empty_like(cov)
        for on, part in ((0, off), (1, ~off)):
            W, beta = np.maximum(wgt[part], 0), shrink * wgt[part].mean()
            floor = 0.0 if s2 == 0 else s2 / v * (1 + on)
            out[part] = means[on] + (cov[part] - means[on] * W) * W / (W**2 + beta * W + floor)
        return out

    def knn_by_matrix(
        self,
        items: np.ndarray,
        values: np.ndarray,
        target: int,
        neighbours: int,
        ridge: float,
        shrink: float,
    ) -> float:
        head = self.release.arrays["head"].tolist()
        if shrink not in self._averages:
            self._averages[shrink] = self.averages(shrink)
        wgt, averages = unpack(self.arrays["weights"]), self._averages[shrink]
        b, t = self.bias(items, values), head.index(target)
        own = [i for i in items.tolist() if i in head and i != target and wgt[t, head.index(i)] > 0]
        own.sort(key=lambda i: -wgt[t, head.index(i)])
        near: list[int] = []
        for i in own[:neighbours]:
            # One more neighbour enters if enough of its variance is left after those before it.
            trial = [head.index(j) for j in (*near, i)]
            A = averages[np.ix_(trial, trial)] + ridge * np.eye(len(trial))
            left = A[-1, -1] - A[-1, :-1] @ np.linalg.solve(A[:-1, :-1], A[:-1, -1])
            if left > 0.05 * max(A[-1, -1], 0):
                near.append(i)
        places = [head.index(j) for j in near]
        A = averages[np.ix_(places, places)] + ridge * np.eye(len(places))
        w = np.linalg.solve(A, averages[places, t])
        rating = dict(zip(items.tolist(), values, strict=True))
        y = np.array([rating[i] - self.baseline[i] - b for i in near])
        return float(self.baseline[target] + b + w @ y)
