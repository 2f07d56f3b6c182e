"""The documentation keeps up with the code."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from discreet import __version__
from discreet.privacy import GaussianEvent, Guarantee, Unit
from discreet.privacy.accounting import calibrate_gaussian

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def test_the_commands_page_is_what_the_commands_say() -> None:
    done = subprocess.run(
        [sys.executable, "docs/make_commands.py", "--check"], cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode == 0, "run 'make docs' and commit docs/reference/commands.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [to for to in links if "://" not in to and not (page.parent / to).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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
