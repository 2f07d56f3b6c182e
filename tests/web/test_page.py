"""The page in a real browser: rate, see recommendations change, keep, import and export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from serve._running import Talk
from web._films import (
    LEARNT,
    NASTY,
    TITLES,
    about,
    hold,
    own,
    predictor,
    rate,
    recommended,
    wait_held,
    wait_kept,
    wait_ready,
)

Visit = Callable[..., Any]


def test_recommendations_follow_the_stars_at_once(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    assert "in general" in page.locator("#you-said").inner_text()
    order = "Ordered by popularity and how likely you are to like each title."
    assert page.locator("#order").inner_text() == order
    before = recommended(page)
    rate(page, "Quiet Rain", "5 of 5")
    after = recommended(page)
    assert after != before
    assert all("Quiet" in title for title in after)
    assert "Quiet Rain" not in after
    assert page.locator("#you-news").inner_text() == f"Now at the top: {after[0]}"
    said = page.locator("#you-said")
    assert said.inner_text() == "Mostly because you liked Quiet Rain"
    # A reason that all share is said once.
    assert page.locator("#recommended .because").count() == 0
    rate(page, "Quiet Rain", "1 of 5")
    assert not any("Quiet" in title for title in recommended(page))
    assert said.inner_text() == "Mostly because you did not like Quiet Rain"
    page.get_by_role("button", name="Remove your rating of Quiet Rain").click()
    assert recommended(page) == before
    assert own(page) == {}


def test_everything_can_be_done_with_the_keyboard(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    page.get_by_label("Look for a title").focus()
    page.keyboard.type("quiet tea")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert own(page) == {"Quiet Tea": "1"}
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert own(page) == {"Quiet Tea": "5"}
    focused = "document.activeElement.closest('#results') && document.activeElement.value"
    assert page.evaluate(focused) == "5"
    assert (
        page.evaluate("getComputedStyle(document.activeElement.parentNode).outlineStyle") != "none"
    )
    assert all("Quiet" in title for title in recommended(page))
    page.keyboard.press("Delete")
    assert own(page) == {}
    assert page.evaluate("!!document.activeElement.closest('#results')")


def test_a_recommendation_can_be_rated_where_it_is(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    row = page.locator("#recommended > li").nth(2)
    title = row.locator(".title").inner_text()
    row.get_by_title("2 of 5").click()
    assert own(page) == {title: "2"}
    # It stays under the finger until the person goes elsewhere.
    assert recommended(page)[2] == title
    row.get_by_title("4 of 5").click()
    assert own(page) == {title: "4"}
    page.get_by_label("Look for a title").focus()
    page.locator("#recommended .rated").wait_for(state="detached")
    assert title not in recommended(page)


def test_a_reload_keeps_ratings_and_the_choice_of_predictor(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    rate(page, "Alien Ants", "2 of 5")
    rate(page, "Quiet Tea", "4 of 5")
    predictor(page).select_option("knn")
    page.locator("#recommended:not([aria-busy])").wait_for()
    before = recommended(page)
    page.reload()
    wait_ready(page)
    assert own(page) == {"Alien Ants": "2", "Quiet Tea": "4"}
    assert predictor(page).input_value() == "knn"
    assert recommended(page) == before


def test_what_is_chosen_is_kept_even_if_one_leaves_before_it_is_there(
    plain: Talk, visit: Visit
) -> None:
    page = visit(f"{plain.url}/", allow="Failed to load resource")
    hold(page, "**/knn.js")
    rate(page, "Quiet Tea", "4 of 5")
    predictor(page).select_option("knn")
    # Its script is on its way, and the person is gone.
    page.reload()
    page.unroute("**/knn.js")
    page.reload()
    wait_ready(page)
    assert predictor(page).input_value() == "knn"
    assert own(page) == {"Quiet Tea": "4"}


ARRIVED = "end => performance.getEntriesByType('resource').some(e => e.name.endsWith(end))"


def test_of_two_choices_the_last_counts_whichever_is_there_first(plain: Talk, visit: Visit) -> None:
    page = visit("about:blank", ready=False)
    # It comes with the release, which is not held up for long.
    held = hold(page, "**/knn.js")
    page.goto(f"{plain.url}/")
    wait_ready(page)
    rate(page, "Quiet Tea", "4 of 5")
    by_svd = recommended(page)
    predictor(page).select_option("knn")
    predictor(page).select_option("svd")
    page.locator("#recommended:not([aria-busy])").wait_for()
    wait_held(page, held).continue_()
    page.wait_for_function(ARRIVED, arg="/predict/knn.js")
    page.wait_for_timeout(300)
    assert predictor(page).input_value() == "svd"
    assert recommended(page) == by_svd
    assert page.evaluate("performance.getEntriesByName('rerank').length") == 3


def test_own_ratings_stay_in_their_order(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    for title in ("Quiet Tea", "Alien Ants", "Quiet Rain", "Alien Bees"):
        rate(page, title, "4 of 5")
    # One that is changed stays where it is, one that is given again is the newest.
    rate(page, "Alien Ants", "2 of 5")
    page.get_by_role("button", name="Remove your rating of Quiet Tea").click()
    rate(page, "Quiet Tea", "3 of 5")
    order = ["Quiet Tea", "Alien Bees", "Quiet Rain", "Alien Ants"]
    assert list(own(page)) == order
    page.reload()
    wait_ready(page)
    assert list(own(page)) == order
    rate(page, "Quiet Évening", "1 of 5")
    assert list(own(page)) == ["Quiet Évening", *order]
    other = visit(f"{plain.url}/", context=page.context)
    assert list(own(other)) == list(own(page))


def test_two_tabs_show_the_same(plain: Talk, visit: Visit) -> None:
    first = visit(f"{plain.url}/")
    second = visit(f"{plain.url}/", context=first.context)
    rate(first, "Quiet Tea", "5 of 5")
    second.wait_for_selector("#own > li")
    assert own(second) == {"Quiet Tea": "5"}
    assert recommended(second) == recommended(first)


def test_the_search_needs_no_accents_and_all_words(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    page.get_by_label("Look for a title").fill("evening QUIET")
    assert page.locator("#results .title").all_inner_texts() == ["Quiet Évening"]
    page.get_by_label("Look for a title").fill("quiet")
    found = page.locator("#results .title").all_inner_texts()
    assert found == TITLES[1:16:2]
    assert "100 titles found" in page.locator("#found").inner_text()
    page.get_by_label("Look for a title").fill("nothing like it")
    assert "0 titles" in page.locator("#found").inner_text()


def test_titles_are_text_whatever_they_contain(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    rate(page, NASTY, "3 of 5")
    assert own(page) == {NASTY: "3"}
    assert page.locator("main img").count() == 0
    assert page.title() == "discreet: recommendations on your device"


def test_ratings_go_out_as_csv_and_come_back(plain: Talk, visit: Visit, tmp_path: Path) -> None:
    page = visit(f"{plain.url}/")
    for title, stars in ((NASTY, "3 of 5"), ("Quiet Évening", "5 of 5")):
        rate(page, title, stars)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    quoted = NASTY.replace('"', '""')
    lines = file.read_text("utf-8").splitlines()
    assert sorted(lines) == sorted(["id,title,rating", f'f4,"{quoted}",3', "f5,Quiet Évening,5"])
    kept, shown = own(page), recommended(page)
    other = visit(f"{plain.url}/")
    other.locator("#file").set_input_files(file)
    other.wait_for_selector("#own > li >> nth=1")
    assert (own(other), recommended(other)) == (kept, shown)


WRONG_FILES: list[tuple[str | bytes, str]] = [
    ("Quiet Tea,4\nAlien Ants,9\n", "Line 2: the rating is not on the scale from 1 to 5"),
    ("id,rating\nf1,four\n", "Line 2 needs a title and a number"),
    ('id,rating\n"f1,4\n', "Line 2 has a quotation mark in a wrong place"),
    ("", "The file is empty"),
    (b"\xff\xfe", "not UTF-8"),
]


def test_a_csv_file_is_read_whole_or_refused_with_a_reason(
    plain: Talk, visit: Visit, tmp_path: Path
) -> None:
    page = visit(f"{plain.url}/")
    for content, said in WRONG_FILES:
        read_csv(page, content, said)
        assert own(page) == {}
    with (tmp_path / "large.csv").open("wb") as large:
        large.truncate(5 << 20)
    page.locator("#file").set_input_files(tmp_path / "large.csv")
    page.locator("#csv-said", has_text="larger than 4 MB").wait_for()
    read_csv(page, "title;stars\nQuiet Tea;4\nNo such film;1\n", "1 rating read. 1 title not")
    assert own(page) == {"Quiet Tea": "4"}


def read_csv(page: Any, content: str | bytes, said: str) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    file = {"name": "mine.csv", "mimeType": "text/csv", "buffer": raw}
    page.locator("#file").set_input_files(file)
    page.locator("#csv-said", has_text=said).wait_for()


def test_the_panel_says_what_the_release_promises(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    known = about(plain.url)
    told = page.locator("#guarantee").inner_text()
    # First what it means, then the mathematics.
    assert "Nobody can read" in told or "This file" in told
    assert "epsilon" not in told
    page.get_by_text("The mathematics").click()
    told = page.locator("#guarantee").inner_text()
    assert known["guarantee"]["words"] in " ".join(told.split())
    assert known["sha256"][:16] in told
    assert "not the arithmetic" in told
    assert LEARNT[0] in told and LEARNT[1] in told


def test_forgetting_leaves_nothing_behind(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/", worker=True)
    rate(page, "Quiet Tea", "5 of 5")
    wait_kept(page)
    assert page.evaluate(KEPT) == [1, 3, 1]
    page.get_by_role("button", name="Forget everything").first.click()
    page.get_by_role("button", name="Keep it").click()
    assert own(page) == {"Quiet Tea": "5"}
    page.get_by_role("button", name="Forget everything").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Forget everything").click()
    page.wait_for_selector("html[data-ready=forgotten]")
    assert page.evaluate(KEPT) == [0, 0, 0]
    assert (
        page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    )
    assert page.locator("#main").count() == 0
    assert not page.locator("#bar").is_visible()
    page.reload()
    wait_ready(page)
    assert own(page) == {}


KEPT = """Promise.all([
  indexedDB.databases(), caches.keys(), navigator.serviceWorker.getRegistrations(),
]).then(all => all.map(each => each.length))"""
