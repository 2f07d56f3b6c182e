"""How the page is to look at, to hear and to touch: names, contrast, focus, phones, weight."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from discreet.domain import PRESENCE, Scale
from discreet.release import METHODS, Release
from discreet.serve import Settings
from discreet.serve._page import read_page
from serve._running import FREE, Talk, running
from vectors.make_predictions import releases
from web._films import collecting, film_release, own, predictor, rate, recommended, wait_ready

Visit = Callable[..., Any]
PHONE = {"width": 360, "height": 740}
CONTROLS = {
    "button", "checkbox", "combobox", "link", "radio", "searchbox", "slider", "spinbutton",
    "switch", "textbox",
}  # fmt: skip
MOST_SCRIPT = 110_000
FACTORS, PAIRS = ("predict/posterior.js", "predict/knn.js"), ("predict/pairs.js",)
CLUSTERS, LISTS, MATRIX = ("predict/clusters.js",), ("predict/lists.js",), ("predict/matrix.js",)
PREDICTORS = {
    "refined": FACTORS + LISTS, "lists": LISTS, "covariance": FACTORS + MATRIX,
    "slope-one": PAIRS, "cosine": PAIRS, "open-clusters": CLUSTERS, "closed-clusters": CLUSTERS,
}  # fmt: skip
"""The scripts that a release of each method is read by, if it has all that it may have."""
WEB = Path(__file__).resolve().parents[2] / "web"

# For every text that is seen: its contrast with what is behind it, and what it needs.
CONTRASTS = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if ((colour[3] ?? 1) === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  let seen = 0;
  for (const node of document.querySelectorAll('body *')) {
    const text = [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!text || !node.checkVisibility() || node.closest('.sr, .skip, :disabled')) continue;
    seen += 1;
    const [one, other] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) poor.push([node.textContent.trim().slice(0, 40), contrast]);
  }
  return { seen, poor };
}"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(collecting(tmp_path_factory.mktemp("looks"))) as talk:
        yield talk


def live(page: Any) -> None:
    """Bring everything into view that there is to see."""
    rate(page, "Quiet Tea", "5 of 5")
    page.get_by_role("switch", name="Contribute").click()
    page.get_by_role("button", name="Show what would be sent").click()
    page.get_by_role("button", name="Send this").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_operated_on_a_phone(visit: Visit, busy: Talk, scheme: str) -> None:
    page = visit(f"{busy.url}/", viewport=PHONE, color_scheme=scheme, has_touch=True)
    live(page)
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    told = page.evaluate(CONTRASTS)
    assert told["seen"] > 60
    assert told["poor"] == []
    # What is out of sight in one's own list has no size before it is scrolled to.
    page.locator("#own").scroll_into_view_if_needed()
    sizes = """nodes => nodes.filter(n => n.checkVisibility({ contentVisibilityAuto: true }))
      .map(n => n.getBoundingClientRect())"""
    for box in page.locator("button, .rater label, select, input[type=search]").evaluate_all(sizes):
        assert min(box["width"], box["height"]) >= 24


def test_every_control_has_a_name_and_stars_are_a_group(visit: Visit, busy: Talk) -> None:
    page = visit(f"{busy.url}/")
    live(page)
    client = page.context.new_cdp_session(page)
    nodes = client.send("Accessibility.getFullAXTree")["nodes"]
    seen = [node for node in nodes if not node["ignored"]]
    controls = [node for node in seen if node["role"]["value"] in CONTROLS]
    assert {node["role"]["value"] for node in controls} >= {
        "radio",
        "button",
        "switch",
        "searchbox",
    }
    assert [node for node in controls if not node["name"]["value"].strip()] == []
    groups = [node for node in seen if node["role"]["value"] == "group"]
    assert {node["name"]["value"] for node in groups} >= {"Rate Quiet Tea"}
    headings = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => Number(h.tagName[1]))")
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_the_focus_is_always_seen(visit: Visit, plain: Talk) -> None:
    page = visit(f"{plain.url}/")
    rate(page, "Quiet Tea", "5 of 5")
    predictor(page)
    page.locator(".skip").focus()
    look = """() => {
      const at = document.activeElement;
      const drawn = [at, at.parentElement].some(n => getComputedStyle(n).outlineStyle !== 'none');
      return [at.tagName + (at.id && '#' + at.id), drawn];
    }"""
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        name, drawn = page.evaluate(look)
        if name == "BODY":
            break
        seen.append(name)
        assert drawn, name
    assert {"INPUT#search", "INPUT", "SELECT#predictor", "BUTTON#export", "BUTTON#forget"} <= {
        *seen
    }


def scripts(visit: Visit, url: str, live: Callable[[Any], None]) -> dict[str, int]:
    """The scripts that come over the network while somebody lives on the page, and their sizes."""
    page = visit("about:blank", ready=False)
    answers: list[Any] = []
    page.on("requestfinished", lambda request: answers.append(request.response()))
    page.goto(url)
    wait_ready(page)
    live(page)
    page.wait_for_load_state("networkidle")
    # What has come is told of a little later.
    page.wait_for_timeout(500)
    found = [answer for answer in answers if "javascript" in answer.headers["content-type"]]
    return {answer.url.rpartition("/js/")[2]: len(answer.body()) for answer in found}


def check_light(sizes: dict[str, int], *expected: str) -> None:
    """Under the limit, with the worker's own script; and what should have come has."""
    assert len(sizes) > 10
    assert {"app.js", "release.js", *expected} <= sizes.keys()
    worker = read_page(WEB)["/worker.js"].plain.size
    assert sum(sizes.values()) + worker < MOST_SCRIPT, sizes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("collects", "most"),
    [
        (None, 81_000),
        ("closed-clusters", 81_000),
        ("local-reports", 107_000),
        ("open-clusters", MOST_SCRIPT),
    ],
)
def test_all_that_a_browser_gets_and_keeps_is_light(
    method: str, collects: str | None, most: int
) -> None:
    sizes = {
        path.rpartition("/js/")[2]: each.plain.size
        for path, each in read_page(WEB, collects).items()
        if path.endswith(".js")
    }
    needs = PREDICTORS[method]
    needless = {*chain(*PREDICTORS.values())} - {*needs}
    needless |= {"operator.js", "page/history.js", "predict/vectors.js"}
    assert {"app.js", "release.js", "/worker.js", *needs} <= sizes.keys()
    assert sum(size for name, size in sizes.items() if name not in needless) < most


