"""Where sums over users are computed: `local` on this machine's threads.

An engine adds up integers that were quantised elsewhere. It knows nothing of privacy, and every
engine returns the same integers for the same input.
"""
