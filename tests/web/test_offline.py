"""Without a connection: the page comes from the worker, the release from the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.serve import Settings
from serve._running import FREE, running
from web._films import film_release, own, rate, recommended, wait_kept, wait_ready

Visit = Callable[..., Any]
WEB = Path(__file__).resolve().parents[2] / "web"
NO_ANSWER = "ERR_CONNECTION_REFUSED"


def test_the_page_works_after_the_service_is_gone(visit: Visit, films: Path) -> None:
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True, allow=NO_ANSWER)
        rate(page, "Quiet Tea", "5 of 5")
        before = recommended(page)
        wait_kept(page)
    rate(page, "Quiet Tea", "1 of 5")
    assert recommended(page) != before
    page.reload()
    wait_ready(page)
    assert "You are offline" in page.locator("#notice").inner_text()
    assert own(page) == {"Quiet Tea": "1"}
    assert not any("Quiet" in title for title in recommended(page))
    rate(page, "Quiet Tea", "5 of 5")
    assert recommended(page) == before
    again = visit(f"{talk.url}/", context=page.context, allow=NO_ANSWER)
    assert recommended(again) == before


def test_a_new_release_takes_the_old_ones_place(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    film_release(seed=1).save(path)
    with running(Settings(path, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True)
        wait_kept(page)
        first = page.locator("#guarantee").inner_text()
    film_release(seed=2).save(path)
    with running(Settings(path, **FREE), talk.url):
        page.reload()
        wait_ready(page)
        assert page.locator("#guarantee").inner_text() != first
        assert (
            page.evaluate(
                "caches.open('discreet release /').then(async c => (await c.keys()).length)"
            )
            == 1
        )


def test_the_worker_keeps_every_file_of_the_page() -> None:
    listed = (WEB / "worker.js").read_text("utf-8").partition("[")[2].partition("]")[0]
    names = {line.strip(' ",') for line in listed.splitlines() if line.strip()}
    files = {str(path.relative_to(WEB)) for path in WEB.rglob("*") if path.is_file()}
    apart = {"worker.js", "operator.html", "js/operator.js", "index.html"}
    assert names == (files - apart) | {"./"}
