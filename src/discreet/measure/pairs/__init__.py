"""What the raters of two items say of both: Slope One's differences, the cosine. See PROOF.md."""

from discreet.measure.pairs._cosine import CosineMoments, CosinePairs
from discreet.measure.pairs._differences import DifferenceMoments, DifferencePairs

__all__ = ["CosineMoments", "CosinePairs", "DifferenceMoments", "DifferencePairs"]
