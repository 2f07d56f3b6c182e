"""How fast the page re-ranks after a star is clicked, measured in the page, in Chromium.

    python -m benchmarks.page --items 17770 --rank 20

The release is made up. "re-rank" is from own ratings to a list of ten with reasons; "and show" goes
on until the list is in the document; "click to paint" is what a person waits for: from the click to
the next frame.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import Catalog, Scale
from discreet.privacy import GaussianEvent, Guarantee, Unit
from discreet.release import Release

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
CLICK = """async ([row, stars]) => {
  const begun = performance.now();
  document.querySelectorAll(`#results > li:nth-child(${row}) input`)[stars - 1].click();
  await new Promise(requestAnimationFrame);
  await new Promise(done => setTimeout(done));
  return performance.now() - begun;
}"""
MEASURED = "name => performance.getEntriesByName(name).map(entry => entry.duration)"


def make_release(items: int, rank: int) -> Release:
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
    guarantee = Guarantee(Unit.USER, (event,), 1e-6)
    return Release("refined", Scale(1, 5), catalog, guarantee, told, ready)


def measure(page: Any, url: str, clicks: int, own: int) -> None:
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    lines = "".join(f"{37 * i},{1 + i % 5}\n" for i in range(own))
    file = {"name": "own.csv", "mimeType": "text/csv", "buffer": b"id,rating\n" + lines.encode()}
    page.locator("#file").set_input_files(file)
    page.locator("#csv-said", has_text="read").wait_for()
    page.get_by_label("Look for a title").fill("film number 1")
    page.evaluate("performance.clearMeasures()")
    painted = [page.evaluate(CLICK, [1 + i % 8, 1 + i // 8 % 5]) for i in range(clicks)]
    for name in ("rerank", "rerank and show"):
        tell(name.replace("rerank", "re-rank"), page.evaluate(MEASURED, name))
    tell("click to paint", painted)


def tell(name: str, durations: list[float]) -> None:
    median, slow, most = np.quantile(durations, [0.5, 0.95, 1])
    print(f"{name:18} median {median:6.1f} ms, 95 % within {slow:6.1f} ms, all {most:6.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=17_770)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--clicks", type=int, default=100)
    parser.add_argument("--own", type=int, default=165, help="ratings that the person has already")
    told = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright

        from discreet.serve import Server, Settings
    except ImportError as error:
        sys.exit(f"skipped: {error}")
    if BROWSER is None:
        print("skipped: there is no Chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "films.discreet"
        make_release(told.items, told.rank).save(path)
        server = Server(Settings(path), "127.0.0.1", 0)
        thread = threading.Thread(target=server.run)
        thread.start()
        print(f"{told.items:,} items at rank {told.rank}, {path.stat().st_size / 1e6:.1f} MB")
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
                measure(browser.new_page(), f"{server.url}/", told.clicks, told.own)
                browser.close()
        finally:
            server.stop()
            thread.join()


if __name__ == "__main__":
    main()
