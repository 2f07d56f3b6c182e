"""Forgetting: everything goes, everywhere, and nothing is said to be gone that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from serve._running import Talk, running
from web._films import collecting, hold, predictor, rate, wait_held, wait_ready
from web.test_contributing import KEPT, capability, counts, prepare, send

Visit = Callable[..., Any]
DATABASES = "indexedDB.databases().then(all => all.length)"
NO_DATABASE = "indexedDB.databases().then(all => !all.length)"
# A connection that does not let go when it is asked to.
HOLD = """() => new Promise(done => {
  const asked = indexedDB.open("discreet /");
  asked.onsuccess = () => { window.held = asked.result; done(); };
})"""


def press_forget(page: Any) -> None:
    page.get_by_role("button", name="Forget everything").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Forget everything").click()


def test_no_title_of_ones_own_stays_in_the_document(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    rate(page, "Quiet Tea", "5 of 5")
    assert "Quiet Tea" in page.content()
    press_forget(page)
    page.wait_for_selector("html[data-ready=forgotten]")
    assert "Quiet" not in page.content()
    assert page.locator("#main").count() == 0
    assert "Nothing of yours is kept here." in page.locator("#pledge").inner_text()


def test_all_tabs_let_go_and_are_told_once_it_is_done(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    other = visit(f"{plain.url}/", context=page.context)
    rate(page, "Quiet Tea", "5 of 5")
    other.locator("#own > li").wait_for()
    press_forget(page)
    for each in (page, other):
        each.wait_for_selector("html[data-ready=forgotten]")
        assert "Quiet" not in each.content()
    assert page.evaluate(DATABASES) == 0


# What the databases hold, seen from a connection that was open all along.
HELD = """() => new Promise(done => {
  const all = ["ratings", "kept"], stores = held.transaction(all);
  const asked = all.map(name => stores.objectStore(name).count());
  stores.oncomplete = () => done(asked.map(each => each.result));
})"""


def test_who_holds_it_fast_cannot_keep_it_from_being_emptied(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    other = visit(f"{plain.url}/", context=page.context)
    holder = visit(f"{plain.url}/icon.svg", context=page.context, ready=False, allow="404")
    rate(page, "Quiet Tea", "5 of 5")
    predictor(page).select_option("knn")
    other.locator("#own > li").wait_for()
    holder.evaluate(HOLD)
    assert holder.evaluate(HELD) == [1, 1]
    press_forget(page)
    for each in (page, other):
        each.wait_for_selector("html[data-ready=forgotten]")
        assert "Quiet" not in each.content()
    assert holder.evaluate(HELD) == [0, 0]
    assert "Another tab may still hold the database" in page.locator("#notice").inner_text()
    # Who reloads all the same waits for it, and is told what for after a while.
    page.reload()
    page.get_by_text("close the other tabs of this page").wait_for()
    # And the shell goes once nobody holds it.
    holder.evaluate("held.close()")
    wait_ready(page)
    assert page.locator("#own > li").count() == 0


def test_forgetting_waits_for_no_worker_and_says_that_it_goes_on(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    rate(page, "Quiet Tea", "5 of 5")
    page.evaluate(
        "navigator.serviceWorker.getRegistrations = () => new Promise(() => {}); undefined"
    )
    press_forget(page)
    page.locator("#notice", has_text="Forgetting").wait_for()
    assert page.locator("#forget").is_disabled()
    page.wait_for_function(NO_DATABASE)
    assert page.locator("#forget").is_disabled()
    page.wait_for_selector("html[data-ready=forgotten]")
    assert page.evaluate("caches.keys()") == []


def test_what_is_on_its_way_when_all_is_forgotten_does_not_stay_at_the_service(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        prepare(page)
        for slow in ("**/v1/report", "**/v1/enrolments"):
            held = hold(page, slow)
            page.get_by_role("button", name="Send this").click()
            page.wait_for_function(
                "() => document.querySelector('#requests').innerText.match(/enrol/)"
            )
            route = wait_held(page, held)
            press_forget(page)
            # It waits: the message may arrive after the question whether anything did.
            page.wait_for_timeout(300)
            assert page.locator("html[data-ready=forgotten]").count() == 0
            route.continue_()
            page.wait_for_selector("html[data-ready=forgotten]")
            assert counts(talk) == (0, 0)
            assert page.evaluate(DATABASES) == 0
            page.unroute(slow)
            page.reload()
            page.wait_for_selector("html[data-ready=yes]")
            prepare(page)


def test_a_withdrawal_shows_in_every_tab(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        other = visit(f"{talk.url}/", context=page.context)
        prepare(page)
        send(page)
        other.get_by_text("Sent. Thank you.").wait_for()
        assert other.get_by_role("switch", name="Contribute").is_checked()
        page.get_by_role("button", name="Withdraw it").click()
        other.get_by_text("Another tab has withdrawn it, or the service refused it").wait_for()
        assert not other.get_by_text("Sent. Thank you.").is_visible()
        assert not other.get_by_role("switch", name="Contribute").is_checked()
        assert other.get_by_role("button", name="Withdraw it").count() == 0


def test_an_update_that_fails_leaves_what_is_known_of_the_one_before(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path, "open-clusters")) as talk:
        page = visit(f"{talk.url}/", allow="Failed to load resource")
        prepare(page)
        send(page)
        first = talk.ask("GET", "/v1/report", secret=capability(page)).json()
        for number in range(7, 19, 2):
            rate(page, f"Quiet Number {number}", "5 of 5")
        page.get_by_role("button", name="Show an update").click()
        page.route(
            "**/v1/report",
            lambda route: route.fulfill(status=422, json={"reason": "It is refused."}),
        )
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("It is refused.").wait_for()
        kept = page.evaluate(KEPT, "contribution")
        assert (kept["done"], kept["message"]) == (True, first)
        page.unroute("**/v1/report")
        page.route("**/v1/report", lambda route: route.abort())
        page.get_by_role("button", name="Send this").click()
        page.locator("#contribute-said", has_text="does not answer").wait_for()
        # One of the two is there.
        assert "is at the service" in page.locator("#pledge").inner_text()
        page.unroute("**/v1/report")
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        assert page.evaluate(KEPT, "gone") == {"was": True, "spent": False}
        assert counts(talk) == (0, 0)


def test_that_something_was_there_stays_known(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow="Failed to load resource")
        prepare(page)
        send(page)
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_role("button", name="Show what would be sent").click()
        page.route("**/v1/report", lambda route: route.abort())
        page.get_by_role("button", name="Send this").click()
        page.locator("#contribute-said", has_text="does not answer").wait_for()
        page.unroute("**/v1/report")
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        assert page.evaluate(KEPT, "gone") == {"was": True, "spent": True}
