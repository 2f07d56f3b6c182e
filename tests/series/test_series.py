"""Series: what is added, in which order, what is refused, and what releases say."""

from __future__ import annotations

import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import discreet
import discreet.predict
from discreet.domain import PRESENCE, CatalogOrigin, InputError
from discreet.domain.errors import BudgetExceeded, LedgerError, PeriodExists
from discreet.measure import RunningSpender
from discreet.measure.history_pairs import APPEND_ONLY, FrozenWeights
from discreet.privacy import SEEDED, NoisePlan, SeededRandomness, Unit, running_noise
from discreet.privacy.ledger import Ledger
from discreet.ratings import Ratings, read_ratings, write_ratings
from discreet.release import load
from discreet.series import Series
from discreet.series._state import FORMAT, read_key, read_secret, read_state
from series._films import STARS, WEEKS, a_ledger, a_series, catalog_of, films, untimed


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return a_ledger(tmp_path)


def secret_of(series: Series) -> dict[str, Any]:
    content = json.loads((series.path / "series.json").read_text())
    key = read_key(series.path.with_name(f"{series.path.name}.key"))
    number = content["generation"]
    return read_secret(series.path / f"noise-{number}.secret", key, content["tag"])


def test_periods_follow_one_another_and_are_paid_for_once(tmp_path: Path, ledger: Ledger) -> None:
    series = a_series(tmp_path)
    spent = []
    for number, week in enumerate(WEEKS[:3]):
        release = series.add(films([number]), week, ledger=ledger)
        spent.append([ledger.spent(unit).mu for unit in (Unit.USER_WEEK, Unit.USER)])
        assert release.guarantee.is_private and release.guarantee.unit is Unit.USER_WEEK
        assert release.guarantee.series is not None
        assert release.guarantee.series.periods == number + 1
        assert series.release_path is not None
        assert load(series.release_path, verify=True).digest() == release.digest()
        assert ledger.history()[-1].published == release.digest()
    weekly, of_user = zip(*spent, strict=True)
    assert weekly[0] == weekly[1] == weekly[2]
    assert of_user[0] < of_user[1] < of_user[2]
    assert series.epsilon == pytest.approx(4.0, rel=1e-6)
    assert series.epsilon_in(3) > series.epsilon_in(1) == pytest.approx(4.0, rel=1e-6)
    again = Series.open(series.path)
    assert [each.period.name for each in again.periods] == list(WEEKS[:3])
    assert [each.charge for each in again.periods] == [1, 2, 3]
    assert again.periods == series.periods


def test_only_records_of_the_period_are_measured(tmp_path: Path) -> None:
    """More of other weeks, before and after, change nothing at all."""
    made = []
    for weeks in ([1], [0, 1, 2]):
        folder = tmp_path / str(len(weeks))
        folder.mkdir()
        series = a_series(folder)
        many = films([0, 1, 2])
        ratings = many if len(weeks) > 1 else many.between(*_span(series, WEEKS[1]))
        made.append(series.add(ratings, WEEKS[1], randomness=SeededRandomness(3)))
    for name, array in made[0].arrays.items():
        assert np.array_equal(array, made[1].arrays[name]), name


def _span(series: Series, week: str) -> tuple[int, int]:
    period = series.period(week)
    assert period.start is not None and period.end is not None
    return period.start, period.end


def test_periods_come_in_order_once_and_apart(tmp_path: Path) -> None:
    series = a_series(tmp_path, protect="rating", period="range")
    series.add(films([0, 1]), "2026-01-01..2026-01-10", ledger="unbooked")
    with pytest.raises(PeriodExists, match="was added before"):
        series.add(films([0, 1]), "2026-01-01..2026-01-10", ledger="unbooked")
    for name in ("2026-01-10..2026-01-20", "2026-01", "2026-W02", "2025-12-31", "2026-01-05"):
        with pytest.raises(InputError, match="no two overlap"):
            series.add(films([0, 1]), name, ledger="unbooked")
    for name in ("yesterday", "2026-W99", "2026-02-30", "2026-13"):
        with pytest.raises(InputError, match=r"not written like|there is no period"):
            series.add(films([0, 1]), name, ledger="unbooked")
    series.add(films([1, 2]), "2026-01-11", ledger="unbooked")
    assert len(series.periods) == 2


