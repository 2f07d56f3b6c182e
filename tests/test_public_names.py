"""The names that the package offers, and the tree of its errors."""

from __future__ import annotations

import ast
import importlib
import operator
import re
import subprocess
import sys
from types import ModuleType

import pytest

import discreet
from discreet.domain import errors
from discreet.domain.errors import DiscreetError
from package_sources import SOURCE, module_sources


def module_names() -> list[str]:
    """All but the adapters, whose other libraries may be absent; each is named by its module."""
    names = (name for name in module_sources() if not name.startswith("discreet.adapters."))
    return [name for name in names if name != "discreet"]


def with_all() -> list[str]:
    texts = module_sources()
    return [n for n in module_names() if re.search(r"^__all__\b", texts[n], re.MULTILINE)]


def in_rank(name: str) -> tuple[int, list[str | int]]:
    """Constants, then classes, then the rest, each in natural order: the linter's order."""
    rank = 0 if name.isupper() else 1 if name[0].isupper() else 2
    parts = re.split(r"(\d+)", name)
    return rank, [int(part) if part.isdigit() else part for part in parts]


def documented_tree() -> dict[str, str]:
    """Each error of the drawing in errors.py with its parent in the drawing."""
    path: list[str] = []
    tree = {}
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"(    (?:[│ ]   )*)(?:[├└]── )?([A-Z]\w+)\b(?!\s*\w*\.)", line)
        if not line.startswith("    ") or drawn is None:
            continue
        depth = line.index(drawn.group(2)) // 4 - 1
        path[depth:] = [drawn.group(2)]
        tree[drawn.group(2)] = path[depth - 1] if depth else "Exception"
    return tree


def subclasses(of: type[DiscreetError]) -> list[type[DiscreetError]]:
    """All that live in the package: the tests have some of their own."""
    found = []
    for child in of.__subclasses__():
        found += [child, *subclasses(child)]
    return [error for error in found if error.__module__.startswith("discreet")]


@pytest.mark.parametrize("name", with_all())
def test_offered_names_are_sorted_public_and_there(name: str) -> None:
    if name.startswith("discreet.serve."):
        pytest.importorskip("sqlalchemy")
    module: ModuleType = importlib.import_module(name)
    offered = module.__all__
    assert offered == sorted(set(offered), key=in_rank)
    for one in offered:
        assert getattr(module, one) is not None
        assert not one.startswith("_")


@pytest.mark.parametrize(
    "room", [n for n in module_names() if n.count(".") == 1 and not n.startswith("discreet._")]
)
def test_a_room_offers_what_it_imports_from_its_own_modules(room: str) -> None:
    text = (SOURCE / room.split(".")[1] / "__init__.py").read_text()
    imported = {
        alias.asname or alias.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{room}.")
        for alias in node.names
    }
    offered = getattr(importlib.import_module(room), "__all__", [])
    if room == "discreet.cli":
        assert offered == []
    else:
        assert imported - set(offered) == set()


def test_top_level_names_resolve_lazily() -> None:
    code = (
        "import sys, discreet\n"
        "assert 'discreet.ratings' not in sys.modules\n"
        "assert 'discreet.domain' not in sys.modules\n"
        "assert 'numpy' not in sys.modules\n"
        "discreet.Scale\n"
        "assert 'discreet.domain' in sys.modules\n"
        "assert 'discreet.ratings' not in sys.modules\n"
        "for name in discreet.__all__: getattr(discreet, name)\n"
        "print(discreet.Ratings.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("discreet.ratings")


def test_top_level_names_are_those_the_type_checker_sees() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (alias.asname, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    offered = [name for name in discreet.__all__ if name != "__version__"]
    assert seen == {(name, discreet._HOME[name]) for name in offered}
    assert offered == sorted(set(offered), key=in_rank)
    assert "__version__" in discreet.__all__
    assert dir(discreet) == sorted(discreet.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'discreet' has no attribute 'Rating'"):
        operator.attrgetter("Rating")(discreet)


def test_the_drawing_of_the_errors_is_read_right() -> None:
    tree = documented_tree()
    assert tree["DiscreetError"] == "Exception"
    assert tree["InputError"] == "DiscreetError"
    assert tree["MissingPart"] == "InputError"
    assert tree["DownloadError"] == "DiscreetError"


def test_every_error_lives_in_the_drawn_tree() -> None:
    for part in ("fastapi", "psycopg", "pyspark", "sqlalchemy", "uvicorn"):
        pytest.importorskip(part)
    for name in module_names():
        importlib.import_module(name)
    real = {error.__name__: error for error in subclasses(DiscreetError)}
    assert {e.__module__ for e in real.values()} == {"discreet.domain.errors"}
    drawn = documented_tree()
    assert real.keys() | {"DiscreetError"} == drawn.keys()
    assert {name: error.__bases__[0].__name__ for name, error in real.items()} == {
        name: parent for name, parent in drawn.items() if name != "DiscreetError"
    }


def test_a_new_error_elsewhere_would_be_found() -> None:
    class Stray(DiscreetError):
        __module__ = "discreet.privacy"

    assert Stray in subclasses(DiscreetError)
    Stray.__module__ = __name__
    assert Stray not in subclasses(DiscreetError)


# In an order in which none needs a later one: each is imported for the first time.
CALLABLE = ("report", "predict", "evaluate", "audit")


@pytest.mark.parametrize(
    "first", ["import discreet", "import discreet.{0}", "from discreet.{0} import *"]
)
def test_a_room_can_be_called_whatever_was_imported_first(first: str) -> None:
    code = "import inspect, sys"
    for room in CALLABLE:
        code += f"""
assert "discreet.{room}" not in sys.modules
{first.format(room)}
import discreet
called = discreet.{room}
assert inspect.ismodule(called) and callable(called), called
function = getattr(called, {room!r})
assert inspect.signature(called) == inspect.signature(function)
try:
    called()
except (TypeError, discreet.InputError) as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # It is the function that misses its arguments.
    assert done.stdout.split() == ["TypeError", "TypeError", "TypeError", "InputError"]
