"""What is said where Spark cannot run: one clear line, and before anything is read."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.spark import start_session


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(InputError, match=r"pip install 'discreet\[spark\]'"):
        start_session()


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is absent")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match="Spark needs Java 17 or newer") as said:
        start_session()
    assert "\n" not in str(said.value)


def test_options_that_belong_to_the_other_engine() -> None:
    told = ("fit", "ratings.csv", "-o", "x.discreet")
    assert "--engine spark" in call(*told, "--master", "local").complaint()
    spark = call(*told, "--engine", "spark", "--layout", "netflix").complaint()
    assert "--engine local" in spark
