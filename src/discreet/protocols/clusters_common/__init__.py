"""Ratings among made-up ones, in buckets of people alike: what open and closed clusters share.

No protocol by itself: each of the two says how a person's bucket is found, and the rest is here.
"""
