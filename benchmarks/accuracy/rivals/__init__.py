"""The other private recommenders that discreet is compared with, and a few that are not private."""