def test_the_scripts_of_the_plain_page_are_light(visit: Visit, plain: Talk) -> None:
    sizes = scripts(visit, f"{plain.url}/", lambda page: rate(page, "Quiet Tea", "5 of 5"))
    check_light(sizes, *FACTORS)
    # What is not needed has not come.
    others = {*PAIRS, *CLUSTERS, *LISTS, *MATRIX, "page/csv.js", "page/contribute.js"}
    assert not others & sizes.keys()

    def live_more(page: Any) -> None:
        predictor(page).select_option("knn")
        with page.expect_download():
            rate(page, "Quiet Tea", "5 of 5")
            page.get_by_role("button", name="Save as CSV").click()

    check_light(scripts(visit, f"{plain.url}/", live_more), "predict/knn.js", "page/csv.js")


def test_the_scripts_are_light_for_who_contributes_local_reports(visit: Visit, busy: Talk) -> None:
    check_light(scripts(visit, f"{busy.url}/", live), "local_reports.js", "noise.js")


def test_the_scripts_are_light_for_who_contributes_to_open_clusters(
    visit: Visit, tmp_path: Path
) -> None:
    dear = collecting(tmp_path, "open-clusters", fakes="same-hash", bit_epsilon=0.5)
    with running(dear) as talk:
        sizes = scripts(visit, f"{talk.url}/", live)
    check_light(sizes, "open_clusters.js", "obfuscation.js", "same_hash.js", "coins.js")


@pytest.mark.parametrize("method", ["closed-clusters", "cosine", "lists"])
def test_the_scripts_are_light_for_other_kinds_of_releases(
    visit: Visit, tmp_path: Path, method: str
) -> None:
    made = next(release for release in releases().values() if release.method == method)
    made.save(tmp_path / "made.discreet")
    with running(Settings(tmp_path / "made.discreet", **FREE)) as talk:
        sizes = scripts(visit, f"{talk.url}/", lambda _: None)
    scripts_of = {name for name in sizes if name in chain(*PREDICTORS.values())}
    assert scripts_of == {*PREDICTORS[method]}
    check_light(sizes, "predict/predictor.js")


@pytest.mark.parametrize(
    ("scale", "choose", "kept"),
    [
        (Scale(0.5, 5, 0.5), "4.5 of 5", "4.5"),
        (Scale(0, 10), "7 of 10", "7"),
    ],
    ids=["half stars", "0 to 10"],
)
def test_other_scales_have_other_stars(
    visit: Visit, tmp_path: Path, scale: Scale, choose: str, kept: str
) -> None:
    with running(serving(tmp_path, scale)) as talk:
        page = visit(f"{talk.url}/", viewport=PHONE)
        rate(page, "Quiet Tea", choose)
        assert own(page) == {"Quiet Tea": kept}
        assert all("Quiet" in title for title in recommended(page))
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.reload()
        wait_ready(page)
        assert own(page) == {"Quiet Tea": kept}


def test_a_continuous_scale_has_a_slider(visit: Visit, tmp_path: Path) -> None:
    with running(serving(tmp_path, Scale(-10, 10, None))) as talk:
        page = visit(f"{talk.url}/")
        page.get_by_label("Look for a title").fill("quiet tea")
        page.locator("#results").get_by_role("slider", name="Rate Quiet Tea").focus()
        page.keyboard.press("End")
        page.locator("#own > li").wait_for()
        assert page.locator("#own output").text_content() == "10"
        assert all("Quiet" in title for title in recommended(page))


def test_presence_is_a_button_that_stays_pressed(visit: Visit, tmp_path: Path) -> None:
    with running(serving(tmp_path, PRESENCE, global_mean=-3.0)) as talk:
        page = visit(f"{talk.url}/")
        page.get_by_label("Look for a title").fill("quiet tea")
        button = page.locator("#results").get_by_role("button", name="I know it: Quiet Tea")
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        # No rating is expected, and no chance is shown.
        assert page.locator("#recommended .expected").count() == 0
        assert all("Quiet" in title for title in recommended(page))
        button.click()
        assert page.locator("#own > li").count() == 0


def serving(folder: Path, scale: Scale, **parameters: Any) -> Settings:
    made = film_release(**parameters)
    told = (made.catalog, made.guarantee, made.parameters, made.arrays)
    Release(made.method, scale, *told).save(folder / "films.discreet")
    return Settings(folder / "films.discreet", **FREE)
