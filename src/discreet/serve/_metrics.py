"""Numbers for Prometheus: sums over everybody, for the administrator alone.

Whoever reads a sum before and after somebody's request has that person's part of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

Figure = tuple[str, str, float]
"""A name, what it means, a value."""

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters that requests add to; all on the event loop's thread."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: Counter[float] = Counter()
        self.seconds_sum = 0.0
        self.stored = 0
        self.limited: Counter[str] = Counter()
        self.builds: Counter[str] = Counter()
        self.build_seconds = 0.0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answer."""
        self.requests[method, route, status] += 1
        self.seconds[next((b for b in _BOUNDS if seconds <= b), float("inf"))] += 1
        self.seconds_sum += seconds

    def upload(self) -> None:
        """One report that is on disk; not its size, which tells how much a person rated."""
        self.stored += 1

    def text(self, gauges: Iterable[Figure] = (), counters: Iterable[Figure] = ()) -> str:
        """Everything in Prometheus' text format, and these gauges and counters beside it."""
        lines = _head("discreet_requests_total", "counter", "Answers by route and status.")
        for (method, route, status), count in sorted(self.requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"discreet_requests_total{{{labels}}} {count}")
        lines += self._latency()
        for name, help_text, value in (
            ("discreet_reports_stored_total", "Reports put on disk.", self.stored),
            ("discreet_build_seconds_total", "Time spent on releases.", self.build_seconds),
            *counters,
        ):
            lines += [*_head(name, "counter", help_text), f"{name} {value}"]
        for name, help_text, label, counts in (
            ("discreet_rate_limited_total", "Requests over a limit.", "limit", self.limited),
            ("discreet_builds_total", "Releases built, or not.", "outcome", self.builds),
        ):
            lines += _head(name, "counter", help_text)
            lines += [f'{name}{{{label}="{each}"}} {n}' for each, n in sorted(counts.items())]
        for name, help_text, value in gauges:
            lines += [*_head(name, "gauge", help_text), f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _latency(self) -> list[str]:
        name = "discreet_request_seconds"
        lines = _head(name, "histogram", "From a request's head to its answer's end.")
        below = 0
        for bound in _BOUNDS:
            below += self.seconds[bound]
            lines.append(f'{name}_bucket{{le="{bound}"}} {below}')
        total = self.seconds.total()
        lines.append(f'{name}_bucket{{le="+Inf"}} {total}')
        return [*lines, f"{name}_sum {self.seconds_sum}", f"{name}_count {total}"]


def _head(name: str, kind: str, help_text: str) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
