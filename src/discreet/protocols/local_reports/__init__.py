"""Local reports: everybody answers for every item of the catalogue, randomised at home."""
