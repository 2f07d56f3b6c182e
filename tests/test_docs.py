"""The documentation keeps up with the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import __version__
from discreet.privacy import GaussianEvent, Guarantee, Unit
from discreet.privacy.accounting import calibrate_gaussian

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_commands_page_is_what_the_commands_say() -> None:
    done = subprocess.run(
        [sys.executable, "docs/make_commands.py", "--check"], cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode == 0, "run 'make docs' and commit docs/commands.md"


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
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    assert " ".join(str(promise).split()) in " ".join(page.split())


def test_the_table_of_rooms_is_the_one_that_is_enforced() -> None:
    done = subprocess.run([sys.executable, "docs/make_rooms.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run 'make docs', describe new rooms, commit CONTRIBUTING.md"


def test_the_changelog_begins_with_this_version() -> None:
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", page, re.MULTILINE)
    assert released[0] == __version__
