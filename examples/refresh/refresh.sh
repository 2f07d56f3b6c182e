#!/bin/sh
# Add every week that waits to a series, the oldest first, and put the new release in its place.
#
#   refresh.sh FOLDER RELEASE
#
# FOLDER is the curator's own: films.series and members.ledger (README.md makes them), and
#   waiting/ratings-2026-W12.csv   a week's records, put there whole once the week is over
#   added/                         where the file goes when its week is in the series
# RELEASE is the file that `discreet serve` watches.
#
# It can be run at any time, as often as you like: where nothing waits, nothing happens, and what
# was interrupted is repeated. A week is charged once.
set -eu
folder=${1:?usage: refresh.sh FOLDER RELEASE}
release=${2:?usage: refresh.sh FOLDER RELEASE}
# What `discreet series add` ends with for a period that is in the series already.
already=4

cd "$folder"
mkdir -p added
for file in waiting/ratings-*.csv; do
    [ -e "$file" ] || continue # nothing waits
    name=${file##*/}
    period=${name#ratings-}
    period=${period%.csv}
    code=0
    discreet series add films.series "$file" --period "$period" -o "$release" \
        --ledger members.ledger || code=$?
    if [ "$code" -eq "$already" ] && [ -e "added/$name" ]; then
        echo "$file: week $period was added before, from added/$name; a week is added once" >&2
        exit "$code"
    fi
    # A week that is there already was added by a run that was interrupted before the next line.
    if [ "$code" -ne 0 ] && [ "$code" -ne "$already" ]; then
        exit "$code"
    fi
    mv "$file" added/
done
