"""Releases in MLflow's registry and as its pyfunc. Runs where MLflow is installed."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

import discreet
from release._making import random_release

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own type hints
    import mlflow

    from discreet.adapters import mlflow as flavor

pytestmark = pytest.mark.filterwarnings("ignore")
OWN = {"title 0": 5.0, "title 3": 2.0}


def test_a_release_is_logged_loaded_and_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A database would take the whole of MLflow, of which this is the small part.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("films")
    release = random_release(12)
    with mlflow.start_run():
        uri = flavor.log_model(release, "films").model_uri
    assert flavor.load_model(uri).digest() == release.digest()
    info = mlflow.models.get_model_info(uri)
    assert "Not private" in info.metadata["guarantee"]
    assert info.flavors["discreet"]["digest"] == release.digest()
    model = mlflow.pyfunc.load_model(uri)
    expected = [film.title for film in discreet.recommend(release, OWN, 10)]
    assert model.predict(pd.DataFrame({"ratings": [OWN, {}]}))[0] == expected


def test_a_saved_model_is_the_release_byte_for_byte(tmp_path: Path) -> None:
    release = random_release(12)
    flavor.save_model(release, str(tmp_path / "model"))
    assert discreet.load(tmp_path / "model" / "release.discreet").digest() == release.digest()
    with pytest.raises(discreet.InputError, match="column 'ratings'"):
        flavor._load_pyfunc(str(tmp_path / "model" / "release.discreet")).predict(pd.DataFrame())