def test_a_user_week_is_a_week(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    with pytest.raises(InputError, match="not written like a week"):
        series.period("2026-01")
    with pytest.raises(InputError, match="periods of a week"):
        a_series(tmp_path / "other", period="month")
    with pytest.raises(InputError, match="have no times"):
        series.add(untimed(films([0])), WEEKS[0], ledger="unbooked")


def test_ratings_without_times_are_taken_at_their_word(tmp_path: Path) -> None:
    series = a_series(tmp_path, protect="rating", period="any")
    first = series.add(untimed(films([0])), "spring", ledger="unbooked")
    assert any("no rating was added in two periods" in each for each in first.guarantee.assumes)
    with pytest.raises(PeriodExists):
        series.add(untimed(films([1])), "spring", ledger="unbooked")
    series.add(untimed(films([1])), "summer", ledger="unbooked")


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"protect": "user"}, "protects one of"),
        ({"plan": "tree"}, "factorised or fresh"),
        ({"noise": "uniform"}, "noise is one of"),
        ({"epsilon": np.inf}, "finite"),
        ({"half_life": -1.0}, "half-life"),
        ({"protect": "rating", "most_periods": 3}, "not ratings"),
        ({"most_periods": 0}, "whole number"),
        ({"items": 1}, "at least two items"),
        ({"period": "year"}, "a period is one of"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, terms: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        a_series(tmp_path, **terms)
    assert list(tmp_path.iterdir()) == []


def test_a_catalogue_from_private_ratings_is_refused(tmp_path: Path) -> None:
    private = discreet.Catalog(["a", "b"], origin=CatalogOrigin.FROM_DATA)
    with pytest.raises(InputError, match="public catalogue"):
        Series.create(tmp_path / "s", scale=STARS, catalog=private)


def test_a_folder_or_a_key_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "films.series.key").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        a_series(tmp_path)
    assert (tmp_path / "films.series.key").read_text() == "mine"
    assert not (tmp_path / "films.series").exists()
    (tmp_path / "films.series.key").unlink()
    a_series(tmp_path)
    with pytest.raises(InputError, match="exists already"):
        a_series(tmp_path)
    with pytest.raises(InputError, match="is not a series"):
        Series.open(tmp_path / "nothing")


def test_only_the_owner_can_read_a_series(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], ledger="unbooked")
    assert stat.S_IMODE(series.path.stat().st_mode) == 0o700
    for path in (*series.path.iterdir(), series.path.with_name("films.series.key")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_the_state_is_public_and_the_secret_is_not_readable(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], ledger="unbooked")
    streams, _ = read_state(series.path / "state-1.safetensors")
    hidden = secret_of(series)
    content = (series.path / "noise-1.secret").read_bytes()
    for label, stream in streams.items():
        assert stream.buffers.size == 0
        assert hidden[f"noise:{label}"].tobytes()[:16] not in content
    assert hidden.keys() == {f"noise:{label}" for label in streams}


