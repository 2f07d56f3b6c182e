"""A small world of films with two tastes, and how tests go about the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domain import Catalog
from discreet.protocols import servers
from discreet.release import Release
from discreet.serve import Settings
from release._making import make_release, spent
from serve._running import FREE, TOKEN, Talk

# Milliseconds that a busy machine may take for what takes a moment on an idle one.
PATIENCE = 60_000
NASTY = '<img src=x onerror="document.title=1">, "quoted"; & Söhne'
TITLES = [
    "Alien Ants",
    "Quiet Tea",
    "Alien Bees",
    "Quiet Rain",
    NASTY,
    "Quiet Évening",
    *(f"{'Quiet' if n % 2 else 'Alien'} Number {n}" for n in range(6, 200)),
]

INSTALLED = """async () => {
  const version = document.querySelector("script").src.split("/")[3];
  if (!(await caches.keys()).some(name => name.includes(version))) return false;
  const { installing, waiting } = await navigator.serviceWorker.getRegistration();
  return !installing && !waiting;
}"""


# What the release says that it has learnt; whatever it is, the page shows it as text.
LEARNT = ["Learnt <b>popularity</b> only.", "What would help: more ratings."]


def film_release(*, seed: int = 1, **told: Any) -> Release:
    """Who likes an even film likes the even ones and not the odd ones; film 0 is best known."""
    count = len(TITLES)
    taste = np.where(np.arange(count) % 2, -0.8, 0.8)
    noise = np.random.default_rng(seed).normal(0, 0.05, (count, 2))
    catalog = Catalog([f"f{n}" for n in range(count)], TITLES)
    counts = np.linspace(1000, 10, count)
    return make_release(
        np.stack((taste, np.zeros(count)), 1) + noise,
        effects=np.linspace(0.3, -0.3, count),
        counts=counts, catalog=catalog, guarantee=spent(), **told,
    )  # fmt: skip


def list_section(count: int) -> dict[str, np.ndarray]:
    """A lists section: who has an even film has even ones; the last quarter has no rows."""
    rng = np.random.default_rng(3)
    way = np.where(np.arange(count) % 2, -1.0, 1.0)
    head = np.arange(count - count // 4)
    rows = np.stack((100 * way, np.zeros(count)), 1)[head] + rng.integers(-27, 28, (len(head), 2))
    arrays = {
        "list_popularity": np.linspace(0.5, 0.01, count),
        "list_start": np.linspace(0.3, 0.0, count),
        "list_gain": rng.uniform(0.5, 1.0, count),
        "list_scales": np.array([0.005, 0.004]),
        "list_tail": 0.3 * way,
        "list_axis": np.array([1.0, 0.1]),
    }
    section = {name: array.astype(np.float32) for name, array in arrays.items()}
    return section | {"list_head": head.astype(np.int32), "list_rows": rows.astype(np.int8)}


def collecting(folder: Path, name: str = "local-reports", **terms: Any) -> Settings:
    """A service that has the films' release and collects about them."""
    release = film_release()
    release.save(folder / "films.discreet", overwrite=True)
    usual: dict[str, dict[str, Any]] = {
        "local-reports": {"epsilon": 2.0},
        "open-clusters": {"bits": 2},
    }
    terms = usual[name] | terms
    protocol = servers.find(name).from_terms(release.catalog, release.scale, terms)
    told = FREE | {"admin_token": TOKEN}
    return Settings(folder / "films.discreet", protocol, str(folder / "sent.db"), **told)


@dataclass
class Complaints:
    """What pages complain of in a test: errors and warnings, content security policy above all."""

    texts: list[str] = field(default_factory=list)
    is_over: bool = False
    """The test is done with its pages. A request may still be on its way to a service that the test
    has ended; a refusal that arrives before is the page's fault, unless the test allows it."""

    def add(self, text: str, allow: str | None) -> None:
        """Note a complaint, unless it contains what is allowed."""
        expected = ["blocked by Playwright"]  # a request that the test itself blocks
        expected += [] if allow is None else [allow]
        expected += ["net::ERR_CONNECTION_REFUSED"] if self.is_over else []
        if not any(known in text for known in expected):
            self.texts.append(text)


def open_page(
    context: Any, url: str, complaints: Complaints, *, allow: str | None = None, ready: bool = True
) -> Any:
    """The page; what its console and its scripts complain of is noted.

    Args:
        context: The browser's profile.
        url: Where.
        complaints: Takes errors and warnings.
        allow: Complaints that contain this text are expected.
        ready: Wait until everything is shown.
    """
    page = _new_window(context)

    def complain(text: str) -> None:
        complaints.add(text, allow)

    page.on("console", lambda m: complain(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complain(str(error)))
    page.goto(url)
    if ready:
        wait_ready(page)
    return page


def _new_window(context: Any) -> Any:
    """A page that is in front: behind another one every click would wait for a second."""
    if not context.pages:
        return context.new_page()
    with context.expect_page() as opened:
        context.pages[0].evaluate("void window.open('about:blank', '_blank', 'popup,noopener')")
    return opened.value


def wait_ready(page: Any) -> None:
    """Until everything is shown."""
    page.wait_for_selector("html[data-ready]")


def about(url: str) -> dict[str, Any]:
    """What the service says of its release, on a connection of its own: idle ones are closed."""
    talk = Talk(url)
    found = talk.ask("GET", "/v1/release/about").json()
    talk.close()
    return dict(found)


def wait_until(page: Any, happens: Callable[[], object], what: str) -> None:
    """Let the page go on until something happens."""
    for _ in range(PATIENCE // 20):
        if happens():
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"for a minute, {what}")


def wait_kept(page: Any) -> None:
    """Until the service worker has its copies."""
    assert page.evaluate(
        """patience => Promise.race([
          navigator.serviceWorker.ready.then(() => true),
          new Promise(done => setTimeout(done, patience, false)),
        ])""",
        PATIENCE,
    )


def wait_version(page: Any) -> None:
    """Until the worker that is in charge is of the document's own version."""
    wait_until(page, lambda: page.evaluate(INSTALLED), "the worker is of another version")


def rate(page: Any, title: str, stars: str) -> None:
    """Look a title up and click on a star, as a person does."""
    page.get_by_label("Look for a title").fill(title)
    group = page.locator("#results").get_by_role("group", name=f"Rate {title}", exact=True)
    group.get_by_title(stars).click()


def predictor(page: Any) -> Any:
    """The choice of a predictor, which is under "Advanced"."""
    page.locator("#how").evaluate("details => (details.open = true)")
    return page.get_by_label("Worked out by")


def recommended(page: Any) -> list[str]:
    """The titles that are recommended, the best first."""
    return list(page.locator("#recommended .title").all_inner_texts())


def own(page: Any) -> dict[str, str]:
    """The person's ratings, as their list shows them."""
    return dict(
        page.locator("#own > li").evaluate_all(
            "rows => rows.map(row => [row.querySelector('.title').textContent,"
            " row.querySelector('input:checked')?.value ?? ''])"
        )
    )


def hold(page: Any, pattern: str) -> list[Any]:
    """Requests like this are not answered; they are in the list, each to be continued."""
    held: list[Any] = []

    def take(route: Any) -> None:
        held.append(route)

    page.route(pattern, take)
    return held


def wait_held(page: Any, held: list[Any]) -> Any:
    """The first request that `hold` holds, once it is there."""
    wait_until(page, lambda: held, "nothing like it was asked for")
    return held.pop(0)
