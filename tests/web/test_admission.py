"""The page where an operator limits who may enrol: invitations, signed tokens, work."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.serve import Invitations, SignedTokens, Work
from serve._running import running
from serve.test_admission import token
from web._films import collecting, rate, wait_ready
from web.test_contributing import KEPT, capability, prepare, send

Visit = Callable[..., Any]
_CODES = ("0123456789abcdef", "fedcba9876543210")
_REFUSED = "status of 403"


def invited(folder: Path) -> Any:
    (folder / "codes").write_text("\n".join(_CODES))
    return replace(collecting(folder), admission=Invitations(folder / "codes"))


def code(page: Any) -> Any:
    return page.get_by_label("Your invitation code")


def show(page: Any) -> None:
    page.get_by_role("button", name="Show what would be sent").click()


def test_an_invitation_is_asked_for_before_anything_is_drawn(visit: Visit, tmp_path: Path) -> None:
    with running(invited(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow=_REFUSED)
        rate(page, "Quiet Tea", "5 of 5")
        page.get_by_role("switch", name="Contribute").click()
        show(page)
        page.get_by_text("enter yours first").wait_for()
        assert page.evaluate("document.activeElement.id") == "invitation"
        assert page.evaluate(KEPT, "memory local-reports") is None
        code(page).fill("not-an-invitation")
        show(page)
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("this invitation is not known here").wait_for()
        assert talk.statistics()["enrolled"] == 0
        # It can be corrected where it is, and stays when the page is left.
        code(page).fill(f" {_CODES[0]} ")
        send(page)
        assert talk.statistics()["reports"] == 1
        assert page.evaluate(KEPT, "invitation") is None
        secret = capability(page)
        page.reload()
        wait_ready(page)
        page.get_by_text("Sent. Thank you.").wait_for()
        assert code(page).count() == 0
        assert capability(page) == secret


def test_an_invitation_is_not_lost_with_the_answer_to_it(visit: Visit, tmp_path: Path) -> None:
    with running(invited(tmp_path)) as talk:
        page = visit(f"{talk.url}/#invitation={_CODES[0]}", allow="ERR_FAILED")
        prepare(page)

        def lose(route: Any) -> None:
            if route.request.method == "POST":
                route.fetch()
                route.abort()
            else:
                route.continue_()

        page.route("**/v1/enrolments", lose)
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("The service does not answer").wait_for()
        assert talk.statistics()["enrolled"] == 1
        page.unroute("**/v1/enrolments")
        page.reload()
        wait_ready(page)
        page.get_by_role("switch", name="Contribute").click()
        show(page)
        send(page)
        assert talk.statistics()["enrolled"] == talk.statistics()["reports"] == 1


def test_a_link_brings_an_invitation(visit: Visit, tmp_path: Path) -> None:
    with running(invited(tmp_path)) as talk:
        page = visit(f"{talk.url}/#invitation={_CODES[1]}")
        page.get_by_text("Your invitation is here.").wait_for()
        # It is not left where it would be copied with the address, and not asked for again.
        assert page.url == f"{talk.url}/"
        page.reload()
        wait_ready(page)
        prepare(page)
        assert code(page).input_value() == _CODES[1]
        send(page)
        # Another link, followed in a page that is open, is no reason to enrol again.
        page.evaluate("code => { location.hash = `invitation=${code}`; }", _CODES[0])
        page.wait_for_function("!location.hash")
        assert talk.statistics()["enrolled"] == 1


def test_a_signed_token_is_taken_from_a_link_or_a_field(visit: Visit, tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    (tmp_path / "key").write_text(key.public_key().public_bytes_raw().hex())
    settings = replace(collecting(tmp_path), admission=SignedTokens(tmp_path / "key"))
    until = int(time.time()) + 3600
    with running(settings) as talk:
        page = visit(f"{talk.url}/#invitation={token(key, exp=until)}")
        prepare(page)
        assert page.get_by_label("Your admission token").input_value() == token(key, exp=until)
        send(page)
        assert talk.statistics()["enrolled"] == 1
        other = visit(f"{talk.url}/", allow=_REFUSED)
        rate(other, "Quiet Tea", "5 of 5")
        other.get_by_role("switch", name="Contribute").click()
        other.get_by_label("Your admission token").fill(token(key, exp=until))
        show(other)
        other.get_by_role("button", name="Send this").click()
        other.get_by_text("was used for an enrolment already").wait_for()
        other.get_by_label("Your admission token").fill(token(key, exp=until, sub="grace"))
        send(other)
        assert talk.statistics()["enrolled"] == 2


@pytest.mark.parametrize("name", ["local-reports", "open-clusters"])
def test_work_is_done_before_the_first_message(visit: Visit, tmp_path: Path, name: str) -> None:
    with running(replace(collecting(tmp_path, name), admission=Work(10))) as talk:
        page = visit(f"{talk.url}/")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
        prepare(page)
        assert "solve a puzzle" in page.locator("#contribute-more").inner_text()
        send(page)
        assert page.locator("progress:visible").count() == 0
        assert talk.statistics()["reports"] == 1
        assert sum(each.endswith("/js/work.js") for each in asked) == 1
        # Whoever is enrolled does not work again.
        page.get_by_role("button", name="Withdraw it").wait_for()
        page.reload()
        wait_ready(page)
        page.get_by_text("Sent. Thank you.").wait_for()
        assert sum(each.endswith("/js/work.js") for each in asked) == 1


def never_done(route: Any) -> None:
    """The worker, to which no nonce is good enough."""
    answer = route.fetch()
    script = answer.text()
    changed = re.sub(r"===0\)(?=return postMessage)", "===-1)", script)
    assert changed != script
    route.fulfill(response=answer, body=changed)


def test_work_shows_how_far_it_is_and_can_be_stopped(visit: Visit, tmp_path: Path) -> None:
    with running(replace(collecting(tmp_path), admission=Work(28))) as talk:
        page = visit(f"{talk.url}/")
        page.route("**/js/work.js", never_done)
        prepare(page)
        page.get_by_role("button", name="Send this").click()
        bar = page.get_by_role("progressbar", name="solving the puzzle")
        bar.wait_for()
        page.get_by_text(re.compile("Usually done within [0-9]+ minute")).wait_for()
        assert 0 < bar.evaluate("bar => bar.value") < 1
        # Nothing waits for it meanwhile.
        rate(page, "Alien Bees", "2 of 5")
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("Stopped. Nothing was sent.").wait_for()
        assert bar.count() == 0
        assert page.evaluate("document.activeElement.textContent") == "Send this"
        assert talk.statistics()["enrolled"] == 0


def test_more_work_than_is_done_for_anybody_is_refused(visit: Visit, tmp_path: Path) -> None:
    with running(replace(collecting(tmp_path), admission=Work(29))) as talk:
        page = visit(f"{talk.url}/")
        prepare(page)
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("more work than this page does").wait_for()
        assert talk.statistics()["enrolled"] == 0
