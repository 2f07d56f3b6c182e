"""What the raters of two items say of both: Slope One's differences, the cosine. See PROOF.md."""

from discreet.measure.pairs._cosine import CosinePairs
from discreet.measure.pairs._differences import DifferencePairs

__all__ = ["CosinePairs", "DifferencePairs"]
