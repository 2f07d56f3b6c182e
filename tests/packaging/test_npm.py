"""The npm package: packed, installed from there, and used by the example."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.release import Release
from release._making import random_release

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packaging" / "npm"
NODE, NPM = shutil.which("node"), shutil.which("npm")

pytestmark = pytest.mark.skipif(not (NODE and NPM), reason="node and npm are absent")


def run(*command: object, **told: Any) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=120, **told
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it, from its archive."""
    folder = tmp_path_factory.mktemp("npm")
    # Beside copies: packing writes into the package's folder, where another process may read.
    for name in ("packaging/npm", "web/js", "tests/web", "tests/vectors"):
        shutil.copytree(ROOT / name, folder / name)
    packed = run(NPM, "pack", "--json", "--silent", cwd=folder / "packaging" / "npm")
    (archive,) = json.loads(packed[packed.index("[") :])
    assert not [file for file in archive["files"] if "test" in file["path"]]
    (folder / "package.json").write_text("{}")
    path = folder / "packaging" / "npm" / archive["filename"]
    run(NPM, "install", "--offline", "--no-audit", "--no-fund", path, cwd=folder)
    shutil.copy(ROOT / "examples" / "npm" / "recommend.mjs", folder)
    return folder


def test_its_own_tests_pass(installed: Path) -> None:
    shutil.copytree(
        installed / "node_modules" / "discreet-client" / "js",
        installed / "packaging" / "npm" / "js",
        dirs_exist_ok=True,
    )
    run(NODE, "--test", "golden.test.mjs", cwd=installed / "packaging" / "npm")


def test_it_has_the_version_and_the_licence_of_discreet_and_no_dependencies() -> None:
    told = json.loads((PACKAGE / "package.json").read_text())
    assert told["version"] == discreet.__version__
    assert told["license"] == "Apache-2.0"
    assert not told.keys() & {"dependencies", "peerDependencies", "optionalDependencies"}


def listed(installed: Path, release: Release, own: dict[str, float]) -> tuple[list[str], Any]:
    path = installed / "films.discreet"
    release.save(path, overwrite=True)
    told = [f"{title}={value:g}" for title, value in own.items()]
    said = run(
        NODE, "recommend.mjs", path, *told, cwd=installed, env=os.environ | {"VECTOR": "1"}
    ).splitlines()
    return [line.split()[0] for line in said[:-1]], np.array(json.loads(said[-1]), np.float32)


def test_the_example_lists_what_python_lists_and_has_its_query_vector(installed: Path) -> None:
    release, own = random_release(30), {"title 0": 5.0, "title 7": 2.0}
    ids, vector = listed(installed, release, own)
    assert ids == [film.id for film in discreet.recommend(release, own)]
    expected = discreet.vectors(release, order="expected").query(own)
    assert np.allclose(vector, expected, rtol=1e-5, atol=1e-6)


def test_query_vectors_of_lists_are_pythons(installed: Path) -> None:
    ratings = discreet.make_ratings("ml-100k", ratings=5_000, seed=1)
    release = discreet.fit(
        ratings, method="lists", epsilon=50.0, randomness=discreet.SeededRandomness(1)
    )
    for own in ({}, {release.catalog.titles[3]: 5.0, release.catalog.titles[9]: 1.0}):
        ids, vector = listed(installed, release, own)
        assert ids == [film.id for film in discreet.recommend(release, own)]
        assert np.allclose(vector, discreet.vectors(release).query(own), rtol=1e-5, atol=1e-6)


def test_the_types_are_those_of_the_modules(installed: Path) -> None:
    tsc = ROOT / ".venv" / "node_modules" / ".bin" / "tsc"
    if not tsc.exists():
        pytest.skip("TypeScript is absent")
    # Every name of the types is exported, with that shape, and the example uses them rightly.
    (installed / "check.mts").write_text(
        'import * as types from "discreet-client";\n'
        'import * as real from "./node_modules/discreet-client/index.js";\n'
        "const names: (keyof typeof types)[] = Object.keys(real) as any;\n"
        "async function f(b: ArrayBuffer) {\n"
        "  const release = await types.readRelease(b);\n"
        "  const model: types.Predictor = await types.makePredictor(release);\n"
        "  const list: types.Recommendation[] = model.recommend(types.ownRatings([[0, 5]]), 3);\n"
        "  return [names, list];\n"
        "}\nexport default f;\n"
    )
    run(
        tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib",
        "es2022,dom", "--skipLibCheck", "false", "check.mts", cwd=installed,
    )  # fmt: skip
    names = run(
        NODE, "--input-type=module", "-e",
        'import * as all from "discreet-client"; console.log(Object.keys(all).join("\\n"))',
        cwd=installed,
    ).split()  # fmt: skip
    types = (PACKAGE / "index.d.ts").read_text()
    assert all(f"{name}(" in types or f"{name}:" in types for name in names)
