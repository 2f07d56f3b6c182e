"""How a person stands with the service: said by what is kept, also after a reload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import Catalog
from discreet.protocols import servers
from discreet.serve import Settings
from serve._running import FREE, TOKEN, Talk, running
from web._films import collecting, film_release, rate, wait_ready
from web.test_contributing import KEPT, counts, prepare, preview, send

Visit = Callable[..., Any]
THERE = "A contribution of yours is at the service; withdraw it below."


def pledge(page: Any, said: str) -> None:
    page.locator("#pledge", has_text=said).wait_for()


@pytest.mark.parametrize("kind", ["local-reports", "open-clusters"])
def test_the_pledge_follows_what_the_service_has(visit: Visit, tmp_path: Path, kind: str) -> None:
    with running(collecting(tmp_path, kind)) as talk:
        page = visit(f"{talk.url}/")
        pledge(page, "Your ratings stay in this browser. Nothing about you was sent.")
        other = visit(f"{talk.url}/", context=page.context)
        prepare(page)
        pledge(page, "Nothing about you was sent.")
        send(page)
        pledge(page, THERE)
        pledge(other, THERE)
        page.reload()
        wait_ready(page)
        pledge(page, THERE)
        listed = page.locator("#traffic-said").inner_text()
        assert listed.startswith("Since this page was loaded:")
        assert "No rating was sent since then; what was sent earlier is not in this list." in listed
        page.get_by_role("button", name="Withdraw it").click()
        page.get_by_text("Withdrawn: the service has deleted it.").wait_for()
        after = "Nothing of yours is at the service now, but it was."
        after += " What was spent stays counted." * (kind == "local-reports")
        for _ in range(2):
            pledge(page, after)
            assert page.locator("#pledge").inner_text() == after
            page.reload()
            wait_ready(page)


def test_what_may_have_arrived_is_not_said_to_be_nowhere(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/", allow="ERR_FAILED")
        prepare(page)
        page.route("**/v1/report", lambda route: route.abort())
        page.get_by_role("button", name="Send this").click()
        page.get_by_text("does not answer").wait_for()
        pledge(page, "A contribution of yours may be at the service; withdraw it below.")


def test_what_is_kept_of_contributions_is_said_where_there_are_any(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        capability, answers = page.locator("#kept-capability"), page.locator("#kept-answers")
        assert not capability.is_visible()
        assert not answers.is_visible()
        prepare(page)
        answers.wait_for()
        assert "the count of what they told" in answers.inner_text()
        assert not capability.is_visible()
        send(page)
        capability.wait_for()
        page.get_by_role("button", name="Withdraw it").click()
        capability.wait_for(state="hidden")
        page.reload()
        wait_ready(page)
        assert answers.is_visible()
        assert not capability.is_visible()


def elsewhere(folder: Path, name: str, **terms: Any) -> Settings:
    """The release is about films, and the collection about books."""
    release = film_release()
    release.save(folder / "films.discreet", overwrite=True)
    books = Catalog([f"b{n}" for n in range(120)], [f"Book {n}" for n in range(120)])
    protocol = servers.find(name).from_terms(books, release.scale, terms)
    told = FREE | {"admin_token": TOKEN}
    return Settings(folder / "films.discreet", protocol, str(folder / "sent.db"), **told)


def look(page: Any) -> None:
    page.get_by_role("switch", name="Contribute").click()
    page.get_by_role("button", name="Show what would be sent").click()


def test_who_has_rated_nothing_of_the_collection_is_asked_before_anything_is_drawn(
    visit: Visit, tmp_path: Path
) -> None:
    with running(elsewhere(tmp_path, "local-reports", epsilon=2.0)) as talk:
        page = visit(f"{talk.url}/")
        look(page)
        page.get_by_text("You have rated nothing yet.").wait_for()
        page.get_by_role("button", name="Not now").click()
        page.locator("#contribute-said", has_text="Nothing was sent.").wait_for()
        rate(page, "Quiet Tea", "5 of 5")
        look(page)
        page.get_by_text("The one title that you rated is not among the 120 titles").wait_for()
        page.get_by_role("button", name="Not now").click()
        rate(page, "Quiet Rain", "5 of 5")
        look(page)
        page.get_by_text("None of the 2 titles that you rated is among the 120").wait_for()
        assert "which the service can see" in page.locator("#contribute-more").inner_text()
        assert page.evaluate(KEPT, "memory local-reports") is None
        page.get_by_role("button", name="Go on anyway").click()
        page.get_by_role("button", name="Send this").wait_for()
        assert all(row[1] == "not rated" for row in preview(page))
        send(page)
        assert counts(talk) == (1, 1)


def test_there_is_no_going_on_where_a_rating_is_needed(visit: Visit, tmp_path: Path) -> None:
    with running(elsewhere(tmp_path, "open-clusters", bits=2)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        look(page)
        page.get_by_text("there is none to hide").wait_for()
        assert page.get_by_role("button", name="Go on anyway").count() == 0
        assert page.evaluate(KEPT, "memory open-clusters") is None


def test_the_whole_cost_is_said_before_the_draw_and_that_looking_draws(
    visit: Visit, tmp_path: Path
) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("To look at what would be sent already draws it, and counts it").wait_for()
        said = page.locator("#contribute-more").inner_text()
        assert "epsilon 2 for each rating, 400 for everything" in said
        assert page.evaluate(KEPT, "memory local-reports") is None
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_role("button", name="Send this").wait_for()
        shown = page.locator("#contribute-more").inner_text()
        assert "Only the lowest and the highest rating are ever sent." in shown
        assert "1 report drawn: epsilon 2 for each rating, 400 for all of them together." in shown
        page.get_by_role("button", name="Not now").click()
        page.get_by_text("What was drawn stays as it is, and counted.").wait_for()
        page.get_by_role("switch", name="Contribute").click()
        page.get_by_text("costs nothing").wait_for()
        assert "already draws it" not in page.locator("#contribute-more").inner_text()


def test_what_is_no_limit_is_neither_kept_nor_drawn_beside(visit: Visit, tmp_path: Path) -> None:
    with running(collecting(tmp_path)) as talk:
        page = visit(f"{talk.url}/")
        rate(page, "Quiet Tea", "5 of 5")
        page.get_by_role("switch", name="Contribute").click()
        set_limit(page, "3")
        page.get_by_text("Your limit is epsilon 3 now.").wait_for()
        for wrong in ("-1", "e", "1e999", "much"):
            set_limit(page, wrong)
            page.get_by_text("A limit is an epsilon from 0 on; this one is not kept.").wait_for()
            page.get_by_role("button", name="Show what would be sent").click()
            assert page.evaluate(KEPT, "limit") == 3
            assert page.evaluate(KEPT, "memory local-reports") is None
        set_limit(page, "")
        page.get_by_text("There is no limit now.").wait_for()
        assert page.evaluate(KEPT, "limit") is None
        set_limit(page, "0")
        page.get_by_role("button", name="Show what would be sent").click()
        page.get_by_text("past your limit of 0").wait_for()
        assert page.evaluate(KEPT, "memory local-reports") is None


def set_limit(page: Any, text: str) -> None:
    """As a person types it."""
    field = page.get_by_label("Never tell more than epsilon")
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.type(text)
    field.blur()


def test_a_formula_with_two_names_is_listed_once(visit: Visit, plain: Talk) -> None:
    page = visit(f"{plain.url}/")
    listed = page.locator("#predictor option").all_text_contents()
    assert listed == ["svd", "knn"]
