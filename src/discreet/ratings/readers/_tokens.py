"""Bytes into cells, and cells into values: what a cell means depends on its bytes alone.

Every kernel looks at one line, or one cell, at a time and carries nothing over to the next but its
position. That is what `ratings/PROOF.md` builds on: another person's line cannot change how this
one is read.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

# What is wrong with a line as a whole.
GOOD, WRONG_FIELDS, WRONG_QUOTES, NOT_UTF8, TOO_LONG = 0, 1, 2, 3, 4
# Bytes; a longer record is refused, so that a file without line breaks does not fill memory.
# Chosen for safety.
LONGEST_RECORD = 64 << 20
# What a cell is as an identifier: an integer exactly as Python prints it, or any other text.
EMPTY, INTEGER, TEXT = 0, 1, 2
# What it is as a decimal number, if it is not `EMPTY`: one whose nearest double 64-bit arithmetic
# gives, one with too many digits for that, or none.
EXACT, LONG, NO_NUMBER = 1, 2, 3
# The seconds of a cell that is not a date: beyond any year that dates can be written with.
UNREADABLE = -(2**62)
BLANKS = " \t\ufeff"
"""What is stripped from the ends of a cell: space, tab, byte order mark."""

# Bytes by their names.
_NEWLINE, _RETURN, _SPACE, _TAB, _QUOTE, _BACKSLASH = 0x0A, 0x0D, 0x20, 0x09, 0x22, 0x5C
_ZERO, _NINE, _PLUS, _MINUS, _POINT, _COLON = 0x30, 0x39, 0x2B, 0x2D, 0x2E, 0x3A
_BOM = (0xEF, 0xBB, 0xBF)  # U+FEFF in UTF-8
# What bytes do in a field that is not quoted, as flags.
_SEPARATES, _ENDS_LINE, _IS_QUOTE, _BEYOND_ASCII = 1, 2, 4, 8
# Digits of the largest 64-bit integer, and the integer.
_MOST_DIGITS = 19
_LARGEST = np.uint64(2**63 - 1)
# Whole numbers up to here are doubles.
_EXACT_MANTISSA = 2**53
# 10^22 is the largest power of ten that is a double.
_EXACT_POWER = 22
_POWERS = np.array([10.0**power for power in range(_EXACT_POWER + 1)])
# Far beyond any double; larger exponents are not counted further.
_MOST_EXPONENT = 100_000
# Seconds.
_DAY = 86_400
# What `_two_digits` gives where there are none: negative whatever is added to it.
_NO_DIGITS = -1_000_000

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Kinds = npt.NDArray[np.uint8]


@numba.njit(cache=True, nogil=True)
def split_records(
    data: Bytes,
    separator: int,
    doubled_separator: bool,
    quotes: bool,
    over_lines: bool,
    lenient: bool,
    slots: Places,
    room: int,
) -> tuple[Places, Places, Flags, Places, Places, Kinds, int, int]:
    """Find the records of a text table and the places of the fields that are wanted.

    A record is a line; with `over_lines` it goes on while a quote is open. Lines without a byte
    (or with a byte order mark or a carriage return alone) are nothing. A field may be quoted
    whole, quotes in it doubled, with spaces around it.

    Args:
        data: Whole lines: the last byte is a newline.
        separator: The byte between fields.
        doubled_separator: Whether it takes two of them.
        quotes: Whether fields may be quoted; otherwise a quote is a byte like any other.
        over_lines: Whether a quoted field may contain line breaks.
        lenient: Whether a quote inside a field that is not quoted is allowed.
        slots: For each field of a record, the row of the result that it goes to, or -1; its length
            is how many fields a record must have.
        room: How many records there may be: the number of line breaks.

    Returns:
        Where each wanted field's content begins in each record, where it ends, and whether it
        contains doubled quotes, a row for each slot; the line that each record begins on, counted
        from 0; how many fields it has; what is wrong with it; how many bytes are whole records, and
        how many lines. Bytes are left over only where a quote stays open to the end.
    """
    wanted = np.count_nonzero(slots >= 0)
    begins, ends = np.empty((wanted, room), np.int64), np.empty((wanted, room), np.int64)
    escaped = np.empty((wanted, room), np.bool_)
    lines, counts = np.empty(room, np.int64), np.empty(room, np.int64)
    faults = np.empty(room, np.uint8)
    classes = _classes(separator, quotes and not lenient)
    # A literal 0 would be a type of its own, for which helpers are compiled a second time.
    at = rows = line = int(np.int64(0))
    while at < data.size:
        begin, first, field, fault = at, line, 0, GOOD
        ended = beyond_ascii = is_open = False
        while not ended:
            start = at
            if quotes and (data[at] <= _QUOTE or data[at] == _BOM[0]):
                start = _past_blanks(data, at, separator)
            is_escaped = False
            if quotes and data[start] == _QUOTE:
                start, beyond_ascii = start + 1, True
                stop, at, is_escaped, newlines = _quoted(
                    data, start, separator, doubled_separator, over_lines
                )
                if at == data.size:
                    at, line, is_open = begin, first, True  # it goes on in bytes that are not here
                    break
                line += newlines
                if at < 0:
                    fault, at = WRONG_QUOTES, _line_end(data, stop)
            else:
                start = at
                stop, at, seen = _unquoted(data, at, separator, doubled_separator, classes)
                beyond_ascii |= (seen & _BEYOND_ASCII) != 0
                if seen & _IS_QUOTE:
                    fault = WRONG_QUOTES
            if field < slots.size and slots[field] >= 0:
                slot = slots[field]
                begins[slot, rows], ends[slot, rows], escaped[slot, rows] = start, stop, is_escaped
            field += 1
            ended = data[at] == _NEWLINE
            at += 1 if ended or not doubled_separator else 2
        if is_open:
            break
        line += 1
        if _is_blank(data, begin, at):
            continue
        for missing in range(field, slots.size):
            if slots[missing] >= 0:
                begins[slots[missing], rows] = ends[slots[missing], rows] = begin
                escaped[slots[missing], rows] = False
        if at - begin > LONGEST_RECORD:
            fault = TOO_LONG
        elif fault == GOOD and field != slots.size:
            fault = WRONG_FIELDS
        elif fault == GOOD and beyond_ascii and not _is_utf8(data, begin, at):
            fault = NOT_UTF8
        lines[rows], counts[rows], faults[rows] = first, field, fault
        rows += 1
    return (
        begins[:, :rows],
        ends[:, :rows],
        escaped[:, :rows],
        lines[:rows],
        counts[:rows],
        faults[:rows],
        at,
        line,
    )


@numba.njit(cache=True, nogil=True)
def _unquoted(
    data: Bytes, at: int, separator: int, doubled_separator: bool, classes: Bytes
) -> tuple[int, int, int]:
    """Where an unquoted field's content and the field itself end, and what bytes were in it."""
    start, seen = at, 0
    while True:
        kind = classes[data[at]]
        if kind:
            if kind == _ENDS_LINE:
                break
            if kind == _SEPARATES and (not doubled_separator or data[at + 1] == separator):
                break
            seen |= kind
        at += 1
    stop = at
    if data[at] == _NEWLINE and at > start and data[at - 1] == _RETURN:
        stop -= 1
    return stop, at, seen


