"""The page on the file format is enough to read a release: its reader and formulas are run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import discreet.predict  # noqa: F401
from discreet.release import METHODS
from release._making import random_refined, random_release

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "file-format.md"


@pytest.fixture(scope="module")
def text() -> str:
    if not DOCUMENT.is_file():
        pytest.skip("the documentation is not part of this installation")
    return DOCUMENT.read_text()


def test_the_printed_reader_and_formula_predict_as_discreet_does(text: str, tmp_path: Path) -> None:
    release = random_release(d=12, k=3, m=4)
    release.save(tmp_path / "r")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    metadata, arrays = names["read"](tmp_path / "r")
    told = json.loads(metadata["parameters"])

    own = {2: 5.0, 7: 1.0, 11: 4.0}
    f = np.column_stack([np.full(12, told["user_variance"] ** 0.5), arrays["factors"]])
    s = told["rating_variance"] + arrays["item_effect_variances"] + arrays["factor_variances"]
    base = told["global_mean"] + arrays["item_effects"]
    A, b = np.eye(4), np.zeros(4)
    for j, rating in own.items():
        A += np.outer(f[j], f[j]) / s[j]
        b += f[j] * (rating - base[j]) / s[j]
    expected = np.clip(base + f @ np.linalg.solve(A, b), 1, 5)
    got = release.predictor("svd").predict({str(j): rating for j, rating in own.items()})
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_the_printed_order_is_that_of_discreet(text: str, tmp_path: Path) -> None:
    release = random_refined(d=12, k=3, h=5)
    release.save(tmp_path / "r")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    _, arrays = names["read"](tmp_path / "r")

    own = {"2": 5.0, "7": 1.0, "11": 4.0}
    u = np.outer(arrays["list_tail"], arrays["list_axis"])
    u[arrays["list_head"]] = arrays["list_rows"] * arrays["list_scales"]
    q = sum(u[int(item)] for item in own)
    score = arrays["list_start"] + arrays["list_gain"] * (u @ q)
    z = (release.predictor().predict(own) - 3.5) / 1.5
    order = np.where(score > 0, score * np.vectorize(NormalDist().cdf)(z), score)
    left = [item for item in np.argsort(-order) if str(item) not in own]
    assert [entry.item for entry in release.predictor().recommend(own, 12)] == left


def test_every_array_and_parameter_is_described(text: str) -> None:
    for method, layout in METHODS.items():
        assert f"Method `{method}`" in text
        names = [*layout.arrays, *layout.parameters]
        names += [name for _, parameters in layout.together for name in parameters]
        for name in names:
            assert f"`{name}`" in text, name
