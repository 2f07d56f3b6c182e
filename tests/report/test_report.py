"""The page about a release: each kind of release, a ledger, audits, and nothing that is fetched."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import __version__
from discreet.audit._neighbours import ratings_of
from discreet.domain import Catalog, CatalogOrigin, InputError, Scale
from discreet.evaluate import people_of
from discreet.measure.centring import ItemLevels
from discreet.measure.user_votes import UserVotes
from discreet.methods import fit
from discreet.privacy import GaussianEvent, Guarantee, Noise, PureEvent, SeededRandomness, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.protocols.local_reports import messages as local
from discreet.protocols.local_reports.server import LocalReports
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.report import AuditFinding, is_report, make_report
from discreet.report._html import table
from papers.local_privacy.completion import send_reports
from papers.trusted_curator.preset import fit_paper
from release._making import make_release, spent
from report._pages import gaussian, open_clusters, report
from report._reading import see

PATENT = "8,619,984"
ABOUT = ("the public", "the operator", "another user", "somebody with side information")


def presence(ratings: Ratings) -> Ratings:
    scale = Scale.parse("presence")
    codes = scale.encode(np.full(len(ratings), scale.hi))
    return replace(ratings, scale=scale, codes=codes)


def local_reports(ratings: Ratings) -> Release:
    collection = local.Collection(
        ratings.catalog, ratings.scale, local.Mechanism.RANDOMIZED_RESPONSE, 2.0
    )
    some = send_reports(collection, people_of(ratings), SeededRandomness(1))
    return LocalReports(collection).build(some)


KINDS: dict[str, Callable[[Ratings], Release]] = {
    "rating, Gaussian": lambda r: fit(r, protect="rating", epsilon=1.0, ledger="unbooked"),
    "rating, Laplace": lambda r: fit(
        r, protect="rating", epsilon=1.0, noise="laplace", ledger="unbooked"
    ),
    "user, Gaussian": lambda r: fit(r, protect="user", epsilon=1.0, ledger="unbooked"),
    "user, Laplace": lambda r: fit(
        r, protect="user", epsilon=1.0, noise="laplace", ledger="unbooked"
    ),
    "pairs": lambda r: fit(r, method="slope-one", epsilon=2.0, ledger="unbooked"),
    "seeded": lambda r: fit(r, epsilon=1.0, randomness=SeededRandomness(1)),
    "no noise": lambda r: fit(r, epsilon=math.inf),
    "paper": lambda r: fit_paper(r, epsilon=1.0),
    "presence": lambda r: fit(presence(r), epsilon=1.0, ledger="unbooked"),
    "open clusters": open_clusters,
    "hash randomised": lambda r: open_clusters(r, bit_epsilon_thousandths=1000),
    "closed clusters": lambda r: replace(open_clusters(r), method="closed-clusters"),
    "local reports": local_reports,
}


@pytest.fixture(scope="module")
def made(ratings: Ratings) -> Callable[[str], Release]:
    """A release of each kind, made once."""
    return functools.cache(lambda kind: KINDS[kind](ratings))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_release_has_its_page(
    made: Callable[[str], Release], tmp_path: Path, kind: str
) -> None:
    release = made(kind)
    seen = report(release, tmp_path)
    guarantee = release.guarantee
    for sentence in guarantee.sentences():
        assert sentence in seen.text
    for clause in guarantee.assumes:
        assert f"The guarantee holds only if {clause}." in seen.text
    for reason in guarantee.not_private:
        assert f"There is no guarantee: {reason}." in seen.text
    assert ("Differentially private" in seen.text) == guarantee.is_private
    assert ("Not private: there is no guarantee" in seen.text) != guarantee.is_private
    assert [len(seen.row(who)) for who in ABOUT] == [3] * 4
    assert ("nothing is ruled out" in seen.text) != guarantee.is_private
    for said in (PATENT, "No ledger was given:", "No audit was attached", "Other releases"):
        assert said in seen.text
    for event in guarantee.events:
        assert seen.row(event.label)[1] == event.kind


@pytest.mark.parametrize("kind", ["user, Gaussian", "open clusters"])
def test_the_page_has_no_script_and_fetches_nothing(
    made: Callable[[str], Release], tmp_path: Path, kind: str
) -> None:
    seen = report(made(kind), tmp_path)
    tags = {tag for tag, _ in seen.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base"}
    for _, attributes in seen.tags:
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)
    page = make_report(tmp_path / "films.discreet")
    assert "url(" not in page and "@import" not in page and "http:" not in page
    policy = next(a for t, a in seen.tags if "http-equiv" in a)
    assert (policy["content"] or "").startswith("default-src 'none'")


def test_what_was_published_can_be_checked(
    ratings: Ratings, made: Callable[[str], Release], tmp_path: Path
) -> None:
    made("user, Gaussian").save(tmp_path / "films.discreet")
    os.utime(tmp_path / "films.discreet", (1_000_000_000, 1_000_000_000))
    when = datetime.datetime(2030, 1, 2, 3, 4, tzinfo=datetime.UTC)
    seen = see(make_report(tmp_path / "films.discreet", made=when))
    content = (tmp_path / "films.discreet").read_bytes()
    assert seen.row("SHA-256 of the file")[1] == hashlib.sha256(content).hexdigest()
    assert seen.row("last changed on disk")[1] == "2001-09-09 01:46:40 UTC"
    assert seen.row("size")[1] == f"{len(content):,} bytes"
    assert seen.row("digest of the catalogue")[1] == ratings.catalog.digest()
    assert seen.row("method")[1].startswith("refined")
    assert seen.row("item_effects")[1:] == ["float32", "120"]
    assert f"page made on 2030-01-02 03:04 UTC by discreet {__version__} (the release" in seen.text


def test_there_are_lines_to_be_filled_in_by_hand(tmp_path: Path) -> None:
    seen = report(make_release(np.zeros((3, 1)), guarantee=spent()), tmp_path)
    for name in ("controller", "purpose", "signature"):
        assert seen.row(name)[1:] == [""]
    assert ("table", {"class": "blank"}) in seen.tags


IN_DATA, HISTORY = (
    "whether a person is in the data",
    "what a person has rated who is known to be in the data",
)


def test_odds_per_rating_per_user_and_for_a_change(tmp_path: Path) -> None:
    seen = report(make_release(np.zeros((3, 1)), guarantee=gaussian(Unit.USER, 1.0)), tmp_path)
    assert seen.row(IN_DATA)[1:] == ["1", "1e-06", "3.03 times", "73.2 %"]
    assert seen.row("the presence of one rating")[1] == "2.123"
    assert seen.row("the value of one rating")[1] == "2.123"
    assert seen.row("50 %")[1] == "75.2 %"
    heads = [cell for row in seen.rows for cell in row if "except with probability" in cell]
    assert heads == [
        "odds grow at most (except with probability 1 in 100,000)",
        "belief afterwards, at most (except with probability 1 in 100,000)",
    ]


def test_a_history_of_somebody_known_to_be_there_is_a_person_less_and_one_more(
    tmp_path: Path,
) -> None:
    """The votes of a user with one 5 and with one 1 are two sensitivities apart."""
    votes = UserVotes(ItemLevels(3.0, np.zeros(4)), np.ones(4), None, Noise.LAPLACE)
    one, other = (votes.measure(ratings_of([{0: value}], 4))[0] for value in (5.0, 1.0))
    apart = float(np.abs(one - other).sum() / votes.sensitivity)
    assert apart == pytest.approx(2.0, rel=1e-3)
    event = PureEvent(unit=Unit.USER, label="votes", epsilon=1.0, mechanism="laplace")
    promise = Guarantee(Unit.USER, (event,), 0.0)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    assert seen.row(IN_DATA)[1:] == ["1", "0", "2.72 times", "73.2 %"]
    assert seen.row(HISTORY)[1:] == ["2", "0", "7.39 times", "88.1 %"]
    assert "adding the new one: twice." in seen.text


def test_a_history_of_protected_ratings_costs_as_many_as_it_may_have(
    made: Callable[[str], Release], tmp_path: Path
) -> None:
    told: dict[str, Any] = {"label": "x", "epsilon": 0.1, "mechanism": "coin"}
    event = PureEvent(unit=Unit.RATING, ratings_per_user=7, **told)
    promise = Guarantee(Unit.RATING, (event,), 0.0)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    assert seen.row(IN_DATA)[1] == "0.7" and seen.row(HISTORY)[1] == "1.4"
    local = report(made("local reports"), tmp_path)
    assert local.row(HISTORY)[1] == "240", "each of 120 answers once, whatever changes"
    assert all(row[:1] != [IN_DATA] for row in local.rows)
    assert "Sending a report is not protected" in local.text
    assert "the new one: twice" not in local.text


def test_pure_promises_leave_no_chance_aside(tmp_path: Path) -> None:
    event = PureEvent(unit=Unit.RATING, label="x", epsilon=math.log(3), mechanism="coin")
    promise = Guarantee(Unit.RATING, (event,), 0.0)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    assert seen.row("the presence of one rating")[1:] == ["1.099", "0", "3 times", "75 %"]
    for what in (IN_DATA, HISTORY):
        assert seen.row(what)[1:] == ["no bound", "", "without bound", "100 %"]
    assert "except with probability" not in seen.text
    assert "A person's whole history is not protected" in seen.text


def test_a_delta_that_is_not_small_bounds_no_odds(tmp_path: Path) -> None:
    event = GaussianEvent(unit=Unit.RATING, label="x", sensitivity=1.0, sigma=2.0)
    promise = Guarantee(Unit.RATING, (event,), 0.19)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    row = seen.row("the presence of one rating")
    assert row[2:4] == ["0.19", "without bound"] and row[4] < "70 %"
    assert [seen.row(prior)[1] for prior in ("0.1 %", "50 %")] == ["no bound"] * 2
    assert "1 in 1" not in seen.text


def test_everything_that_is_shown_is_escaped(tmp_path: Path) -> None:
    bad = '<script>alert("x")</script>&amp;'
    event = PureEvent(unit=Unit.RATING, label=bad, epsilon=1.0, mechanism=bad)
    promise = Guarantee(Unit.RATING, (event,), 0.0, (bad,))
    catalog = Catalog([bad, "b", "c"], origin=CatalogOrigin.FROM_DATA)
    release = make_release(np.zeros((3, 1)), guarantee=promise, catalog=catalog)
    name = tmp_path / "<b>x.discreet"
    release.save(name)
    ledger = Ledger.create(tmp_path / "l", bad, [Limit(Unit.RATING, 5.0, 1e-6)])
    ledger.charge([event], bad)
    finding = AuditFinding(bad, 1.0, 0.5, 0.95, 0.0, 10, False)
    page = make_report(name, ledger=ledger, audits=[finding])
    assert "<script" not in page and "<b>" not in page
    seen = see(page)
    assert seen.text.count(bad) >= 5
    assert "taken from the private ratings" in seen.text


def test_odds_without_bound_are_not_counted_in_times(tmp_path: Path) -> None:
    event = PureEvent(unit=Unit.RATING, label="x", epsilon=800.0, mechanism="coin")
    promise = Guarantee(Unit.RATING, (event,), 0.0)
    seen = report(make_release(np.zeros((3, 1)), guarantee=promise), tmp_path)
    assert seen.row("the presence of one rating")[1:4] == ["800", "0", "without bound"]
    assert seen.row("0.1 %")[1] == "no bound"


def test_a_cluster_s_mean_gives_its_hash_to_the_operator(
    made: Callable[[str], Release], tmp_path: Path
) -> None:
    """See `discreet attack hash-recovery`."""
    closed, opened = (report(made(kind), tmp_path) for kind in ("closed clusters", "open clusters"))
    assert "hash the mean of a cluster's uploads" in closed.row("the operator")[1]
    assert closed.row("the operator")[2].endswith("from their tags alone")
    assert "it does not see" not in closed.text
    assert "hash the mean" not in opened.text


def test_reports_are_known_by_their_beginning(tmp_path: Path) -> None:
    make_release(np.zeros((3, 1)), guarantee=spent()).save(tmp_path / "m")
    (tmp_path / "r.html").write_text(make_report(tmp_path / "m"), encoding="utf-8")
    (tmp_path / "s.html").write_text("<!doctype html>\n<p>", encoding="utf-8")
    assert is_report(tmp_path / "r.html") and not is_report(tmp_path / "s.html")


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m").write_text(json.dumps({}))
    with pytest.raises(InputError, match="not a release file"):
        make_report(tmp_path / "m")


def test_numbers_are_never_broken_and_digests_are() -> None:
    digest = "0123456789abcdef" * 4
    cells = table(
        ("what", "is"), [("delta", "1e-06"), ("sha", digest), ("who", "all of the people")]
    )
    assert '<td class="short" data-head="is">1e-06</td>' in cells
    assert f'<td class="long" data-head="is">{digest}</td>' in cells
    assert '<td data-head="is">all of the people</td>' in cells
    assert '<th scope="row" class="short" data-head="what">delta</th>' in cells
    assert cells.startswith('<div class="wide"><table class="headed">') and "<thead>" in cells
    named = table((), [("delta", "1e-06")])
    assert "headed" not in named and "data-head" not in named
