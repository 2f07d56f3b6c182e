"""Withdrawing: whatever becomes of the answer, what is said afterwards is true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from serve._running import Talk, running
from web._films import collecting, rate, wait_ready, wait_until
from web.test_contributing import counts, prepare, send
from web.test_forgetting import press_forget
from web.test_standing import pledge

Visit = Callable[..., Any]
EXPECTED = "Failed to load resource"
PERHAPS = "A contribution of yours may be at the service"


def contributor(visit: Visit, talk: Talk) -> Any:
    page = visit(f"{talk.url}/", allow=EXPECTED)
    prepare(page)
    send(page)
    return page


def test_without_an_answer_it_may_have_been_one(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = contributor(visit, talk)

        def lose(route: Any) -> None:
            route.fetch()
            route.abort()

        page.route("**/v1/enrolment", lose)
        for _ in range(2):
            page.get_by_role("button", name="Withdraw it").click()
            page.get_by_text("does not answer").wait_for()
            pledge(page, PERHAPS)
            assert counts(talk) == (0, 0)
            page.reload()
            wait_ready(page)
            page.get_by_text("It may be at the service: no answer came.").wait_for()
        page.unroute("**/v1/enrolment")
        page.get_by_role("button", name="Withdraw it").click()
        pledge(page, "Nothing of yours is at the service now, but it was.")


def test_an_answer_of_somebody_between_is_none(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = contributor(visit, talk)

        def lose(route: Any) -> None:
            route.fetch()
            route.fulfill(status=504, body="<html>too slow</html>")

        page.route("**/v1/enrolment", lose)
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("The service answered 504.").wait_for()
        assert counts(talk) == (0, 0)
        pledge(page, PERHAPS)


def test_who_closes_the_tab_meanwhile_is_not_told_that_it_is_there(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = contributor(visit, talk)
        arrived: list[Any] = []
        page.route("**/v1/enrolment", lambda route: arrived.append(route.fetch()))
        page.get_by_role("button", name="Withdraw it").click()
        wait_until(page, lambda: arrived, "the withdrawal does not arrive")
        assert counts(talk) == (0, 0)
        context = page.context
        context.new_page()
        page.close()
        pledge(visit(f"{talk.url}/", context=context), PERHAPS)


def test_what_another_protocol_spent_stays_counted(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = contributor(visit, talk)
    with running(collecting(tmp_path, "open-clusters"), talk.url):
        page.reload()
        wait_ready(page)
        page.get_by_role("button", name="Look at the new terms").click()
        page.get_by_role("button", name="Show what would be sent").click()
        send(page)
        page.get_by_role("button", name="Withdraw it").click()
        pledge(page, "Nothing of yours is at the service now, but it was. What was spent stays")


def test_a_name_for_nothing_holds_nobody_up_who_forgets(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow=EXPECTED)
        prepare(page)
        page.route("**/v1/report", lambda route: route.fulfill(status=422, json={"reason": "No."}))
        page.get_by_role("button", name="Send this").click()
        page.locator("#contribute-said.wrong").wait_for()
        page.route("**/v1/enrolment", lambda route: route.abort())
        press_forget(page)
        page.wait_for_selector("html[data-ready=forgotten]")
        said = page.locator("#notice").inner_text()
        assert said == "Everything is forgotten. Reload the page to begin anew."
        assert counts(talk) == (1, 0)


def test_who_leaves_an_update_is_not_thanked_for_what_may_be_gone(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path, "open-clusters")) as talk:
        page = contributor(visit, talk)
        for number in range(7, 17, 2):
            rate(page, f"Quiet Number {number}", "5 of 5")
        page.get_by_role("button", name="Show an update").wait_for()
        page.route("**/v1/enrolment", lambda route: route.abort())
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("does not answer").wait_for()
        page.get_by_role("button", name="Show an update").click()
        page.get_by_role("button", name="Not now").click()
        page.get_by_text("It may be at the service: no answer came.").wait_for()
