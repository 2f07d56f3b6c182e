"""What is said about what was sent is true: refused, out of reach, taken back, drawn twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import collecting, hold, own, rate, wait_kept, wait_ready
from web.test_contributing import KEPT, capability, counts, prepare, preview, send
from web.test_standing import elsewhere, pledge

Visit = Callable[..., Any]
EXPECTED = "Failed to load resource"


@pytest.mark.parametrize("status", [401, 409, 422])
def test_what_was_refused_was_sent_all_the_same(visit: Visit, tmp_path: Path, status: int) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow=EXPECTED)
        prepare(page)
        page.route(
            "**/v1/report", lambda route: route.fulfill(status=status, json={"reason": "No."})
        )
        page.get_by_role("button", name="Send this").click()
        page.locator("#contribute-said.wrong").wait_for()
        after = "Nothing of yours is at the service now, but it may have been."
        pledge(page, after)
        page.get_by_role("switch", name="Contribute").click()
        # It had stored nothing, so it has deleted nothing either.
        page.locator("#contribute-said", has_text="The service has nothing of yours.").wait_for()
        page.reload()
        wait_ready(page)
        pledge(page, after)
        listed = page.locator("#traffic-said").inner_text()
        assert "No rating was sent since then; what was sent earlier is not" in listed
        assert page.evaluate(KEPT, "gone") == {"was": False, "spent": True}


def test_who_is_not_known_any_more_can_send_again(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow=EXPECTED)
        prepare(page)
        page.route("**/v1/report", lambda route: route.abort())
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("does not answer").wait_for()
        page.reload()
        wait_ready(page)
        page.unroute("**/v1/report")
        page.route("**/v1/report", lambda route: route.fulfill(status=401, json={"reason": "?"}))
        page.get_by_role("button", name="Send again").click()
        page.get_by_text("did not know you any more; send again to begin anew").wait_for()
        page.unroute("**/v1/report")
        page.get_by_role("button", name="Send again").click()
        page.get_by_text("Sent. Thank you.").wait_for()
        # The name that was given first is a name for nothing.
        assert counts(talk) == (2, 1)


def test_terms_that_cannot_be_met_at_home_leave_the_switch_off(
    visit: Visit, tmp_path: Path
) -> None:
    # Made-up ratings are to be of popular titles, and nothing says how popular these are.
    with running(elsewhere(tmp_path, "open-clusters", bits=2, fakes="popular")) as talk:
        page = visit(f"{talk.url}/")
        page.get_by_role("switch", name="Contribute").click()
        page.locator("#contribute-said.wrong", has_text="popular").wait_for()
        assert not page.get_by_role("switch", name="Contribute").is_checked()
        assert page.locator("#contribute-more").inner_text() == ""


def test_terms_of_an_epoch_that_is_over_leave_the_switch_off(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path, epoch=2)) as talk:
        page = visit(f"{talk.url}/", allow=EXPECTED)
        prepare(page)
        page.get_by_role("button", name="Not now").click()
        page.locator("#contribute-said", has_text="Nothing was sent.").wait_for()
    with running(collecting(tmp_path, epoch=1), talk.url):
        page.get_by_role("switch", name="Contribute").click()
        page.locator("#contribute-said.wrong", has_text="period 1 is over").wait_for()
        assert not page.get_by_role("switch", name="Contribute").is_checked()
        assert page.locator("#contribute-more").inner_text() == ""


def test_an_answer_that_is_none_of_the_service_is_said_in_words(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        page.wait_for_load_state("networkidle")
        page.route("**/v1/collection", lambda route: route.fulfill(body="<h1>Log in</h1>"))
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("The service did not answer as it should.").wait_for()
        assert not page.get_by_role("switch", name="Contribute").is_checked()


def test_a_release_that_is_gone_from_the_service_is_used_from_the_copy(
    plain: Talk, visit: Visit
) -> None:
    page = visit(f"{plain.url}/", allow=EXPECTED)
    page.route("**/v1/release", lambda route: route.fulfill(status=404, json={"reason": "Gone."}))
    page.reload()
    wait_ready(page)
    assert "goes on with the file that it keeps. Gone." in page.locator("#notice").inner_text()
    assert page.locator("#recommended > li").count() == 10


def test_a_service_that_stopped_collecting_cannot_delete_and_the_key_is_kept(
    visit: Visit, tmp_path: Path
) -> None:
    settings = collecting(tmp_path)
    with running(settings) as talk:
        page = visit(f"{talk.url}/", allow=EXPECTED)
        prepare(page)
        send(page)
        secret = capability(page)
    with running(Settings(settings.release, **FREE), talk.url):
        page.reload()
        wait_ready(page)
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("The service cannot delete it now").wait_for()
        pledge(page, "A contribution of yours is at the service")
        assert capability(page) == secret
    with running(collecting(tmp_path), talk.url) as again:
        assert counts(again) == (1, 1)
        page.reload()
        wait_ready(page)
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        assert counts(again) == (0, 0)


def test_a_true_rating_that_was_taken_back_is_not_shown_as_made_up(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path, "open-clusters")) as talk:
        page = visit(f"{talk.url}/")
        prepare(page)
        send(page)
        page.get_by_role("button", name="Remove your rating of Quiet Tea").click()
        rate(page, "Alien Ants", "3 of 5")
        page.reload()
        wait_ready(page)
        page.get_by_text("Sent. Thank you.").wait_for()
        rows = preview(page)
        assert ["Quiet Tea", "taken back", "5"] in rows
        assert ["Alien Ants", "3", "1"] in rows
        assert sum(row[1] == "not rated" for row in rows) == 5
        head = page.locator("#contribute-more thead").inner_text()
        assert head.strip().split("\t") == ["Title", "Yours now", "Sent"]


def test_tabs_that_press_together_draw_once(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        first = visit(f"{talk.url}/")
        tabs = [first, *(visit(f"{talk.url}/", context=first.context) for _ in range(2))]
        rate(first, "Quiet Tea", "5 of 5")
        for tab in tabs:
            tab.locator("#own > li").wait_for()
            tab.get_by_role("switch", name="Contribute").click()
            tab.get_by_role("button", name="Show what would be sent").wait_for()
            tab.evaluate(
                """() => (new BroadcastChannel("go").onmessage = () =>
                  document.querySelector("#contribute-more button").click(), undefined)"""
            )
        first.evaluate("() => (new BroadcastChannel('go').postMessage(1), undefined)")
        for tab in tabs:
            tab.get_by_role("button", name="Send this").wait_for()
        assert len(first.evaluate(KEPT, "memory local-reports")["events"]) == 1
        assert len({json.dumps(preview(tab)) for tab in tabs}) == 1


def test_what_another_tab_has_drawn_anew_is_not_sent_unseen(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path, "open-clusters")) as talk:
        page = visit(f"{talk.url}/")
        other = visit(f"{talk.url}/", context=page.context)
        prepare(page)
        for number in range(7, 19, 2):
            rate(other, f"Quiet Number {number}", "5 of 5")
        other.get_by_role("switch", name="Contribute").click()
        other.get_by_role("button", name="Show what would be sent").click()
        other.get_by_role("button", name="Send this").wait_for()
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("Something newer was drawn since: this is it.").wait_for()
        assert counts(talk) == (0, 0)
        assert preview(page) == preview(other)
        send(page)
        stored = talk.ask("GET", "/v1/report", secret=capability(page)).json()
        uploads = other.evaluate(KEPT, "memory open-clusters")["uploads"]
        assert [each["upload"] for each in uploads.values()] == [stored]


def test_a_network_that_hangs_is_not_waited_for_where_there_is_a_copy(
    plain: Talk, visit: Visit
) -> None:
    page = visit(f"{plain.url}/", allow=EXPECTED)
    rate(page, "Quiet Tea", "5 of 5")
    held = hold(page, "**/v1/release")
    page.reload()
    wait_ready(page)
    assert len(held) == 1
    assert "does not answer" in page.locator("#notice").inner_text()
    assert own(page) == {"Quiet Tea": "5"}
    assert page.locator("#recommended > li").count() == 10


def test_a_rating_given_while_another_tabs_are_read_stays(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    other = visit(f"{plain.url}/", context=page.context)
    # Between what is read and what is shown, somebody clicks.
    page.evaluate(
        """() => {
          const all = IDBObjectStore.prototype.getAll;
          IDBObjectStore.prototype.getAll = function () {
            IDBObjectStore.prototype.getAll = all;
            const asked = all.call(this);
            asked.onsuccess = () => document.querySelector("#results li input").click();
            return asked;
          };
        }"""
    )
    rate(other, "Quiet Tea", "5 of 5")
    page.locator("#own > li", has_text="Quiet Tea").wait_for()
    page.wait_for_timeout(200)
    assert len(own(page)) == 2


def test_the_list_has_the_worker_and_its_files_and_no_file_twice(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/", worker=True)
    wait_kept(page)
    page.wait_for_timeout(500)
    first = files(page)
    page.locator("#requests summary").first.click()
    listed = page.locator("#requests pre").first.inner_text().split()
    assert len(listed) == first
    assert {"/", "/worker.js"} < set(listed)
    assert any(path.endswith("/js/app.js") for path in listed)
    page.reload()
    wait_ready(page)
    page.wait_for_timeout(500)
    # Everything but the document and the worker is the worker's copy.
    assert files(page) == 2 < first


def files(page: Any) -> int:
    text = page.locator("#requests tr").first.inner_text()
    return int(text.split()[1])
