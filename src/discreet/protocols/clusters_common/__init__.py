"""What open and closed clusters share: obfuscated ratings, and averages by bucket of people.

This is not a protocol: each of the two decides how a person's bucket is found; the rest is here.
"""
