"""What exact noise costs, beside numpy's float noise, rounded, and OpenDP's exact noise.

    python -m benchmarks.noise --samples 158000000

158 million is the upper triangle of a covariance of 17,770 items. Draws are made ten million at a
time, so that memory stays small. Prints CPU seconds of all threads together, nanoseconds a draw,
and how many times as long as numpy's rounded normal draws it took in the same run; then rows a
second (of CPU time, and of the clock on all cores) of the two private selections.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks._cost import add_row

from discreet.privacy import SystemRandomness, Unit, unbooked
from discreet.privacy.mechanisms import GumbelTopK, KSubset, Moves
from discreet.privacy.noise import GaussianLaw, GeometricLaw, Law, draw_noise

_SLICE = 10_000_000
_FEW = 20_000
_EVERY_DRAW_EXACTLY = 62  # a margin of half the range: the table settles nothing
_ITEMS = 20_000

_LAWS: tuple[Law, ...] = (
    GaussianLaw(2.0**40),
    GaussianLaw(2.0**20),
    GaussianLaw(100.0),
    GeometricLaw(2.0**40),
    GeometricLaw(100.0),
)


@dataclass(frozen=True)
class Timing:
    """CPU and wall seconds for so many pieces of work."""

    cpu: float
    wall: float
    count: int

    @property
    def nanoseconds(self) -> float:
        """CPU time for one piece."""
        return self.cpu / self.count * 1e9


def timed(work: Callable[[int], object], count: int) -> Timing:
    """Do the work in slices; the first small call, which may compile, is not counted."""
    work(1)
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, count, _SLICE):
        work(min(_SLICE, count - start))
    return Timing(time.process_time() - cpu, time.perf_counter() - wall, count)


def ours(law: Law, margin_log2: int | None = None) -> Callable[[int], object]:
    randomness = SystemRandomness()
    if margin_log2 is None:
        return lambda count: draw_noise(law, count, randomness)
    return lambda count: draw_noise(law, count, randomness, margin_log2=margin_log2)


def numpy_rounded(sigma: float) -> Callable[[int], object]:
    generator = np.random.default_rng()
    return lambda count: np.rint(generator.normal(0.0, sigma, count)).astype(np.int64)


def opendp(law: Law) -> Callable[[int], object] | None:
    """OpenDP's sampler for the same family of noise; None if it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(law, GaussianLaw):
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=law.scale)
    else:
        measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=law.scale)
    return lambda count: measure([0] * count)


def selection_rows(mechanism: GumbelTopK | KSubset) -> Callable[[int], object]:
    """Choices from scores that spread over a thousand grid steps, rating predictions say."""
    scores = np.arange(_ITEMS) * 7919 % 1000

    def choose(rows: int) -> object:
        event = mechanism.event(Unit.USER, "benchmark", rows)
        return mechanism.release(np.tile(scores, (rows, 1)), event, unbooked([event]))

    return choose


def print_noise(samples: int) -> None:
    print(f"{'noise':<42} {'draws':>12} {'CPU s':>8} {'ns/draw':>9} {'x numpy':>8}")
    plain = timed(numpy_rounded(2.0**40), samples)
    _print_line("numpy normal, rounded: 2^40", plain, plain)
    for law in _LAWS:
        _print_line(f"discreet {_name(law)}", timed(ours(law), samples), plain)
    for law in (_LAWS[0], _LAWS[3]):
        work = opendp(law)
        if work is not None:
            _print_line(f"OpenDP {_name(law, 'discrete')}", timed(work, _FEW), plain)
        exactly = timed(ours(law, _EVERY_DRAW_EXACTLY), _FEW // 10)
        _print_line(f"discreet, all exact: {_name(law)}", exactly, plain)


def print_selections(rows: int) -> None:
    title = f"selection of k of {_ITEMS:,} items"
    print(f"\n{title:<42} {'rows':>12} {'CPU s':>8} {'rows/CPU s':>11} {'rows/s':>8}")
    for kind in (GumbelTopK, KSubset):
        for k in (10, 50):
            timing = timed(selection_rows(kind(k, 1.0, 1, Moves.ALL)), rows)
            print(
                f"{f'{kind.name}, k = {k}':<42} {rows:>12,} {timing.cpu:>8.2f} "
                f"{rows / timing.cpu:>11,.0f} {rows / timing.wall:>8,.0f}"
            )


def _print_line(name: str, timing: Timing, plain: Timing) -> None:
    ratio = timing.nanoseconds / plain.nanoseconds
    add_row(f"{timing.count:,} draws, {name}", f"{timing.cpu:.2f} CPU-s", f"{ratio:,.2f} of numpy")
    print(
        f"{name:<42} {timing.count:>12,} {timing.cpu:>8.2f} "
        f"{timing.nanoseconds:>9,.1f} {ratio:>8,.2f}"
    )


def _name(law: Law, integers: str = "rounded") -> str:
    kind = f"{integers} Gaussian" if isinstance(law, GaussianLaw) else "geometric"
    scale = f"2^{int(np.log2(law.scale))}" if law.scale >= 1024 else f"{law.scale:g}"
    return f"{kind}: {scale}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=158_000_000, help="draws from every law")
    parser.add_argument("--rows", type=int, default=400, help="rows of every selection")
    arguments = parser.parse_args(argv)
    print_noise(arguments.samples)
    print_selections(arguments.rows)


if __name__ == "__main__":
    main()