@pytest.mark.parametrize("damage", ["missing", "stale", "damaged", "key", "no key"])
def test_without_its_secret_a_series_goes_on_only_when_told(tmp_path: Path, damage: str) -> None:
    series, book = a_series(tmp_path), a_ledger(tmp_path)
    series.add(films([0]), WEEKS[0], ledger=book)
    secret, key = series.path / "noise-2.secret", series.path.with_name("films.series.key")
    old = (series.path / "noise-1.secret").read_bytes()
    series.add(films([1]), WEEKS[1], ledger=book)
    if damage == "missing":
        secret.unlink()
    elif damage == "stale":
        secret.write_bytes(old)
    elif damage == "damaged":
        content = bytearray(secret.read_bytes())
        content[40] ^= 1
        secret.write_bytes(bytes(content))
    elif damage == "key":
        key.write_text("ab" * 32)
    else:
        key.unlink()
    with pytest.raises(InputError, match="new_noise=True"):
        series.add(films([2]), WEEKS[2], ledger=book)
    assert len(book.history()) == 2, "nothing was charged"
    before = {label: s.before for label, s in _streams(series).items()}
    release = series.add(films([2]), WEEKS[2], ledger=book, new_noise=True)
    assert release.guarantee.is_private
    for label, stream in _streams(series).items():
        assert stream.steps == 1 and stream.before > before[label] == 0
    series.add(films([3]), WEEKS[3], ledger=book)
    assert all(stream.steps == 2 for stream in _streams(series).values())


def _streams(series: Series) -> dict[str, Any]:
    number = json.loads((series.path / "series.json").read_text())["generation"]
    return read_state(series.path / f"state-{number}.safetensors")[0]


