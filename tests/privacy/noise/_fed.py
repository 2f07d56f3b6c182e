"""Randomness that hands out what a test wrote down, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.privacy import Randomness


class Fed(Randomness):
    """Serves chosen words, half words and integers of bits; more than that is an error."""

    is_private = False

    def __init__(
        self, words: Sequence[int] = (), halves: Sequence[int] = (), bits: Sequence[int] = ()
    ) -> None:
        self._words, self._halves, self._bits = list(words), list(halves), list(bits)

    def fill(self, buffer: memoryview) -> None:
        raise AssertionError("only words, half words and bits are served here")

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        return np.array(_take(self._words, count), dtype=np.uint64)

    def half_words(self, count: int) -> npt.NDArray[np.uint32]:
        return np.array(_take(self._halves, count), dtype=np.uint32)

    def bits(self, count: int) -> int:
        value = _take(self._bits, 1)[0]
        assert 0 <= value < 1 << count
        return value

    @property
    def used_up(self) -> bool:
        """Whether everything was asked for."""
        return not (self._words or self._halves or self._bits)


def _take(queue: list[int], count: int) -> list[int]:
    assert len(queue) >= count, "more random bits were asked for than the case has"
    taken, queue[:count] = queue[:count], []
    return taken
