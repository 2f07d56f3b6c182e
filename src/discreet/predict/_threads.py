"""The parallel kernels share numba's threads, not all of whose backends bear two callers."""

from __future__ import annotations

import threading

one_at_a_time = threading.Lock()
"""Held by whoever runs a parallel kernel: predictions, and the making of a predictor."""
