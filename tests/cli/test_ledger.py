"""`discreet ledger`: what people and scripts see."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli._calling import call
from discreet.cli._app import app
from discreet.domain import DiscreetError
from discreet.domain.errors import LedgerError
from discreet.privacy import GaussianEvent, NoisePlan, PureEvent, SeededRandomness, Unit
from discreet.privacy.accounting import calibrate_gaussian, gaussian_epsilon, gaussian_mu
from discreet.privacy.ledger import Ledger, Period, SeriesTerms


def says(*arguments: str | Path, code: int = 0) -> str:
    """What the command prints, with single spaces."""
    result = CliRunner().invoke(app, ["ledger", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return " ".join(result.stdout.split())


def data(*arguments: str | Path, code: int = 0) -> Any:
    return json.loads(says(*arguments, "--json", code=code))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with 3 at 1e-6 for users."""
    path = tmp_path / "shop.ledger"
    says("init", path, "--population", "customers", "--protect", "user", "--epsilon", "3")
    return path


def gaussian(epsilon: float) -> GaussianEvent:
    sigma = calibrate_gaussian(1.0, epsilon, 1e-6)
    return GaussianEvent(unit=Unit.USER, label="item counts", sensitivity=1.0, sigma=sigma)


def test_a_ledger_is_made(tmp_path: Path) -> None:
    limit = ("--protect", "user", "--epsilon", "2", "--delta", "1e-6")
    made = call("ledger", "init", tmp_path / "a", "--population", "customers of the shop", *limit)
    assert (made.code, made.err) == (0, "")
    assert "customers of the shop: 0 charges" in made.out


def test_an_error_is_one_line_and_exit_code_2(path: Path) -> None:
    again = call("ledger", "init", path, "--population", "x", "--protect", "user", "--epsilon", "2")
    assert (again.code, again.out) == (2, "")
    assert again.err == (f"discreet: {path}: exists, and a ledger is never overwritten\n")


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a ledger, by far\n" * 100)
    for command in ("show", "history"):
        with pytest.raises(LedgerError, match=r"notes\.txt: is not a ledger"):
            says(command, path)


def test_both_units_can_be_limited(tmp_path: Path) -> None:
    both = ("--protect", "user", "--epsilon", "3", "--protect", "rating", "--epsilon", "0.5")
    units = data("init", tmp_path / "a", "--population", "x", *both, "--delta", "0")["units"]
    assert units["user"]["limit"] == {"unit": "user", "epsilon": 3, "delta": 0, "reserve": 0}
    assert units["rating"]["limit"] == {"unit": "rating", "epsilon": 0.5, "delta": 0, "reserve": 0}
    deltas = ("--delta", "1e-6", "--delta", "1e-5", "--reserve", "0.1", "--reserve", "0.2")
    units = data("init", tmp_path / "b", "--population", "x", *both, *deltas)["units"]
    assert (units["user"]["limit"]["delta"], units["user"]["limit"]["reserve"]) == (1e-6, 0.1)
    assert (units["rating"]["limit"]["delta"], units["rating"]["limit"]["reserve"]) == (1e-5, 0.2)


@pytest.mark.parametrize(
    "options",
    [
        ("--protect", "user", "--protect", "rating", "--epsilon", "1"),
        ("--protect", "user", "--epsilon", "1", "--delta", "0", "--delta", "1e-6"),
        ("--protect", "user", "--epsilon", "1", "--protect", "user", "--epsilon", "2"),
        ("--protect", "user", "--epsilon", "-1"),
    ],
)
def test_limits_that_make_no_sense_are_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(DiscreetError):
        says("init", tmp_path / "a", "--population", "x", *options)
    assert list(tmp_path.iterdir()) == []


