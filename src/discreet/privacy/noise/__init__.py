"""Random bits and integer noise with an exact law."""

from discreet.privacy.noise._randomness import Randomness, SeededRandomness, SystemRandomness

__all__ = ["Randomness", "SeededRandomness", "SystemRandomness"]