@numba.njit(cache=True, nogil=True)
def _is_blank(data: Bytes, begin: int, end: int) -> bool:
    """Whether a line, its line break included, is not a row at all."""
    size = end - begin - (3 if _is_mark(data, begin, end) else 0)
    return size == 1 or (size == 2 and bool(data[end - 2] == _RETURN))


@numba.njit(cache=True, nogil=True)
def _quoted(
    data: Bytes, at: int, separator: int, doubled_separator: bool, over_lines: bool
) -> tuple[int, int, bool, int]:
    """A quoted field's content from here on.

    Returns:
        Where the content ends; where the field ends, or -1 if quotes are wrong, or `data.size` if
        they stay open to the end; whether there are doubled quotes; how many line breaks.
    """
    is_escaped, newlines, is_wrong = False, 0, False
    while at < data.size:
        if data[at] == _NEWLINE:
            if not over_lines:
                return at, -1, is_escaped, newlines
            newlines += 1
        elif data[at] == _QUOTE:
            # Some programs write a backslash before a quote: where their field ends is ambiguous.
            is_wrong |= data[at - 1] == _BACKSLASH
            if data[at + 1] != _QUOTE:
                break
            is_escaped = True
            at += 1
        at += 1
    if at == data.size:
        return at, at, is_escaped, newlines
    end = _past_blanks(data, at + 1, separator)
    if data[end] == _RETURN and data[end + 1] == _NEWLINE:
        end += 1
    is_wrong |= not _ends_field(data, end, separator, doubled_separator)
    return at, -1 if is_wrong else end, is_escaped, newlines


