"""Where the release cannot be read: what one has is still one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import collecting, film_release, rate, recommended, wait_ready
from web.test_contributing import counts, prepare, send
from web.test_forgetting import press_forget

Visit = Callable[..., Any]
FORGET_RELEASE = "caches.delete('discreet release /')"


def answer(page: Any, body: bytes, status: int = 200) -> None:
    page.route("**/v1/release", lambda route: route.fulfill(status=status, body=body))


def made(folder: Path) -> bytes:
    """Another release than the one that is kept."""
    film_release(seed=2).save(folder / "new.discreet")
    return (folder / "new.discreet").read_bytes()


@pytest.mark.parametrize("then", ["withdraw", "forget"])
@pytest.mark.parametrize("broken", ["garbage", "refused"])
def test_who_contributed_can_withdraw_and_forget(
    visit: Visit, tmp_path: Path, then: str, broken: str
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow="Failed to load resource")
        prepare(page)
        send(page)
        page.evaluate(FORGET_RELEASE)
        answer(page, b"no release", {"garbage": 200, "refused": 500}[broken])
        page.reload()
        page.get_by_text("What you sent is at the service.").wait_for()
        assert page.locator("#notice.wrong").inner_text() != ""
        assert not page.locator("#rate").is_visible()
        assert not page.get_by_role("switch", name="Contribute").is_visible()
        assert "Quiet Tea" in (page.locator("#own").text_content() or "")
        with page.expect_download():
            page.get_by_role("button", name="Save as CSV").click()
        assert counts(talk) == (1, 1)
        if then == "withdraw":
            page.get_by_role("button", name="Withdraw it").click()
            page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
            assert page.get_by_role("button", name="Withdraw it").count() == 0
        else:
            press_forget(page)
            page.wait_for_selector("html[data-ready=forgotten]")
        assert counts(talk) == (0, 0)


def test_a_withdrawal_elsewhere_shows_there_too(visit: Visit, tmp_path: Path) -> None:
    settings = collecting(tmp_path)
    with running(settings) as talk:
        page = visit(f"{talk.url}/")
        prepare(page)
        send(page)
    with running(Settings(settings.release, **FREE), talk.url):
        page.reload()
        page.get_by_role("button", name="Withdraw it").wait_for()
    with running(settings, talk.url):
        other = visit(f"{talk.url}/", context=page.context)
        other.get_by_role("button", name="Withdraw it").click()
        other.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        page.locator("#contribute").wait_for(state="hidden")


NEWER = (b'"discreet_release":"1"', b'"discreet_release":"9"')


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda _: b"no release", "is no safetensors file"),
        (lambda whole: whole.replace(*NEWER), "has format 9, newer than this page reads"),
        (lambda whole: whole[:-1], "is damaged: it is cut short"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "does not match its digest"),
    ],
    ids=["garbage", "newer", "cut short", "changed"],
)
def test_a_good_copy_is_used_where_the_new_one_is_none(
    visit: Visit, plain: Talk, tmp_path: Path, damage: Callable[[bytes], bytes], why: str
) -> None:
    whole = made(tmp_path)
    assert damage(whole) != whole
    page = visit(f"{plain.url}/")
    rate(page, "Quiet Tea", "5 of 5")
    before = recommended(page)
    answer(page, damage(whole))
    page.reload()
    wait_ready(page)
    said = page.locator("#notice").inner_text()
    assert "goes on with the file that it keeps" in said
    assert why in said
    assert ("arrived damaged. Try again." in said) == ("newer" not in why)
    assert "\n" not in said
    assert page.get_by_role("button", name="Try again").is_visible()
    assert recommended(page) == before
    page.unroute("**/v1/release")
    page.reload()
    wait_ready(page)
    assert page.locator("#notice").inner_text() == ""
    assert recommended(page) == before


# More than the page can hold, as docs/how-to/embed.md says.
TOO_MANY = 256_000_001


def test_a_file_that_is_too_large_is_left_where_it_is(visit: Visit, plain: Talk) -> None:
    page = visit(f"{plain.url}/")
    rate(page, "Quiet Tea", "5 of 5")
    before = recommended(page)
    headers = {"discreet-bytes": str(TOO_MANY)}
    page.route("**/v1/release", lambda route: route.fulfill(body=b"long", headers=headers))
    page.reload()
    wait_ready(page)
    said = page.locator("#notice").inner_text()
    assert "goes on with the file that it keeps" in said
    too_many = "There are more titles here than this page can hold: the file has more than 256 MB."
    assert too_many in said
    assert recommended(page) == before
    page.evaluate(FORGET_RELEASE)
    page.reload()
    page.wait_for_selector("#notice.wrong")
    assert page.locator("#notice").inner_text() == too_many
    assert "Quiet Tea" in (page.locator("#own").text_content() or "")


def test_a_file_of_unknown_size_is_left_as_soon_as_it_is_too_large(
    visit: Visit, plain: Talk
) -> None:
    page = visit(f"{plain.url}/")
    page.evaluate(FORGET_RELEASE)
    # The answer has no length and no end: only a page that stops reading gets ready.
    page.add_init_script(
        """const real = fetch;
        const part = new Uint8Array(16e6);
        window.fetch = async (url, told) => String(url).endsWith("v1/release")
          ? new Response(new ReadableStream({
              pull: (to) => to.enqueue(part), cancel: () => (document.title = "left") }))
          : real(url, told);"""
    )
    page.reload()
    page.wait_for_selector("#notice.wrong")
    assert "the file has more than 256 MB." in page.locator("#notice").inner_text()
    assert page.title() == "left"
