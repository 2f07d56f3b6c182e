"""Park and Acharya, Differentially Private Recommendation Systems (2011)."""
