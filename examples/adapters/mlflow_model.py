"""A release as an MLflow model, saved and asked. Needs mlflow-skinny and pandas."""

import tempfile
from pathlib import Path

import mlflow.pyfunc
import pandas as pd

import discreet
from discreet.adapters import mlflow as flavor

ratings = discreet.make_ratings("ml-100k", ratings=10_000, seed=1)
release = discreet.fit(ratings, epsilon=8.0, randomness=discreet.SeededRandomness(1))
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "model")
    flavor.save_model(release, path)  # or flavor.log_model(release, "films") within a run
    model = mlflow.pyfunc.load_model(path)
    print(model.predict(pd.DataFrame({"ratings": [{"1": 5, "2": 4}]}))[0])
