"""Two tabs at once: neither undoes unseen what the other does, and both say what is so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serve._running import Talk, running
from web._films import collecting, hold, wait_held, wait_ready
from web.test_contributing import counts, prepare, send
from web.test_forgetting import press_forget

Visit = Callable[..., Any]


def two_tabs(visit: Visit, talk: Talk) -> list[Any]:
    page = visit(f"{talk.url}/")
    return [page, visit(f"{talk.url}/", context=page.context)]


def test_who_decides_against_it_does_not_withdraw_what_another_tab_sends(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page, other = two_tabs(visit, talk)
        prepare(other)
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Not now").wait_for()
        held = hold(other, "**/v1/enrolments")
        other.get_by_role("button", name="Send this").click()
        on_its_way = wait_held(other, held)
        page.get_by_role("button", name="Not now").click()
        page.wait_for_timeout(200)
        on_its_way.continue_()
        for tab in (other, page):
            tab.get_by_text("Sent. Thank you.").wait_for()
            assert tab.get_by_role("switch", name="Contribute").is_checked()
        assert counts(talk) == (1, 1)


@pytest.mark.parametrize("first", [True, False], ids=["before it is sent", "after"])
def test_who_thinks_better_of_an_offer_does_not_withdraw_what_another_tab_sent(
    visit: Visit, tmp_path: Path, first: bool
) -> None:
    with running(collecting(tmp_path)) as talk:
        page, other = two_tabs(visit, talk)
        page.wait_for_load_state("networkidle")
        held = hold(page, "**/v1/collection")
        switch = page.get_by_role("switch", name="Contribute")
        switch.click()
        slow = wait_held(page, held)
        if first:
            switch.click()
        prepare(other)
        send(other)
        if not first:
            switch.click()
        slow.continue_()
        page.get_by_text("Sent. Thank you.").wait_for()
        assert counts(talk) == (1, 1)


def test_two_tabs_that_forget_do_it_once(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        tabs = two_tabs(visit, talk)
        prepare(tabs[0])
        send(tabs[0])
        held = hold(tabs[0], "**/v1/enrolment")
        press_forget(tabs[0])
        withdrawing = wait_held(tabs[0], held)
        press_forget(tabs[1])
        withdrawing.continue_()
        for tab in tabs:
            tab.wait_for_selector("html[data-ready=forgotten]")
        assert counts(talk) == (0, 0)
        tabs[1].wait_for_timeout(300)
        for tab in tabs:
            said = tab.locator("#notice")
            assert said.inner_text() == "Everything is forgotten. Reload the page to begin anew."
            assert "wrong" not in str(said.get_attribute("class"))
            assert not tab.get_by_role("dialog").is_visible()


def test_nobody_is_asked_whether_to_forget_what_is_forgotten(plain: Talk, visit: Visit) -> None:
    page, other = two_tabs(visit, plain)
    other.get_by_role("button", name="Forget everything").first.click()
    other.get_by_role("dialog").wait_for()
    press_forget(page)
    other.wait_for_selector("html[data-ready=forgotten]")
    other.get_by_role("dialog").wait_for(state="hidden")
    assert "Everything is forgotten." in other.locator("#notice").inner_text()


def test_what_comes_late_does_not_speak_over_who_forgot(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit("about:blank", ready=False)
        held = hold(page, "**/v1")
        page.goto(f"{talk.url}/")
        wait_ready(page)
        late = wait_held(page, held)
        press_forget(page)
        page.wait_for_selector("html[data-ready=forgotten]")
        late.continue_()
        page.wait_for_timeout(500)
        said = page.locator("#notice")
        assert said.inner_text() == "Everything is forgotten. Reload the page to begin anew."
        assert page.evaluate("document.activeElement.id") == "notice"


def test_a_tab_that_is_still_loading_puts_nothing_back(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    page.evaluate("caches.delete('discreet release /')")
    held = hold(page.context, "**/v1/release")
    other = visit(f"{plain.url}/", context=page.context, ready=False)
    slow = wait_held(other, held)
    press_forget(page)
    page.wait_for_selector("html[data-ready=forgotten]")
    slow.continue_()
    other.wait_for_timeout(500)
    assert page.evaluate("caches.keys()") == []
    assert "Everything is forgotten." in other.locator("#notice").inner_text()
