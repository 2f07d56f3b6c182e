"""How accurate discreet is beside other private recommenders, on one split of the same ratings."""
