"""Rating never runs dry, what was done can be undone, and the way to what comes of it stays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from serve._running import Talk
from web._films import TITLES, own, recommended, wait_ready, wait_until

Visit = Callable[..., Any]
PHONE = {"width": 360, "height": 740}
# A rated row stays for less than this, in milliseconds, and then goes.
LONG = 1500


def titles(page: Any) -> list[str]:
    return list(page.locator("#results .title").all_inner_texts())


def wait_titles(page: Any, expected: list[str]) -> None:
    wait_until(page, lambda: titles(page) == expected, f"the titles are not {expected}")


def star(page: Any, row: int, stars: str) -> None:
    page.locator("#results > li").nth(row).get_by_title(stars).click()


def test_what_is_rated_or_not_known_makes_room_and_can_be_undone(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    first = TITLES[:6]
    assert titles(page) == first
    star(page, 1, "4 of 5")
    # In the same place, so that a finger can stay where it is.
    wait_titles(page, [first[0], TITLES[6], *first[2:]])
    assert page.locator("#done").inner_text() == "Quiet Tea: 4 of 5"
    page.get_by_role("button", name=f"Don't know it: {TITLES[6]}", exact=True).click()
    wait_titles(page, [first[0], TITLES[7], *first[2:]])
    assert page.evaluate("!!document.activeElement.closest('#results > li:nth-child(2)')")
    page.get_by_role("button", name="Not for me: Quiet Rain", exact=True).first.click()
    wait_titles(page, [first[0], TITLES[7], first[2], TITLES[8], *first[4:]])
    assert own(page) == {"Quiet Rain": "2", "Quiet Tea": "4"}
    # Neither comes again; what is not known can still be recommended.
    page.reload()
    wait_ready(page)
    assert titles(page) == [first[0], first[2], *first[4:], *TITLES[7:9]]
    page.get_by_role("button", name="Remove your rating of Quiet Rain").click()
    page.locator("#done", has_text="Quiet Rain: rating removed").wait_for()
    page.get_by_role("button", name="Undo").click()
    assert list(own(page).items()) == [("Quiet Rain", "2"), ("Quiet Tea", "4")]
    assert page.locator("#done").inner_text() == "Undone."
    assert not page.get_by_role("button", name="Undo").is_visible()


def test_steps_are_undone_one_by_one(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    before = recommended(page)
    star(page, 0, "5 of 5")
    star(page, 1, "2 of 5")
    wait_titles(page, [*TITLES[6:8], *TITLES[2:6]])
    hidden = recommended(page)[0]
    page.get_by_role("button", name=f"Hide: {hidden}", exact=True).click()
    assert hidden not in recommended(page)
    undo = page.get_by_role("button", name="Undo")
    undo.click()
    assert recommended(page)[0] == hidden
    undo.click()
    undo.click()
    assert own(page) == {}
    assert recommended(page) == before
    assert titles(page) == TITLES[:6]
    assert page.evaluate("document.activeElement.id") == "rate-title"
    page.reload()
    wait_ready(page)
    assert own(page) == {}


def test_a_row_stays_while_the_keyboard_is_at_work_there(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    page.locator("#results input").first.focus()
    page.keyboard.press("Space")
    page.wait_for_timeout(LONG)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert titles(page) == TITLES[:6]
    assert own(page) == {TITLES[0]: "4"}
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    wait_titles(page, [TITLES[6], *TITLES[1:6]])
    assert page.evaluate("!!document.activeElement.closest('#results > li:nth-child(2)')")


def test_a_recommendation_that_was_rated_by_mouse_goes(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/")
    title = recommended(page)[1]
    page.get_by_role("button", name=f"Not for me: {title}", exact=True).last.click()
    page.locator("#recommended .title", has_text=title).wait_for(state="detached")
    assert own(page) == {title: "2"}
    assert len(recommended(page)) == 10


IN_SIGHT = """id => {
  const { top, bottom } = document.getElementById(id).getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}"""


def test_on_a_phone_the_way_to_ones_own_stays_in_sight(plain: Talk, visit: Visit) -> None:
    page = visit(f"{plain.url}/", viewport=PHONE, has_touch=True)
    see = page.locator("#see")
    assert not page.locator("#bar").is_visible()
    star(page, 0, "5 of 5")
    assert see.inner_text() == "1 title rated: see your list"
    assert page.evaluate(IN_SIGHT, "see")
    assert not page.evaluate(IN_SIGHT, "for-you")
    # However long a title is, and on the smallest phones.
    page.locator("#done").evaluate("said => (said.textContent = 'A Very Long Title '.repeat(9))")
    for width in (320, PHONE["width"]):
        page.set_viewport_size({**PHONE, "width": width})
        box = page.locator("#undo").bounding_box()
        assert box["x"] + box["width"] <= width
    # One line.
    assert see.bounding_box()["height"] < 60
    see.click()
    assert page.evaluate("document.activeElement.id") == "you-title"
    page.wait_for_function(IN_SIGHT, arg="you-title")
    page.locator("#see", has_text="Rate more").wait_for()
    see.click()
    page.wait_for_function(IN_SIGHT, arg="rate-title")
    page.locator("#see", has_text="1 title rated").wait_for()
    page.reload()
    wait_ready(page)
    assert see.inner_text() == "1 title rated: see your list"
    # On a desktop what comes of it is beside what is rated.
    page.set_viewport_size({"width": 1200, "height": 800})
    assert not see.is_visible()
    assert not page.locator("#bar").is_visible()


def test_there_is_something_to_look_at_and_a_compact_view_without_it(
    plain: Talk, visit: Visit
) -> None:
    page = visit(f"{plain.url}/")
    tiles = page.locator("#recommended .tile")
    assert tiles.count() == 10
    letters = page.locator("#recommended .tile b").all_inner_texts()
    assert letters == [re.search(r"\w", title)[0].upper() for title in recommended(page)]
    # One colour a title, wherever it is shown, and more than one in a list.
    hues = "all => all.map(tile => tile.style.getPropertyValue('--hue'))"
    assert len(set(tiles.evaluate_all(hues))) > 2
    # Stars in part, as many as the number beside them says.
    parts = page.locator("#recommended .expected").evaluate_all(
        "all => all.map(each => [parseFloat(each.textContent),"
        " parseFloat(each.firstChild.style.getPropertyValue('--part'))])"
    )
    assert len(parts) == 10
    assert all(abs(shown - part / 20) <= 0.051 for shown, part in parts)
    tall = page.locator("#recommended > li").first.bounding_box()["height"]
    page.get_by_label("Compact").check()
    assert not tiles.first.is_visible()
    assert page.locator("#recommended > li").first.bounding_box()["height"] < tall
    page.reload()
    wait_ready(page)
    assert page.get_by_label("Compact").is_checked()
    assert not tiles.first.is_visible()
