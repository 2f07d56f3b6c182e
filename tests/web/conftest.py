"""A service with the page, and a real browser to open it in.

Imports of the service are inside the fixtures: without it, this file must still load.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# The same engine without windows, if it is there, takes two thirds of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

LOOKS = {"color_scheme", "has_touch", "viewport"}


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Chromium without a window.

    It ends with the last test of this folder: while it runs no other event loop can.
    """
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; 'make system-deps' installs it")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a small release."""
    from web._films import LEARNT, film_release

    path = tmp_path_factory.mktemp("films") / "films.discreet"
    film_release(learnt={"words": LEARNT}).save(path)
    return path


@pytest.fixture(scope="session")
def plain(films: Path) -> Iterator[Any]:
    """A service that publishes and collects nothing."""
    from discreet.serve import Settings
    from serve._running import FREE, running

    with running(Settings(films, **FREE)) as talk:
        yield talk


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page in a browser profile of its own; at the end nothing may have gone wrong in it.

    Without `worker` the page does without its service worker, which saves the test half a second.
    """
    from web._films import PATIENCE, Complaints, open_page

    contexts: list[Any] = []
    complaints = Complaints()

    def visit(url: str, *, worker: bool = False, context: Any = None, **told: Any) -> Any:
        looks = {name: told.pop(name) for name in LOOKS & told.keys()}
        if context is None:
            how = "allow" if worker else "block"
            context = browser.new_context(service_workers=how, **looks)
            context.set_default_timeout(PATIENCE)
            contexts.append(context)
        return open_page(context, url, complaints, **told)

    yield visit
    complaints.is_over = True
    for context in contexts:
        context.close()
    assert complaints.texts == []
