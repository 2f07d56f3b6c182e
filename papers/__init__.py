"""The papers that discreet started from: their figures made again, and where they do not hold.

Research beside the product: it is not in the wheel. Run it from a clone as `python -m papers`.
"""
