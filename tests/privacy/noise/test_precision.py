"""Two threads that compute exactly do not disturb each other's precision."""

from __future__ import annotations

import sys
import threading

import mpmath

from discreet.privacy.noise import precision


def test_threads_keep_their_own_precision() -> None:
    seen: list[bool] = []
    before, interval = mpmath.mp.prec, sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(bits: int) -> None:
        for _ in range(2000):
            with precision(bits):
                seen.append(mpmath.mp.prec == bits)

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (80, 144, 300)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(seen) == 6000
    assert all(seen)
    assert mpmath.mp.prec == before
