"""What leaves the browser: on the plain page nothing after loading, and never a rating."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import TITLES, about, collecting, own, rate, recommended, wait_kept, wait_ready
from web._recorder import Recorder, Sent, recording

Visit = Callable[..., Any]
HARMLESS = {
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "host", "pragma",
    "if-none-match", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-fetch-dest",
    "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "sec-fetch-storage-access",
    "service-worker", "upgrade-insecure-requests", "user-agent", "origin",
}  # fmt: skip
SHOWN = (
    "[...document.querySelectorAll('#requests tr')].map(row => [...row.cells].map("
    "cell => cell.firstChild.textContent))"
)


def settled(page: Any, recorder: Recorder, *, worker: bool = False) -> bytes:
    """All that was sent, once the worker has its copies and nothing more comes."""
    if worker:
        wait_kept(page)
    page.wait_for_load_state("networkidle")
    before = b""
    while before != recorder.raw:
        before = recorder.raw
        time.sleep(0.3)
    return before


def test_on_the_plain_page_nothing_is_sent_after_loading(
    plain: Talk, visit: Visit, tmp_path: Path
) -> None:
    with recording(plain.url) as recorder:
        page = visit("about:blank", worker=True, ready=False)
        asked: list[str] = []
        page.context.on("request", lambda request: asked.append(request.url))
        page.goto(f"{recorder.url}/")
        wait_ready(page)
        loaded = settled(page, recorder, worker=True)
        live_a_little(page, tmp_path)
        time.sleep(1)
        assert recorder.raw == loaded
        shown = page.locator("#traffic-said").inner_text()
        requests = recorder.requests()
        assert {url.split("/")[2] for url in asked} == {recorder.url.removeprefix("http://")}
    assert "No rating was sent." in shown
    assert "Nothing about you was sent" in page.locator("#pledge").inner_text()
    for sent in requests:
        check_harmless(sent)


def live_a_little(page: Any, tmp_path: Path) -> None:
    """Everything that a person does on the page."""
    for title, stars in (
        ("Quiet Tea", "5 of 5"),
        ("Alien Ants", "1 of 5"),
        ("Quiet Rain", "4 of 5"),
    ):
        rate(page, title, stars)
    assert all("Quiet" in title for title in recommended(page))
    for name in ("knn", "svd"):
        page.get_by_label("Worked out by").select_option(name)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    saved.value.save_as(tmp_path / "mine.csv")
    page.get_by_role("button", name="Remove your rating of Quiet Tea").click()
    page.locator("#file").set_input_files(tmp_path / "mine.csv")
    page.locator("#csv-said", has_text="3 ratings read").wait_for()
    page.get_by_role("link", name=re.compile("Your ratings stay")).click()


def check_harmless(sent: Sent) -> None:
    """It asks for a file by its name, and says nothing else."""
    assert sent.method == "GET"
    assert sent.body == b""
    assert "?" not in sent.path
    assert sent.headers.keys() <= HARMLESS, sent.headers.keys() - HARMLESS
    whole = f"{sent.path} {sent.headers}".lower()
    assert not any(title.lower() in whole for title in TITLES)


def test_a_second_visit_asks_whether_the_release_changed_and_no_more(
    plain: Talk, visit: Visit
) -> None:
    with recording(plain.url) as recorder:
        page = visit(f"{recorder.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        settled(page, recorder)
        page.reload()
        wait_ready(page)
        settled(page, recorder)
        asked = [sent for sent in recorder.requests() if sent.path == "/v1/release"]
        digest = about(plain.url)["sha256"]
        known = [sent.headers.get("if-none-match", "") for sent in asked]
        assert sorted(known) == ["", f'"{digest}"']
        assert own(page) == {"Quiet Tea": "5"}
        for sent in recorder.requests():
            check_harmless(sent)


def test_contributing_sends_the_message_that_was_shown_and_nothing_else(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk, recording(talk.url) as recorder:
        page = visit(f"{recorder.url}/")
        for title in ("Quiet Tea", "Quiet Rain"):
            rate(page, title, "5 of 5")
        settled(page, recorder)
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()
        assert all(sent.method == "GET" for sent in recorder.requests())
        shown = page.locator("#preview tr").evaluate_all("rows => rows.map(r => r.innerText)")
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("Sent. Thank you.").wait_for()
        settled(page, recorder)
        bodies = [sent for sent in recorder.requests() if sent.method != "GET"]
        listed = page.evaluate(SHOWN)
    assert len(shown) >= 2
    assert [(sent.method, sent.path) for sent in bodies] == [
        ("POST", "/v1/enrolments"), ("PUT", "/v1/report"),
    ]  # fmt: skip
    assert bodies[0].body == b""
    message = json.loads(bodies[1].body)
    assert message.keys() == {
        "protocol", "version", "type", "collection", "epoch", "reported", "values",
    }  # fmt: skip
    assert bodies[1].headers["authorization"].startswith("Bearer ")
    secret = bodies[1].headers["authorization"].removeprefix("Bearer ")
    assert recorder.raw.count(secret.encode()) == 1
    counted = len(bodies[1].body) + len(f"authorization: Bearer {secret}\r\n")
    counted += len("content-type: application/json\r\n")
    assert ["PUT /v1/report", "what you contribute", f"{counted:,} bytes"] in listed


def test_a_release_that_was_damaged_on_its_way_is_not_used(visit: Visit, films: Path) -> None:
    whole = films.read_bytes()
    broken = bytearray(whole)
    broken[-1] ^= 1
    with running(Settings(films, **FREE)) as talk:
        page = visit("about:blank", ready=False)
        tag = f'"{hashlib.sha256(whole).hexdigest()}"'
        page.route(
            "**/v1/release", lambda route: route.fulfill(body=bytes(broken), headers={"ETag": tag})
        )
        page.goto(f"{talk.url}/")
        page.locator("#notice", has_text="damaged on its way").wait_for()
        # And where nobody says what it should be, by its own digests.
        page.unroute("**/v1/release")
        page.route("**/v1/release", lambda route: route.fulfill(body=bytes(broken)))
        page.reload()
        page.locator("#notice", has_text="is damaged").wait_for()
        assert not page.locator("main").is_visible()
        page.unroute("**/v1/release")
        page.reload()
        wait_ready(page)
        assert page.locator("#recommended > li").count() == 10
