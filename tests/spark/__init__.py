"""Ratings on a Spark cluster of two workers, which all tests here share."""
