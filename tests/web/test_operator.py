"""The operator's page: behind the token, which stays in the tab's memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.privacy import PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.serve import Settings
from serve._running import FREE, TOKEN, Talk, make_settings, running
from web._films import about, collecting, hold, wait_held

Visit = Callable[..., Any]


def enter(page: Any, token: str = TOKEN) -> None:
    page.get_by_label("The administrator's token").fill(token)
    page.get_by_role("button", name="Look").first.click()


def test_it_shows_release_health_and_collection(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        asked: list[Any] = []
        page = visit(f"{talk.url}/operator", ready=False, allow="401")
        page.context.on("request", lambda request: asked.insert(0, request))
        enter(page, "not-the-right-token-at-all")
        page.locator("#said", has_text="not the administrator's token").wait_for()
        assert not page.locator("#main").is_visible()
        enter(page)
        page.locator("#main").wait_for()
        known = about(talk.url)
        page.get_by_text("The mathematics").click()
        told = page.locator("#main").inner_text()
        assert known["guarantee"]["words"] in " ".join(told.split())
        for expected in ("It runs\nyes", known["sha256"], "local-reports", "fewer than 10", "sums"):
            assert expected in told
        assert_secret_stays(page, asked)
        page.get_by_role("button", name="Leave").click()
        assert not page.locator("#main").is_visible()
        assert known["sha256"] not in page.content()


def test_without_a_ledger_the_bars_show_what_the_release_spent(films: Path, visit: Visit) -> None:
    with running(Settings(films, admin_token=TOKEN, **FREE)) as talk:
        page = visit(f"{talk.url}/operator", ready=False)
        enter(page)
        bars = page.locator("#ledger progress")
        bars.first.wait_for()
        # A Gaussian of 2 / 9 has a rho of 2 / 81; a pure epsilon of a quarter has 1 / 32.
        parts = [2 / 81, 1 / 32]
        assert bars.evaluate_all("all => all.map(bar => bar.position)") == pytest.approx(
            [part / sum(parts) for part in parts]
        )
        assert "this service only publishes" in page.locator("#collection").inner_text()
        assert not page.get_by_role("button", name="Build a release now").is_visible()


def assert_secret_stays(page: Any, asked: list[Any]) -> None:
    """The token is in Authorization headers and nowhere else."""
    assert page.evaluate("indexedDB.databases().then(all => all.length)") == 0
    assert (
        page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    )
    assert page.get_by_label("The administrator's token").input_value() == ""
    assert TOKEN not in page.content()
    carried = [request for request in asked if "authorization" in request.all_headers()]
    assert {request.url.rpartition("/")[2] for request in carried} == {"statistics"}
    assert not any(TOKEN in request.url for request in asked)


def test_it_builds_a_release_and_says_how_that_went(visit: Visit, tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        page = visit(f"{talk.url}/operator", ready=False, allow="404")
        enter(page)
        page.get_by_text("None has been built yet.").wait_for()
        fill(talk)
        page.get_by_role("button", name="Build a release now").click()
        page.locator("#build-said", has_text="Built.").wait_for(timeout=60_000)
        assert "Made of\n10 or a few more" in page.locator("#build").inner_text()
        assert "Reports\n10 or a few more" in page.locator("#collection").inner_text()
        assert "a single rating" in page.locator("#release .big").inner_text()


def test_who_leaves_while_it_builds_is_told_nothing_more(visit: Visit, tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        page = visit(f"{talk.url}/operator", ready=False, allow="404")
        enter(page)
        page.get_by_text("None has been built yet.").wait_for()
        held = hold(page, "**/v1/admin/rebuild")
        page.get_by_role("button", name="Build a release now").click()
        begun = wait_held(page, held)
        page.get_by_role("button", name="Leave").click()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        begun.fulfill(status=202)
        page.wait_for_timeout(1500)
        assert asked == []
        assert page.locator("#said").inner_text() == ""


def test_who_may_not_build_is_told_so(visit: Visit, tmp_path: Path) -> None:
    with running(make_settings(tmp_path)) as talk:
        page = visit(f"{talk.url}/operator", ready=False, allow="40")
        enter(page)
        page.get_by_text("None has been built yet.").wait_for()
        page.route(
            "**/v1/admin/rebuild",
            lambda route: route.fulfill(status=403, json={"reason": "Not from here."}),
        )
        page.get_by_role("button", name="Build a release now").click()
        page.locator("#said", has_text="Not from here.").wait_for()


def fill(talk: Talk) -> None:
    from serve._running import make_report

    for seed in range(12):
        assert talk.send(talk.enrol(), make_report(seed)).status == 204


def test_the_ledger_is_a_bar_that_fills(films: Path, visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "shop.ledger"
    limits = [Limit(Unit.USER, 5.0, 1e-6), Limit(Unit.RATING, 5.0, 1e-6)]
    ledger = Ledger.create(path, "customers of the shop", limits)
    # A rating's cost is twice that: with it or without it, its user is another one.
    event = PureEvent(unit=Unit.USER, label="sums", epsilon=1.25, mechanism="Laplace")
    with running(Settings(films, admin_token=TOKEN, ledger=path, **FREE)) as talk:
        page = visit(f"{talk.url}/operator", ready=False)
        enter(page)
        bars = page.get_by_role("progressbar", name="Epsilon spent of the limit")
        bars.first.wait_for()
        said = page.locator("#ledger")
        for filled, told in (
            ([0, 0], ". 5 is left of the limit"),
            ([0.25, 0.5], ". 3.75 is left of the limit"),
            ([0.5, 1], "Nothing is left: the ledger lets no more through."),
        ):
            said.get_by_text(told).first.wait_for()
            found = bars.evaluate_all("all => all.map(bar => bar.position)")
            assert found == pytest.approx(filled)
            assert "of customers of the shop" in said.inner_text()
            if filled[1] < 1:
                ledger.charge([event], "a release")
                page.get_by_role("button", name="Look again").click()
        # Over time: two charges, and what more of them would bring it to.
        picture = page.get_by_role("img", name="Epsilon spent after each of 2 charges, 2.5 by now")
        assert picture.locator(".past").count() == 2
        assert picture.locator(".next").count() == 12
        assert picture.locator(".over").count() == 10
        told = said.inner_text()
        assert "Another one like the last brings it from 2.5 to 3.75. 2 like it fit" in told
        # e^2.5 / (e^2.5 + 1) is 0.9241.
        assert "right in at most 93 of 100 cases. At the limit it is 100." in told
        said.get_by_text("2 charges").first.click()
        assert said.locator("tbody tr").first.inner_text().split("\t")[1:] == ["a release", "1.25"]
        path.unlink()
        page.get_by_role("button", name="Look again").click()
        said.get_by_text("The ledger cannot be read.").wait_for()
        assert bars.count() == 0
