#!/usr/bin/env bash
# Holds the embedded queue against the AWS documentation, and moto as a second opinion
# on the checks themselves. Only the result of the embedded queue decides.
#
#   run.sh                 starts `rehearse serve queue` (or $REHEARSE) and moto
#   run.sh --endpoint URL  checks a server that runs already instead
#   run.sh --ours-only     without moto
#   run.sh --slow          also checks that wait a minute
#
# Exit codes: 0 all checks passed, 1 some failed, 3 the environment cannot run them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
endpoint=""
with_moto=1
slow=()
while [ $# -gt 0 ]; do
  case $1 in
    --endpoint) endpoint=$2; shift ;;
    --ours-only) with_moto=0 ;;
    --slow) slow=(--slow) ;;
    *) echo "unknown option $1; see the head of $0" >&2; exit 3 ;;
  esac
  shift
done

work=$(mktemp -d)
started=()
clean() {
  for pid in "${started[@]:-}"; do
    [ -n "$pid" ] && kill "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap clean EXIT

unavailable() {
  echo "conformance checks NOT RUN: $1" >&2
  exit 3
}

# A line of a server's output, waited for as long as the server lives.
await_line() { # file, pid, pattern, what
  for _ in $(seq 600); do
    if grep -m1 -oE "$3" "$1" 2>/dev/null; then return 0; fi
    kill -0 "$2" 2>/dev/null || break
    sleep 0.1
  done
  echo "$4 did not start:" >&2
  tail -n 20 "$1" >&2
  return 1
}

# An environment from an earlier run can be named, to save the installation.
if [ -n "${CONFORMANCE_VENV:-}" ]; then
  venv=$CONFORMANCE_VENV
else
  command -v python3 >/dev/null || unavailable "there is no python3"
  venv=$work/venv
  python3 -m venv "$venv" >"$work/venv.log" 2>&1 || unavailable "python3 has no venv: $(tail -n 1 "$work/venv.log")"
  packages=(boto3)
  [ $with_moto = 1 ] && packages+=('moto[server]')
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >"$work/pip.log" 2>&1 ||
    unavailable "pip cannot install ${packages[*]}: $(tail -n 1 "$work/pip.log")"
fi

if [ -z "$endpoint" ]; then
  cd "$here/../../.."
  # shellcheck disable=SC2086 # a command with its arguments
  ${REHEARSE:-cargo run --quiet --bin rehearse --} serve queue --port 0 >"$work/ours.log" 2>&1 &
  started+=($!)
  endpoint=$(await_line "$work/ours.log" $! 'http://[0-9.:]+' "the embedded queue") || exit 3
fi

ours=0
"$venv/bin/python" "$here/check.py" --endpoint "$endpoint" --json "$work/ours.json" ${slow[@]+"${slow[@]}"} || ours=$?
[ $ours = 2 ] && exit 3

moto=()
if [ $with_moto = 1 ]; then
  "$venv/bin/moto_server" -H 127.0.0.1 -p 0 >"$work/moto.log" 2>&1 &
  started+=($!)
  if second=$(await_line "$work/moto.log" $! 'http://[0-9.:]+' moto); then
    "$venv/bin/python" "$here/check.py" --endpoint "$second" --json "$work/moto.json" --quiet \
      ${slow[@]+"${slow[@]}"} >/dev/null || true
    moto=(--moto "$work/moto.json")
  fi
fi

"$venv/bin/python" "$here/compare.py" --ours "$work/ours.json" ${moto[@]+"${moto[@]}"}
exit $ours
