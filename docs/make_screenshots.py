"""Takes pictures of the page, with made-up ratings and Chromium, into docs/figures."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from discreet.methods import fit
from discreet.ratings import find_shape, make_ratings
from discreet.serve import Server, Settings

FIGURES = Path(__file__).parent / "figures"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
SIZES = {
    "phone": {"viewport": {"width": 390, "height": 780}, "device_scale_factor": 2},
    "desktop": {"viewport": {"width": 1200, "height": 860}, "device_scale_factor": 1},
}
STARS = {0: 4, 1: 5, 2: 2, 3: 5}
COLOURS = 64


def publish(path: Path) -> None:
    """The release of the demo: made-up films, and people who rated them."""
    ratings = make_ratings(find_shape("ml-1m").scaled(ratings=400_000), seed=1)
    fit(ratings, protect="rating", epsilon=1.0, delta=1e-6, ledger="unbooked").save(path)


def take(browser: Any, url: str, size: str, scheme: str) -> None:
    """Rate a few films, then take the picture; on a dark phone, of what comes of it."""
    page = browser.new_page(color_scheme=scheme, service_workers="block", **SIZES[size])
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    for row, stars in STARS.items():
        page.locator("#results > li").nth(row).get_by_title(f"{stars} of 5").click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    if (size, scheme) == ("phone", "dark"):
        page.evaluate("document.querySelector('#for-you').scrollIntoView()")
    path = FIGURES / f"page-{size}-{scheme}.png"
    page.screenshot(path=path)
    page.close()
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> None:
    """All of them."""
    if BROWSER is None:
        sys.exit("there is no Chromium; 'make system-deps' installs it")
    FIGURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        publish(Path(folder) / "films.discreet")
        server = Server(Settings(Path(folder) / "films.discreet"), "127.0.0.1", 0)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
                for size in SIZES:
                    for scheme in ("light", "dark"):
                        take(browser, f"{server.url}/", size, scheme)
                browser.close()
        finally:
            server.stop()
            thread.join()


if __name__ == "__main__":
    main()
