"""In a process of its own, on one machine: a quiet terminal, and a database through JDBC."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from cli._calling import write_sample
from spark._cluster import LIGHT

SCRIPT = """
import contextlib, sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import discreet, discreet.spark
from discreet.cli import main
from discreet.privacy import SeededRandomness

# The command line starts a session, fits and stops the session.
arguments = sys.argv[1:]
arguments += ["--engine", "spark", "--master", "local[1]", "--rank", "0", "--epsilon", "1"]
arguments += ["--no-ledger"]
with contextlib.suppress(SystemExit):
    sys.argv = ["discreet", "fit", *arguments]
    main()
print("the command is done")

# Another session of the same process reads a table of a database that is in its Java.
url, driver = "jdbc:derby:memory:shop;create=true", "org.apache.derby.jdbc.EmbeddedDriver"
spark = discreet.spark.start_session("local[1]")
log = str(Path(__file__).with_name("log"))
spark._jvm.java.lang.System.setProperty("derby.stream.error.file", log)
rng = np.random.default_rng(4)
pairs = rng.choice(40 * 12, 300, replace=False)
rows = pa.table({"customer": pairs // 12, "item": pairs % 12, "rating": rng.integers(1, 6, 300)})
database = {"url": url, "table": "app.ratings", "properties": {"driver": driver}}
spark.createDataFrame(rows).write.jdbc(mode="overwrite", **database)
public = {"scale": (1, 5), "catalog": "from-data", "columns": {"user": "customer"}}
split = {"column": "customer", "lowerBound": 0, "upperBound": 40, "numPartitions": 2}
fit = {"rank": 0, "epsilon": 2.0}
table = spark.read.jdbc(**database, **split)
there = discreet.spark.fit(table, partitions=2, randomness=SeededRandomness(1), **public, **fit)
here = discreet.fit(discreet.read_ratings(rows, **public), randomness=SeededRandomness(1), **fit)
try:
    with discreet.spark.read(table, partitions=2, **public) as held:
        held.survey()
        spark.stop()
        raise ZeroDivisionError("what went wrong")
except ZeroDivisionError:
    print("the error that was raised")
assert here.catalog == there.catalog
assert here.arrays.keys() == there.arrays.keys()
assert all(np.array_equal(here.arrays[name], there.arrays[name]) for name in here.arrays)
print("the same release")
"""


def test_the_terminal_shows_only_what_discreet_says_and_a_database_is_read(tmp_path: Path) -> None:
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT)
    sample = write_sample(tmp_path, 500)
    command: list[Any] = [sys.executable, script, *sample, "-o", tmp_path / "x.discreet"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env=os.environ | {"SPARK_SUBMIT_OPTS": LIGHT},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == [
        "the command is done",
        "the error that was raised",
        "the same release",
    ]
    # What takes more than a minute, as on a busy machine, says how far it is.
    said = [line for line in done.stderr.splitlines() if not re.fullmatch(r"[\w ]+: \d+%", line)]
    assert len(said) == 1 and said[0].startswith("Warning: without a ledger")
    assert (tmp_path / "x.discreet").exists()
