"""How much memory a fit may take, and how much there is: found out before anything is computed.

Evaluation looks at private ratings, so what it leaves out for want of memory may depend on them.
What is refused before a charge depends on the catalogue alone.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from discreet.domain import InputError
from discreet.domain.files import spell_size
from discreet.methods._method import Method
from discreet.methods._names import Cleaning
from discreet.methods.covariance import CovarianceMethod
from discreet.methods.pairs import PairMethod
from discreet.ratings import Ratings

# Bytes for each entry of a triangle over pairs of items, measured with peak memory on 17,384 items:
# 8 in integers, 4 in floats, twice where there are two triangles; and for the covariance a whole
# matrix to decompose, in doubles where it is not cleaned by our own rule.
_PER_PAIR, _PER_COVARIANCE, _PER_DOUBLE = 24, 28, 60
# Bytes for each item of the catalogue, whatever the method: peak memory of methods refined and
# lists grows by 340 to 360 from 10,000 to 1 million items, the catalogue included. Rounded up.
_PER_ITEM = 400
# The part of the free memory that one fit may take: the rest is for ratings and scores. Chosen by
# hand.
_PART = 0.8
_CGROUP = Path("/sys/fs/cgroup")


def bytes_of_fit(method: Method, train: Ratings, mu: float) -> int:
    """About how much memory a fit's matrices take at most; 0 for methods that stay small.

    Args:
        method: With its settings.
        train: What it would be fitted on; private.
        mu: The budget's size, as Gaussian noise; infinite without noise.
    """
    if not isinstance(method, CovarianceMethod | PairMethod):
        return 0
    counts = np.bincount(train.items, minlength=len(train.catalog)).astype(np.float64)
    spread = float(counts @ counts) / max(float(counts.sum()), 1.0)
    # `Effects.strength` without noise; votes of protected users are at most counts.
    strength = min(mu * spread, 1e12) if spread else 0.0
    if not method.share_of_taste(strength):
        return 0
    return _bytes_of_pairs(method, method.head_size(strength, len(train.catalog)))


def check_room(method: Method, items: int) -> None:
    """Refuse a fit whose matrices may not fit into memory, by the size of the catalogue alone.

    Raises:
        InputError: Says how much memory the largest that released counts may ask for takes.
    """
    needed = _PER_ITEM * items
    if isinstance(method, CovarianceMethod | PairMethod):
        needed += _bytes_of_pairs(method, method.head_size(math.inf, items))
    if reason := lacks_room(needed, "may need"):
        raise InputError(
            f"method {method.name} on {items:,} items {reason}; use a machine with more, a smaller "
            "head, or method refined or lists, whose matrices stay small"
        )


def _bytes_of_pairs(method: CovarianceMethod | PairMethod, side: int) -> int:
    each = _PER_PAIR
    if isinstance(method, CovarianceMethod):
        each = _PER_COVARIANCE if method.clean is Cleaning.AUTO else _PER_DOUBLE
    return each * side * (side + 1) // 2


def free_memory() -> int | None:
    """Bytes that this process may still take; None where nobody says."""
    found = [_of_system(), _of_group(), _of_limit()]
    known = [each for each in found if each is not None]
    return max(min(known), 0) if known else None


def lacks_room(needed: int, verb: str = "needs") -> str | None:
    """Why this many bytes are too many, in words; None if they are not, or nobody knows."""
    free = free_memory()
    if free is None or needed <= _PART * free:
        return None
    return f"{verb} about {spell_size(needed)} of memory, and {spell_size(free)} are free"


def _of_system() -> int | None:
    """Linux says what can be had without swapping."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return None


def _of_group() -> int | None:
    """A container's own limit, less what it has."""
    limit, used = (_lines(_CGROUP / name) for name in ("memory.max", "memory.current"))
    if not limit or not used or not limit[0].isdecimal():
        return None
    return int(limit[0]) - int(used[0])


def _of_limit() -> int | None:
    """The limit of a shell (`ulimit -v`), less what is mapped already."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    mapped = _lines(Path("/proc/self/statm"))
    if limit == resource.RLIM_INFINITY or not mapped:
        return None
    return limit - int(mapped[0].split()[0]) * resource.getpagesize()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