def test_show_tells_spent_and_left(path: Path) -> None:
    Ledger.open(path).charge([gaussian(1.0)], "the figures of May")
    text = says("show", path)
    assert "customers: 1 charge since" in text
    assert "user 1 3 1e-06" in text
    shown = data("show", path)
    assert (shown["population"], shown["charges"]) == ("customers", 1)
    user, rating = shown["units"]["user"], shown["units"]["rating"]
    assert user["spent"]["epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert 2.0 < user["remaining"]["epsilon"] < 3.0
    # A user more or less is two for a rating, so mu doubles; no limit, so nothing remains.
    assert rating["spent"]["mu"] == pytest.approx(2 * user["spent"]["mu"])
    assert (rating["limit"], rating["remaining"]) == (None, None)


def test_what_nothing_bounds_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "a"
    limit = ("--protect", "rating", "--epsilon", "3")
    says("init", path, "--population", "x", *limit)
    event = PureEvent(unit=Unit.RATING, label="answers", epsilon=0.5, mechanism="rr")
    Ledger.open(path).charge([event], "x")
    assert "user unbounded none" in says("show", path)
    spent = data("show", path)["units"]["user"]["spent"]
    assert (spent["bounded"], spent["epsilon"], spent["pure"]) == (False, None, None)


def test_history_tells_every_charge(path: Path) -> None:
    ledger = Ledger.open(path)
    ledger.charge([gaussian(1.0), gaussian(0.5)], "May [red]")
    ledger.charge([gaussian(1.0)], "June", randomness=SeededRandomness(1))
    text = says("history", path)
    for part in ("May [red]:", "June (seeded:", "none recorded"):
        assert part in text
    first, second = data("history", path)
    assert (first["number"], first["purpose"], first["private"]) == (1, "May [red]", True)
    assert first["events"] == [gaussian(1.0).to_dict(), gaussian(0.5).to_dict()]
    assert not second["private"]
    assert second["spent"]["user"]["mu"] > first["spent"]["user"]["mu"]


def test_history_tells_a_purpose_once(path: Path) -> None:
    Ledger.open(path).charge([gaussian(1.0)], "item counts")
    assert says("history", path).count("item counts") == 1


def test_a_plan_that_fits(path: Path) -> None:
    release = ("--protect", "user", "--epsilon", "0.5", "--every", "month")
    assert "every month for a year" in says("plan", path, *release)
    planned = data("plan", path, *release)
    assert (planned["times"], planned["fits"]) == (12, True)
    assert planned["limits"][0]["once"] == pytest.approx(0.5, rel=1e-6)


def test_a_plan_points_to_series_and_says_what_they_charge_once(path: Path) -> None:
    """Not a person: what somebody pays who is there in many periods grows."""
    release = ("--protect", "user", "--epsilon", "0.5", "--times", "12")
    said = says("plan", path, *release)
    assert said.endswith(
        "In a series one rating, or one person's ratings of one period, is charged once for all "
        "releases: `discreet series plan`."
    )
    assert "series" not in json.dumps(data("plan", path, *release))
    assert "noise drawn" in call("series", "plan", "--periods", 2).out, "the command exists"


def test_a_plan_that_does_not_fit_has_exit_code_1(path: Path) -> None:
    release = ("--protect", "user", "--epsilon", "1", "--delta", "0", "--times", "5")
    assert "does not fit: only 3 do" in says("plan", path, *release, code=1)
    planned = data("plan", path, *release, code=1)
    assert (planned["fits"], planned["fitting"]) == (False, 3)
    assert planned["limits"][0]["all"] == pytest.approx(5.0)


def test_a_plan_per_rating_needs_a_bound_under_a_limit_per_user(path: Path) -> None:
    release = ("--protect", "rating", "--epsilon", "0.1", "--delta", "0", "--times", "3")
    with pytest.raises(DiscreetError, match="bound how many ratings of a user count"):
        says("plan", path, *release)
    assert data("plan", path, *release, "--ratings-per-user", "10")["fitting"] == 3


def test_a_plan_without_an_epsilon_says_how_large_each_release_may_be(path: Path) -> None:
    asked = ("plan", path, "--protect", "user", "--times", "12")
    assert says(*asked) == (
        "Each of 12 releases may have epsilon 0.775 at delta 1e-06 per user (the limit is 3 per "
        "user)."
    )
    most = data(*asked)["largest"]
    assert 0.775 < most < 0.776
    assert data(*asked, "--epsilon", str(most))["fits"]
    assert not data(*asked, "--epsilon", str(most * 1.0001), code=1)["fits"]
    assert "One release may have epsilon 3 at" in says(*asked[:-1], "1")
    assert "epsilon 0.25 at delta 0 per user" in says(*asked, "--delta", "0")
    with pytest.raises(DiscreetError, match="see discreet series"):
        says("plan", path, "--protect", "user-month")


def test_nothing_left_is_exit_code_1(path: Path) -> None:
    Ledger.open(path).charge([gaussian(3.0)], "all of it")
    asked = ("plan", path, "--protect", "user", "--times", "2")
    assert says(*asked, code=1) == (
        "Nothing is left for 2 releases per user (the limit is 3 per user)."
    )


def test_limits_of_user_periods_are_shown_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    limits = ("--protect", "user-month", "--epsilon", "1", "--protect", "user", "--epsilon", "20")
    made = says("init", path, "--population", "people", *limits)
    assert "user-month 0 1 1e-06 1 1" in made and "user 0 20 1e-06" in made
    assert "user-day" not in made
    event = GaussianEvent(
        unit=Unit.USER_MONTH, label="x", sensitivity=1.0, sigma=calibrate_gaussian(1.0, 1.0, 1e-6)
    )
    terms = SeriesTerms("ab" * 16, Unit.USER_MONTH, event, NoisePlan.fresh())
    for number in (1, 2):
        charge = Ledger.open(path).charge_period(terms, Period(number, f"m{number}"), "add").charge
        assert charge is not None
        Ledger.open(path).record_publication(charge, f"{number:064x}")
    shown = data("show", path)["units"]
    assert shown["user-month"]["spent"]["epsilon"] == pytest.approx(1.0)
    assert shown["user"]["spent"]["epsilon"] == pytest.approx(
        gaussian_epsilon(math.sqrt(2) * gaussian_mu(1.0, 1e-6), 1e-6), rel=1e-6
    )
    told = says("history", path)
    assert "(period 'm2')" in told and "user-month" in told and "abababab" not in told
    entries = data("history", path)
    assert entries[1]["series"] == {
        "terms": terms.to_dict(), "period": Period(2, "m2").to_dict()
    }  # fmt: skip


def test_the_history_names_the_series_where_there_are_several(tmp_path: Path) -> None:
    path = str(tmp_path / "l")
    says("init", path, "--population", "people", "--protect", "user-month", "--epsilon", "9")
    event = GaussianEvent(unit=Unit.USER_MONTH, label="x", sensitivity=1.0, sigma=5.0)
    terms = SeriesTerms("ab" * 16, Unit.USER_MONTH, event, NoisePlan.fresh())
    Ledger.open(path).charge_period(terms, Period(1, "m1"), "add")
    assert "abababab" not in says("history", path)
    other = replace(terms, series="cd" * 16)
    Ledger.open(path).charge_period(other, Period(1, "m1"), "lists, period m1")
    told = says("history", path)
    assert told.count("abababab)") == told.count("cdcdcdcd)") == 1
    assert told.count("'m1'") == 1  # the second purpose says it


def test_a_plan_books_nothing(path: Path) -> None:
    before = path.read_bytes()
    says("plan", path, "--protect", "user", "--epsilon", "0.1")
    assert path.read_bytes() == before
