"""discreet-predict: the files that it consists of recommend with numpy and safetensors alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet
from release._making import random_release

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys, sysconfig

class Absent:
    allowed = {"numpy", "safetensors", "discreet", *sys.stdlib_module_names}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
sys.path[:] = [sys.argv[1], *(path for path in sys.path if "discreet" not in path), sys.argv[2]]
import discreet
assert discreet.__file__.startswith(sys.argv[1]), discreet.__file__
release = discreet.load(sys.argv[3])
found = discreet.recommend(release, {"title 0": 5.0}, 3, explain=True)
said = []
for attempt in (lambda: release.predictor("knn"), lambda: discreet.fit):
    try:
        attempt()
    except (discreet.DiscreetError, ImportError) as error:
        said.append(str(error))
print(json.dumps([str(release.guarantee), [film.title for film in found], said]))
"""


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    project = ROOT / "packaging" / "predict"
    targets = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    for source, target in targets["targets"]["wheel"]["force-include"].items():
        found, place = (project / source).resolve(), tmp_path / "site" / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            shutil.copytree(found, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(found, place)
    return tmp_path / "site"


def test_it_opens_a_release_and_recommends_as_discreet_does(alone: Path, tmp_path: Path) -> None:
    release, path = random_release(m=6), tmp_path / "r.discreet"
    release.save(path)
    packages = Path(sys.modules["numpy"].__file__ or "").parents[1]
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(alone), str(packages), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    guarantee, titles, said = json.loads(done.stdout)
    assert guarantee == str(release.guarantee)
    assert titles == [film.title for film in discreet.recommend(release, {"title 0": 5.0}, 3)]
    assert said == [
        "this predictor needs numba, which is not installed: pip install numba",
        "discreet.fit is not in discreet-predict, which only predicts: install discreet",
    ]


def test_it_has_the_dependencies_of_discreet_and_no_others() -> None:
    ours, whole = (
        tomllib.loads((ROOT / path / "pyproject.toml").read_text())["project"]
        for path in ("packaging/predict", ".")
    )
    assert set(ours["dependencies"]) <= set(whole["dependencies"])
    assert ours["requires-python"] == whole["requires-python"]