def as_format_1(series: Series) -> None:
    """What earlier versions wrote: streams did not say how much their second total has seen."""
    path = series.path / "series.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"format": 1}))
    state = series.path / f"state-{content['generation']}.safetensors"
    with safe_open(state, "np") as file:
        streams = json.loads(file.metadata()["streams"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for stream in streams.values():
        del stream["seen_now"]
    save_file(arrays, state, {"streams": json.dumps(streams)})


def test_a_series_of_an_earlier_version_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the noise plan and the costs that it began with, and with its earlier noise."""
    ledger = a_ledger(tmp_path, 1e6)
    terms: dict[str, Any] = {"protect": "rating", "most_ratings": 5, "epsilon": 100.0}
    with monkeypatch.context() as earlier:
        earlier.setattr(running_noise, "_RECORD_POWER", 0.5)
        series = a_series(tmp_path, **terms)
    before = NoisePlan.factorised()
    assert series.plan == before != NoisePlan.factorised(records=True)
    for number in range(2):
        series.add(films([number]), WEEKS[number], ledger=ledger)
    written = {label: stream.seen_now for label, stream in _streams(series).items()}
    as_format_1(series)
    again = Series.open(series.path)
    streams, known = again._read_state()
    assert known.ids == again.catalog.ids == series.catalog.ids
    assert {label: s.seen_now for label, s in streams.items()} == pytest.approx(written, rel=2e-3)
    again.add(films([2]), WEEKS[2], ledger=ledger)
    assert again.plan == before == Series.open(series.path).plan
    assert json.loads((series.path / "series.json").read_text())["format"] == FORMAT
    assert all(stream.steps == 3 for stream in _streams(series).values()), "noise is taken back"
    entries = ledger.history()
    assert [entry.terms for entry in entries] == [series.terms] * 3
    paid = ledger.spent(Unit.USER).mu ** 2 / ledger.spent(Unit.RATING).mu ** 2
    assert paid == pytest.approx(5**2 * before.growth(3), rel=1e-6)
    assert paid != pytest.approx(5**2 * NoisePlan.factorised(records=True).growth(3), rel=1e-3)


def test_the_next_period_takes_back_the_noise_of_the_one_before(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], ledger="unbooked")
    hidden = secret_of(series)
    label = next(iter(hidden))
    assert all(np.any(buffers != 0) for buffers in hidden.values())
    series.add(films([1]), WEEKS[1], ledger="unbooked")
    assert not np.array_equal(hidden[label], secret_of(series)[label])


def test_a_fresh_plan_has_no_secret(tmp_path: Path) -> None:
    series = a_series(tmp_path, plan="fresh")
    for number in range(2):
        series.add(films([number]), WEEKS[number], ledger="unbooked")
    assert not list(series.path.glob("*.secret")) and not list(tmp_path.glob("*.key"))


def test_noise_of_earlier_periods_is_worth_keeping(tmp_path: Path) -> None:
    """Twelve periods of the same size: totals over fresh noise's."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    kept, fresh = a_series(tmp_path / "a"), a_series(tmp_path / "b", plan="fresh")
    ratio = kept.plan.lifetime * kept.plan.spread(12) / fresh.plan.spread(12)
    assert ratio < 0.65
    assert fresh.epsilon_in(12) < kept.epsilon_in(12)
    assert fresh.epsilon_in(1) == pytest.approx(kept.epsilon_in(1), rel=1e-3)


def test_a_catalogue_may_grow_at_its_end(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], ledger="unbooked")
    larger = series.catalog_with(catalog_of(11))
    assert larger.ids == catalog_of(11).ids
    release = series.add(films([1], items=11), WEEKS[1], ledger="unbooked")
    assert len(release.catalog) == 11 and series.catalog.ids == larger.ids
    ids = larger.ids
    for other_ids in (ids[::-1], [f"j{n}" for n in range(11)], (*ids[:5], "x", *ids[5:])):
        other = replace(films([2], items=11), catalog=discreet.Catalog(other_ids))
        with pytest.raises(InputError, match="not those of the series"):
            series.add(other, WEEKS[2], ledger="unbooked")
    series.add(films([2], items=11), WEEKS[2], ledger="unbooked")


def test_with_a_half_life_old_periods_fade(tmp_path: Path) -> None:
    sizes = []
    for half_life in (None, 1.0):
        folder = tmp_path / str(half_life)
        folder.mkdir()
        series = a_series(folder, half_life=half_life, epsilon=5000.0)
        for number in range(4):
            series.add(films([number]), WEEKS[number], ledger="unbooked")
        sizes.append(float(_streams(series)["size of the period"].total[0]))
    # Noise of 0.5 at most.
    assert sizes == pytest.approx([80, 20 * (1 + 1 / 2 + 1 / 4 + 1 / 8)], abs=5)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("method", ["lists", "refined", "covariance", "slope-one", "cosine"])
def test_every_method_makes_releases_that_can_be_used(
    tmp_path: Path, method: str, noise: str
) -> None:
    settings = {"list_rank": 2} if method == "lists" else {"taste_share": 0.4}
    series = Series.create(
        tmp_path / "s",
        scale=STARS,
        catalog=catalog_of(8),
        protect="user-week",
        epsilon=50.0,
        method=method,
        noise=noise,
        head=4,
        **settings,
    )
    book = a_ledger(tmp_path, 100.0)
    for number in range(2):
        release = series.add(films([number]), WEEKS[number], ledger=book)
    assert release.guarantee.delta == (0 if noise == "laplace" else 1e-6)
    assert series.release_path is not None
    opened = load(series.release_path, verify=True)
    listed = opened.predictor().recommend({"i0": 5.0}, 3)
    assert len(listed) == 3
    assert book.pair(opened.guarantee, opened.digest()).charge == 2


def test_a_cap_ends_a_persons_part(tmp_path: Path) -> None:
    """Everybody is there in all four weeks; only two of them count."""
    series = a_series(tmp_path, most_periods=2, epsilon=5000.0)
    assert series.epsilon == pytest.approx(5000.0, rel=1e-6)
    for number in range(4):
        series.add(films([number]), WEEKS[number], ledger="unbooked")
    sizes = [each.size for each in series.periods]
    assert sizes == pytest.approx([20, 20, 0, 0], abs=6)  # noise of 0.6
    hidden = secret_of(series)
    assert hidden["cap:periods"].tolist() == [2] * 20
    with pytest.raises(InputError, match="in how many periods a person was"):
        series.add(films([4]), WEEKS[4], ledger="unbooked", new_noise=True)
    (series.path / "noise-4.secret").unlink()
    with pytest.raises(InputError, match="restore it from a backup, or start a new series"):
        series.add(films([4]), WEEKS[4], ledger="unbooked")


def test_reasons_and_assumptions_of_earlier_periods_stay(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], randomness=SeededRandomness(1))
    for number in (1, 2):
        later = series.add(films([number]), WEEKS[number], ledger="unbooked")
        assert later.guarantee.not_private == (SEEDED,)


