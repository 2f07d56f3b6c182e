"""All planted bugs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from discreet.audit.lower_bound._engine import Subject
from discreet.audit.lower_bound.planted._noise import noise_bugs
from discreet.audit.lower_bound.planted._papers import paper_bugs
from discreet.audit.lower_bound.planted._statistics import statistic_bugs

PLANTED: Mapping[str, Callable[[], Subject]] = MappingProxyType(
    dict([*noise_bugs(), *statistic_bugs(), *paper_bugs()])
)
"""What makes each of them."""
