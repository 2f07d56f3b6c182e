"""Open clusters: people of one bucket, found by a public hash, and averages of obfuscated ratings.

Plausible deniability, not differential privacy: what is sent holds true ratings among made-up ones.
"""