def test_what_earlier_periods_assumed_is_said_again(tmp_path: Path) -> None:
    series = a_series(tmp_path)
    first = films([0])
    first = replace(first, intake=replace(first.intake, assumes=("the first is as said",)))
    series.add(first, WEEKS[0], ledger="unbooked")
    later = series.add(films([1]), WEEKS[1], ledger="unbooked")
    assert "the first is as said" in later.guarantee.assumes
    assert len(set(later.guarantee.assumes)) == len(later.guarantee.assumes)


def test_a_series_is_charged_to_one_ledger(tmp_path: Path, ledger: Ledger) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], ledger=ledger)
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="next period of this series is number 1"):
        series.add(films([1]), WEEKS[1], ledger=a_ledger(tmp_path / "b"))
    unrecorded = series.add(films([1]), WEEKS[1], ledger="unbooked")
    assert "not recorded in any ledger" in " ".join(unrecorded.guarantee.sentences())
    with pytest.raises(InputError, match="number 2, not 3"):
        series.add(films([2]), WEEKS[2], ledger=ledger)


def test_a_refusal_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series, book = a_series(tmp_path), a_ledger(tmp_path, 1.0)
    monkeypatch.setattr(RunningSpender, "measure_size", lambda *_: pytest.fail("measured"))
    with pytest.raises(BudgetExceeded):
        series.add(films([0]), WEEKS[0], ledger=book)
    with pytest.raises(InputError, match="name the ledger"):
        series.add(films([0]), WEEKS[0])
    assert series.periods == () and not list(series.path.glob("release*"))


def test_old_copies_are_refused_by_the_ledger(tmp_path: Path, ledger: Ledger) -> None:
    series = a_series(tmp_path)
    series.add(films([0]), WEEKS[0], ledger=ledger)
    shutil.copytree(series.path, tmp_path / "copy.series")
    shutil.copy(tmp_path / "films.series.key", tmp_path / "copy.series.key")
    series.add(films([1]), WEEKS[1], ledger=ledger)
    old = Series.open(tmp_path / "copy.series")
    with pytest.raises(PeriodExists):
        old.add(films([1]), WEEKS[1], ledger=ledger)
    with pytest.raises(PeriodExists):  # another one, but the second of the series
        old.add(films([2]), WEEKS[2], ledger=ledger)
    assert len(ledger.history()) == 2


