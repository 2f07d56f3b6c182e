"""From pairs that agree to clusters, whatever some of the senders made up.

The tags of people who follow the protocol agree exactly with others of the same hash value, so
their clusters are cliques. A person who sends different values to different people would glue two
clusters together if agreement were simply followed from one to the next: so a person joins a
cluster only if they agree with more than three quarters of those in it that they can be compared
with. What that promises is in PROOF.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Who is together.

    Args:
        labels: For each slot the number of its cluster, from 0 in the order of their first slots;
            -1 for who left or has sent no tags yet.
        contradictions: Pairs that agree across clusters or disagree within one: none, unless
            somebody did not follow the protocol.
    """

    labels: Labels
    contradictions: int

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many people each cluster has."""
        return np.bincount(self.labels[self.labels >= 0])

    def report(self) -> dict[str, Any]:
        """Figures that tell nothing but what the partition tells."""
        sizes = self.sizes
        return {
            "people": int(sizes.sum()),
            "clusters": len(sizes),
            "alone": int((sizes == 1).sum()),
            "largest": int(sizes.max(initial=0)),
            "contradictions": self.contradictions,
        }


def group(matches: npt.NDArray[np.int32], stop: npt.NDArray[np.int64]) -> Clusters:
    """Clusters from the pairs that agree.

    Args:
        matches: Pairs of slots, the smaller first, each pair once.
        stop: For each slot the first one that its owner has sent no tag for; 0 for nobody. Two
            slots can be compared if each is below the other's stop.
    """
    slots = len(stop)
    # Matches by their upper slot, so that `lower[start[s]:start[s + 1]]` are those that s agrees
    # with among the slots before it.
    order = np.lexsort((matches[:, 0], matches[:, 1]))
    lower = matches[order, 0].astype(np.int64)
    start = np.searchsorted(matches[order, 1], np.arange(slots + 1))
    labels = _assign(start, lower, stop)
    labels = _renumbered(_merged(labels, matches, stop))
    ends = labels[matches]
    inside = int((ends[:, 0] == ends[:, 1]).sum())
    members = _members(labels)
    # Every pair within a cluster counts in both directions. Contradictions are pairs that agree
    # across clusters, and pairs within one that could be compared and do not agree.
    known = sum(_comparable(part, part, stop) for part in members) // 2
    return Clusters(labels, len(matches) - inside + known - inside)


@nb.njit(cache=True)
def _assign(start, lower, stop):  # type: ignore[no-untyped-def]
    """In the order of slots: the cluster that one agrees with best, or a new one.

    A cluster's members hang in a chain: `head`, then `after`.
    """
    slots = len(stop)
    labels = np.full(slots, -1, np.int32)
    head = np.full(slots, -1, np.int64)
    after = np.full(slots, -1, np.int64)
    agree = np.zeros(slots, np.int64)
    clusters = 0
    for slot in range(slots):
        if stop[slot] == 0:
            continue
        mine = lower[start[slot] : start[slot + 1]]
        for other in mine:
            agree[labels[other]] += 1
        best, margin = clusters, 0
        for other in mine:
            label = labels[other]
            if agree[label] > 0:
                # Members that could be compared with it, less those that agreed: the ones that
                # differ.
                differ = -agree[label]
                member = head[label]
                while member >= 0:
                    differ += stop[member] > slot
                    member = after[member]
                # More than three quarters: an honest member agrees with all of its cluster, so
                # anything between is somebody who does not follow the protocol, and the larger
                # margin wins.
                if agree[label] > 3 * differ and agree[label] - differ > margin:
                    best, margin = label, agree[label] - differ
                agree[label] = 0
        clusters += best == clusters
        labels[slot] = best
        after[slot] = head[best]
        head[best] = slot
    return labels


def _merged(labels: Labels, matches: npt.NDArray[np.int32], stop: npt.NDArray[np.int64]) -> Labels:
    """Join clusters whose people agree in more than three quarters of the pairs across.

    A person who agrees with half of a cluster and comes early splits it; this repairs it.
    """
    while True:
        ends = np.sort(labels[matches], axis=1)
        pairs, agree = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0, return_counts=True)
        if not len(pairs):
            return labels
        members = dict(enumerate(_members(labels)))
        joined = labels.copy()
        touched: set[int] = set()
        for (one, other), count in zip(pairs.tolist(), agree.tolist(), strict=True):
            # Clusters join in pairs, and each at most once a round: counts are those before the
            # round.
            known = _comparable(members[one], members[other], stop)
            if count > 3 * (known - count) and not touched & {one, other}:
                joined[members[other]] = one
                touched |= {one, other}
        if not touched:
            return labels
        labels = _renumbered(joined)


@nb.njit(cache=True)
def _comparable(one, other, stop):  # type: ignore[no-untyped-def]
    """How many of the pairs across two lists of slots have a tag in both directions."""
    found = 0
    for a in one:
        for b in other:
            found += a != b and stop[a] > b and stop[b] > a
    return found


def _members(labels: Labels) -> list[npt.NDArray[np.int64]]:
    """The slots of each cluster."""
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(labels.max(initial=-1) + 2))
    return np.split(order, bounds)[1:-1]


def _renumbered(labels: Labels) -> Labels:
    """Numbers without gaps, in the order of the first slots; -1 stays."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    shift = int(labels.min(initial=0) < 0)
    rank = np.empty(len(first), np.int32)
    # The k-th cluster by its first slot gets number k; `shift` steps over the label -1.
    rank[np.argsort(first[shift:]) + shift] = np.arange(len(first) - shift)
    rank[:shift] = -1
    return rank[inverse]
