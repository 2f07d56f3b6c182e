"""Wheels: twice the same bytes wherever they are built, with a bill of materials, nothing stray."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import hatchling  # noqa: F401  # absent parts skip this file
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src", "web", "packaging", "pyproject.toml", "README.md", "LICENSE")


def copy_sources(target: Path) -> Path:
    """What a wheel is made of, with other times and permissions than in the checkout."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc", "js.tgz", "node_modules")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=unwanted)
        else:
            target.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    for path in target.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        if path.is_file():
            path.chmod(0o640)
    return target


def build(folder: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = target.glob("*.whl")
    return wheel


@pytest.mark.parametrize("project", [".", "packaging/predict"])
def test_a_wheel_is_the_same_bytes_wherever_it_is_built(project: str, tmp_path: Path) -> None:
    elsewhere = copy_sources(tmp_path / "elsewhere")
    here = build(ROOT / project, tmp_path / "one")
    there = build(elsewhere / project, tmp_path / "two")
    assert here.name == there.name and here.name.endswith("-py3-none-any.whl")
    assert here.read_bytes() == there.read_bytes()
    names = zipfile.ZipFile(here).namelist()
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]
    if project == ".":
        assert "discreet/serve/web/index.html" in names
        (bill,) = (name for name in names if ".dist-info/sboms/" in name)
        assert json.loads(zipfile.ZipFile(here).read(bill))["bomFormat"] == "CycloneDX"


def test_the_bill_of_materials_has_what_is_needed() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "make_sbom.py"), "--check"], check=False
    )
    assert done.returncode == 0, "run 'python packaging/make_sbom.py' and commit the file"
    bill = json.loads((ROOT / "packaging" / "sbom.cdx.json").read_text())
    told = bill["components"]
    assert {"numpy", "cryptography", "safetensors"} <= {each["name"] for each in told}
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@[\w.]+", each["purl"]) for each in told)
