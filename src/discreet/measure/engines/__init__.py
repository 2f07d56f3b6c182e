"""Where sums over users are computed.

`local` uses this machine's threads. `disk` goes block by block, for more ratings than memory holds.
`spark` uses a cluster.

An engine adds up integers. It knows nothing of privacy, and every engine returns the same integers
for the same ratings.
"""
