"""Write the software bill of materials of the wheel (CycloneDX 1.6), or check it (--check).

The wheel holds discreet alone; listed with it is what it needs to run, in the versions that its
tests run with (constraints.txt). It lies in the wheel's `.dist-info/sboms`, as PEP 770 has it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "packaging" / "sbom.cdx.json"


def make() -> dict[str, Any]:
    """The document, from pyproject.toml, constraints.txt and the version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "src" / "discreet" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    tested = {_normal(name): found for name, _, found in (line.partition("==") for line in lines)}
    names = sorted(_normal(re.split(r"[\[<>=!~ ]", each)[0]) for each in project["dependencies"])
    whole = _component("discreet", version)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole | {"licenses": [{"license": {"id": project["license"]}}]}},
        "components": [_component(name, tested[name]) for name in names],
        "dependencies": [
            {"ref": whole["bom-ref"], "dependsOn": [_purl(name, tested[name]) for name in names]}
        ],
    }


def _component(name: str, version: str) -> dict[str, Any]:
    purl = _purl(name, version)
    return {
        "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
    }  # fmt: skip


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: list[str]) -> int:
    """Write the file; with --check, return 1 if it would change."""
    made = json.dumps(make(), indent=1) + "\n"
    if "--check" in arguments:
        return int(not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != made)
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
