"""At home there are no ratings of others: predicting works with those rooms deleted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from release._making import random_release

PROGRAM = """
import sys

class Deleted:
    def find_spec(self, name, path=None, target=None):
        for room in ("discreet.ratings", "discreet.measure"):
            if name == room or name.startswith(room + "."):
                raise ModuleNotFoundError(f"{name} was deleted")

sys.meta_path.insert(0, Deleted())
sys.path[:0] = %r

try:
    import discreet.ratings
except ModuleNotFoundError as error:
    print(error)

import discreet.predict
release = discreet.predict.load(%r)
for name in ("svd", "knn"):
    best = release.predictor(name).recommend({"title 0": 5.0}, 2, explain=True)
    print(name, len(best))
print(sorted(m for m in sys.modules if m.startswith(("discreet.ratings", "discreet.measure"))))
"""


def test_predicting_needs_neither_ratings_nor_measure(tmp_path: Path) -> None:
    random_release(m=4).save(tmp_path / "r")
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM % (sys.path, str(tmp_path / "r"))],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert said == ["discreet.ratings was deleted", "svd 2", "knn 2", "[]"]
