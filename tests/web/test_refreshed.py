"""The release is replaced while people have the page open: they are unharmed, and reload for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from discreet.privacy import PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.serve import Settings, _watch
from serve._running import FREE, TOKEN, running, until
from serve.test_watching import digest_of
from web._films import about, film_release, own, rate, recommended, wait_ready
from web.test_operator import enter

Visit = Callable[..., Any]


@pytest.mark.parametrize("worker", [False, True], ids=["without its worker", "with it"])
def test_an_open_page_keeps_its_release_until_it_is_loaded_again(
    visit: Visit, tmp_path: Path, worker: bool
) -> None:
    file = tmp_path / "films.discreet"
    old = film_release()
    old.save(file, overwrite=True)
    with (
        mock.patch.object(_watch, "LOOK_SECONDS", 0.01),
        running(Settings(file, **FREE)) as talk,
    ):
        page = visit(f"{talk.url}/", worker=worker)
        rate(page, "Quiet Rain", "5 of 5")
        before = recommended(page)
        shown = page.locator("#guarantee").text_content()
        # What was the best is the worst.
        effects = {"item_effects": -old.arrays["item_effects"]}
        replace(old, arrays={**old.arrays, **effects}).save(file, overwrite=True)
        until(lambda: about(talk.url)["sha256"] == digest_of(file))
        # Everything goes on with the model that the page has.
        rate(page, "Quiet Tea", "5 of 5")
        page.get_by_role("button", name="Remove your rating of Quiet Tea").click()
        assert recommended(page) == before
        assert page.locator("#guarantee").text_content() == shown
        page.reload()
        wait_ready(page)
        assert own(page) == {"Quiet Rain": "5"}
        assert digest_of(file)[:16] in page.locator("#guarantee").text_content()
        assert recommended(page) != before


def test_the_operator_never_sees_a_release_before_what_it_cost(
    visit: Visit, tmp_path: Path
) -> None:
    file, path = tmp_path / "films.discreet", tmp_path / "shop.ledger"
    film_release().save(file, overwrite=True)
    film_release(seed=2).save(tmp_path / "next")
    later = digest_of(tmp_path / "next")
    ledger = Ledger.create(path, "customers of the shop", [Limit(Unit.RATING, 5.0, 0.0)])
    event = PureEvent(unit=Unit.RATING, label="sums", epsilon=1.25, mechanism="Laplace")
    settings = Settings(file, admin_token=TOKEN, ledger=path, **FREE)
    with mock.patch.object(_watch, "LOOK_SECONDS", 0.01), running(settings) as talk:
        page = visit(f"{talk.url}/operator", ready=False)
        replaced: list[Any] = []

        def late(route: Any) -> None:
            if not replaced:
                replaced.append(route)
                ledger.charge([event], "the next week")
                (tmp_path / "next").replace(file)
                until(lambda: about(talk.url)["sha256"] == later)
            route.continue_()

        page.route("**/v1/release/about", late)
        enter(page)
        page.get_by_text(later).wait_for()
        page.locator("#ledger").get_by_text("3.75 is left of the limit").wait_for()
