"""In a process of its own, on one machine: a quiet terminal, and a database through JDBC."""

from __future__ import annotations

from pathlib import Path

from cli._calling import call_alone, run_python, write_sample

FROM_A_DATABASE = """
from pathlib import Path
import numpy as np
import pyarrow as pa
import discreet, discreet.spark
from discreet.privacy import SeededRandomness

url, driver = "jdbc:derby:memory:shop;create=true", "org.apache.derby.jdbc.EmbeddedDriver"
options = f"-XX:TieredStopAtLevel=1 -Dderby.stream.error.file={Path(__file__).with_name('log')}"
spark = discreet.spark.start_session("local[1]", {"spark.driver.extraJavaOptions": options})
rng = np.random.default_rng(4)
pairs = rng.choice(40 * 12, 300, replace=False)
rows = pa.table({"customer": pairs // 12, "item": pairs % 12, "rating": rng.integers(1, 6, 300)})
told = {"url": url, "table": "app.ratings", "properties": {"driver": driver}}
spark.createDataFrame(rows).write.jdbc(mode="overwrite", **told)
public = {"scale": (1, 5), "catalog": "from-data", "columns": {"user": "customer"}}
split = {"column": "customer", "lowerBound": 0, "upperBound": 40, "numPartitions": 2}
fit = {"rank": 0, "epsilon": 2.0}
table = spark.read.jdbc(**told, **split)
there = discreet.spark.fit(table, partitions=2, randomness=SeededRandomness(1), **public, **fit)
here = discreet.fit(discreet.read_ratings(rows, **public), randomness=SeededRandomness(1), **fit)
try:
    with discreet.spark.read(table, partitions=2, **public) as held:
        held.survey()
        spark.stop()
        raise ZeroDivisionError("what went wrong")
except ZeroDivisionError:
    print("is what is said")
assert here.catalog == there.catalog
assert here.arrays.keys() == there.arrays.keys()
assert all(np.array_equal(here.arrays[name], there.arrays[name]) for name in here.arrays)
print("the same release")
"""


def test_a_table_of_a_database_is_read_through_jdbc(tmp_path: Path) -> None:
    script = tmp_path / "fit.py"
    script.write_text(FROM_A_DATABASE)
    done = run_python(script)
    assert done.code == 0, done.err
    assert done.out == "is what is said\nthe same release\n"
    assert done.err == ""


def test_the_terminal_shows_what_discreet_says_and_nothing_else(tmp_path: Path) -> None:
    sample = write_sample(tmp_path, 500)
    told = ("--engine", "spark", "--master", "local[1]", "--rank", "0", "--epsilon", "1")
    done = call_alone("fit", *sample, *told, "-o", tmp_path / "x.discreet")
    assert done.code == 0, done.err
    assert done.err.startswith("Warning: no ledger given") and done.err.count("\n") == 1
    assert (tmp_path / "x.discreet").exists()
