#!/usr/bin/env bash
# Kills the harness, and with it its watchdog, at twenty random moments of a run with
# everything in containers; `rehearse clean` must find and remove all of it each time.
#
#   harness/tests/kill_in_containers.sh [ROUNDS]
#
# In the repository's root, after `cargo build`; needs a container engine that nobody else
# rehearses with. MANIFEST and REHEARSE in the environment name others than usual.
set -euo pipefail
cd "$(dirname "$0")/../.."

rehearse=${REHEARSE:-target/debug/rehearse}
manifest=${MANIFEST:-rehearsal.yaml}
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
things() {
    docker ps --all --quiet --filter label=rehearsal.run
    docker network ls --quiet --filter label=rehearsal.run
    docker volume ls --quiet --filter label=rehearsal.run
}
processes() {
    # Whatever bears the id of a run whose record is here.
    for record in "$TMPDIR"/rehearsal-*/*/; do
        [ -d "$record" ] || continue
        grep -lzs "^REHEARSE_RUN_ID=$(basename "$record")\$" /proc/[0-9]*/environ || true
    done
}
[ -z "$(things)" ] || { echo "there are containers of other rehearsals"; exit 3; }

most=0
for round in $(seq "${1:-20}"); do
    "$rehearse" --manifest "$manifest" --driver containers --reports "$TMPDIR/reports" \
        features/quarantine/five-messages.feature > "$TMPDIR/log" 2>&1 &
    harness=$!
    after=$((RANDOM % 8000))
    sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
    watchdogs=$(pgrep -P "$harness" -f __watchdog || true)
    # Its watchdog first, or it would be quicker than this script.
    for pid in $watchdogs $harness; do kill -KILL "$pid" 2> /dev/null || true; done
    wait "$harness" 2> /dev/null || true
    left=$(things | wc -l)
    [ "$left" -le "$most" ] || most=$left
    begun=$(date +%s%N)
    "$rehearse" clean > "$TMPDIR/cleaned" 2>&1 || { echo "clean failed:"; cat "$TMPDIR/cleaned"; exit 1; }
    took=$((($(date +%s%N) - begun) / 1000000))
    remaining=$(things; processes)
    echo "round $round: killed after $after ms, $left containers, networks and volumes left, cleaned in $took ms"
    [ -z "$remaining" ] || { echo "still there: $remaining"; exit 1; }
done
echo "nothing was left; at most $most things had been"
