"""Without a connection: the page comes from the worker, the release from the cache."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from discreet.release import Release
from discreet.serve import Settings, _page
from discreet.serve._published import answer
from serve._running import FREE, running
from vectors.make_predictions import releases
from web._films import (
    film_release,
    own,
    predictor,
    rate,
    recommended,
    wait_kept,
    wait_ready,
    wait_version,
)

Visit = Callable[..., Any]
WEB = Path(__file__).resolve().parents[2] / "web"
COPIES = "caches.keys().then(all => all.filter(name => name.startsWith('discreet page')))"
NO_ANSWER = "ERR_CONNECTION_REFUSED"


def test_the_page_works_after_the_service_is_gone(visit: Visit, films: Path) -> None:
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True, allow=NO_ANSWER)
        rate(page, "Quiet Tea", "5 of 5")
        before = recommended(page)
        wait_kept(page)
    rate(page, "Quiet Tea", "1 of 5")
    assert recommended(page) != before
    page.reload()
    wait_ready(page)
    assert "You are offline" in page.locator("#notice").inner_text()
    assert own(page) == {"Quiet Tea": "1"}
    assert not any("Quiet" in title for title in recommended(page))
    rate(page, "Quiet Tea", "5 of 5")
    assert recommended(page) == before
    again = visit(f"{talk.url}/", context=page.context, allow=NO_ANSWER)
    assert recommended(again) == before


def test_a_new_release_takes_the_old_ones_place(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "films.discreet"
    film_release(seed=1).save(path, overwrite=True)
    with running(Settings(path, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True)
        wait_kept(page)
        first = page.locator("#guarantee").text_content()
    film_release(seed=2).save(path, overwrite=True)
    with running(Settings(path, **FREE), talk.url):
        page.reload()
        wait_ready(page)
        assert page.locator("#guarantee").text_content() != first
        assert (
            page.evaluate(
                "caches.open('discreet release /').then(async c => (await c.keys()).length)"
            )
            == 1
        )


def releases_by_method() -> dict[str, Release]:
    return {each.method: each for each in releases().values()}


def visited(visit: Visit, release: Release, path: Path, allow: str) -> tuple[Any, str]:
    """A page that keeps a release, and its address; the service is gone again."""
    release.save(path, overwrite=True)
    with running(Settings(path, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True, allow=allow)
        wait_kept(page)
    return page, talk.url


def empty_http_cache(page: Any) -> None:
    """What browsers keep by themselves, and throw away when they like."""
    page.context.new_cdp_session(page).send("Network.clearBrowserCache")


def check_offline(page: Any) -> None:
    """Every predictor of the release works without a connection."""
    empty_http_cache(page)
    page.reload()
    wait_ready(page)
    assert "You are offline" in page.locator("#notice").inner_text()
    choices = page.locator("#predictor option").evaluate_all("all => all.map(one => one.value)")
    for name in choices[1:] + choices[:1]:
        if len(choices) > 1:
            predictor(page).select_option(name)
        page.locator("#recommended:not([aria-busy]) > li").first.wait_for()


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "after a while"])
@pytest.mark.parametrize("method", ["closed-clusters", "covariance", "open-clusters"])
def test_a_release_of_another_kind_works_offline_too(
    visit: Visit, tmp_path: Path, method: str, at_once: bool
) -> None:
    made, path = releases_by_method(), tmp_path / "made.discreet"
    page, url = visited(visit, made["slope-one"], path, NO_ANSWER)
    made[method].save(path, overwrite=True)
    with running(Settings(path, **FREE), url):
        page.reload()
        wait_ready(page)
        if not at_once:
            wait_version(page)
            page.wait_for_load_state("networkidle")
    check_offline(page)


def test_a_release_that_there_is_no_room_for_leaves_the_one_before_with_its_scripts(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = releases_by_method(), tmp_path / "made.discreet"
    page, url = visited(visit, made["covariance"], path, NO_ANSWER)
    made["cosine"].save(path, overwrite=True)
    two = version_of(tmp_path, "two")
    monkeypatch.setattr(_page, "find_page", lambda: two)
    page.add_init_script("Cache.prototype.put = () => Promise.reject(new Error('no room'))")
    with running(Settings(path, **FREE), url):
        page.reload()
        wait_ready(page)
        assert page.locator("#how").is_hidden()
        wait_version(page)
    check_offline(page)
    assert page.evaluate(SEEN) == "two"
    assert page.locator("#how").is_visible()


def test_scripts_that_went_missing_are_kept_again(visit: Visit, films: Path) -> None:
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True, allow=NO_ANSWER)
        wait_kept(page)
        empty_http_cache(page)
        assert page.evaluate(DELETED) > 2
        page.reload()
        wait_ready(page)
    check_offline(page)


def test_a_predictor_that_cannot_be_loaded_leaves_the_others(visit: Visit, films: Path) -> None:
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", allow="Failed to load resource")
        predictor(page).select_option("knn")
        page.locator("#recommended:not([aria-busy]) > li").first.wait_for()
        page.route("**/knn.js", lambda route: route.abort("connectionreset"))
        empty_http_cache(page)
        page.reload()
        wait_ready(page)
        assert predictor(page).input_value() != "knn"
        assert page.locator("#recommended > li").count() == 10


def version_of(folder: Path, name: str) -> Path:
    """A copy of the page in which every script says which version it is of."""
    shutil.copytree(WEB, folder / name)
    for path in (folder / name / "js").rglob("*.js"):
        with path.open("a") as script:
            script.write(f'(globalThis.versions ??= []).push("{name}");\n')
    return folder / name


DELETED = """caches.keys().then(names => Promise.all(names.map(async name => {
  const cache = await caches.open(name);
  const urls = (await cache.keys()).map(one => one.url).filter(url => /posterior|knn/.test(url));
  return (await Promise.all(urls.map(url => cache.delete(url)))).length;
})).then(counts => counts.reduce((sum, one) => sum + one)))"""
UPDATED = """() => navigator.serviceWorker.getRegistration()
  .then(found => found.update().then(() => new Promise(done => setTimeout(done, 500))))"""
SEEN = "[...new Set(globalThis.versions)].join()"


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "no worker"])
def test_a_page_never_has_scripts_of_two_versions(
    visit: Visit, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: bool
) -> None:
    one, two = version_of(tmp_path, "one"), version_of(tmp_path, "two")
    monkeypatch.setattr(_page, "find_page", lambda: one)
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=worker, allow="Failed to load resource")
        rate(page, "Quiet Tea", "5 of 5")
        if worker:
            wait_kept(page)
    monkeypatch.setattr(_page, "find_page", lambda: two)
    with running(Settings(films, **FREE), talk.url):
        # What is loaded only now is of the version that is open, or not to be had.
        predictor(page).select_option("knn")
        page.locator("#recommended:not([aria-busy])").wait_for()
        with page.expect_download() if worker else nullcontext():
            page.get_by_role("button", name="Save as CSV").click()
        if not worker:
            page.locator("#notice.wrong").wait_for()
        assert page.evaluate(SEEN) == "one"
        page.reload()
        wait_ready(page)
        assert page.evaluate(SEEN) == "two"
        if worker:
            wait_version(page)
    if worker:
        page.reload()
        wait_ready(page)
        assert page.evaluate(SEEN) == "two"
        predictor(page).select_option("svd")
        assert own(page) == {"Quiet Tea": "5"}


def test_a_new_version_is_kept_whole_or_not_at_all(
    visit: Visit, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = version_of(tmp_path, "one"), version_of(tmp_path, "two")
    monkeypatch.setattr(_page, "find_page", lambda: one)
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True, allow="")
        wait_kept(page)
    monkeypatch.setattr(_page, "find_page", lambda: two)
    monkeypatch.setattr(_page, "_UNVERSIONED", ("icon.svg", "no-such-file.svg"))
    with running(Settings(films, **FREE), talk.url):
        page.reload()
        wait_ready(page)
        assert page.evaluate(SEEN) == "two"
        page.evaluate(f"({UPDATED})().catch(() => {{}})")
        assert len(page.evaluate(COPIES)) == 1
    # The old one is whole still.
    page.reload()
    wait_ready(page)
    assert page.evaluate(SEEN) == "one"
    predictor(page).select_option("knn")
    page.locator("#recommended:not([aria-busy])").wait_for()


def test_a_version_that_comes_back_and_is_not_got_whole_leaves_its_old_copy(
    visit: Visit, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {name: version_of(tmp_path, name) for name in ("one", "two")}
    monkeypatch.setattr(_page, "find_page", lambda: versions["one"])
    with running(Settings(films, **FREE)) as talk:
        page = visit(f"{talk.url}/", worker=True, allow="")
        wait_kept(page)
    for name in ("two", "one"):
        monkeypatch.setattr(_page, "find_page", lambda name=name: versions[name])
        if name == "one":
            broken = ("icon.svg", "no-such-file.svg")
            monkeypatch.setattr(_page, "_UNVERSIONED", broken)
        with running(Settings(films, **FREE), talk.url):
            page.reload()
            wait_ready(page)
            assert page.evaluate(SEEN) == name
            if name == "two":
                wait_version(page)
            page.evaluate(f"({UPDATED})().catch(() => {{}})")
    assert len(page.evaluate(COPIES)) == 2
    check_offline(page)


@pytest.mark.parametrize("fails", [False, True], ids=["at once", "its worker fails"])
def test_a_new_version_with_a_release_of_another_kind_is_kept_when_its_worker_is(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Until then the old worker has the old document, and the release that this can read."""
    made, path = releases_by_method(), tmp_path / "made.discreet"
    page, url = visited(visit, made["slope-one"], path, "")
    made["covariance"].save(path, overwrite=True)
    two = version_of(tmp_path, "two")
    monkeypatch.setattr(_page, "find_page", lambda: two)
    if fails:
        monkeypatch.setattr(_page, "_UNVERSIONED", ("icon.svg", "no-such-file.svg"))
    with running(Settings(path, **FREE), url):
        page.reload()
        wait_ready(page)
        if fails:
            page.evaluate(f"({UPDATED})().catch(() => {{}})")
    check_offline(page)


