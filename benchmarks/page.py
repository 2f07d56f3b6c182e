"""How fast the page re-ranks after a star is clicked, and how much script a visit fetches.

    python -m benchmarks.page --items 17770 --rank 20
    python -m benchmarks.page --items 3706 --own 92

Measured in the page, in Chromium. The releases are made up: one of method `refined` with a lists
section, one of method `lists`. "re-rank" is from own ratings to a list of ten with reasons; "and
show" goes on until the list is in the document; "click to paint" is what a person waits for: from
the click to the next frame. Own ratings are eight more than `--own`. Scripts are counted as they
come over the network, before compression, by what a person does on the page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.privacy import GaussianEvent, Guarantee, Unit
from discreet.release import Release

try:
    from playwright.sync_api import sync_playwright

    from discreet.protocols import servers
    from discreet.serve import Server, Settings
    from discreet.serve._page import find_page, read_page
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
CLICK = """async ([row, stars]) => {
  const begun = performance.now();
  document.querySelectorAll(`#results > li:nth-child(${row}) input`)[stars - 1].click();
  await new Promise(requestAnimationFrame);
  await new Promise(done => setTimeout(done));
  return performance.now() - begun;
}"""
FACTORS = {"predict/posterior.js", "predict/knn.js"}
PREDICTORS = {
    "refined": FACTORS | {"predict/lists.js"},
    "covariance": FACTORS | {"predict/matrix.js"},
    "lists": {"predict/lists.js"},
    "cosine": {"predict/pairs.js"},
    "open-clusters": {"predict/clusters.js"},
}
# The most items that have rows of their own in a lists section, and are in the release's head.
LIST_HEAD = 4_000
REMOVE = "() => document.querySelector('#own .remove').click()"
MEASURED = "name => performance.getEntriesByName(name).map(entry => entry.duration)"


def list_section(items: int, rank: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    head = np.arange(min(items, LIST_HEAD), dtype=np.int32)
    arrays = {
        "list_popularity": 1e3 / (np.arange(items) + 20.0),
        "list_start": 1e2 / (np.arange(items) + 20.0),
        "list_gain": rng.uniform(0.5, 1, items),
        "list_scales": rng.uniform(0.001, 0.003, rank),
        "list_tail": rng.normal(0, 0.1, items),
        "list_axis": rng.normal(0, 0.1, rank),
    }
    rows = rng.integers(-127, 128, (len(head), rank)).astype(np.int8)
    ready = {name: array.astype(np.float32) for name, array in arrays.items()}
    return ready | {"list_head": head, "list_rows": rows}


def make_release(items: int, rank: int, list_rank: int) -> Release:
    rng = np.random.default_rng(0)
    event = GaussianEvent(unit=Unit.USER, label="a made-up release", sensitivity=1.0, sigma=5.0)
    arrays = {
        "item_effects": rng.normal(0, 0.4, items),
        "item_effect_variances": rng.uniform(0, 0.1, items),
        "item_counts": 1e6 / (np.arange(items) + 20.0),
        "factors": rng.normal(0, 0.2, (items, rank)),
        "factor_variances": rng.uniform(0, 0.1, items),
    }
    catalog = Catalog([str(i) for i in range(items)], [f"Film number {i}" for i in range(items)])
    told = {"global_mean": 3.6, "user_variance": 0.2, "rating_variance": 0.7}
    ready = {name: array.astype(np.float32) for name, array in arrays.items()}
    ready |= list_section(items, list_rank)
    guarantee = Guarantee(Unit.USER, (event,), 1e-6)
    return Release("refined", Scale(1, 5), catalog, guarantee, told, ready)


def lists_alone(release: Release) -> Release:
    """The same as a release of method `lists`; it keeps its stars, so that they can be clicked."""
    names = [name for name in release.arrays if name.startswith("list_") or name == "item_counts"]
    arrays = {name: release.arrays[name] for name in names}
    return replace(release, method="lists", parameters={}, arrays=arrays)


def measure(page: Any, url: str, told: argparse.Namespace, predictors: tuple[str, ...]) -> None:
    own, clicks, items = told.own, told.clicks, told.items
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    lines = "".join(f"{37 * i},{1 + i % 5}\n" for i in range(own))
    file = {"name": "own.csv", "mimeType": "text/csv", "buffer": b"id,rating\n" + lines.encode()}
    page.locator("#file").set_input_files(file)
    page.locator("#csv-said", has_text="read").wait_for()
    page.get_by_label("Look for a title").fill("film number 1")
    for predictor in predictors:
        print(predictor)
        if len(predictors) > 1:
            page.locator("#how").evaluate("details => (details.open = true)")
            page.get_by_label("Worked out by").select_option(predictor)
        page.wait_for_load_state("networkidle")
        page.evaluate("performance.clearMeasures()")
        painted = [page.evaluate(CLICK, [1 + i % 8, 1 + i // 8 % 5]) for i in range(clicks)]
        for name in ("rerank", "rerank and show"):
            tell(name.replace("rerank", "re-rank"), page.evaluate(MEASURED, name))
        tell("click to paint", painted)
        measure_new(page, clicks, items)


def measure_new(page: Any, clicks: int, items: int) -> None:
    """Titles that were not rated before, which come and go."""
    times: dict[str, list[float]] = {"a new title": [], "a title removed": []}
    for i in range(clicks // 2):
        number = (5003 + 61 * i) % items
        # Multiples of 37 are rated already.
        page.get_by_label("Look for a title").fill(f"film number {number + (number % 37 == 0)}")
        for name, act in (("a new title", CLICK), ("a title removed", REMOVE)):
            page.evaluate("performance.clearMeasures()")
            page.evaluate(act, [1, 1 + i % 5])
            times[name] += page.evaluate(MEASURED, "rerank")
    for name, durations in times.items():
        tell(f"re-rank, {name}", durations)
    page.get_by_label("Look for a title").fill("film number 1")


def tell(name: str, durations: list[float]) -> None:
    median, slow, most = np.quantile(durations, [0.5, 0.95, 1])
    print(f"  {name:25} median {median:6.1f} ms, 95 % within {slow:6.1f} ms, all {most:6.1f} ms")


def weigh(browser: Any, settings: Settings, live: Callable[[Any], None]) -> int:
    """The bytes of script of a visit, without the copies that the worker keeps for offline."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    answers: list[Any] = []
    page.on("requestfinished", lambda request: answers.append(request.response()))
    with serving(settings) as url:
        page.goto(url)
        page.wait_for_selector("html[data-ready]")
        page.locator("#results").get_by_title("4 of 5").first.click()
        live(page)
        page.wait_for_load_state("networkidle")
        found = [each for each in answers if "javascript" in each.headers.get("content-type", "")]
        size = sum(len(each.body()) for each in found)
    context.close()
    return size


