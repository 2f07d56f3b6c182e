"""The first answer is frozen, epochs cost again, and a crash never makes two answers of one."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain import Catalog, InputError, OwnRatings, Scale
from discreet.privacy import SystemRandomness
from discreet.protocols.common import StateFile
from discreet.protocols.local_reports.client import LocalClient, draw_report
from discreet.protocols.local_reports.messages import PROTOCOL, Collection, Report
from protocols.local_reports._making import MECHANISMS, make_collection

_RATINGS = {"i0": 5.0, "i7": 2.0}


def same(one: Report, other: Report) -> bool:
    return one.as_json() == other.as_json()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_first_answer_of_an_epoch_is_frozen(tmp_path: Path, mechanism: Any) -> None:
    collection = make_collection(300, mechanism)
    first = LocalClient(collection, tmp_path / "state").report(_RATINGS)
    changed = {"i0": 1.0, "i7": 2.0, "i8": 4.0}
    for ratings in (_RATINGS, changed, {}):
        assert same(LocalClient(collection, tmp_path / "state").report(ratings), first)


def test_a_new_epoch_is_drawn_anew_and_costs_again(tmp_path: Path) -> None:
    state = tmp_path / "state"
    clients = [LocalClient(make_collection(300, epoch=e), state) for e in (1, 2, 5)]
    assert clients[0].cost == 1.0
    reports = [client.report(_RATINGS) for client in clients]
    assert clients[0].collection.digest == clients[2].collection.digest
    assert [report.epoch for report in reports] == [1, 2, 5]
    assert len({report.reported for report in reports}) == 3
    assert clients[2].cost == 0.0
    assert same(clients[2].report({}), reports[2])
    with pytest.raises(InputError, match="period 2 is over"):
        clients[1].report(_RATINGS)


def test_the_running_total_is_kept_over_epochs_and_collections(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert LocalClient(make_collection(40), state).spent.per_rating == 0
    for epoch in (1, 2):
        LocalClient(make_collection(40, epoch=epoch), state).report(_RATINGS)
    other = LocalClient(make_collection(50, "randomized-response", 0.5), state)
    other.report(_RATINGS)
    spent = other.spent
    assert spent.reports == 3
    assert spent.per_rating == pytest.approx(2.5)
    assert spent.per_user == pytest.approx(2 * 40 + 50 * 0.5)
    assert str(spent) == (
        "3 reports drawn: epsilon 2.5 for each rating, 105 for all of them together"
    )
    # The answers of the first collection are still there: going back and forth costs nothing.
    back = LocalClient(make_collection(40, epoch=2), state)
    assert back.cost == 0.0
    back.report({})
    assert back.spent.reports == 3


def test_a_limit_is_not_passed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    LocalClient(make_collection(40), state, limit=1.0).report(_RATINGS)
    greedy = LocalClient(make_collection(40, epoch=2), state, limit=1.5)
    assert not greedy.is_within_limit
    with pytest.raises(InputError, match=r"epsilon of all to 2, past your limit of 1\.5"):
        greedy.report(_RATINGS)
    assert greedy.spent.reports == 1
    assert LocalClient(make_collection(40), state, limit=1.0).report({}).epoch == 1


def test_a_limit_is_remembered_until_another_is_set(tmp_path: Path) -> None:
    state = tmp_path / "state"
    second = make_collection(40, epoch=2)
    assert LocalClient(second, state).limit.value is None
    # Looking ahead writes nothing; a report that is refused is remembered for its limit.
    assert LocalClient(second, state, limit=0.5).limit.value == 0.5
    assert not state.exists()
    with pytest.raises(InputError, match=r"past your limit of 0\.5"):
        LocalClient(second, state, limit=0.5).report(_RATINGS)
    assert LocalClient(second, state).limit.value == 0.5
    with pytest.raises(InputError, match=r"past your limit of 0.5; .* stays until you set another"):
        LocalClient(second, state).report(_RATINGS)
    LocalClient(second, state, limit=1.0).report(_RATINGS)
    third = LocalClient(make_collection(40, epoch=3), state)
    assert (third.limit.value, third.is_within_limit, third.spent.reports) == (1.0, False, 1)
    with pytest.raises(InputError, match="past your limit of 1;"):
        third.report(_RATINGS)
    assert third.spent.reports == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_about_how_large_a_report_is(tmp_path: Path, mechanism: Any, epsilon: float) -> None:
    """Ten reports on average: a single one may well be off by 6 %."""
    collection = make_collection(5000, mechanism, epsilon)
    clients = [LocalClient(collection, tmp_path / f"state-{person}") for person in range(10)]
    sizes = [len(json.dumps(client.report(_RATINGS).as_json())) for client in clients]
    assert clients[0].usual_bytes == pytest.approx(np.mean(sizes), rel=0.06, abs=150)


def test_an_answer_once_drawn_is_never_redrawn(tmp_path: Path) -> None:
    """The process dies after the state was written and before the report left the house."""
    collection, state = make_collection(300), tmp_path / "state"

    class Dying(StateFile):
        def write(self, state: dict[str, Any]) -> None:
            super().write(state)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalClient(collection, Dying(state, PROTOCOL)).report(_RATINGS)
    kept = json.loads(state.read_text())["state"]["reports"][collection.digest]
    again = LocalClient(collection, state)
    assert again.cost == 0.0
    assert again.report({"i1": 3.0}).as_json() == kept
    assert again.spent.reports == 1


def test_what_was_not_written_was_not_spent(tmp_path: Path) -> None:
    """The disk is full: nothing was told to anybody, so nothing was spent."""
    collection, state = make_collection(300), tmp_path / "state"
    LocalClient(collection, state).report(_RATINGS)
    before = state.read_bytes()

    class Full(StateFile):
        def write(self, state: dict[str, Any]) -> None:
            raise InputError("cannot be written: no space", path=self.path)

    following = make_collection(300, epoch=2)
    with pytest.raises(InputError, match="no space"):
        LocalClient(following, Full(state, PROTOCOL)).report(_RATINGS)
    assert state.read_bytes() == before
    assert LocalClient(following, state).spent.reports == 1


def test_clients_at_the_same_time_give_one_answer(tmp_path: Path) -> None:
    collection, state = make_collection(300), tmp_path / "state"
    with ThreadPoolExecutor(8) as pool:
        reports = list(
            pool.map(lambda _: LocalClient(collection, state).report(_RATINGS), range(16))
        )
    assert all(same(report, reports[0]) for report in reports)
    assert LocalClient(collection, state).spent.reports == 1


def test_the_state_is_private_and_holds_no_rating(tmp_path: Path) -> None:
    state = tmp_path / "state"
    client = LocalClient(make_collection(30), state)
    client.report(_RATINGS)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert "i7" not in state.read_text()
    assert repr(client) == "LocalClient(private)"


def test_whether_a_report_is_sent_does_not_depend_on_the_ratings(tmp_path: Path) -> None:
    """The server chooses catalogue and scale: a refusal would be an answer without noise."""
    every: tuple[dict[str, float], ...] = (
        {},
        {"i1": 9.0},
        {"i1": -4},
        {"i1": 3.3},
        {"nowhere": 3.0},
    )
    for at, own in enumerate(every):
        client = LocalClient(make_collection(30), tmp_path / f"state{at}")
        assert client.report(own).epoch == 1 and client.spent.reports == 1
    with pytest.raises(InputError, match="limit"):
        LocalClient(make_collection(30), tmp_path / "state", limit=float("nan"))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ({"reports": 3}, "the kept reports are damaged"),
        ({"events": {}}, "the events are damaged"),
        ({"limit": "much"}, "the limit is damaged"),
        ({"limit": -1}, "the limit is damaged"),
        ({"events": [{"kind": "dice"}]}, "not a kind of spend"),
    ],
)
def test_a_damaged_state_is_refused(tmp_path: Path, damage: dict[str, Any], complaint: str) -> None:
    state = tmp_path / "state"
    client = LocalClient(make_collection(30), state)
    client.report(_RATINGS)
    StateFile(state, PROTOCOL).write(StateFile(state, PROTOCOL).read() | damage)
    following = LocalClient(make_collection(30, epoch=2), state)
    with pytest.raises(InputError, match=complaint):
        following.report(_RATINGS)


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    client = LocalClient(make_collection(3), tmp_path / "nowhere" / "state")
    with pytest.raises(InputError, match="cannot be locked"):
        client.report({})


@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(
    lo=st.floats(-1e6, 1e6),
    exponent=st.integers(-60, 20),
    parts=st.integers(1, 255),
    continuous=st.booleans(),
    rating=st.floats(-1e7, 1e7),
)
@settings(deadline=None, max_examples=60)
def test_no_rating_is_objected_to_on_any_scale_that_can_be_announced(
    mechanism: Any, lo: float, exponent: int, parts: int, continuous: bool, rating: float
) -> None:
    """A refusal would be an answer without noise."""
    step = 2.0**exponent
    try:
        scale = Scale(lo, lo + parts * step, None if continuous else step)
        collection = Collection(Catalog(["a"]), scale, mechanism, 1.0)
    except InputError:
        return
    near = (rating, lo, scale.hi, scale.mid, float(np.nextafter(lo, scale.hi)), 4.0)
    for value in near:
        own = OwnRatings.onto({"a": value}, collection.catalog, scale)
        drawn = draw_report(collection, own, SystemRandomness())
        assert len(drawn.items) <= 1
        assert np.abs(collection.to_grid(own.values)).max() <= collection.reach


@pytest.mark.parametrize("wrong", [True, -1.0, float("nan"), "2"])
def test_a_limit_that_is_none_is_refused_and_nothing_is_written(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(InputError, match="a limit is an epsilon from 0 on"):
        LocalClient(make_collection(40), tmp_path / "state", limit=wrong)
    assert not (tmp_path / "state").exists()