def test_an_old_document_that_cannot_read_a_new_release_goes_on_with_what_it_keeps(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = releases_by_method(), tmp_path / "made.discreet"
    page, url = visited(visit, made["slope-one"], path, "")
    before = recommended(page)
    made["covariance"].save(path, overwrite=True)
    two = version_of(tmp_path, "two")
    monkeypatch.setattr(_page, "find_page", lambda: two)
    asked: list[str] = []

    def refuse_documents(found: Any, *args: Any, **told: Any) -> Any:
        asked.append(found.media_type)
        if asked.count("text/html; charset=utf-8") == 1 and "html" in found.media_type:
            return Response(status_code=502)
        return answer(found, *args, **told)

    with running(Settings(path, **FREE), url):
        monkeypatch.setattr(_page, "answer", refuse_documents)
        page.reload()
        wait_ready(page)
        assert asked[0] == "text/html; charset=utf-8"
        assert page.evaluate(SEEN) == ""
        assert recommended(page) == before != []
        wait_version(page)
        page.reload()
        wait_ready(page)
        assert page.evaluate(SEEN) == "two"
        assert page.locator("#how").is_visible()


def test_where_the_release_cannot_be_had_nobody_sees_which_predictor_is_chosen(
    visit: Visit, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change of version, when scripts are asked for anew."""
    with running(Settings(films, **FREE)) as talk:
        pages = [visit(f"{talk.url}/", allow="") for _ in range(2)]
        predictor(pages[0]).select_option("knn")
        pages[0].locator("#recommended:not([aria-busy]) > li").first.wait_for()
    two = version_of(tmp_path, "two")
    monkeypatch.setattr(_page, "find_page", lambda: two)
    seen: list[list[str]] = []
    with running(Settings(films, **FREE), talk.url):
        for page in pages:
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.route("**/v1/release", lambda route: route.fulfill(status=503, json={}))
            page.reload()
            wait_ready(page)
            page.wait_for_load_state("networkidle")
            seen.append(sorted(url for url in asked if "/js/predict/" in url))
    assert seen[0] == seen[1]
    assert any(url.endswith("knn.js") for url in seen[0])
