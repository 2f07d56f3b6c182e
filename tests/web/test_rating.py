"""The control that rates: by mouse, by keyboard, and as a screen reader hears it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from discreet.domain import PRESENCE, Scale
from serve._running import Talk, running
from web._films import own, recommended
from web.test_looks import serving

Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def continuous(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    settings = serving(tmp_path_factory.mktemp("slider"), Scale(-10, 10, None))
    with running(settings) as talk:
        yield talk


def heard(page: Any, selector: str) -> dict[str, Any]:
    """The control as the browser hands it to a screen reader."""
    client = page.context.new_cdp_session(page)
    root = client.send("DOM.getDocument")["root"]["nodeId"]
    node = client.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
    found = client.send("Accessibility.getPartialAXTree", {"nodeId": node, "fetchRelatives": False})
    whole = found["nodes"][0]
    told = {each["name"]: each["value"].get("value") for each in whole.get("properties", [])}
    named = {name: whole[name]["value"] for name in ("role", "name", "value") if name in whole}
    return told | named


def look_up(page: Any, title: str) -> None:
    page.get_by_label("Look for a title").fill(title)


def shown(page: Any) -> list[str]:
    # The text as it is, whether or not the browser has laid the new row out yet.
    return list(page.locator("#own output").all_text_contents())


SLIDER = "#results input"


def test_a_slider_rates_the_middle_by_a_click(visit: Visit, continuous: Talk) -> None:
    page = visit(f"{continuous.url}/")
    look_up(page, "quiet tea")
    slider = page.locator(SLIDER)
    assert slider.input_value() == "0"
    assert shown(page) == []
    slider.click()
    page.locator("#own > li").wait_for()
    assert shown(page) == ["0"]


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_slider_rates_the_middle_by_a_key(visit: Visit, continuous: Talk, key: str) -> None:
    page = visit(f"{continuous.url}/")
    look_up(page, "quiet tea")
    page.locator(SLIDER).focus()
    page.keyboard.press(key)
    assert shown(page) == ["0"]
    page.keyboard.press("End")
    assert shown(page) == ["10"]
    assert page.evaluate("performance.getEntriesByName('rerank').length") == 3


def test_a_slider_says_what_it_stands_for(visit: Visit, continuous: Talk) -> None:
    page = visit(f"{continuous.url}/")
    look_up(page, "quiet tea")
    text = "node => node.getAttribute('aria-valuetext')"
    slider = page.locator(SLIDER)
    assert (heard(page, SLIDER)["role"], heard(page, SLIDER)["name"]) == (
        "slider",
        "Rate Quiet Tea",
    )
    assert slider.evaluate(text) == "not rated"
    slider.focus()
    page.keyboard.press("End")
    assert slider.evaluate(text) == "10 of 10"
    page.keyboard.press("PageDown")
    assert slider.evaluate(text) == "8 of 10"
    assert shown(page) == ["8"]
    assert page.locator("#own input").evaluate(text) == "8 of 10"


@pytest.mark.parametrize("key", ["Delete", "Backspace"])
def test_a_slider_lets_a_rating_be_taken_back(visit: Visit, continuous: Talk, key: str) -> None:
    page = visit(f"{continuous.url}/")
    before = recommended(page)
    look_up(page, "quiet tea")
    page.locator(SLIDER).focus()
    page.keyboard.press("End")
    assert shown(page) == ["10"]
    page.keyboard.press(key)
    assert shown(page) == []
    assert recommended(page) == before
    assert page.locator(SLIDER).get_attribute("aria-valuetext") == "not rated"
    assert page.locator("#results output").inner_text() == "–"
    assert page.locator(SLIDER).evaluate("node => node === document.activeElement")
    # And it can be given again, the same one too.
    page.keyboard.press("End")
    assert shown(page) == ["10"]


def test_stars_are_a_group_of_radio_buttons_that_delete_empties(visit: Visit, plain: Talk) -> None:
    page = visit(f"{plain.url}/")
    look_up(page, "quiet tea")
    group, star = "#results fieldset", "#results input[value='4']"
    assert (heard(page, group)["role"], heard(page, group)["name"]) == ("group", "Rate Quiet Tea")
    told = heard(page, star)
    assert (told["role"], told["name"], told["checked"]) == ("radio", "4 of 5", "false")
    page.locator(star).check()
    assert heard(page, star)["checked"] == "true"
    assert own(page) == {"Quiet Tea": "4"}
    assert page.locator(group).get_attribute("aria-keyshortcuts") == "Delete"
    page.keyboard.press("Delete")
    assert own(page) == {}
    assert heard(page, star)["checked"] == "false"


def test_a_toggle_is_called_by_what_it_shows(visit: Visit, tmp_path: Any) -> None:
    with running(serving(tmp_path, PRESENCE, global_mean=-3.0)) as talk:
        page = visit(f"{talk.url}/")
        look_up(page, "quiet tea")
        button = page.locator("#results .rater button")
        told = heard(page, "#results .rater button")
        assert told["role"] == "button"
        # Who says what they see to their machine means this one.
        assert told["name"] == f"{button.inner_text()}: Quiet Tea"
        assert told["pressed"] == "false"
        button.focus()
        page.keyboard.press("Delete")
        assert page.locator("#own > li").count() == 0
        page.keyboard.press("Space")
        assert heard(page, "#results .rater button")["pressed"] == "true"
        assert page.locator("#own > li").count() == 1
        page.keyboard.press("Delete")
        assert heard(page, "#results .rater button")["pressed"] == "false"
        assert page.locator("#own > li").count() == 0
