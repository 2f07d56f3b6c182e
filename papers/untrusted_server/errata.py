"""Chow, Pathak and Wang, A Practical System for Privacy-Preserving Collaborative Filtering."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.stats import beta

from discreet.audit.counterexamples import BITS, large_group
from discreet.domain import Catalog
from discreet.domain.cluster_hash import ClusterHash
from papers.erratum import Erratum, number, percent
from papers.study import NETFLIX

# The paper's bound on a component of a hash vector, and the items of its data.
_LARGEST, _ITEMS = 0.03, NETFLIX[2]
# Whose tags are compared: 28 pairs. Chosen by hand.
_PEOPLE = 8


def errata() -> list[Erratum]:
    """The quotient of tags, and the bound on components."""
    return [_quotient(), _components()]


def _quotient() -> Erratum:
    """The tags of eight people, and all differences of their hash values read off them."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1 << BITS, _PEOPLE).tolist()
    secrets = [int.from_bytes(rng.bytes(32), "big") for _ in values]
    pairs, group = list(combinations(range(_PEOPLE), 2)), large_group()
    read = group.differences(group.tags(values, secrets), pairs)
    right = [found == values[u] - values[v] for found, (u, v) in zip(read, pairs, strict=True)]
    return Erratum(
        "002, appendix",
        "appendix: the server learns nothing but the clusters",
        (
            number("claimed: differences that are read", 0, ".0f"),
            number("found, of 28 pairs of eight people", sum(right), ".0f"),
        ),
        ("8", "28"),
    )


def _components() -> Erratum:
    """The square of a component is Beta(1/2, (d - 1)/2), and one hardly depends on the others.

    Components are taken in absolute value: a vector and its negative make the same buckets.
    """
    least = math.ceil(1 / _LARGEST**2)
    over = float(beta.sf(_LARGEST**2, 0.5, (_ITEMS - 1) / 2))
    passed = math.exp(_ITEMS * math.log1p(-over))
    catalog = Catalog([str(item) for item in range(1000)])
    return Erratum(
        "002, IV-A",
        "IV-A: no component above 0.03; a larger one is unlikely",
        (
            number("the fewest items for which it is possible, in absolute value", least, ",.0f"),
            percent("of random vectors that pass at 17,770 items", passed),
            number("ours for 1,000 items and 8 bits", ClusterHash(catalog, 8).largest, ".3f"),
        ),
        ("17,770",),
    )
