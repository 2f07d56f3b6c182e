"""Exact sums over users on a Spark cluster: tasks run the local statistics on whole users.

Nothing here loads pyspark until it is used.
"""

from discreet.measure.engines.spark._ratings import SparkRatings, Survey
from discreet.measure.engines.spark._read import read_spark
from discreet.measure.engines.spark._session import open_table, start_session

__all__ = ["SparkRatings", "Survey", "open_table", "read_spark", "start_session"]
