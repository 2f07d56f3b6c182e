"""Token buckets: how much, how fast again, and how many are remembered."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from cli._calling import call
from discreet.cli.serve import serve
from discreet.serve import Rate, Settings
from discreet.serve._requests import Buckets, network_of

_OPTIONS = ("per_address", "per_capability", "enrolments")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_then_the_long_run() -> None:
    clock = Clock()
    buckets = Buckets(Rate(60, 3), clock=clock)
    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 1]
    assert buckets.wait("b") == 0
    clock.now = 2.0
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 1]
    clock.now = 1000.0
    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 1]


@pytest.mark.parametrize(("count", "burst"), [(600, 200), (30, 10), (12, 5), (0.5, 5), (0, 5)])
def test_at_once_a_third_of_a_minutes_and_five_at_least(count: float, burst: int) -> None:
    assert Rate.a_minute(count) == Rate(count, burst)


def test_the_usual_rates_are_those_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "made").touch()
    settings = Settings(tmp_path / "made")
    found = {name: getattr(settings, name).per_minute for name in _OPTIONS}
    usual = signature(serve).parameters
    assert found == {name: usual[name].default for name in _OPTIONS}
    assert settings.per_address.burst == 200
    said = call("serve", "--help").out
    assert f"from fewer people. [default: {settings.least_people}]" in " ".join(said.split())


def test_the_wait_that_is_told_is_long_enough() -> None:
    clock = Clock()
    buckets = Buckets(Rate(7, 1), clock=clock)
    assert buckets.wait("a") == 0
    clock.now += buckets.wait("a")
    assert buckets.wait("a") == 0


def test_memory_is_bounded_and_forgets_the_longest_unseen() -> None:
    clock = Clock()
    buckets = Buckets(Rate(1, 1), most=10, clock=clock)
    for n in range(1000):
        assert buckets.wait(n) == 0
        assert len(buckets) <= 10
    assert buckets.wait(999) > 0
    assert buckets.wait(0) == 0


def test_no_limit_remembers_nobody() -> None:
    buckets = Buckets(Rate(0, 1))
    assert [buckets.wait("a") for _ in range(100)] == [0] * 100
    assert len(buckets) == 0


def test_an_ipv6_network_is_one_address() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1")
    assert network_of("2001:db8::1") != network_of("2001:db8:0:1::1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("::ffff:192.0.2.1") != network_of("::ffff:192.0.2.2")
    assert network_of("a name") == "a name"
