"""The weekly refresh as an Airflow DAG: what the timer and the crontab beside it do.

`refresh.sh` does the work: run as often as you like, it adds what waits, once. So a failed task may
simply be tried again, unless the ledger refused (3) or a person must look (4): those end the run as
failed at once.
"""

from __future__ import annotations

import datetime

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

SCRIPT = "/usr/local/lib/discreet/refresh.sh"
FOLDER, RELEASE = "/var/lib/discreet", "/srv/discreet/films.discreet"
# What `refresh.sh` ends with where trying again cannot help; see README.md.
REFUSED = (3, 4)


@dag(
    schedule="30 4 * * 1",
    start_date=datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC),
    catchup=False,  # what waits is added in one run, whichever weeks it is from
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": datetime.timedelta(minutes=10)},
)
def discreet_refresh():
    """A new release every Monday, from the weeks that wait."""

    @task
    def refresh():
        # Imported here: a scheduler reads this file again and again.
        import subprocess

        done = subprocess.run([SCRIPT, FOLDER, RELEASE], check=False)
        if done.returncode in REFUSED:
            raise AirflowFailException(f"refresh.sh ended with {done.returncode}: see README.md")
        done.check_returncode()

    refresh()


discreet_refresh()
