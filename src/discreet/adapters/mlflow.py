"""Releases as MLflow models. Needs the optional part `mlflow`.

A model is the release's file, byte for byte, with its guarantee and its digest in the metadata. As
a `pyfunc` it takes a table with a column `ratings` (own ratings by title or id in each row) and
gives a list of titles for each: what is sent to an MLflow server leaves the person's device.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow.pyfunc
from mlflow.models import Model

from discreet import __version__
from discreet.domain import InputError
from discreet.predict import load
from discreet.release import Recommender, Release

FLAVOR = "discreet"
_FILE = "release.discreet"
# The whole package: discreet-predict has no adapters, and this module is what loads a model.
_REQUIREMENTS = [f"discreet=={__version__}"]


def save_model(release: Release, path: str, mlflow_model: Model | None = None, **_: Any) -> None:
    """Write a release as an MLflow model, into a folder of its own."""
    folder = Path(path)
    folder.mkdir(parents=True)
    release.save(folder / _FILE)
    model = mlflow_model or Model()
    model.add_flavor(FLAVOR, data=_FILE, version=__version__, digest=release.digest())
    mlflow.pyfunc.add_to_model(
        model, loader_module=__name__, data=_FILE, python_env={"dependencies": _REQUIREMENTS}
    )
    guarantee = release.guarantee
    model.metadata = {
        "guarantee": str(guarantee),
        "epsilon": guarantee.epsilon if guarantee.is_private else None,
        "delta": guarantee.delta,
        "protect": str(guarantee.unit),
    }
    (folder / "requirements.txt").write_text("\n".join(_REQUIREMENTS) + "\n", encoding="utf-8")
    model.save(str(folder / "MLmodel"))


def log_model(release: Release, name: str, **options: Any) -> Any:
    """Save a release as a model of the active run; further options are `Model.log`'s."""
    flavor = sys.modules[__name__]
    return Model.log(artifact_path=None, name=name, flavor=flavor, release=release, **options)


def load_model(model_uri: str) -> Release:
    """The release of a model, from wherever MLflow keeps it."""
    folder = Path(mlflow.artifacts.download_artifacts(model_uri))
    return load(folder / _FILE, verify=True)


class _Listing:
    """A release's predictor as `pyfunc` calls it."""

    def __init__(self, model: Recommender) -> None:
        self._model = model

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> list[list[str]]:
        """A list of titles for each row; `params={"n": 5}` for shorter ones."""
        n = int((params or {}).get("n", 10))
        if "ratings" not in model_input:
            raise InputError("the table needs a column 'ratings': own ratings by title or id")
        each = (json.loads(own) if isinstance(own, str) else own for own in model_input["ratings"])
        return [[item.title for item in self._model.recommend(own, n)] for own in each]


def _load_pyfunc(path: str) -> _Listing:
    return _Listing(load(path).predictor())
