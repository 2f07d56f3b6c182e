"""What the driver decides and says, without Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet import __version__
from discreet.domain import PRESENCE, InputError, Scale
from discreet.measure.engines.spark import _read, _session, _workers
from discreet.measure.engines.spark._jobs import spoken


def table_of(size: int, cores: int) -> Any:
    """What Spark says of a table."""
    plan = SimpleNamespace(stats=lambda: SimpleNamespace(sizeInBytes=lambda: size))
    execution = SimpleNamespace(optimizedPlan=lambda: plan)
    context = SimpleNamespace(defaultParallelism=cores)
    return SimpleNamespace(
        _jdf=SimpleNamespace(queryExecution=lambda: execution),
        sparkSession=SimpleNamespace(sparkContext=context),
    )


@pytest.mark.parametrize(
    ("size", "partitions"),
    [(0, 8), (1 << 20, 8), (51_000_000_000, 760), (1 << 49, 10_000), (2**63 - 1, 8)],
)
def test_partitions_follow_the_source_and_the_cores(size: int, partitions: int) -> None:
    assert _read._partitions(table_of(size, 8), None) == partitions
    assert _read._partitions(table_of(size, 8), 3) == 3


def test_workers_must_have_the_same_python_and_discreet(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SimpleNamespace(
        range=lambda *_, **__: SimpleNamespace(
            mapInArrow=lambda *_: SimpleNamespace(collect=lambda: None)
        )
    )
    answer = {"python": _workers._here()[0], "discreet": __version__}
    monkeypatch.setattr(_workers, "run_job", lambda *_: [answer])
    _workers.check_workers(session)
    answer["discreet"] = "0.0.1"
    with pytest.raises(InputError, match=r"discreet 0\.0\.1, here are"):
        _workers.check_workers(session)


def test_a_failure_is_said_without_spark_s_own_words() -> None:
    assert "install" in str(spoken(RuntimeError("No module named 'discreet'")))
    said = str(spoken(ValueError("user 17 rated 5")))
    assert said == "Spark failed (ValueError); its log says where and why"
    mine = InputError("a reason")
    assert spoken(mine) is mine
    stop = KeyboardInterrupt()
    assert spoken(stop) is stop


@pytest.mark.parametrize(
    ("given", "implicit", "scale"),
    [
        ((1, 5), False, Scale(1, 5)),
        ("0.5..5/0.5", False, Scale(0.5, 5, 0.5)),
        (Scale(0, 10, None), False, Scale(0, 10, None)),
        (None, True, PRESENCE),
        ("presence", False, PRESENCE),
    ],
)
def test_scales_are_told_as_everywhere(given: Any, implicit: bool, scale: Scale) -> None:
    assert _read._scale(given, implicit) == scale


@pytest.mark.parametrize(("given", "implicit"), [(None, False), ((1, 5), True), ((1,), False)])
def test_other_scales_are_refused(given: Any, implicit: bool) -> None:
    with pytest.raises(InputError, match="scale"):
        _read._scale(given, implicit)


@pytest.mark.parametrize(
    ("path", "separator"),
    [
        ("a/ratings.csv", ","),
        ("s3a://b/ratings.CSV.gz", ","),
        ("ratings.tsv/", "\t"),
        ("ratings.parquet", None),
        ("hdfs:///folder", None),
    ],
)
def test_text_is_told_by_its_ending(path: str, separator: str | None) -> None:
    assert _session._separator(path) == separator


def test_settings_of_spark_s_own_are_respected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert not _session._is_configured()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not _session._is_configured()
    (tmp_path / "spark-defaults.conf").touch()
    assert _session._is_configured()


def test_one_machine_keeps_to_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    for master in ("local[2]", "local-cluster[2,1,1024]"):
        told = _session._defaults(master)
        assert told["spark.driver.host"] == told["spark.driver.bindAddress"] == "127.0.0.1"
        assert told["spark.ui.enabled"] == "false"
    assert "spark.driver.host" not in _session._defaults("spark://head:7077")
