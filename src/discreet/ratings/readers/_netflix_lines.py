"""The Netflix Prize's lines, parsed byte by byte."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

_NEWLINE, _RETURN, _COMMA, _DASH, _COLON, _ZERO, _NINE = 0x0A, 0x0D, 0x2C, 0x2D, 0x3A, 0x30, 0x39
_MOST_DIGITS = 18
_DAY = 86_400
_DATE_WIDTH = len("YYYY-MM-DD")
_BAD = -1

_Bytes = npt.NDArray[np.uint8]
_Integers = npt.NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def parse_ratings(
    data: _Bytes,
    movie: int,
    file_starts: _Integers,
    users: _Integers,
    items: _Integers,
    ratings: npt.NDArray[np.float64],
    times: _Integers,
    lines: _Integers,
) -> tuple[int, int, int]:
    """Fill the columns from lines `movie:` and `customer,rating,YYYY-MM-DD`.

    Args:
        data: Whole lines, each ending in a newline.
        movie: The movie that the first lines are about, or -1.
        file_starts: The lines on which a file begins, so that no movie is known there.
        users: Filled with the customers; like all columns as long as there are lines.
        items: Filled with the movies.
        ratings: Filled with the ratings.
        times: Filled with the dates in seconds since 1970.
        lines: Filled with the lines' numbers, from 0; those of broken lines fill it from the back.

    Returns:
        Rows, broken lines, and the movie that the last lines were about.
    """
    at = line = rows = broken = files = 0
    while at < data.size:
        if files < file_starts.size and line == file_starts[files]:
            movie = _BAD
            files += 1
        number, end = _number(data, at)
        rating, time, stop = _BAD, _BAD, end
        if _is(data, end, _COMMA):
            rating, stop = _number(data, end + 1)
            if _is(data, stop, _COMMA):
                time, stop = _date(data, stop + 1)
        if number >= 0 and _is(data, end, _COLON) and _at_end(data, end + 1):
            movie = number
        elif min(number, rating, time, movie) >= 0 and _at_end(data, stop):
            users[rows], items[rows], ratings[rows] = number, movie, rating
            times[rows], lines[rows] = time, line
            rows += 1
        elif not _at_end(data, at):
            broken += 1
            lines[lines.size - broken] = line
        at = _next_line(data, stop)
        line += 1
    return rows, broken, movie


@numba.njit(cache=True, nogil=True)
def parse_pairs(
    data: _Bytes, users: _Integers, items: _Integers, lines: _Integers
) -> tuple[int, int]:
    """Fill the columns from lines `movie:` and `customer`; returns pairs and broken lines."""
    at = line = rows = broken = 0
    movie = _BAD
    while at < data.size:
        number, end = _number(data, at)
        if number >= 0 and _is(data, end, _COLON) and _at_end(data, end + 1):
            movie = number
        elif number >= 0 and _at_end(data, end) and movie >= 0:
            users[rows], items[rows], lines[rows] = number, movie, line
            rows += 1
        elif not _at_end(data, at):
            broken += 1
            lines[lines.size - broken] = line
        at = _next_line(data, at)
        line += 1
    return rows, broken


@numba.njit(cache=True, nogil=True)
def _number(data: _Bytes, at: int) -> tuple[int, int]:
    """The digits from here on as a number, or -1 if there are none, and where they end."""
    value, end = 0, at
    while end < data.size and _ZERO <= data[end] <= _NINE:
        value = value * 10 + (data[end] - _ZERO)
        end += 1
    return (value if 0 < end - at <= _MOST_DIGITS else _BAD), end


@numba.njit(cache=True, nogil=True)
def _date(data: _Bytes, at: int) -> tuple[int, int]:
    """A date YYYY-MM-DD from here on as seconds since 1970, or -1, and where it ends."""
    if at + _DATE_WIDTH > data.size or data[at + 4] != _DASH or data[at + 7] != _DASH:
        return _BAD, at
    high, low = _two_digits(data, at), _two_digits(data, at + 2)
    month, day = _two_digits(data, at + 5), _two_digits(data, at + 8)
    year = 100 * high + low
    if high < 0 or low < 0 or not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return _BAD, at
    return _day_number(year, month, day) * _DAY, at + _DATE_WIDTH


@numba.njit(cache=True, nogil=True)
def _two_digits(data: _Bytes, at: int) -> int:
    """The number that two digits make, or -1."""
    tens, ones = np.int64(data[at]) - _ZERO, np.int64(data[at + 1]) - _ZERO
    return int(tens * 10 + ones) if 0 <= tens <= 9 and 0 <= ones <= 9 else _BAD


@numba.njit(cache=True, nogil=True)
def _days_in(year: int, month: int) -> int:
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


@numba.njit(cache=True, nogil=True)
def _day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. Years begin in March here, so that a leap day ends one."""
    if month <= 2:
        year -= 1
    months = (month + 9) % 12
    # From March on, the months' lengths follow (153 m + 2) // 5; 719,468 days lead to 1970.
    days = (153 * months + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + days - 719_468


@numba.njit(cache=True, nogil=True)
def _is(data: _Bytes, at: int, byte: int) -> bool:
    return at < data.size and bool(data[at] == byte)


@numba.njit(cache=True, nogil=True)
def _at_end(data: _Bytes, at: int) -> bool:
    """Whether the line ends here."""
    if _is(data, at, _RETURN):
        at += 1
    return bool(_is(data, at, _NEWLINE))


@numba.njit(cache=True, nogil=True)
def _next_line(data: _Bytes, at: int) -> int:
    while at < data.size and data[at] != _NEWLINE:
        at += 1
    return at + 1