def test_two_copies_at_once_publish_once(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is charged before the first has published: only one of them comes out."""
    series = a_series(tmp_path)
    shutil.copytree(series.path, tmp_path / "copy.series")
    shutil.copy(tmp_path / "films.series.key", tmp_path / "copy.series.key")
    real, done = Ledger.record_publication, []

    def record(self: Ledger, *args: Any) -> None:
        monkeypatch.setattr(Ledger, "record_publication", real)
        done.append(Series.open(tmp_path / "copy.series").add(films([0]), WEEKS[0], ledger=ledger))
        real(self, *args)

    monkeypatch.setattr(Ledger, "record_publication", record)
    with pytest.raises(LedgerError):
        series.add(films([0]), WEEKS[0], ledger=ledger)
    assert series.periods == () and len(done) == 1
    assert [entry.published for entry in ledger.history()][-1] == done[0].digest()


def test_only_the_latest_release_is_written_again(tmp_path: Path) -> None:
    """As the folder has it: another program may have added a period since it was opened."""
    series, out = a_series(tmp_path), tmp_path / "films.discreet"
    assert series.write_again(WEEKS[0], out) is None
    made = series.add(films([0]), WEEKS[0], ledger="unbooked")
    before = Series.open(series.path)
    again = before.write_again(WEEKS[0], out)
    assert again is not None and again.digest() == made.digest() == load(out).digest()
    out.unlink()
    series.add(films([1]), WEEKS[1], ledger="unbooked")
    assert before.write_again(WEEKS[0], out) is None and not out.exists()


def test_rows_of_other_periods_that_were_read_are_said(tmp_path: Path) -> None:
    """Folded with rows of other weeks, a record of one week can depend on another week's rows."""
    write_ratings(films([0, 1]), tmp_path / "ratings.csv")
    series = a_series(tmp_path)
    how: dict[str, Any] = {"scale": series.scale, "catalog": series.catalog}
    said = "nobody has the same item in two periods"
    span = series.span_to_read(WEEKS[0])
    apart = read_ratings(tmp_path / "ratings.csv", between=span, **how)
    assert said not in str(series.add(apart, WEEKS[0], ledger="unbooked").guarantee.assumes)
    together = read_ratings(tmp_path / "ratings.csv", **how)
    assert said in str(series.add(together, WEEKS[1], ledger="unbooked").guarantee.assumes)
    assert said in str(series.add(films([2]), WEEKS[2], ledger="unbooked").guarantee.assumes)


def test_what_is_read_of_a_period(tmp_path: Path) -> None:
    untimed_series = a_series(tmp_path, protect="rating", period="any")
    assert untimed_series.span_to_read("March") is None
    met = tmp_path / "met"
    met.mkdir()
    clicks: dict[str, Any] = {"protect": "rating", "method": "lists", "older_share": 0.15}
    series = Series.create(met / "s", scale=PRESENCE, catalog=catalog_of(8), **clicks)
    assert series.span_to_read(WEEKS[0]) is None and not series.could_meet_older


def test_old_records_need_not_exist(tmp_path: Path) -> None:
    """The total of two weeks is that of both, though only one of them is read at a time."""
    series = a_series(tmp_path, epsilon=5000.0, protect="rating", period="range")
    for number in range(2):
        series.add(films([number]), WEEKS[number], ledger="unbooked")
    total = _streams(series)["item counts"].total
    both = sum(np.bincount(films([number]).items, minlength=8) for number in range(2))
    assert total == pytest.approx(both, abs=1.5)  # noise of 0.15


def test_presence_and_the_default_method(tmp_path: Path) -> None:
    ratings = films([0])
    present = replace(ratings, scale=PRESENCE, codes=PRESENCE.encode(np.ones(len(ratings))))
    series = Series.create(tmp_path / "s", scale=PRESENCE, catalog=catalog_of(8))
    assert series.method.name == "lists" and series.unit is Unit.USER_WEEK
    with pytest.raises(InputError, match="has the scale"):
        series.add(ratings, WEEKS[0], ledger="unbooked")
    series.add(present, WEEKS[0], ledger="unbooked", out=tmp_path / "out.discreet")
    assert load(tmp_path / "out.discreet").digest() == series.periods[0].release
    with pytest.raises(InputError, match="a row for each of 8 items"):
        series.add(present, WEEKS[1], ledger="unbooked", features=np.ones((3, 1)))


def clicks() -> Ratings:
    """Four weeks of presence."""
    ratings = films(range(4), people=60)
    return replace(ratings, scale=PRESENCE, codes=PRESENCE.encode(np.ones(len(ratings))))


def a_series_with_older_records(folder: Path, **terms: Any) -> Series:
    return Series.create(
        folder / "s",
        scale=PRESENCE,
        catalog=catalog_of(8),
        protect="rating",
        epsilon=50.0,
        **{"older_share": 0.2, "list_rank": 2, **terms},
    )


def test_what_older_records_rest_on_is_kept(tmp_path: Path) -> None:
    """Heads only grow and shares stay, whatever noise does; and releases say what is assumed.

    Noise starts afresh after two periods, and again where the secret is lost.
    """
    series, heads, settled = (
        a_series_with_older_records(tmp_path, horizon=2, head=12),
        [set[int]()],
        [],
    )
    for number in range(4):
        release = series.add(clicks(), WEEKS[number], ledger="unbooked", new_noise=number == 3)
        assert APPEND_ONLY in release.guarantee.assumes
        heads.append(set(_streams(series)["presence pairs"].frame["head"].tolist()))
        assert heads[-2] <= heads[-1]
        content = json.loads((series.path / "series.json").read_text())
        settled.append(content["settled"])
        assert settled[-1] == settled[0] and settled[0].keys() == {"counts", "pairs"}
        assert content["older_records"] == {"share": 0.2, "flat": 20, "most": 1500}
    assert len(heads[-1]) > len(heads[1]) >= 2


def test_older_records_are_met_with_the_weights_that_the_series_began_with(tmp_path: Path) -> None:
    """A later version may choose others for new series."""
    series = a_series_with_older_records(tmp_path)
    series.add(clicks(), WEEKS[0], ledger="unbooked")
    path = series.path / "series.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"older_records": {"share": 0.2, "flat": 5, "most": 9}}))
    assert Series.open(series.path)._weights == FrozenWeights(0.2, 5, 9)
    changed = {name: share / 2 for name, share in content["settled"].items()}
    path.write_text(json.dumps(content | {"settled": changed}))
    with pytest.raises(InputError, match="another share of the budget"):
        series.add(clicks(), WEEKS[1], ledger="unbooked")


@pytest.mark.parametrize(
    "terms",
    [
        {"protect": "user-week"},
        {"noise": "laplace"},
        {"most_ratings": 5},
        {"period": "any"},
        {"method": "covariance"},
        {"scale": STARS},
    ],
)
def test_where_records_cannot_meet_older_ones_that_is_said(
    tmp_path: Path, terms: dict[str, Any]
) -> None:
    wanted = {"scale": PRESENCE, "protect": "rating", "method": "lists", **terms}
    with pytest.raises(InputError, match=r"older_share|presence alone"):
        Series.create(tmp_path / "s", catalog=catalog_of(8), older_share=0.2, **wanted)
    assert list(tmp_path.iterdir()) == []


def test_without_pairs_counts_have_the_whole_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares, real = [], RunningSpender.release

    def release(self: RunningSpender, part: Any, exact: Any, share: float) -> Any:
        shares.append(share)
        return real(self, part, exact, share)

    monkeypatch.setattr(RunningSpender, "release", release)
    series = a_series(tmp_path, method="lists", list_rank=0)
    series.add(films([0]), WEEKS[0], ledger="unbooked")
    assert sum(shares[1:]) == pytest.approx(1)  # the first is for the size of the period


def test_a_large_share_for_counts_leaves_some_for_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pairs look worth little but something, counts ask for the most."""
    monkeypatch.setattr("discreet.methods.lists.count_strength", lambda *_: 3.0)
    series = a_series(tmp_path, method="lists", count_share=0.8, list_rank=2)
    for number in range(2):
        series.add(films([number]), WEEKS[number], ledger="unbooked")
    assert "presence pairs" in _streams(series)


def test_a_bound_on_ratings_is_one_of_the_period(tmp_path: Path) -> None:
    """Ratings of other weeks have no say in which are kept, and everybody keeps two."""
    series = a_series(
        tmp_path, protect="rating", period="week", most_ratings=2, epsilon=5000.0, method="cosine"
    )
    many, between = films([0, 1]), _span(series, WEEKS[0])
    release = series.add(many, WEEKS[0], ledger="unbooked")
    assert release.guarantee.provenance is not None
    assert release.guarantee.provenance.most_ratings == 2
    alone = many.between(*between)
    kept = np.minimum(np.diff(alone.starts), 2).sum()
    assert series.periods[0].size == pytest.approx(kept, abs=6)  # noise of 0.25
    assert kept > 20
