"""Exact sums over users on a Spark cluster: tasks run the local statistics on whole users.

Nothing here loads pyspark until it is used.
"""

from discreet.measure.engines.spark._ratings import SparkRatings, Survey
from discreet.measure.engines.spark._read import (
    check_source,
    open_table,
    read_public,
    read_spark,
)
from discreet.measure.engines.spark._session import session_for_now, start_session

__all__ = [
    "SparkRatings",
    "Survey",
    "check_source",
    "open_table",
    "read_public",
    "read_spark",
    "session_for_now",
    "start_session",
]