@numba.njit(cache=True, nogil=True)
def _classes(separator: int, refuse_quotes: bool) -> Bytes:
    """What each of the 256 bytes does in a field that is not quoted, as flags."""
    classes = np.zeros(256, np.uint8)
    classes[0x80:] = _BEYOND_ASCII
    classes[_QUOTE] = _IS_QUOTE if refuse_quotes else 0
    classes[separator] = _SEPARATES
    classes[_NEWLINE] = _ENDS_LINE
    return classes


@numba.njit(cache=True, nogil=True)
def _ends_field(data: Bytes, at: int, separator: int, doubled_separator: bool) -> bool:
    if data[at] == separator:
        return not doubled_separator or bool(data[at + 1] == separator)
    return bool(data[at] == _NEWLINE)


@numba.njit(cache=True, nogil=True)
def _past_blanks(data: Bytes, at: int, separator: int) -> int:
    """The first place from here on that is not a blank: space, tab or byte order mark."""
    while data[at] != separator:
        if data[at] == _SPACE or data[at] == _TAB:
            at += 1
        elif _is_mark(data, at, data.size):
            at += 3
        else:
            break
    return at


@numba.njit(cache=True, nogil=True)
def _is_mark(data: Bytes, at: int, end: int) -> bool:
    if at + 3 > end:
        return False
    return bool(data[at] == _BOM[0] and data[at + 1] == _BOM[1] and data[at + 2] == _BOM[2])


@numba.njit(cache=True, nogil=True)
def _line_end(data: Bytes, at: int) -> int:
    while data[at] != _NEWLINE:
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _is_utf8(data: Bytes, begin: int, end: int) -> bool:
    """Whether the bytes are UTF-8: RFC 3629, section 4, no overlong forms and no surrogates."""
    at = begin
    while at < end:
        byte = data[at]
        at += 1
        if byte < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= byte <= 0xDF:
            more = 1
        elif 0xE0 <= byte <= 0xEF:
            more = 2
            low = 0xA0 if byte == 0xE0 else low
            high = 0x9F if byte == 0xED else high
        elif 0xF0 <= byte <= 0xF4:
            more = 3
            low = 0x90 if byte == 0xF0 else low
            high = 0x8F if byte == 0xF4 else high
        else:
            return False
        for _ in range(more):
            if at >= end or not low <= data[at] <= high:
                return False
            low, high = 0x80, 0xBF
            at += 1
    return True


@numba.njit(cache=True, nogil=True)
def valid_utf8(data: Bytes, begins: Places, ends: Places) -> Flags:
    """Which cells are UTF-8."""
    valid = np.empty(begins.size, np.bool_)
    for row in range(begins.size):
        valid[row] = _is_utf8(data, begins[row], ends[row])
    return valid


@numba.njit(cache=True, nogil=True)
def trimmed(data: Bytes, begin: int, end: int) -> tuple[int, int]:
    """The cell without blanks at its ends: spaces, tabs and byte order marks."""
    while begin < end:
        if data[begin] == _SPACE or data[begin] == _TAB:
            begin += 1
        elif _is_mark(data, begin, end):
            begin += 3
        elif data[end - 1] == _SPACE or data[end - 1] == _TAB:
            end -= 1
        elif end - begin >= 3 and _is_mark(data, end - 3, end):
            end -= 3
        else:
            break
    return begin, end


@numba.njit(cache=True, nogil=True)
def read_ids(data: Bytes, begins: Places, ends: Places) -> tuple[Places, Kinds]:
    """Each cell's number, if it is an integer, and what kind of identifier it is."""
    numbers, kinds = np.empty(begins.size, np.int64), np.empty(begins.size, np.uint8)
    for row in range(begins.size):
        begin, end = trimmed(data, begins[row], ends[row])
        kinds[row], numbers[row] = _integer(data, begin, end)
    return numbers, kinds


