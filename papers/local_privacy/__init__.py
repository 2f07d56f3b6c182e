"""Two mechanisms to collect ratings: modified Laplace and randomized response."""
