#!/usr/bin/env python3
"""Shows the results of the embedded queue beside those of moto.

What moto is known not to do stands in moto_gaps.txt. A difference from that list is
worth a look: a check that moto fails and nobody expected may be wrong itself.
"""

import argparse
import json
import pathlib

GAPS = pathlib.Path(__file__).with_name("moto_gaps.txt")


def read(path):
    with open(path, encoding="utf-8") as file:
        return {result["name"]: result for result in json.load(file)}


def known_gaps():
    gaps = {}
    for line in GAPS.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            gaps[name] = reason
    return gaps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--moto")
    options = parser.parse_args()
    ours = read(options.ours)
    moto = read(options.moto) if options.moto else {}
    gaps = known_gaps()

    areas = {}
    for name, result in ours.items():
        row = areas.setdefault(result["area"], [0, 0, 0])
        row[0] += 1
        row[1] += not result["problem"]
        row[2] += name in moto and not moto[name]["problem"]
    rows = [*areas.items(), ("all", [sum(row[i] for row in areas.values()) for i in range(3)])]
    print(f"\n{'area':<16}{'checks':>8}{'ours':>8}" + (f"{'moto':>8}" if moto else ""))
    for area, (checks, passed, second) in rows:
        print(f"{area:<16}{checks:>8}{passed:>8}" + (f"{second:>8}" if moto else ""))

    unexpected = [n for n, r in moto.items() if r["problem"] and n not in gaps]
    closed = [n for n in gaps if n in moto and not moto[n]["problem"]]
    if unexpected:
        print("\nmoto fails what is not in moto_gaps.txt; is the check right?")
        for name in unexpected:
            print(f"  {name}: {moto[name]['problem'][:160]}")
    if closed:
        print("\nmoto passes what moto_gaps.txt says it fails (some gaps come and go):")
        for name in closed:
            print(f"  {name}")


if __name__ == "__main__":
    main()
