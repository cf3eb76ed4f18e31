#!/usr/bin/env bash
# Kills the harness at random moments of a run on host processes: while it builds, prepares,
# rehearses, and ends. In every other round its watchdog dies first. With a watchdog nothing
# may stay; without one, `rehearse clean` must find and remove all of it.
#
#   harness/tests/kill_the_harness.sh [ROUNDS] [LATEST MOMENT IN MS]
#
# In the repository's root, after `cargo build`. MANIFEST, REHEARSE and FEATURES in the
# environment name others than usual.
set -euo pipefail
cd "$(dirname "$0")/../.."

rehearse=${REHEARSE:-target/debug/rehearse}
manifest=${MANIFEST:-rehearsal.yaml}
features=${FEATURES:-features/quarantine/five-messages.feature}
latest=${2:-8000}
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# What bears the run's id: processes, and directories of servers.
remaining() {
    [ -n "$run" ] || return 0
    grep -lzs "^REHEARSE_RUN_ID=$run\$" /proc/[0-9]*/environ || true
    ls -d /dev/shm/rehearse-"$run"* "$TMPDIR"/rehearsal-*/"$run" 2> /dev/null || true
}

most=0
for round in $(seq "${1:-100}"); do
    "$rehearse" --manifest "$manifest" --reports "$TMPDIR/reports" "$features" > "$TMPDIR/log" 2>&1 &
    harness=$!
    after=$((RANDOM * 32768 + RANDOM))
    after=$((after % latest))
    sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
    run=$(sed -n 's/^run \([^:]*\):.*/\1/p' "$TMPDIR/log" | head -1)
    watched=yes
    if [ $((round % 2)) = 0 ]; then
        watched=no
        # Its watchdog first, or it would be quicker than this script.
        for pid in $(pgrep -P "$harness" -f __watchdog || true); do kill -KILL "$pid" 2> /dev/null || true; done
    fi
    kill -KILL "$harness" 2> /dev/null || true
    wait "$harness" 2> /dev/null || true
    left=$(remaining | wc -l)
    [ "$left" -le "$most" ] || most=$left
    if [ "$watched" = yes ]; then
        for _ in {1..300}; do
            [ -n "$(remaining)" ] || break
            sleep 0.1
        done
    else
        "$rehearse" clean > "$TMPDIR/cleaned" 2>&1 || { echo "clean failed:"; cat "$TMPDIR/cleaned"; exit 1; }
    fi
    still=$(remaining)
    echo "round $round: killed after $after ms (watchdog: $watched), $left processes and directories left, then $(echo -n "$still" | wc -l)"
    [ -z "$still" ] || { echo "still there: $still"; exit 1; }
done
echo "nothing was left; at most $most things had been"
