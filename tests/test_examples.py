"""The examples in docstrings are run; names that people call first have one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
# What a notebook begins with: each has an example.
EXPECTED = {
    "load", "read_catalog",
    "audit", "choose_epsilon", "evaluate", "fit", "make_ratings", "predict", "read_ratings",
    "recommend", "report", "similar",
}  # fmt: skip


def with_examples() -> list[str]:
    """Modules whose source has an example; reading is cheaper than importing them all."""
    found = pkgutil.walk_packages([str(SOURCE)], "discreet.")
    names = [each.name for each in found if not each.name.endswith("__main__")]
    paths = {name: SOURCE.joinpath(*name.split(".")[1:]) for name in names}
    return sorted(
        name
        for name, path in paths.items()
        if ">>> "
        in (path.with_suffix(".py") if not path.is_dir() else path / "__init__.py").read_text()
    )


@pytest.mark.parametrize("name", with_examples())
def test_examples_print_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_people_call_first_has_an_example(name: str) -> None:
    called = getattr(discreet, name)
    function = getattr(called, name, called)
    assert ">>> " in (function.__doc__ or ""), f"discreet.{name} has no example"
