"""Kernels that look over a text table's bytes: separators, quotes and newlines."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

SINGLE = 0x1F
"""The one-byte separator that takes the place of `::`."""

QUOTE, NO_QUOTE, NEWLINE = 0x22, 0x100, 0x0A
NOT_ASCII, ODD, ESCAPED, STRAY = 1, 2, 4, 8
"""Marks: a byte beyond ASCII; an identifier or a number that is not written as it is printed; a
quote behind a backslash; one that opens in the middle of a field."""
BACKSLASH = 0x5C

_RETURN, _SPACE, _PLUS, _MINUS, _ZERO, _NINE = 0x0D, 0x20, 0x2B, 0x2D, 0x30, 0x39
_BEYOND_ASCII = 0x80

_Bytes = npt.NDArray[np.uint8]
_Offsets = npt.NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def count_bytes(data: _Bytes, separator: int) -> tuple[int, int]:
    """Newlines and separators. Without branches, so that a processor does many bytes at once."""
    newlines = separators = 0
    for at in range(data.size):
        newlines += data[at] == NEWLINE
        separators += data[at] == separator
    return newlines, separators


@numba.njit(cache=True, nogil=True)
def is_plain(data: _Bytes, separator: int) -> bool:
    """Whether there is no quote, no byte beyond ASCII and no field that may be odd.

    Without branches, like `count_bytes`; `data` ends in a newline.
    """
    strange = np.uint8(oddness(data, 0))
    for at in range(data.size - 2):
        byte, after, third = data[at], data[at + 1], data[at + 2]
        begins = (byte == NEWLINE) | (byte == separator)
        ends = (after == NEWLINE) | (after == separator) | (after == _RETURN)
        zeros = (after == _ZERO) & (third >= _ZERO) & (third <= _NINE)
        signs = (after == _PLUS) | ((after == _MINUS) & (third == _ZERO))
        odd = (begins & (zeros | signs | (after == _SPACE))) | ((byte == _SPACE) & ends)
        strange = np.uint8(strange | odd | (byte == QUOTE) | (byte >= _BEYOND_ASCII))
    for at in range(max(0, data.size - 2), data.size):
        byte = data[at]
        last = (byte == QUOTE) | (byte >= _BEYOND_ASCII) | (byte == _SPACE)
        strange = np.uint8(strange | last)
    return bool(strange == 0)


@numba.njit(cache=True, nogil=True)
def survey(
    data: _Bytes,
    separator: int,
    quote: int,
    doubled: bool,
    fields: int,
    first_id: int,
    second_id: int,
    begins: _Offsets,
    ends: _Offsets,
    lines: _Offsets,
) -> tuple[int, int, int, int, int, int, int]:
    """Find the records; good ones fill `begins`, `ends` and `lines` from the front.

    The lines of broken ones fill `lines` from the back.

    Returns:
        Bytes used, good records, broken records, lines, blank lines, marks, and the line of the
        first record whose quotes are wrong, or -1.
    """
    at = kept = broken = line = blank = marks = 0
    wrong = -1
    while True:
        end, found, newlines, seen = _record(
            data, at, separator, quote, doubled, first_id, second_id
        )
        if end < 0:
            return at, kept, broken, line, blank, marks, wrong
        marks |= seen
        if wrong < 0 and seen & (ESCAPED | STRAY):
            wrong = line
        length = end - at - 1
        if length == 0 or (length == 1 and data[at] == _RETURN):
            blank += 1
        elif found == fields:
            begins[kept], ends[kept], lines[kept] = at, end, line
            kept += 1
        else:
            broken += 1
            lines[lines.size - broken] = line
        line += newlines
        at = end


@numba.njit(cache=True, nogil=True)
def _record(
    data: _Bytes,
    begin: int,
    separator: int,
    quote: int,
    doubled: bool,
    first_id: int,
    second_id: int,
) -> tuple[int, int, int, int]:
    """The record that begins here: where it ends (or -1), fields, newlines, marks."""
    field = newlines = 0
    quoted, fresh = False, True
    marks = oddness(data, begin) if 0 in (first_id, second_id) else 0
    at = begin
    while at < data.size:
        byte = data[at]
        if byte == NEWLINE:
            newlines += 1
            if not quoted:
                return at + 1, field + 1, newlines, marks | _padding(data, begin, at)
        elif byte == separator and not quoted:
            if not doubled or (at + 1 < data.size and data[at + 1] == separator):
                marks |= _padding(data, begin, at)
                at += doubled
                field += 1
                fresh = True
                if field in (first_id, second_id):
                    marks |= oddness(data, at + 1)
        elif byte == quote:
            if at > begin and data[at - 1] == BACKSLASH:
                marks |= ESCAPED
            if not quoted and not fresh and data[at - 1] != quote:
                marks |= STRAY
            quoted, fresh = not quoted, False
        elif byte != _SPACE:
            fresh = False
            if byte >= _BEYOND_ASCII:
                marks |= NOT_ASCII
        at += 1
    return -1, 0, 0, 0


@numba.njit(cache=True, nogil=True)
def oddness(data: _Bytes, at: int) -> int:
    """Whether the field that begins here is an integer in a way no integer is printed."""
    if at < data.size and data[at] == QUOTE:
        at += 1
    if at + 1 >= data.size:
        return 0
    here, after = data[at], data[at + 1]
    zeros = here == _ZERO and _ZERO <= after <= _NINE
    signs = here == _PLUS or (here == _MINUS and after == _ZERO)
    return ODD if zeros or signs or here == _SPACE else 0


@numba.njit(cache=True, nogil=True)
def _padding(data: _Bytes, begin: int, end: int) -> int:
    """Whether the field that ends here ends in a space."""
    last = end - 1
    if last > begin and data[last] == _RETURN:
        last -= 1
    return ODD if last >= begin and data[last] == _SPACE else 0


@numba.njit(cache=True, nogil=True)
def compacted(
    data: _Bytes, begins: _Offsets, ends: _Offsets, separator: int, doubled: bool
) -> _Bytes:
    """The records one after the other, with `::` made one byte."""
    out = np.empty(np.sum(ends - begins), np.uint8)
    size = 0
    for record in range(begins.size):
        at = begins[record]
        while at < ends[record]:
            out[size] = data[at]
            if doubled and data[at] == separator and data[at + 1] == separator:
                out[size] = SINGLE
                at += 1
            size += 1
            at += 1
    return out[:size]
