"""Exact sums over users on the threads of one machine."""

from discreet.measure.engines.local._moments import CoMoments, co_moments

__all__ = ["CoMoments", "co_moments"]
