"""Where sums over users are computed: `local` on this machine's threads, `spark` on a cluster.

An engine adds up integers. It knows nothing of privacy, and every engine returns the same integers
for the same ratings.
"""
