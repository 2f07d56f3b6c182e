"""The two noises that statistics are released with."""

from discreet.privacy import Noise

__all__ = ["Noise"]
