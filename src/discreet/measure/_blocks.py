"""Work on whole users, a block at a time, on all cores; Ctrl-C comes through between blocks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numba

from discreet.ratings import Ratings

_BLOCK = 1 << 17

Result = TypeVar("Result")


def over_blocks(
    ratings: Ratings, work: Callable[[Ratings, int], Result], size: int = _BLOCK
) -> list[Result]:
    """`work(block, first user)` for every block of about `size` ratings, in order.

    The work itself must release Python's lock to run side by side: numpy and nogil kernels do.
    """
    if len(ratings.catalog) > _BLOCK:
        size = max(size, len(ratings.catalog))  # results are often a number for each item
    if len(ratings) <= size:
        return [work(block, 0) for block in ratings.blocks(size)]
    with ThreadPoolExecutor(max_workers=numba.config.NUMBA_NUM_THREADS) as pool:
        first, waiting = 0, []
        for block in ratings.blocks(size):
            waiting.append(pool.submit(work, block, first))
            first += block.user_count
        try:
            return [task.result() for task in waiting]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
