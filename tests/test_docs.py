"""The documentation keeps up with the code."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

from discreet import __version__
from discreet.cli._app import app
from discreet.privacy import GaussianEvent, Guarantee, Unit
from discreet.privacy.accounting import calibrate_gaussian

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "python.md"),
]


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub and MkDocs make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = []
    for to, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        target = page.parent / to if to else page
        if target.suffix == ".md" and target.is_file() and anchor not in headings(target):
            missing.append(f"{to}#{anchor}")
    assert missing == []


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r": ([\w/-]+\.md)$", nav, re.MULTILINE))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert pages | {"reference/python.md"} == named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_the_pages_compiles(page: Path) -> None:
    for indent, code in re.findall(
        r"^( *)```python\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.M | re.S
    ):
        compile(textwrap.dedent(f"{indent}\n{code}"), str(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_pages_have_the_options_that_they_use(page: Path) -> None:
    """Every `discreet ...` in a block names commands and options that there are."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    wrong = []
    for block in re.findall(r"^```(?:sh|console)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?:\$ )?(discreet .*)$", block, re.MULTILINE):
            wrong += unknown_options(line)
    assert wrong == []


def unknown_options(line: str) -> list[str]:
    """What a line of a shell asks `discreet` for that it does not have."""
    words = shlex.split(re.split(r" \|\| | \| | > | && ", line)[0], comments=True)[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "list_commands") and words:
        name = words.pop(0)
        if name.startswith("-"):
            return []
        if name not in command.list_commands(None):
            return [f"discreet {name}"]
        command = command.get_command(None, name)
    known = {
        option
        for parameter in command.params
        for option in [*parameter.opts, *parameter.secondary_opts]
    }
    used = [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
    return [f"{line}: {option}" for option in used if option not in {*known, "--help"}]


def test_messages_in_the_reference_are_said_by_the_program() -> None:
    page = (ROOT / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| \"(.+?)\" \|", page, re.MULTILINE)
    texts = [
        node.value
        for path in (ROOT / "src" / "discreet").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert quoted
    assert [each for each in quoted if not any(each in text for text in texts)] == []


def test_the_commands_page_is_what_the_commands_say() -> None:
    done = subprocess.run(
        [sys.executable, "docs/make_commands.py", "--check"], cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode == 0, "run 'make docs' and commit docs/reference/commands.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [to for to in links if "://" not in to and not (page.parent / to).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_that_are_named_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", page.read_text(encoding="utf-8")))
    assert named <= targets


def test_the_sample_guarantee_is_what_is_printed() -> None:
    sigma = calibrate_gaussian(1.0, 1.0, 1e-6)
    event = GaussianEvent(unit=Unit.USER, label="x", sensitivity=1.0, sigma=sigma)
    promise = Guarantee(Unit.USER, (event,), 1e-6, ("one account is one person",))
    page = (ROOT / "docs" / "explanation" / "guarantees.md").read_text(encoding="utf-8")
    assert " ".join(str(promise).split()) in " ".join(page.split())


def test_the_table_of_rooms_is_the_one_that_is_enforced() -> None:
    done = subprocess.run([sys.executable, "docs/make_rooms.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run 'make docs', describe new rooms, commit CONTRIBUTING.md"


def test_the_changelog_begins_with_this_version() -> None:
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", page, re.MULTILINE)
    assert released[0] == __version__


# Rooms with public names that people do not import from: they are described where they are used.
INTERNAL = (
    "discreet.cli",
    "discreet.estimate",
    "discreet.measure",
    "discreet.protocols",
    "discreet.serve",
)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_python", ROOT / "docs" / "make_python.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def python_page(reference: ModuleType) -> str:
    page = reference.page()
    assert isinstance(page, str)
    return page


def test_the_reference_has_every_public_name_with_words(
    reference: ModuleType, python_page: str
) -> None:
    parts = re.split(r"^### `(.+)`$", python_page, flags=re.MULTILINE)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    wanted = {
        f"{room}.{name}"
        for room in reference.ROOMS
        for name in importlib.import_module(room).__all__
        if not name.startswith("__")
    }
    assert shown.keys() == wanted
    for name, text in shown.items():
        said = re.sub(r"```(.|\n)*?```", "", text)
        assert said.strip(), f"{name} has no docstring"


def test_every_member_in_the_reference_has_words(python_page: str) -> None:
    parts = re.split(r"^#### `(.+)`$", python_page, flags=re.MULTILINE)
    silent = []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        own = re.split(r"^##", text, flags=re.MULTILINE)[0]
        if not re.sub(r"```(.|\n)*?```", "", own).strip():
            silent.append(name)
    assert silent == []


def test_the_reference_has_every_room_that_people_import_from(reference: ModuleType) -> None:
    rooms = {
        ".".join(["discreet", *path.parent.relative_to(ROOT / "src" / "discreet").parts])
        for path in (ROOT / "src" / "discreet").glob("*/__init__.py")
        if "__all__" in path.read_text(encoding="utf-8")
    }
    assert rooms <= {*reference.ROOMS, *INTERNAL}


def test_links_within_the_reference_lead_somewhere(python_page: str) -> None:
    headings = re.findall(r"^#+ `?(.+?)`?$", python_page, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9_-]", "", heading.lower()) for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", python_page)) <= anchors
