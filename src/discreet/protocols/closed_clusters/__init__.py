"""Closed clusters: who is alike becomes known, and the hash values that say so do not.

An authority that is not the server's operator signs the directory of everybody's public keys. A
client tags its hash value for each other person with a key that only the two of them have; the
server compares the two tags of each pair. What that hides, from whom, and what not: PROOF.md.
"""