@numba.njit(cache=True, nogil=True)
def _integer(data: Bytes, begin: int, end: int) -> tuple[int, int]:
    """An integer if these bytes are what that integer prints as, and if it fits 64 bits."""
    if begin == end:
        return EMPTY, 0
    at = begin + 1 if data[begin] == _MINUS else begin
    digits = end - at
    if digits < 1 or digits > _MOST_DIGITS or not _ZERO <= data[at] <= _NINE:
        return TEXT, 0
    if data[at] == _ZERO and (digits > 1 or at > begin):
        return TEXT, 0
    value = np.uint64(0)
    for place in range(at, end):
        if not _ZERO <= data[place] <= _NINE:
            return TEXT, 0
        value = value * np.uint64(10) + np.uint64(data[place] - _ZERO)
    if value > _LARGEST:
        return TEXT, 0
    return INTEGER, (-int(np.int64(value)) if at > begin else int(np.int64(value)))


@numba.njit(cache=True, nogil=True)
def copy_texts(data: Bytes, begins: Places, ends: Places, escaped: Flags) -> tuple[Places, Bytes]:
    """The cells' texts one after the other, of doubled quotes one each.

    Returns:
        Where each text ends, 0 first, and the bytes of all.
    """
    bounds = np.empty(begins.size + 1, np.int64)
    bounds[0] = 0
    for row in range(begins.size):
        begin, end = trimmed(data, begins[row], ends[row])
        size = end - begin
        if escaped[row]:
            size -= _doubled_quotes(data, begin, end)
        bounds[row + 1] = bounds[row] + size
    out = np.empty(bounds[-1], np.uint8)
    for row in range(begins.size):
        at, end = trimmed(data, begins[row], ends[row])
        for to in range(bounds[row], bounds[row + 1]):
            out[to] = data[at]
            if escaped[row] and data[at] == _QUOTE and at + 1 < end and data[at + 1] == _QUOTE:
                at += 1
            at += 1
    return bounds, out


@numba.njit(cache=True, nogil=True)
def _doubled_quotes(data: Bytes, at: int, end: int) -> int:
    count = 0
    while at + 1 < end:
        if data[at] == _QUOTE and data[at + 1] == _QUOTE:
            count += 1
            at += 1
        at += 1
    return count


@numba.njit(cache=True, nogil=True)
def read_numbers(
    data: Bytes, begins: Places, ends: Places
) -> tuple[npt.NDArray[np.float64], Kinds]:
    """Each cell's number, NaN if it is none or `LONG`, and its kind."""
    values, kinds = np.empty(begins.size, np.float64), np.empty(begins.size, np.uint8)
    for row in range(begins.size):
        begin, end = trimmed(data, begins[row], ends[row])
        kinds[row], values[row] = _number(data, begin, end)
    return values, kinds


@numba.njit(cache=True, nogil=True)
def _number(data: Bytes, begin: int, end: int) -> tuple[int, float]:
    """A decimal number: sign, digits, a point among or beside them, perhaps an exponent.

    A mantissa below 2^53 and a power of ten up to 10^22 are doubles, so that their one product or
    quotient is rounded once: it is the double nearest to what is written.
    """
    at, negative = begin, False
    if at < end and (data[at] == _PLUS or data[at] == _MINUS):
        negative = data[at] == _MINUS
        at += 1
    mantissa, digits, power, is_long = np.int64(0), 0, 0, False
    has_point = False
    while at < end and (_ZERO <= data[at] <= _NINE or (data[at] == _POINT and not has_point)):
        if data[at] == _POINT:
            has_point = True
        else:
            digits += 1
            power -= has_point
            if mantissa < _EXACT_MANTISSA // 10:
                mantissa = mantissa * 10 + (np.int64(data[at]) - _ZERO)
            else:
                is_long = True
        at += 1
    if begin == end:
        return EMPTY, np.nan
    if digits == 0:
        return NO_NUMBER, np.nan
    if at < end and (data[at] == 0x65 or data[at] == 0x45):  # e, E
        at += 1
        falls = at < end and data[at] == _MINUS
        if at < end and (data[at] == _PLUS or data[at] == _MINUS):
            at += 1
        if at == end:
            return NO_NUMBER, np.nan
        exponent = 0
        while at < end and _ZERO <= data[at] <= _NINE:
            exponent = min(exponent * 10 + int(data[at]) - _ZERO, _MOST_EXPONENT)
            at += 1
        power += -exponent if falls else exponent
    if at < end:
        return NO_NUMBER, np.nan
    if is_long or not -_EXACT_POWER <= power <= _EXACT_POWER:
        return LONG, np.nan
    size = np.float64(mantissa)
    value = size / _POWERS[-power] if power < 0 else size * _POWERS[power]
    return EXACT, -value if negative else value


