"""What leaves the browser: on the plain page nothing after loading, and never a rating."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from discreet.protocols.local_reports.messages import Report
from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import (
    TITLES,
    about,
    collecting,
    own,
    predictor,
    rate,
    recommended,
    wait_kept,
    wait_ready,
    wait_version,
)
from web._recorder import Recorder, Sent, recording

Visit = Callable[..., Any]
Page = tuple[Any, Recorder]
HARMLESS = {
    "accept", "accept-encoding", "accept-language", "cache-control", "connection", "host", "pragma",
    "if-none-match", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-fetch-dest",
    "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "sec-fetch-storage-access",
    "service-worker", "upgrade-insecure-requests", "user-agent", "origin",
}  # fmt: skip
RECORD = """new Promise(done => {
  const asked = indexedDB.open("discreet /");
  asked.onsuccess = () => {
    const got = asked.result.transaction("kept").objectStore("kept").get("contribution");
    got.onsuccess = () => { asked.result.close(); done(got.result); };
  };
})"""
SHOWN = (
    "[...document.querySelectorAll('#requests tr')].map(row => [...row.cells].map("
    "cell => cell.firstChild.textContent))"
)


def settled(page: Any, recorder: Recorder, *, worker: bool = False) -> bytes:
    """All that was sent, once the worker has its copies and nothing more comes."""
    return all_settled([(page, recorder)], worker=worker)[0]


def all_settled(visits: list[Page], *, worker: bool) -> list[bytes]:
    """The same of several pages, which settle together."""
    for page, _ in visits:
        if worker:
            wait_kept(page)
            wait_version(page)
        page.wait_for_load_state("networkidle")
    before: list[bytes] = []
    while before != (now := [recorder.raw for _, recorder in visits]):
        before = now
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
        predictor(page).select_option(name)
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


def told(sent: Sent) -> tuple[str, str, dict[str, str], bytes]:
    """All of a request but what every browser adds by itself."""
    added = HARMLESS | {"content-length"}
    kept = {"if-none-match"} if sent.path == "/v1/release" else set()
    headers = {name: sent.headers[name] for name in sent.headers.keys() - (added - kept)}
    return sent.method, sent.path, headers, sent.body


def everything(requests: list[Sent]) -> list[Any]:
    """What was asked for and said, to the letter; connections have no order among them."""
    return sorted(map(told, requests), key=repr)


def test_contributing_sends_the_message_that_was_shown_and_nothing_else(
    visit: Visit, tmp_path: Path
) -> None:
    settings = collecting(tmp_path)
    with running(settings) as talk, recording(talk.url) as recorder:
        page = visit(f"{recorder.url}/")
        for title in ("Quiet Tea", "Quiet Rain"):
            rate(page, title, "5 of 5")
        settled(page, recorder)
        before = recorder.requests()
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()
        shown = page.locator("#preview tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("Sent. Thank you.").wait_for()
        settled(page, recorder)
        record = page.evaluate(RECORD)
        listed = page.evaluate(SHOWN)
        requests = recorder.requests()
    for sent in before:
        check_harmless(sent)
    message = json.dumps(record["message"], separators=(",", ":")).encode()
    secret = {"authorization": f"Bearer {record['capability']}"}
    typed = {"content-type": "application/json"}
    after = [
        # The terms, and whether they are the same still when it is drawn.
        ("GET", "/v1/collection", {}, b""),
        ("GET", "/v1/collection", {}, b""),
        # Whether newcomers need an invitation.
        ("GET", "/v1/enrolments", {}, b""),
        ("POST", "/v1/enrolments", {}, b""),
        ("PUT", "/v1/report", secret | typed, message),
    ]
    assert everything(requests) == sorted([*map(told, before), *after], key=repr)
    check_shown(shown, Report.from_json(record["message"], settings.protocol.collection))
    # And the panel lists all of it, to the byte.
    asked = [told(sent) for sent in requests if sent.path.startswith("/v1")]
    assert sorted((row[0], row[2]) for row in listed[1:]) == sorted(
        (f"{method} {path}", bytes_in(headers, body)) for method, path, headers, body in asked
    )


def bytes_in(headers: dict[str, str], body: bytes) -> str:
    count = len(body) + sum(len(f"{name}: {value}\r\n") for name, value in headers.items())
    return f"{count:,} byte{'s' * (count != 1)}"


def check_shown(rows: list[list[str]], report: Report) -> None:
    """Every row: own titles first, then some that were never rated. Answers are 1 or 5."""
    sent = {int(i): "15"[int(v) - 1] for i, v in zip(report.items, report.values, strict=True)}
    mine = {1: "5", 3: "5"}
    others = [item for item in sorted(sent) if item not in mine][:5]
    assert rows == [
        *([TITLES[item], true, sent.get(item, "not mentioned")] for item, true in mine.items()),
        *([TITLES[item], "not rated", sent[item]] for item in others),
    ]


def both_lived(visits: list[Page], *, worker: bool) -> list[list[Any]]:
    """What each one's visit sends; a browser brings its workers up to date one after the other."""
    if worker:
        return [sent for each in visits for sent in lived([each], worker=True)]
    return lived(visits, worker=False)


