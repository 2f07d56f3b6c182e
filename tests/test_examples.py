"""The examples in docstrings are run; names that people call first have one."""

from __future__ import annotations

import doctest
import importlib

import pytest

import discreet
from package_sources import module_sources

# What a notebook begins with: each has an example.
EXPECTED = {
    "load", "read_catalog",
    "audit", "choose_epsilon", "evaluate", "fit", "make_ratings", "predict", "read_ratings",
    "recommend", "report", "similar",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n, text in module_sources().items() if ">>> " in text])
def test_examples_print_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_people_call_first_has_an_example(name: str) -> None:
    called = getattr(discreet, name)
    function = getattr(called, name, called)
    assert ">>> " in (function.__doc__ or ""), f"discreet.{name} has no example"
