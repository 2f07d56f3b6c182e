"""The privacy panel shows the key that signed the release, if the signature holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.release import sign
from discreet.serve import Settings
from serve._running import FREE, running
from web._films import film_release, wait_ready

Visit = Callable[..., Any]


def test_the_key_is_shown_where_the_signature_holds(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    film_release().save(path)
    made = sign(path, tmp_path / "curator.key")
    with running(Settings(path, **FREE)) as talk:
        page = visit(f"{talk.url}/")
        wait_ready(page)
        assert made.public_key in page.locator("#guarantee").text_content()
        # Asked again, it has not changed; who signed it is said all the same.
        page.reload()
        wait_ready(page)
        assert made.public_key in page.locator("#guarantee").text_content()

        def forge(route: Any) -> None:
            answer = route.fetch()
            forged = f"{made.public_key} {'0' * 128}"
            route.fulfill(response=answer, headers=answer.headers | {"discreet-signature": forged})

        page.route("**/v1/release", forge)
        page.reload()
        wait_ready(page)
        assert made.public_key not in page.locator("#guarantee").text_content()


def test_a_release_without_a_signature_has_no_key(visit: Visit, plain: Any) -> None:
    page = visit(f"{plain.url}/")
    wait_ready(page)
    assert "signed with this key" not in page.locator("#guarantee").text_content()
