"""What the page says in plain English: promises, damage, how much has come, three steps."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import collecting, film_release, rate, recommended, wait_ready

Visit = Callable[..., Any]
WEB = Path(__file__).resolve().parents[2] / "web"
PROMISE = """told => import(document.querySelector("script").src.replace("app", "page/privacy"))
  .then(({ plainPromise }) => plainPromise({ delta: 0, not_private: [], ...told }))"""


def test_a_promise_says_whom_it_protects_and_how_well(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")

    def promise(unit: str, epsilon: float, **told: Any) -> list[str]:
        return list(page.evaluate(PROMISE, {"unit": unit, "epsilon": epsilon, **told}))

    headline, guesses, beyond = promise("rating", 1, per={"user": None})
    assert headline == "Nobody can read a single rating out of this file."
    # e / (e + 1) is 0.7311.
    assert "whether one certain rating went into it" in guesses and "at most 74 of 100" in guesses
    assert "each rating by itself. Nothing here limits" in beyond
    assert (
        "together, such as a taste, are protected less" in promise("rating", 1, per={"user": 9})[2]
    )
    headline, guesses, beyond = promise("user", 1)
    assert headline == "Nobody can read one person's ratings out of this file."
    assert "whether one certain person's ratings went into it" in guesses
    assert "all of a person's ratings together" in beyond
    headline, guesses, beyond = promise("user-week", 1)
    assert headline == "Nobody can read what one person rated in one week out of this file."
    assert "one week at a time" in beyond
    # The larger epsilon is, the less is promised; no number is below the truth.
    assert promise("user", 2)[0] == "This file tells only a little about one person's ratings."
    assert promise("user", 4)[0] == "This file protects one person's ratings only in part."
    assert promise("user", 8)[0] == "This file hardly protects one person's ratings."
    assert "at most 50 of 100" in promise("user", 0)[1]
    assert "at most 60 of 100" in promise("user", 0, delta=0.2)[1]
    assert "at most 100 of 100" in promise("user", 800)[1]
    assert (
        promise("user", 0, not_private=["no noise was added"])[0] == "This file makes no promise."
    )


def test_a_file_that_knows_no_tastes_promises_no_list_of_ones_own(
    visit: Visit, tmp_path: Path
) -> None:
    film_release(learnt={"advice": ["ratings from more people"]}).save(tmp_path / "r.discreet")
    with running(Settings(tmp_path / "r.discreet", **FREE)) as talk:
        page = visit(f"{talk.url}/")
        said = page.locator("#you-said")
        assert said.inner_text().startswith("Everybody gets nearly the same list from this file")
        rate(page, "Quiet Rain", "5 of 5")
        assert said.inner_text().startswith("Everybody gets nearly the same list from this file")


def words_of(name: str) -> dict[str, str]:
    template = (WEB / name).read_text("utf-8").partition("<template")[2]
    return dict(re.findall(r'<p id="([\w-]+)">(.*)</p>', template))


def test_both_pages_say_the_same() -> None:
    one, other = words_of("index.html"), words_of("operator.html")
    both = one.keys() & other.keys()
    assert len(both) > 15
    assert [name for name in both if one[name] != other[name]] == []


def test_no_words_are_left_over_or_missing() -> None:
    scripts = "".join(path.read_text("utf-8") for path in sorted((WEB / "js").rglob("*.js")))
    said = set(re.findall(r'(?:words|fail|say)\("([\w-]+)"', scripts))
    named = set(re.findall(r"[\w-]+", scripts))
    known = words_of("index.html").keys() | words_of("operator.html").keys()
    parts = (
        "promise-",
        "whose-",
        "coin-",
        "beyond-",
        "step-",
        "hash-",
        "pledge-",
        "did-",
        "order-",
        "ask-",
    )
    assert {name for name in known - named if not name.startswith(parts)} == set()
    ids = set(re.findall(r'id="([\w-]+)"', (WEB / "index.html").read_text("utf-8")))
    ids |= set(re.findall(r'id="([\w-]+)"', (WEB / "operator.html").read_text("utf-8")))
    assert said - known - ids == set()


def test_a_damaged_file_can_be_asked_for_again(plain: Talk, visit: Visit) -> None:
    page = visit("about:blank", ready=False)
    page.route("**/v1/release", lambda route: route.fulfill(body=b"nothing of the kind"))
    page.goto(f"{plain.url}/")
    page.get_by_text("This file arrived damaged. Try again.").wait_for()
    page.unroute("**/v1/release")
    page.get_by_role("button", name="Try again").click()
    page.locator("#recommended > li").first.wait_for()
    assert len(recommended(page)) == 10
    assert not page.get_by_role("button", name="Try again").is_visible()


@contextmanager
def slow(url: str, first: int) -> Iterator[tuple[str, threading.Event]]:
    """A relay that hands on so many bytes of a release, and the others when it is told to."""
    host, _, port = url.removeprefix("http://").partition(":")
    go, listening = threading.Event(), socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []
    sockets = [listening]

    def relay(one: socket.socket, other: socket.socket, asked: bytearray, answers: bool) -> None:
        passed = 0
        try:
            while chunk := one.recv(1 << 16):
                if not answers:
                    asked += chunk
                elif b"GET /v1/release " in asked and passed + len(chunk) > first:
                    begin = max(first - passed, 0)
                    other.sendall(chunk[:begin])
                    go.wait(20)
                    chunk = chunk[begin:]
                if b"GET /v1/release " in asked:
                    passed += len(chunk)
                other.sendall(chunk)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            return  # either side went away

    def take() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            service, asked = socket.create_connection((host, int(port))), bytearray()
            sockets.extend((client, service))
            for pair in ((client, service, asked, False), (service, client, asked, True)):
                threads.append(threading.Thread(target=relay, args=pair, daemon=True))
                threads[-1].start()

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", go
    finally:
        go.set()
        for each in sockets:
            with suppress(OSError):  # it had ended before
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in (taking, *threads):
            thread.join()


def test_a_slow_network_has_a_bar(plain: Talk, visit: Visit) -> None:
    with slow(plain.url, 6000) as (url, go):
        page = visit(f"{url}/", ready=False)
        bar = page.get_by_role("progressbar", name="How much of the recommendations has arrived")
        page.wait_for_function("() => document.getElementById('loading').position > 0")
        assert bar.is_visible()
        assert 0 < bar.evaluate("bar => bar.position") < 1
        assert " of " in page.locator("#loaded").inner_text()
        go.set()
        wait_ready(page)
        assert not bar.is_visible()
        assert not page.locator("#loaded").is_visible()


def test_contributing_takes_three_steps(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        steps = page.locator("#contribute .step")
        page.locator("#contribute").wait_for()
        assert steps.all_inner_texts() == ["What is sent"]
        example = page.locator("#contribute .example:visible")
        assert example.count() == 1 and "not rated" in example.inner_text()
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_role("button", name="Show what would be sent").wait_for()
        assert steps.all_inner_texts() == ["What is sent", "What it costs", "Send"]
        # e^2 / (e^2 + 1) is 0.8808.
        assert "right in at most 89 of 100 cases" in page.locator("#contribute-more").inner_text()


# Texts that are outside all landmarks, where people who go by them do not find them.
ASTRAY = """() => {
  const marks = "header, main, aside, footer, dialog, .skip";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const astray = [];
  while (texts.nextNode()) {
    const { textContent, parentElement } = texts.currentNode;
    if (textContent.trim() && parentElement.checkVisibility() && !parentElement.closest(marks))
      astray.push(textContent);
  }
  return [document.querySelectorAll("main").length, astray];
}"""


def test_every_text_is_in_a_landmark(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    page.locator("#results > li").first.get_by_title("4 of 5").click()
    assert page.evaluate(ASTRAY) == [1, []]
    page.goto(f"{plain.url}/operator")
    page.get_by_label("The administrator's token").wait_for()
    assert page.evaluate(ASTRAY) == [1, []]
