"""What the library advises in Python, said in options of the command line."""

from __future__ import annotations

import re

_NUMBER = r"(-?[\d.]+)"

_OPTIONS = (
    (rf"scale=\({_NUMBER}, {_NUMBER}\)", r"--scale \1..\2"),
    (rf"scale=\({_NUMBER}, {_NUMBER}, {_NUMBER}\)", r"--scale \1..\2/\3"),
    (r"use step None for a continuous scale", "a continuous one is like -10..10/continuous"),
    (r'catalog="([^"]*)"', r"--catalog \1"),
    (r"implicit=True", "--implicit"),
    (r'on_bad_rows="(\w+)"', r"--on-bad-rows \1"),
    (r"\bValue error, ", ""),
    # Tables of items have no option for their columns.
    (r'; or say which with read_catalog\(\.\.\., columns={"id": \.\.\.}\)', ""),
    (r'; say which: columns={"(?:id|title)": \.\.\.}', "; leave one of them out"),
    (r'; say which: item="\.\.\."', "; leave one of them out"),
    (r'(?:; or say which)?: item="\.\.\."', ""),
    (r'columns={"(\w+)": \.\.\.}', r"--columns \1=..."),
    (r'columns lacks (.*), like {"(\w+)": 0}', r"--columns lacks \1, like \2=0"),
    (r'separator="(.)"', r"--separator '\1'"),
    (r'quoting="(\w+)"', r"--quoting \1"),
    (r'columns={"user": 0, "item": 1, "rating": 2}', "--columns user=0,item=1,rating=2"),
)
"""Patterns, and what takes their place."""


def in_options(message: str) -> str:
    """The message of an error with options in place of arguments."""
    for pattern, spoken in _OPTIONS:
        message = re.sub(pattern, spoken, message)
    return message
