#!/usr/bin/env python3
"""Holds an SQS endpoint against the AWS documentation for standard queues.

    check.py --endpoint http://127.0.0.1:9324 [--json FILE] [--only NAME] [--slow]

Exit codes: 0 every check passed, 1 some failed, 2 the endpoint does not answer.
"""

import argparse
import concurrent.futures
import json
import sys
import time
import traceback

import check_dead_letters  # noqa: F401
import check_fifo  # noqa: F401
import check_protocol  # noqa: F401
import check_queues  # noqa: F401
import check_receiving  # noqa: F401
import check_sending  # noqa: F401
from kit import CHECKS, Failed, Kit


def run(entry, endpoint):
    area, core, _, function = entry
    kit = Kit(endpoint)
    start = time.monotonic()
    try:
        function(kit)
        problem = None
    except Failed as failed:
        problem = str(failed)
    except Exception as error:  # noqa: BLE001 - whatever a server makes an SDK raise is a finding
        line = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__}: {error} ({line.name})"
    finally:
        kit.clean()
    return {
        "area": area,
        "name": function.__name__,
        "sentence": function.__doc__,
        "core": core,
        "problem": problem,
        "seconds": round(time.monotonic() - start, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--json", help="write the results there")
    parser.add_argument("--only", help="checks whose name contains this")
    parser.add_argument("--slow", action="store_true", help="also those that wait a minute")
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--quiet", action="store_true", help="only the sum")
    options = parser.parse_args()
    try:
        Kit(options.endpoint).sqs.list_queues()
    except Exception as error:  # noqa: BLE001
        print(f"{options.endpoint} does not answer as SQS: {error}", file=sys.stderr)
        return 2
    chosen = [
        entry
        for entry in CHECKS
        if (options.slow or not entry[2])
        and (not options.only or options.only in entry[3].__name__)
    ]
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        results = list(pool.map(lambda entry: run(entry, options.endpoint), chosen))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    failed = [result for result in results if result["problem"]]
    if not options.quiet:
        for result in failed:
            print(f"FAILED {result['area']}: {result['name']}: {result['problem'][:200]}")
    core = [result for result in results if result["core"]]
    print(
        f"{len(results) - len(failed)} of {len(results)} checks passed, "
        f"{sum(not result['problem'] for result in core)} of {len(core)} on the core of delivery"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