@numba.njit(cache=True, nogil=True)
def read_dates(data: Bytes, begins: Places, ends: Places) -> Places:
    """Each cell's date or moment as whole seconds since 1970, or `UNREADABLE`."""
    seconds = np.empty(begins.size, np.int64)
    for row in range(begins.size):
        begin, end = trimmed(data, begins[row], ends[row])
        seconds[row] = _moment(data, begin, end)
    return seconds


@numba.njit(cache=True, nogil=True)
def _moment(data: Bytes, begin: int, end: int) -> int:
    """`2005-12-31`, and perhaps `T` or a space, `23:59`, `:59`, `.9`, and `Z` or `+01:00`."""
    year = 100 * _two_digits(data, begin, end) + _two_digits(data, begin + 2, end)
    month, day = _two_digits(data, begin + 5, end), _two_digits(data, begin + 8, end)
    if year < 0 or end < begin + 10 or data[begin + 4] != _MINUS or data[begin + 7] != _MINUS:
        return UNREADABLE
    if not 1 <= month <= 12 or not 1 <= day <= days_in(year, month):
        return UNREADABLE
    found: int = day_number(year, month, day) * _DAY
    at = begin + 10
    if at == end:
        return found
    if data[at] != 0x54 and data[at] != 0x74 and data[at] != _SPACE:  # T, t
        return UNREADABLE
    clock = _clock(data, at + 1, end)
    if clock < 0:
        return UNREADABLE
    found, at = found + clock, at + 6
    if at < end and data[at] == _COLON:
        second = _two_digits(data, at + 1, end)
        if not 0 <= second <= 59:
            return UNREADABLE
        found, at = found + second, at + 3
        if at + 1 < end and data[at] == _POINT and _ZERO <= data[at + 1] <= _NINE:
            at += 1
            while at < end and _ZERO <= data[at] <= _NINE:
                at += 1
    if at == end or (at + 1 == end and (data[at] == 0x5A or data[at] == 0x7A)):  # Z, z
        return found
    offset: int = _clock(data, at + 1, end)
    if offset < 0 or at + 6 != end or (data[at] != _PLUS and data[at] != _MINUS):
        return UNREADABLE
    return found - offset if data[at] == _PLUS else found + offset


@numba.njit(cache=True, nogil=True)
def _clock(data: Bytes, at: int, end: int) -> int:
    """`23:59` from here on as seconds, or -1."""
    hour: int = _two_digits(data, at, end)
    minute: int = _two_digits(data, at + 3, end)
    if not (0 <= hour <= 23 and 0 <= minute <= 59) or data[at + 2] != _COLON:
        return -1
    return hour * 3600 + minute * 60


@numba.njit(cache=True, nogil=True)
def _two_digits(data: Bytes, at: int, end: int) -> int:
    """The number that two digits make, or `_NO_DIGITS`."""
    if at + 2 > end:
        return _NO_DIGITS
    tens, ones = int(data[at]) - _ZERO, int(data[at + 1]) - _ZERO
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else _NO_DIGITS


@numba.njit(cache=True, nogil=True)
def days_in(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


@numba.njit(cache=True, nogil=True)
def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. Years begin in March here, so that a leap day ends one."""
    if month <= 2:
        year -= 1
    months = (month + 9) % 12
    # From March on, the months' lengths follow (153 m + 2) // 5; 719,468 days lead to 1970.
    days = (153 * months + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + days - 719_468