def lived(visits: list[Page], *, worker: bool) -> list[list[Any]]:
    """Everything that a plain visit of each sends: the page is opened and looked at."""
    before = [everything(recorder.requests()) for _, recorder in visits]
    for page, _ in visits:
        page.reload()
        wait_ready(page)
        rate(page, "Quiet Number 9", "4 of 5")
    all_settled(visits, worker=worker)
    found = []
    for (_, recorder), known in zip(visits, before, strict=True):
        after = everything(recorder.requests())
        for each in known:
            after.remove(each)
        found.append(after)
    return found


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "no worker"])
@pytest.mark.parametrize("kind", ["local-reports", "open-clusters"])
def test_a_visit_of_who_contributed_sends_what_anybody_elses_does(
    visit: Visit, tmp_path: Path, kind: str, worker: bool
) -> None:
    settings = collecting(tmp_path, kind)
    with ExitStack() as stack:
        service = stack.enter_context(ExitStack())
        talk = service.enter_context(running(settings))
        recorders = [stack.enter_context(recording(talk.url)) for _ in range(2)]
        allow = "ERR_CONNECTION"
        pages = [visit(f"{each.url}/", worker=worker, allow=allow) for each in recorders]
        for page in pages:
            rate(page, "Quiet Tea", "5 of 5")
        contributor = pages[0]
        contributor.get_by_role("switch", name="Contribute").click()
        contributor.get_by_role("button", name="Show what would be sent").click()
        contributor.get_by_role("button", name="Send this").click()
        contributor.get_by_text("Sent. Thank you.").wait_for()
        visits = list(zip(pages, recorders, strict=True))
        all_settled(visits, worker=worker)
        one, other = both_lived(visits, worker=worker)
        contributor.get_by_role("button", name="Withdraw it").wait_for()
        assert one == other
        assert ("GET", "/v1/collection", {}, b"") in one
        service.close()
        # Where the service collects no more, by other terms, or by another protocol.
        for changed in (
            Settings(settings.release, **FREE),
            collecting(
                tmp_path, {"local-reports": "open-clusters", "open-clusters": "local-reports"}[kind]
            ),
            collecting(tmp_path, kind, epoch=9),
        ):
            with running(changed, talk.url):
                # When a worker gets a new version's files is by chance, whoever it serves.
                if worker:
                    both_lived(visits, worker=True)
                one, other = both_lived(visits, worker=worker)
                contributor.get_by_role("button", name="Withdraw it").wait_for()
                assert one == other


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
        page.locator("#notice", has_text="arrived damaged. Try again.").wait_for()
        # And where nobody says what it should be, by its own digests.
        page.unroute("**/v1/release")
        page.route("**/v1/release", lambda route: route.fulfill(body=bytes(broken)))
        page.reload()
        page.locator("#notice", has_text="is damaged").wait_for()
        assert page.locator("#recommended > li").count() == 0
        assert not page.locator("#for-you").is_visible()
        page.unroute("**/v1/release")
        page.reload()
        wait_ready(page)
        assert page.locator("#recommended > li").count() == 10
