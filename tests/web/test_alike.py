"""Whatever the service answers, or does not: who contributed asks for what anybody else does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from serve._running import running
from web._films import collecting, rate, wait_ready
from web.test_contributing import KEPT, send
from web.test_standing import elsewhere, look

Visit = Callable[..., Any]
EXPECTED = "Failed to load resource"


def reset(route: Any) -> None:
    route.abort("connectionreset")


def redirect(route: Any) -> None:
    route.fulfill(status=302, headers={"Location": "/v1/x"})


def unavailable(route: Any) -> None:
    route.fulfill(status=503, json={"reason": "It is too busy."})


def other_protocol(route: Any) -> None:
    route.fulfill(json={"protocol": "constructor"})


def contribute(page: Any) -> None:
    look(page)
    send(page)


def asked(pages: list[Any]) -> list[list[tuple[str, str]]]:
    """What a visit of each asks for."""
    found = []
    for page in pages:
        seen: list[tuple[str, str]] = []
        listen = partial(note, seen)
        page.on("request", listen)
        page.reload()
        found.append((page, seen, listen))
    for page in pages:
        wait_ready(page)
        page.wait_for_load_state("networkidle")
    pages[-1].wait_for_timeout(300)
    for page, _, listen in found:
        page.remove_listener("request", listen)
    return [sorted(seen) for _, seen, _ in found]


def note(seen: list[tuple[str, str]], request: Any) -> None:
    seen.append((request.method, request.url.split("/", 3)[3]))


@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        ("local-reports", {}),
        ("open-clusters", {}),
        ("open-clusters", {"fakes": "same-hash", "bit_epsilon": 0.5}),
    ],
    ids=["local-reports", "open-clusters", "open with all it can load"],
)
def test_an_answer_that_is_lost_or_wrong_tells_nobody_who_contributed(
    visit: Visit, tmp_path: Path, kind: str, terms: dict[str, Any]
) -> None:
    with running(collecting(tmp_path, kind, **terms)) as talk:
        pages = [visit(f"{talk.url}/", allow=EXPECTED) for _ in range(2)]
        for page in pages:
            rate(page, "Quiet Tea", "5 of 5")
        contribute(pages[0])
        usual, others = asked(pages)
        assert usual == others
        assert ("GET", "v1/collection") in usual
        for pattern, answer in [
            ("**/v1", reset),
            ("**/v1", redirect),
            ("**/v1", unavailable),
            ("**/v1/collection", reset),
            ("**/v1/collection", unavailable),
            ("**/v1/collection", other_protocol),
            ("**/contribute.js", reset),
        ]:
            for page in pages:
                page.route(pattern, answer)
            one, other = asked(pages)
            assert one == other, (pattern, answer)
            pages[0].get_by_role("button", name="Withdraw it").wait_for()
            for page in pages:
                page.unroute(pattern)


def test_another_catalogue_is_asked_for_once_by_everybody(visit: Visit, tmp_path: Path) -> None:
    with running(elsewhere(tmp_path, "local-reports", epsilon=2.0)) as talk:
        pages = [visit(f"{talk.url}/") for _ in range(2)]
        look(pages[0])
        pages[0].get_by_role("button", name="Go on anyway").click()
        send(pages[0])
    with running(elsewhere(tmp_path, "local-reports", epsilon=2.0, epoch=2), talk.url):
        one, other = asked(pages)
        pages[0].get_by_role("button", name="Look at the new terms").wait_for()
        assert one == other
        assert one.count(("GET", "v1/catalog")) == 1


def test_a_change_of_protocol_under_an_open_page_is_said(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow=EXPECTED)
        page.wait_for_load_state("networkidle")
    with running(collecting(tmp_path, "open-clusters"), talk.url):
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("The service collects by another protocol now; reload.").wait_for()
        assert not page.get_by_role("switch", name="Contribute").is_checked()


def test_terms_that_changed_since_they_were_shown_are_shown_and_not_drawn(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("for the whole period (1)").wait_for()
        page.get_by_text("12 periods the epsilon is 24; in the one so far, 2.").wait_for()
    with running(collecting(tmp_path, epoch=5), talk.url):
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("The terms have changed since they were shown").wait_for()
        page.get_by_text("for the whole period (5)").wait_for()
        page.get_by_text("12 periods the epsilon is 24; in all 5 so far, 10.").wait_for()
        assert page.evaluate(KEPT, "memory local-reports") is None
        page.get_by_role("button", name="Show what would be sent").click()
        send(page)
        assert page.evaluate(KEPT, "contribution")["announced"]["epoch"] == 5
