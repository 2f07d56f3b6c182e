"""A column that grows at its end without ever being in memory twice."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

_T = TypeVar("_T", bound=np.generic)

_FIRST = 1 << 16


class Growing(Generic[_T]):
    """Collects arrays into one.

    A list of arrays joined at the end needs twice the memory at that moment, and leaves the heap
    full of holes. Here room is added by reallocation, which for large arrays moves pages instead
    of bytes.
    """

    def __init__(self, dtype: type[_T]) -> None:
        self._data: npt.NDArray[_T] = np.empty(_FIRST, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, values: npt.NDArray[np.generic]) -> None:
        """Copy the values to the end."""
        size = self._size + len(values)
        if size > len(self._data):
            # Nobody else holds the array before `finish`, so moving it is safe.
            self._data.resize(max(size, len(self._data) * 5 // 4), refcheck=False)
        self._data[self._size : size] = values
        self._size = size

    def finish(self) -> npt.NDArray[_T]:
        """The whole column; this object is empty afterwards."""
        data, size = self._data, self._size
        self._data, self._size = np.empty(0, dtype=data.dtype), 0
        data.resize(size, refcheck=False)
        return data
