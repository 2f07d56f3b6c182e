"""Made-up ratings with the shape of real ones, from ten thousand to a hundred million and more.

Nothing here is private: the ratings are drawn from a public, seeded, fast generator, the same for
everybody who names the same shape and seed. It must never be the source of noise that protects
people; that comes from `privacy.mechanisms`.
"""

from discreet.ratings.synthetic._generator import make_ratings
from discreet.ratings.synthetic._shapes import SHAPES, Shape, find_shape

__all__ = ["SHAPES", "Shape", "find_shape", "make_ratings"]
