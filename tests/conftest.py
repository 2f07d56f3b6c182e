"""What all rooms' tests share: the quick tier, skips for absent parts, and who runs what."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numba
import pytest
from hypothesis import settings

import compile_once

# A kernel compiles on its first call, which no deadline should count.
settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")
# `make quick` tries a quarter of the usual 100 examples, where a test does not say how many.
settings.register_profile("quick", deadline=None, max_examples=25)

# Modules and tests stay until the end. Looking through them for garbage, again and again, is an
# eighth of a collection's time.
gc.disable()

# Starting two threads takes 50 times as long as checking a handful of ratings on one. Tests of
# threads ask for them.
numba.set_num_threads(1)
# Of processes that need the same kernel, one compiles it.
compile_once.install()

# In a job that runs in the background an interrupt is ignored, until somebody listens to it.
signal.signal(signal.SIGINT, signal.default_int_handler)

_ROOT = Path(__file__).resolve().parent.parent
# Whether no byte code is there yet, of our own modules and most likely of the libraries'.
_IS_FRESH = not sys.dont_write_bytecode and not any(_ROOT.glob("tests/__pycache__/test_*.pyc"))

# One process runs all of these, and first, since they mostly wait: for Spark, for a browser.
_WHOLE = ("tests/spark", "tests/web")

# What `make quick` asks for.
_QUICK = "not slow"

# `make quick` leaves these out: folders and files, which it does not even import, and tests whose
# names begin so. It keeps the batteries, which hold statistics, mechanisms, predictors and readers
# to their claims.
_SLOW = (
    *("tests/spark", "tests/web", "tests/integration", "tests/audit", "tests/papers"),
    *("tests/adapters", "tests/packaging"),
    *("tests/serve", "tests/statistical", "tests/measure/engines"),
    *(f"tests/measure/test_{name}.py" for name in (
        "outputs_bounds", "pairs_bounds", "covariance_bounds", "refinement_bounds", "item_sums",
        "agreement", "refinement_users", "covariance", "centring", "item_counts", "user_votes",
        "pairs", "budget", "recency", "level",
    )),
    *("tests/methods/test_bounded.py", "tests/methods/test_never_worse.py"),
    *("tests/methods/test_nothing.py", "tests/protocols/local_reports/test_draw.py"),
    *("tests/protocols/local_reports/test_server.py", "tests/privacy/ledger/test_faults.py"),
    *("tests/cli/test_demo.py", "tests/cli/test_choose_epsilon.py"),
    *("tests/protocols/local_reports/test_real_data.py", "tests/privacy/ledger/test_interrupts.py"),
    *("tests/protocols/closed_clusters/test_quotient_attack.py", "tests/ratings/test_stability.py"),
    *("tests/ratings/test_synthetic_figures.py", "tests/ratings/readers/test_tables_agree.py"),
    *("tests/series/test_interrupts.py", "tests/predict/test_alone.py"),
    "tests/cli/test_fit.py::test_an_interrupt_leaves_no_file_and_a_true_ledger",
    "tests/cli/test_evaluate.py::test_a_process_compares_every_model",
    "tests/cli/test_fit.py::test_the_road_from_ratings_to_recommendations",
    "tests/cli/test_main.py::test_every_hint_is_an_argument_and_an_option",
    "tests/cli/test_main.py::test_who_stops_reading_ends_it_with_a_code_of_its_own",
    "tests/measure/test_sets.py::test_one_vector_makes_one_set_and_a_function_the_same_as_its_table",
    "tests/methods/test_methods.py::test_the_scale_s_unit_changes_nothing_but_the_unit",
    "tests/privacy/ledger/test_damage.py::test_a_flipped_bit_is_refused_or_changes_nothing",
    "tests/privacy/mechanisms/test_gumbel_top_k.py::test_the_exact_choice_has_the_same_law",
    "tests/privacy/mechanisms/test_k_subset.py::test_head_counts_are_far_better_than_the_doubt",
    "tests/privacy/mechanisms/test_selection.py::test_a_large_catalogue_is_drawn_fairly",
    "tests/privacy/mechanisms/test_gumbel_top_k.py::test_sure_rows_are_what_brute_force_says",
    "tests/ratings/readers/features/test_feature_tables.py::test_the_order_of_rows_and_of_an_id",
    "tests/ratings/readers/test_bad_input.py::test_a_line_is_too_long_by_itself",
    "tests/ratings/readers/test_kernels.py::test_numbers_are_the_nearest_doubles",
    "tests/ratings/readers/test_presence.py::test_the_order_of_rows_does_not_count",
    "tests/ratings/test_splits.py::test_ranks_agree_with_sorting_user_by_user",
    "tests/release/test_damage.py::test_damaged_bytes_are_noticed_wherever_they_are",
    "tests/test_docs.py::test_the_commands_page_is_what_the_commands_say",
    "tests/test_architecture.py::test_public_rooms_work_where_private_ones_were_deleted",
    "tests/test_public_names.py::test_every_error_lives_in_the_drawn_tree",
    "tests/test_public_names.py::test_a_room_can_be_called_whatever_was_imported_first",
)  # fmt: skip

# Parts that a lean set-up lacks, and how to get them; files that import one are skipped without it.
_EXTRAS = {
    "fastapi": "serve", "sqlalchemy": "serve", "uvicorn": "serve", "psycopg": "serve",
    "pyspark": "spark", "pandas": "spark", "matplotlib": "plots",
    "lenskit": "lenskit", "mlflow": "mlflow", "sklearn": "sklearn", "duckdb": "dev", "faiss": "dev",
    "hatchling": "dev",
    "dp_accounting": "dev", "opendp": "dev", "playwright": "dev", "schemathesis": "dev",
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", action="store_true", help="report CPU seconds per test file")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == _QUICK:
        settings.load_profile("quick")
    if config.getoption("--cpu"):
        from _cpu import CpuReport

        config.pluginmanager.register(CpuReport(config), "cpu-report")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that needs an absent part is skipped, and the summary says which part."""
    report = yield
    absent = re.search(r"ModuleNotFoundError: No module named '(\w+)", str(report.longrepr))
    if report.failed and absent and absent.group(1) in _EXTRAS:
        part = absent.group(1)
        reason = f"Skipped: {part} is absent: pip install '.[{_EXTRAS[part]}]'"
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """On a fresh clone one process compiles all modules, and the others wait: 28 CPU seconds."""
    with compile_once.alone(f"{_ROOT}") if _IS_FRESH else contextlib.nullcontext():
        return (yield)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What would be deselected as a whole need not be imported: half of a collection's time."""
    if config.option.markexpr == _QUICK and collection_path.is_relative_to(_ROOT):
        return collection_path.relative_to(_ROOT).as_posix() in _SLOW or None
    return None


def _group(nodeid: str) -> str:
    """Tests of one group are run by one process."""
    path = nodeid.partition("::")[0]
    if "/test_spark_" in path:
        return "tests/spark"
    return next((whole for whole in _WHOLE if path.startswith(f"{whole}/")), path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give way to the browser, for which a test waits."""
    if "PYTEST_XDIST_WORKER" in os.environ and _group(item.nodeid) != "tests/web":
        os.nice(max(10 - os.nice(0), 0))


# Before pytest deselects by marker.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits comes first."""
    items.sort(key=lambda item: _group(item.nodeid) not in _WHOLE)
    for item in items:
        if item.nodeid.startswith(_SLOW):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Processes get whole groups, in the order of the tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with real rating data: `DISCREET_DATA`, or `shared/data` beside the checkout."""
    given = os.environ.get("DISCREET_DATA")
    folder = Path(given) if given else _ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real rating data is absent: set DISCREET_DATA to the folder that holds it")
    return folder
