"""Writes docs/reference/python.md, the reference, from the docstrings; `make docs` calls it.

The page is not kept in the repository: it would change with every docstring. tests/test_docs.py
checks that every public name is in it.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reference" / "python.md"
HEAD = """# Python reference

Everything that a command does, a function does. `make docs` writes this page from the docstrings;
the examples in it are run as tests. Names of the first section are attributes of `discreet` itself;
those of the others are imported from their room, as in `from discreet.ratings import split_random`.

| command | in Python |
|---|---|
| `discreet fit` | @fit, then `release.save(path)` |
| `discreet recommend`, `similar`, `predict` | @recommend, @similar, @predict; for many people, \
`release.predictor()` |
| `discreet inspect` | @load with `verify=True`; `release.describe()`, `release.guarantee`, \
`release.learnt`; `ledger.pair(...)` |
| `discreet report` | @report |
| `discreet evaluate` | @evaluate |
| `discreet choose-epsilon` | @choose_epsilon |
| `discreet audit` | @audit |
| `discreet attack` | `discreet.audit.attacks.run_attacks` |
| `discreet plant-canaries` | `discreet.audit.insert_canaries`, `discreet.ratings.write_ratings` |
| `discreet data` | @make_ratings, `discreet.ratings.figures`, `discreet.ratings.download` |
| `discreet ledger` | @Ledger |
| `discreet series` | @Series |
| `discreet serve` | `discreet.serve.run`, `discreet.serve.make_app` |
| `discreet client`, `authority` | `discreet.protocols` |

"""
ROOMS = (
    "discreet",
    "discreet.ratings",
    "discreet.methods",
    "discreet.release",
    "discreet.predict",
    "discreet.evaluate",
    "discreet.audit",
    "discreet.audit.attacks",
    "discreet.report",
    "discreet.privacy",
    "discreet.privacy.ledger",
    "discreet.domain",
    "discreet.series",
    "discreet.spark",
)
"""Rooms that people import from, in the order of the page."""

_ARGUMENTS = ("Args", "Attributes", "Raises")
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Example|Examples):$")
# The longest signature on one line.
_WIDTH = 100


def page() -> str:
    """The whole page."""
    head = re.sub(r"@(\w+)", lambda found: _link(f"discreet.{found.group(1)}"), HEAD)
    parts, seen = [head], dict[int, str]()
    for room in ROOMS:
        module = importlib.import_module(room)
        parts.append(f"## `{room}`\n")
        if room != "discreet":
            parts.append(_text(inspect.getdoc(module) or ""))
        for name in module.__all__:
            if not name.startswith("__"):
                parts += _entry(module, room, name, seen)
    return "\n".join(parts).rstrip() + "\n"


def _entry(module: Any, room: str, name: str, seen: dict[int, str]) -> Iterator[str]:
    """A name of a room; one that another room has shown already is referred to."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        # A room that can be called stands for its function.
        value = getattr(value, name)
    yield f"### `{room}.{name}`\n"
    is_object = inspect.isclass(value) or inspect.isroutine(value)
    if is_object and id(value) in seen:
        yield f"See {_link(seen[id(value)])}.\n"
        return
    if is_object:
        seen[id(value)] = f"{room}.{name}"
    if inspect.isclass(value):
        yield from _class(name, value)
    elif inspect.isroutine(value):
        yield from _function(name, value)
    else:
        yield f"{_described(module, name) or _shown(value)}\n"


def _function(name: str, function: Any) -> Iterator[str]:
    yield f"```text\n{_signature(name, function)}\n```\n"
    yield _text(inspect.getdoc(function) or "")


def _class(name: str, kind: type[Any]) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield _text(inspect.getdoc(kind) or "")
        yield "".join(f"- `{each.name}`: `{each.value!r}`\n" for each in kind)
        return
    if issubclass(kind, BaseException) or getattr(kind, "_is_protocol", False):
        yield _text(inspect.getdoc(kind) or "")
    else:
        yield f"```text\n{_signature(name, kind)}\n```\n"
        yield _text(inspect.getdoc(kind) or "")
    for member in _members(kind):
        yield from _member(name, member, inspect.getattr_static(kind, member))


def _members(kind: type[Any]) -> list[str]:
    """Methods and properties of its own, or of a class of ours that it extends."""
    ours = [each for each in kind.__mro__ if each.__module__.startswith("discreet")]
    names = dict.fromkeys(name for each in ours for name in vars(each))
    shown = (property, cached_property, classmethod, staticmethod)
    return [
        name
        for name in names
        if not name.startswith("_")
        and (
            isinstance(found := inspect.getattr_static(kind, name), shown)
            or inspect.isfunction(found)
        )
    ]


def _member(owner: str, name: str, found: Any) -> Iterator[str]:
    yield f"#### `{owner}.{name}`\n"
    if isinstance(found, property | cached_property):
        yield _text(inspect.getdoc(found) or "")
        return
    function = getattr(found, "__func__", found)
    yield f"```text\n{_signature(name, function, bound=not isinstance(found, staticmethod))}\n```\n"
    yield _text(inspect.getdoc(function) or "")


def _signature(name: str, called: Any, *, bound: bool = False) -> str:
    """As it would be written; one argument a line where it is long."""
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return f"{name}(...)"
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    written, starred = [], False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            written.append("*")
        starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        written.append(_parameter(each))
    returned = signature.return_annotation
    after = (
        "" if returned is signature.empty or inspect.isclass(called) else f" -> {_type(returned)}"
    )
    line = f"{name}({', '.join(written)}){after}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in written), f"){after}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}"
    if parameter.annotation is not parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_shown(parameter.default)}"
    return text


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _shown(value: Any) -> str:
    """A default as code; without addresses, which differ from run to run."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    shown = repr(value)
    return "..." if " at 0x" in shown or len(shown) > _WIDTH or "<" in shown else shown


def _described(module: Any, name: str) -> str:
    """The text below a constant, or a type, in the source of the module that defines it."""
    for each in _sources(module):
        lines = re.search(rf'^{name}\b[^\n]*=(?:.|\n)*?\n"""((?:.|\n)*?)"""', each, re.MULTILINE)
        if lines:
            return " ".join(lines.group(1).split())
    return ""


def _sources(module: Any) -> Iterator[str]:
    folder = Path(str(module.__file__)).parent
    for path in sorted(folder.glob("*.py")):
        yield path.read_text(encoding="utf-8")


def _link(name: str) -> str:
    anchor = re.sub(r"[^a-z0-9_-]", "", name.lower())
    return f"[`{name}`](#{anchor})"


def _text(doc: str) -> str:
    """A docstring as Markdown."""
    lines, out = doc.splitlines(), list[str]()
    at = 0
    while at < len(lines):
        heading = _SECTION.match(lines[at])
        if heading is None:
            out.append(lines[at])
            at += 1
            continue
        end = at + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
            end += 1
        out += [
            "",
            *_section(heading.group(1), textwrap.dedent("\n".join(lines[at + 1 : end]))),
            "",
        ]
        at = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"


def _section(heading: str, body: str) -> list[str]:
    if heading.startswith("Example"):
        return ["Example:", "", "```pycon", *body.strip("\n").splitlines(), "```"]
    if heading not in _ARGUMENTS:
        return [f"{heading}: {' '.join(body.split())}"]
    items = re.split(r"\n(?=\S)", body.strip("\n"))
    shown = []
    for item in items:
        name, colon, text = " ".join(item.split()).partition(": ")
        shown.append(f"- `{name}`: {text}" if colon else f"- {name}")
    return [f"{heading}:", "", *shown]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
