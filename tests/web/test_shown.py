"""What is shown before a draw, and of it, is what counts and what is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.domain import Scale
from discreet.protocols.open_clusters.server import OpenClusters
from discreet.serve import Settings
from serve._running import FREE, running
from web._films import TITLES, collecting, film_release, rate, wait_until
from web.test_contributing import KEPT, prepare, preview
from web.test_tabs import two_tabs

Visit = Callable[..., Any]


def offer(page: Any) -> Any:
    """Switch on; the field of the limit."""
    page.get_by_role("switch", name="Contribute").click()
    field = page.get_by_label("Never tell more than epsilon")
    field.wait_for()
    return field


def test_no_true_rating_is_sent_without_being_shown(visit: Visit, tmp_path: Path) -> None:
    mine = TITLES[6:156]
    text = "title,rating\n" + "".join(f'"{title}",4\n' for title in mine)
    with running(collecting(tmp_path, "open-clusters")) as talk:
        page = visit(f"{talk.url}/")
        file = {"name": "a.csv", "mimeType": "text/csv", "buffer": text.encode()}
        page.locator("#file").set_input_files(file)
        page.locator("#csv-said", has_text="150 ratings read").wait_for()
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()
        assert set(mine) < {row[0] for row in preview(page)}


def test_what_is_shown_as_sent_is_on_the_scale(visit: Visit, tmp_path: Path) -> None:
    release = film_release()
    release.save(tmp_path / "films.discreet")
    protocol = OpenClusters.from_terms(release.catalog, Scale(1, 5, 0.25), {"bits": 2})
    settings = Settings(tmp_path / "films.discreet", protocol, str(tmp_path / "sent.db"), **FREE)
    with running(settings) as talk:
        rows = prepare(visit(f"{talk.url}/"))
    told = [float(row[2]) for row in rows if row[2] != "left out"]
    assert len(told) > 5
    assert all(value * 4 % 1 == 0 for value in told)


def test_a_limit_that_another_tab_has_raised_counts_as_it_is_shown(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page, other = two_tabs(visit, talk)
        rate(page, "Quiet Tea", "5 of 5")
        limits = [offer(tab) for tab in (page, other)]
        for tab, limit, most in zip((page, other), limits, ("1", "3"), strict=True):
            limit.fill(most)
            limit.blur()
            tab.get_by_text(f"Your limit is epsilon {most} now.").wait_for()
        page.get_by_role("button", name="Show what would be sent").click()
        wait_until(page, lambda: page.evaluate(KEPT, "limit") == 1, "the limit is not kept")
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("past your limit of 1").wait_for()
        assert page.evaluate(KEPT, "memory local-reports") is None


def test_a_limit_whose_field_was_not_left_counts(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        offer(page).focus()
        page.keyboard.type("1")
        # As some assistive technology does, which moves no focus.
        page.get_by_role("button", name="Show what would be sent").evaluate("it => it.click()")
        page.get_by_text("Your limit is epsilon 1 now.").wait_for()
        assert page.evaluate(KEPT, "memory local-reports") is None
        assert page.evaluate(KEPT, "limit") == 1


def test_a_limit_is_there_from_the_first(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        limit = offer(page)
        limit.fill("1")
        limit.blur()
        page.get_by_text("Your limit is epsilon 1 now.").wait_for()
        page.get_by_role("switch", name="Contribute").click()
        page.locator("#contribute-said", has_text="Nothing was sent.").wait_for()
        page.evaluate(
            """() => new MutationObserver(() => document.querySelector("#contribute-more button")
              ?.click()).observe(document.querySelector("#contribute-more"), { childList: true })"""
        )
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("past your limit of 1").wait_for()
        assert page.evaluate(KEPT, "limit") == 1
