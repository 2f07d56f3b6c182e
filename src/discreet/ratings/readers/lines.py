"""Text tables line by line: for engines that hold the lines elsewhere and must read them alike."""

from discreet.ratings.readers._batch import ROW_HINTS
from discreet.ratings.readers._cells import words_of
from discreet.ratings.readers._files import check_is_text
from discreet.ratings.readers._layouts import describe_text
from discreet.ratings.readers._text import NO_LINE, Cells, Dialect, decoded_header, split_lines
from discreet.ratings.readers._tokens import GOOD, WRONG_QUOTES

__all__ = [
    "GOOD",
    "NO_LINE",
    "ROW_HINTS",
    "WRONG_QUOTES",
    "Cells",
    "Dialect",
    "check_is_text",
    "decoded_header",
    "describe_text",
    "split_lines",
    "words_of",
]
