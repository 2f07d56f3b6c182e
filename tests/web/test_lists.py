"""What is recommended, why, what is similar, and what is left out: as Python says, in a browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.domain import PRESENCE, Catalog
from discreet.predict import Recommendations
from discreet.release import Release, load
from discreet.serve import Settings
from serve._running import FREE, Talk, running
from web._films import (
    TITLES,
    film_release,
    list_section,
    own,
    rate,
    recommended,
    wait_ready,
)

Visit = Callable[..., Any]
GENRES = [
    ("Space | insects" if title.startswith("Alien") else "Calm") + ("|Short" if n % 3 == 0 else "")
    for n, title in enumerate(TITLES)
]


def with_lists(method: str) -> Release:
    """The films, with a lists section and columns; as ratings, or as presence alone."""
    films = film_release()
    columns = {"genres": GENRES, "number": [f"{n}" for n in range(len(TITLES))]}
    catalog = Catalog(films.catalog.ids, TITLES, columns=columns)
    section = list_section(len(TITLES))
    if method == "refined":
        return replace(films, method=method, catalog=catalog, arrays={**films.arrays, **section})
    arrays = {"item_counts": films.arrays["item_counts"], **section}
    return replace(
        films, method=method, scale=PRESENCE, catalog=catalog, parameters={}, arrays=arrays
    )


@pytest.fixture(scope="module", params=["refined", "lists"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Talk, Release]]:
    path = tmp_path_factory.mktemp("lists") / "films.discreet"
    with_lists(request.param).save(path)
    with running(Settings(path, **FREE)) as talk:
        yield talk, load(path)


def know(page: Any, title: str, stars: int, presence: bool) -> None:
    """Rate a title, or say that it is known."""
    if not presence:
        return rate(page, title, f"{stars} of 5")
    page.get_by_label("Look for a title").fill(title)
    page.locator("#results").get_by_role("button", name=f"I know it: {title}", exact=True).click()
    return None


def shown(page: Any) -> list[tuple[str, str | None, str | None]]:
    """Title, expected rating and reasons of every recommendation."""
    rows = page.locator("#recommended > li").evaluate_all(
        "rows => rows.map(row => ['.title', '.expected', '.because']"
        ".map(part => row.querySelector(part)?.textContent ?? null))"
    )
    return [(title, stars, why) for title, stars, why in rows]


def listed(texts: list[str]) -> str:
    *first, last = texts
    return ", ".join(first) + ("," if len(first) > 1 else "") + " and " * bool(first) + last


def clauses(titles: list[str], mine: dict[str, int], presence: bool) -> str:
    """What was liked told apart from what was not."""
    if presence:
        return f"know {listed(titles)}"
    kinds = {"liked #": (4, 5), "found # so-so": (3,), "did not like #": (1, 2)}
    found = [
        said.replace("#", listed([title for title in titles if mine[title] in stars]))
        for said, stars in kinds.items()
        if any(mine[title] in stars for title in titles)
    ]
    return listed(found)


def said(
    found: Recommendations, mine: dict[str, int], presence: bool
) -> tuple[str, list[tuple[str, str | None, str | None]]]:
    """The same as Python has it: what most have in common, and beside each title what differs.

    Reasons that weigh little beside the first are left out.
    """
    worth = [
        [title for title, amount in one.because if amount >= 0.3 * one.because[0][1]]
        for one in found
    ]
    explained = [reasons for reasons in worth if reasons]
    counts = Counter(chain(*explained))
    most = len(explained) > 1 and 0.75 * len(explained)
    shared = [title for title in dict.fromkeys(chain(*explained)) if most and counts[title] >= most]
    rows = []
    for one, reasons in zip(found, worth, strict=True):
        own = [title for title in reasons if title not in shared]
        stars = None if one.expected is None else f"{one.expected:.1f} of 5"
        rows.append((one.title, stars, f"You {clauses(own, mine, presence)}" if own else None))
    return f"Mostly because you {clauses(shared, mine, presence)}" if shared else "", rows


PEOPLE: list[dict[str, int]] = [
    {},
    {"Quiet Tea": 5},
    {"Quiet Tea": 1, "Quiet Rain": 5},
    {"Alien Ants": 4, "Alien Bees": 5, "Quiet Tea": 2, "Alien Number 150": 3},
]


@pytest.mark.parametrize("person", PEOPLE, ids=["nobody", "one", "two", "four"])
def test_order_expected_ratings_and_reasons_are_pythons(
    served: tuple[Talk, Release], visit: Visit, person: dict[str, int]
) -> None:
    talk, release = served
    presence = release.scale.presence
    page = visit(f"{talk.url}/")
    for title, stars in person.items():
        know(page, title, stars, presence)
    mine = {title: 1 if presence else stars for title, stars in person.items()}
    found = release.predictor().recommend(mine, 10, explain=True)
    why, right = said(found, mine, presence)
    assert shown(page) == right
    head = page.locator("#you-said").inner_text()
    if person:
        assert head == why
    # Somebody without a history is given no reasons, and nobody is shown a chance.
    assert bool(why or any(why for *_, why in right)) == bool(person)
    assert "%" not in page.locator("#for-you").inner_text()


def test_similar_titles_are_pythons(served: tuple[Talk, Release], visit: Visit) -> None:
    talk, release = served
    page = visit(f"{talk.url}/")
    page.get_by_label("Look for a title").fill("quiet tea")
    page.locator("#results").get_by_role("button", name="Similar: Quiet Tea").click()
    right = [one.title for one in release.predictor().similar("Quiet Tea", 8)]
    assert page.locator("#results .title").all_inner_texts() == right
    assert page.locator("#found").inner_text() == "Similar to Quiet Tea:"
    assert page.evaluate("document.activeElement.id") == "found"
    assert page.get_by_label("Look for a title").input_value() == ""
    # They can be rated where they are, and a search takes their place.
    know(page, right[0], 4, release.scale.presence)
    assert list(own(page)) == [right[0]]
    page.get_by_label("Look for a title").fill("")
    assert "many know" in page.locator("#found").inner_text()
    # Of what is outside the head it is not known what is like it.
    page.get_by_label("Look for a title").fill(TITLES[-1])
    assert page.locator("#results .title").count() == 1
    assert page.get_by_role("button", name=f"Similar: {TITLES[-1]}").count() == 0


def test_a_title_can_be_hidden_and_stays_so(served: tuple[Talk, Release], visit: Visit) -> None:
    talk, release = served
    page = visit(f"{talk.url}/")
    before = recommended(page)
    assert not page.locator("#unhide").is_visible()
    page.get_by_role("button", name=f"Hide: {before[2]}", exact=True).click()
    found = release.predictor().recommend({}, 10, exclude=[before[2]])
    right = [one.title for one in found]
    assert recommended(page) == right
    # The focus is on the same button of what took its place.
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == f"Hide: {right[2]}"
    page.keyboard.press("Enter")
    assert recommended(page)[:3] == [*right[:2], right[3]]
    # It is no rating, and no history.
    assert own(page) == {}
    assert "in general" in page.locator("#you-said").inner_text()
    # Where the focus is nothing moves.
    page.get_by_label("Look for a title").focus()
    other = visit(f"{talk.url}/", context=page.context)
    assert recommended(other) == recommended(page)
    other.get_by_role("button", name="Show hidden titles again").click()
    assert recommended(other) == before
    assert other.evaluate("document.activeElement.id") == "you-title"
    page.locator("#recommended .title", has_text=before[2]).wait_for()
    assert recommended(page) == before
    page.reload()
    wait_ready(page)
    assert recommended(page) == before


def test_lists_are_filtered_by_public_columns(served: tuple[Talk, Release], visit: Visit) -> None:
    talk, release = served
    page = visit(f"{talk.url}/")
    # Two hundred numbers are nothing to choose from.
    assert page.locator("#where select").count() == 1
    choice = page.get_by_label("genres")
    options = choice.locator("option").all_inner_texts()
    assert options == ["any", "Calm", "insects", "Short", "Space"]
    before = recommended(page)
    for value in ("insects", "Short"):
        choice.select_option(label=value)
        found = release.predictor().recommend({}, 10, where={"genres": value})
        assert recommended(page) == [one.title for one in found]
    page.get_by_role("button", name="Similar: Quiet Rain", exact=True).first.click()
    alike = release.predictor().similar("Quiet Rain", 8, where={"genres": "Short"})
    assert page.locator("#results .title").all_inner_texts() == [one.title for one in alike]
    choice.select_option(label="any")
    assert recommended(page) == before


def test_a_release_without_columns_or_rows_offers_neither(visit: Visit, tmp_path: Path) -> None:
    from vectors.make_predictions import releases

    releases()["slope-one"].save(tmp_path / "pairs.discreet")
    with running(Settings(tmp_path / "pairs.discreet", **FREE)) as talk:
        page = visit(f"{talk.url}/")
        assert page.locator("#recommended > li").count() == 10
        assert page.get_by_role("button", name="Similar:").count() == 0
        assert not page.locator("#where").is_visible()


def test_what_was_hidden_is_forgotten_too(served: tuple[Talk, Release], visit: Visit) -> None:
    talk, _ = served
    page = visit(f"{talk.url}/")
    before = recommended(page)
    page.get_by_role("button", name=f"Hide: {before[0]}", exact=True).click()
    page.get_by_role("button", name="Forget everything").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Forget everything").click()
    page.wait_for_selector("html[data-ready=forgotten]")
    page.reload()
    wait_ready(page)
    assert recommended(page) == before


def test_the_section_is_in_sound_shape() -> None:
    """So that the lists above have something to order: most rows point one of two ways."""
    section = list_section(len(TITLES))
    rows = section["list_rows"] * section["list_scales"]
    assert rows.shape == (len(section["list_head"]), 2)
    assert np.all((rows[:, 0] > 0) == (section["list_head"] % 2 == 0))
