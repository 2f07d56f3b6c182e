"""Contributing: seen before it is sent, sent as it was seen, withdrawn, forgotten."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.protocols.local_reports.messages import Report
from serve._running import Talk, running
from web._films import TITLES, collecting, rate, wait_ready

Visit = Callable[..., Any]
KEPT = """key => new Promise(done => {
  const asked = indexedDB.open("discreet /");
  asked.onsuccess = () => {
    const got = asked.result.transaction("kept").objectStore("kept").get(key);
    got.onsuccess = () => { asked.result.close(); done(got.result ?? null); };
  };
})"""


def prepare(page: Any) -> list[list[str]]:
    """Rate, switch on, look: the rows of what is true beside what would be sent."""
    for title, stars in (
        ("Quiet Tea", "5 of 5"),
        ("Alien Ants", "1 of 5"),
        ("Quiet Rain", "4 of 5"),
    ):
        rate(page, title, stars)
    page.get_by_role("switch", name="Contribute").click()
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Send this").wait_for()
    return preview(page)


def preview(page: Any) -> list[list[str]]:
    cells = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    return [list(row) for row in page.locator("#preview tr").evaluate_all(cells)]


def send(page: Any) -> None:
    page.get_by_role("button", name="Send this").click()
    page.get_by_text("Sent. Thank you.").wait_for()


def capability(page: Any) -> str:
    return str(page.evaluate(KEPT, "contribution")["capability"])


def test_a_local_report_shows_the_true_beside_the_sent(visit: Visit, tmp_path: Path) -> None:
    settings = collecting(tmp_path)
    with running(settings) as talk:
        page = visit(f"{talk.url}/")
        rows = prepare(page)
        assert page.evaluate(KEPT, "memory local-reports")["events"][0]["epsilon"] == 2
        assert talk.statistics()["enrolled"] == 0
        send(page)
        stored = talk.ask("GET", "/v1/report", secret=capability(page)).json()
        page.reload()
        wait_ready(page)
        page.get_by_text("Sent. Thank you.").wait_for()
        assert preview(page) == rows
        said = page.locator("#contribute-more").inner_text()
        kept = page.evaluate(KEPT, "contribution")
        announced = talk.ask("GET", "/v1/collection").json()
    assert settings.protocol is not None
    assert (kept["message"], kept["done"]) == (stored, True)
    assert kept["announced"] == announced
    sent = sent_values(Report.from_json(stored, settings.protocol.collection))
    mine = {"Alien Ants": "1", "Quiet Tea": "5", "Quiet Rain": "4"}
    others = [title for title in TITLES if title in sent and title not in mine]
    assert rows == [
        *([title, true, sent.get(title, "not mentioned")] for title, true in mine.items()),
        *([title, "not rated", sent[title]] for title in others[:5]),
    ]
    size = len(json.dumps(stored, separators=(",", ":")))
    more = f"And {len(others) - 5} other titles that you have not rated. In all {size} bytes."
    assert more in said
    assert "1 report drawn: epsilon 2 for each rating, 400 for all of them together." in said


def sent_values(report: Any) -> dict[str, str]:
    """The answers by title, as the page writes them: 1 and 2 are the ends of the scale 1..5."""
    found = {
        TITLES[i]: (1, 5)[int(v) - 1] for i, v in zip(report.items, report.values, strict=True)
    }
    return {title: str(value) for title, value in found.items()}


def test_an_open_upload_has_the_true_ratings_among_made_up_ones(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path, "open-clusters")) as talk:
        page = visit(f"{talk.url}/")
        rows = prepare(page)
        assert [row for row in rows if row[1] != "not rated"] == [
            ["Alien Ants", "1", "1"], ["Quiet Tea", "5", "5"], ["Quiet Rain", "4", "4"],
        ]  # fmt: skip
        assert "no more: your true ratings" in page.locator("#contribute").inner_text()
        assert page.get_by_label("Never tell more than epsilon").count() == 0
        send(page)
        secret = capability(page)
        first = talk.ask("GET", "/v1/report", secret=secret).json()
        items = np.frombuffer(base64.b64decode(first["items"]), np.int32)
        assert {0, 1, 3} < set(items.tolist())
        assert 80 <= len(items) < len(TITLES)
        for number in range(7, 19, 2):
            rate(page, f"Quiet Number {number}", "5 of 5")
            if number == 7:
                page.get_by_text("1 rating not in it yet. 4 more, and").wait_for()
                assert page.get_by_role("button", name="Show an update").count() == 0
                page.reload()
                wait_ready(page)
                page.get_by_text("1 rating not in it yet. 4 more, and").wait_for()
        page.get_by_role("button", name="Show an update").wait_for()
        page.reload()
        wait_ready(page)
        page.get_by_role("button", name="Show an update").click()
        # To think better of an update is not to withdraw what is there.
        page.get_by_role("button", name="Not now").click()
        page.get_by_text("Sent. Thank you.").wait_for()
        assert talk.ask("GET", "/v1/report", secret=secret).json() == first
        page.get_by_role("button", name="Show an update").click()
        send(page)
        page.locator("#update").wait_for(state="attached")
        page.wait_for_timeout(300)
        assert page.get_by_role("button", name="Show an update").count() == 0
        assert talk.ask("GET", "/v1/report", secret=secret).json() != first
        assert talk.statistics()["reports"] == 1


def test_withdrawing_and_forgetting_delete_it_at_the_service(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        rows = prepare(page)
        send(page)
        assert counts(talk) == (1, 1)
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        assert counts(talk) == (0, 0)
        assert page.evaluate(KEPT, "contribution") is None
        # The answers of an epoch stay what they are, and cost once.
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("costs nothing").wait_for()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()
        assert preview(page) == rows
        send(page)
        assert len(page.evaluate(KEPT, "memory local-reports")["events"]) == 1
        assert counts(talk) == (1, 1)
        page.get_by_role("button", name="Forget everything").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Forget everything").click()
        page.wait_for_selector("html[data-ready=forgotten]")
        assert counts(talk) == (0, 0)


def test_what_cannot_be_withdrawn_is_forgotten_only_if_the_person_insists(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow="ERR_CONNECTION_REFUSED")
        prepare(page)
        send(page)
    page.get_by_role("button", name="Withdraw it").click()
    page.get_by_text("The service does not answer. Are you offline?").wait_for()
    assert page.get_by_role("switch", name="Contribute").is_checked()
    page.get_by_role("button", name="Forget everything").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Forget everything").click()
    dialog.get_by_text("Forget all the same?").wait_for()
    dialog.get_by_role("button", name="Keep it").click()
    assert len(capability(page)) == 43
    page.get_by_role("button", name="Forget everything").first.click()
    dialog.get_by_role("button", name="Forget everything").click()
    dialog.get_by_text("Forget all the same?").wait_for()
    dialog.get_by_role("button", name="Forget everything").click()
    page.wait_for_selector("html[data-ready=forgotten]")
    assert page.evaluate("indexedDB.databases().then(all => all.length)") == 0
    assert "What you contributed is still at the service" in page.locator("#notice").inner_text()


def counts(talk: Talk) -> tuple[int, int]:
    found = talk.statistics()
    return found["enrolled"], found["reports"]


def test_what_is_remembered_is_kept_before_anything_leaves(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow="ERR_FAILED")
        prepare(page)
        seen: list[Any] = []

        def cut(route: Any) -> None:
            seen.append(route.request.post_data_json)
            route.abort()

        page.route("**/v1/report", cut)
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("does not answer").wait_for()
        kept = page.evaluate(KEPT, "memory local-reports")["reports"]
        assert list(kept.values()) == seen
        assert page.evaluate(KEPT, "contribution")["done"] is False
        page.unroute("**/v1/report")
        page.reload()
        wait_ready(page)
        page.get_by_text("It may be at the service: no answer came.").wait_for()
        page.get_by_role("button", name="Send again").click()
        page.get_by_text("Sent. Thank you.").wait_for()
        assert talk.ask("GET", "/v1/report", secret=capability(page)).json() == seen[0]


def test_a_limit_and_a_new_epoch(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        prepare(page)
        send(page)
    with running(collecting(tmp_path, epoch=2), talk.url):
        page.reload()
        wait_ready(page)
        page.get_by_role("button", name="Look at the new terms").click()
        page.get_by_text("1 report drawn: epsilon 2 for each rating, 400 for all").wait_for()
        page.get_by_label("Never tell more than epsilon").fill("3")
        page.get_by_label("Never tell more than epsilon").blur()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("past your limit of 3").wait_for()
        assert len(page.evaluate(KEPT, "memory local-reports")["events"]) == 1
        page.get_by_label("Never tell more than epsilon").fill("4")
        page.get_by_label("Never tell more than epsilon").blur()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()
        assert len(page.evaluate(KEPT, "memory local-reports")["events"]) == 2


def test_hash_bits_that_cost_an_epsilon_are_within_the_limit(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path, "open-clusters", bits=4, bit_epsilon=0.5)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("That costs epsilon 2, for one rating and for all alike").wait_for()
        page.get_by_text("12 periods the epsilon is 24; in the one so far, 2.").wait_for()
        limit = page.get_by_label("Never tell more than epsilon")
        limit.fill("1")
        limit.blur()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("past your limit of 1").wait_for()
        assert page.evaluate(KEPT, "memory open-clusters") is None
        limit.fill("2")
        limit.blur()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("reported with an epsilon of 2 in all").wait_for()
        send(page)
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        # The answer of a period stays, and costs once.
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("Epsilon told so far: 2.").wait_for()
        page.get_by_text("in this period costs nothing").wait_for()
        assert limit.count() == 0


def test_one_limit_covers_both_protocols(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        prepare(page)
    dear = collecting(tmp_path, "open-clusters", bits=4, bit_epsilon=0.5)
    with running(dear, talk.url):
        page.reload()
        wait_ready(page)
        page.get_by_role("switch", name="Contribute").click()
        limit = page.get_by_label("Never tell more than epsilon")
        about = page.locator(f"#{limit.get_attribute('aria-describedby')}").inner_text()
        assert "by local reports and by the bits of open clusters together" in about
        # Two are told already, and this is two more.
        limit.fill("3")
        limit.blur()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("take the epsilon of all to 4, past your limit of 3").wait_for()
        assert page.evaluate(KEPT, "memory open-clusters") is None
        limit.fill("4")
        limit.blur()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()


@pytest.mark.parametrize("kind", ["local-reports", "open-clusters"])
def test_before_there_is_a_release_people_can_rate_and_contribute(
    visit: Visit, tmp_path: Path, kind: str
) -> None:
    settings = collecting(tmp_path, kind)
    settings.release.unlink()
    with running(settings) as talk:
        page = visit(f"{talk.url}/", allow="404")
        assert "There are no recommendations yet" in page.locator("#you-said").inner_text()
        prepare(page)
        send(page)
        assert counts(talk) == (1, 1)