def look_around(page: Any) -> None:
    page.get_by_label("Worked out by").select_option("knn")
    with page.expect_download():
        page.get_by_role("button", name="Save as CSV").click()


def contribute(page: Any) -> None:
    page.get_by_role("switch", name="Contribute").click()
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("Sent. Thank you.").wait_for()


def weigh_all(browser: Any, path: Path, release: Release) -> None:
    def collecting(kind: str, **terms: str) -> Settings:
        made = servers.find(kind).from_terms(release.catalog, release.scale, terms)
        return Settings(path, made, str(path.with_name(f"{kind}.db")))

    def everything(page: Any) -> None:
        look_around(page)
        contribute(page)

    dear = {"fakes": "same-hash", "bit_epsilon": "0.5"}
    visits: dict[str, tuple[Settings, Callable[[Any], None]]] = {
        "plain": (Settings(path), lambda _: None),
        "plain, with kNN and CSV": (Settings(path), look_around),
        "contributing local reports": (collecting("local-reports", epsilon="1"), contribute),
        "contributing to open clusters": (collecting("open-clusters"), contribute),
        "all of it that one visit can use": (collecting("open-clusters", **dear), everything),
    }
    print("script, in bytes before compression")
    for name, (settings, live) in visits.items():
        print(f"  {name:34}{weigh(browser, settings, live):8,}")
    print("  all that a browser gets and keeps for offline, the worker too")
    for kind in (None, "local-reports", "open-clusters"):
        page = read_page(find_page() or Path(), kind).items()
        sizes = {path.rpartition("/js/")[2]: each.plain.size for path, each in page}
        scripts = {path: size for path, size in sizes.items() if path.endswith(".js")}
        operator = scripts.pop("operator.js") + scripts.pop("page/history.js")
        for method, needs in PREDICTORS.items():
            others = set().union(*PREDICTORS.values()) - needs
            whole = sum(size for path, size in scripts.items() if path not in others)
            print(f"  {f'collecting {kind}' if kind else 'publishing'}, {method:20}{whole:8,}")
    print(f"  {'and for the operator':34}{operator:8,}")


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    server = Server(settings, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"{server.url}/"
    finally:
        server.stop()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=17_770)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--list-rank", type=int, default=64)
    parser.add_argument("--clicks", type=int, default=100)
    parser.add_argument("--own", type=int, default=165, help="ratings that the person has already")
    told = parser.parse_args()
    if BROWSER is None:
        print("skipped: there is no Chromium")
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "films.discreet"
        release = make_release(told.items, told.rank, told.list_rank)
        lists_alone(release).save(Path(folder) / "lists.discreet")
        release.save(path)
        ranks = f"rank {told.rank}, lists at rank {told.list_rank}"
        print(f"{told.items:,} items at {ranks}, {path.stat().st_size / 1e6:.1f} MB")
        browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        for file, predictors in (("films", ("posterior", "knn")), ("lists", ("lists",))):
            with serving(Settings(Path(folder) / f"{file}.discreet")) as url:
                measure(browser.new_page(), url, told, predictors)
        weigh_all(browser, path, release)
        browser.close()


if __name__ == "__main__":
    main()
