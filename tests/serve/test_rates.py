"""Token buckets: how much, how fast again, and how many are remembered."""

from __future__ import annotations

from discreet.serve import Rate
from discreet.serve._rates import Buckets, network_of


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
