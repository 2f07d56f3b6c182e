"""What the administrator is told of a curator's ledger, over a real socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.domain.errors import LedgerError
from discreet.privacy import PureEvent, Unit
from discreet.privacy.ledger import Ledger, Limit
from discreet.serve import Settings
from release._making import random_release
from serve._running import FREE, TOKEN, make_settings, running

SHOWN = FREE | {"admin_token": TOKEN}


def make_ledger(path: Path) -> Ledger:
    limits = [Limit(Unit.USER, 5.0, 1e-6), Limit(Unit.RATING, 4.0, 0.0)]
    return Ledger.create(path, "customers of the shop", limits)


def pure(epsilon: float) -> PureEvent:
    event = PureEvent(unit=Unit.USER, label="sums", epsilon=epsilon, mechanism="Laplace")
    assert event.seen_by(Unit.RATING) is not None
    return event


def publishing(folder: Path) -> Settings:
    random_release(20, 2).save(folder / "r.discreet")
    return Settings(folder / "r.discreet", ledger=folder / "shop.ledger", **SHOWN)


def test_each_limit_is_read_afresh_at_every_request(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "shop.ledger")
    with running(publishing(tmp_path)) as talk:
        first = talk.statistics()
        assert first.keys() == {"served", "ledger"}
        user, rating = first["ledger"]
        assert user == {
            "unit": "user", "spent_epsilon": 0.0, "limit_epsilon": 5.0, "delta": 1e-6,
            "population": "customers of the shop",
        }  # fmt: skip
        assert (rating["unit"], rating["limit_epsilon"], rating["delta"]) == ("rating", 4.0, 0.0)
        for charged in (1.25, 0.5):
            before = [one["spent_epsilon"] for one in talk.statistics()["ledger"]]
            ledger.charge([pure(charged)], "a release")
            after = [one["spent_epsilon"] for one in talk.statistics()["ledger"]]
            # With a rating more or less its user is another one: one less and one more.
            assert after == pytest.approx([before[0] + charged, before[1] + 2 * charged])
        told = [limit.spent_epsilon(ledger.spent(limit.unit)) for limit in ledger.limits]
        assert [one["spent_epsilon"] for one in talk.statistics()["ledger"]] == told


def test_the_ledger_over_time_and_what_more_of_the_same_costs(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "shop.ledger")
    with running(publishing(tmp_path)) as talk:
        user, rating = talk.ask("GET", "/v1/admin/ledger", secret=TOKEN).json()["limits"]
        assert user["charges"] == user["ahead"] == rating["ahead"] == []
        for epsilon in (0.5, 1.25):
            ledger.charge([pure(epsilon)], "a release")
        user, rating = talk.ask("GET", "/v1/admin/ledger", secret=TOKEN).json()["limits"]
        assert [one["spent_epsilon"] for one in user["charges"]] == pytest.approx([0.5, 1.75])
        assert user["ahead"] == pytest.approx([1.75 + 1.25 * n for n in range(1, 13)])
        assert rating["ahead"] == pytest.approx([3.5 + 2.5 * n for n in range(1, 13)])
        # As the plan of the command line has it.
        plan = ledger.plan([pure(1.25)], 3)
        assert [cost.after for cost in plan.costs] == [user["ahead"][2], rating["ahead"][2]]
        assert talk.ask("GET", "/v1/admin/ledger", secret=None).status == 401
        ledger.path.unlink()
        assert talk.ask("GET", "/v1/admin/ledger", secret=TOKEN).status == 503


def test_only_the_administrator_is_told(tmp_path: Path) -> None:
    make_ledger(tmp_path / "shop.ledger")
    with running(publishing(tmp_path)) as talk:
        for secret in (None, "not-the-right-token-at-all"):
            answer = talk.ask("GET", "/v1/admin/statistics", secret=secret)
            assert answer.status == 401
            assert b"shop" not in answer.body
    with pytest.raises(InputError, match="shown to the administrator alone"):
        Settings(tmp_path / "r.discreet", ledger=tmp_path / "shop.ledger")


def test_a_ledger_that_is_lost_is_said_and_the_rest_is_told(tmp_path: Path) -> None:
    make_ledger(tmp_path / "shop.ledger")
    with running(make_settings(tmp_path, ledger=tmp_path / "shop.ledger")) as talk:
        assert talk.statistics()["ledger"][0]["limit_epsilon"] == 5.0
        (tmp_path / "shop.ledger").unlink()
        told = talk.statistics()
        assert told["ledger"] == []
        assert "shop.ledger" in told["ledger_reason"]
        assert told["reports"] == 0
    with running(make_settings(tmp_path)) as talk:
        assert talk.statistics()["ledger"] == []


def test_what_is_no_ledger_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = publishing(tmp_path)
    with pytest.raises(LedgerError, match=r"shop\.ledger"), running(settings):
        pass
    monkeypatch.setenv("DISCREET_ADMIN_TOKEN", TOKEN)
    (tmp_path / "wrong").write_bytes(b"no ledger, only some text, " * 60)
    for name in ("wrong", "absent"):
        said = call("serve", str(settings.release), "--ledger", str(tmp_path / name), "--port", "0")
        assert said.code != 0
        assert len(said.err.strip().splitlines()) == 1
        assert name in said.err and "ledger" in said.err
