#!/usr/bin/env python3
"""Runs the defects of `defects.toml` against the scenarios meant for them, and says who sees what.

    system/defects.py --build            # once: the program with every seam in it, and the harness
    system/defects.py                    # all of them
    system/defects.py no-brake key-…     # some of them
    system/defects.py --jobs 2 --shard 1/4 --json FILE

A defect is seen when a scenario meant for it fails: an `unproven` or an `error` is none. What failed
only because nothing came to rest in time is told apart. The exit code is 1 when one is not seen.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/defects/document-service"
HARNESS = ROOT / "target/debug/rehearse"
# A defect that leaves nothing but silence is not waited for as long as a system under load.
LIMITS = "limits: { step: 15s, scenario: 1m, quiet: 12s, build: 15m }"
IN_TIME = re.compile(r"not quiet|not come to rest|in time|within|times after \d", re.IGNORECASE)


def build():
    """The program with every seam, beside the ordinary one, and the harness."""
    service = ["cargo", "build", "--quiet", "--bin", "document-service"]
    subprocess.run([*service, "--features", "document-service/defects"], cwd=ROOT, check=True)
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / "target/debug/document-service", PROGRAM)
    subprocess.run(service, cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--quiet", "--bin", "rehearse"], cwd=ROOT, check=True)


def manifest(name):
    """The manifest of this repository, its program with a defect."""
    text = (ROOT / "rehearsal.yaml").read_text()
    text = re.sub(r"\nbuild:\n(  - .*\n)+", "\n", text)
    text = re.sub(r"\nlimits: .*", "\n" + LIMITS, text)
    text = text.replace("target/debug/document-service", "target/defects/document-service")
    text = text.replace('{ DATABASE_URL: "${database.url}"', f'{{ DEFECT: {name}, DATABASE_URL: "${{database.url}}"')
    return text.replace("      DATABASE_URL: ${database.url}\n", f"      DATABASE_URL: ${{database.url}}\n      DEFECT: {name}\n")


def selection(scenarios):
    """The features, and parts of names, of what is meant for a defect."""
    features, names = [], []
    for meant in scenarios:
        feature, name = meant.split(": ", 1)
        found = [str(path.relative_to(ROOT)) for path in ROOT.glob(f"features/*/{feature}.feature")]
        if len(found) != 1:
            sys.exit(f"`{feature}` is no feature of this repository")
        features += found
        names += ["--name", name]
    return [*dict.fromkeys(features), *names]


def rehearse(name, defect):
    """Who sees it: (seen, how, by what)."""
    described = ROOT / f".defect-{name}.yaml"
    described.write_text(manifest(name))
    try:
        with tempfile.TemporaryDirectory() as reports:
            summary = pathlib.Path(reports) / "summary.json"
            command = [HARNESS, "--manifest", described, "--reports", reports, "--report", f"json={summary}"]
            run = subprocess.run([*command, *selection(defect["scenarios"])], cwd=ROOT, capture_output=True, text=True)
            if not summary.exists():
                return False, "nothing ran", (run.stdout + run.stderr)[-800:]
            scenarios = json.loads(summary.read_text())["scenarios"]
    finally:
        described.unlink(missing_ok=True)
    failed = [one for one in scenarios if one["verdict"] == "failed"]
    if not failed:
        return False, ", ".join(sorted({one["verdict"] for one in scenarios})), ""
    said = [(one["place"], evidence) for one in failed for evidence in one["evidence"] if evidence["verdict"] == "failed"]
    facts = [(place, evidence) for place, evidence in said if not IN_TIME.search(evidence["message"])]
    place, evidence = (facts or said)[0]
    seen = [f"{row['name']}: {row['expected']} expected, {row['seen']} seen" for row in evidence.get("rows", []) if row["expected"] != row["seen"]]
    how = "seen" if facts else "by time-out alone"
    return True, how, "; ".join([f"{place}: {evidence['message'].splitlines()[0]}", *seen])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--build", action="store_true")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--shard", default="1/1")
    arguments.add_argument("--json")
    chosen = arguments.parse_args()
    if chosen.build:
        return build()
    defects = tomllib.loads((ROOT / "system/defects.toml").read_text())
    if unknown := [name for name in chosen.names if name not in defects]:
        sys.exit(f"not in defects.toml: {', '.join(unknown)}")
    share, shares = map(int, chosen.shard.split("/"))
    names = (chosen.names or list(defects))[share - 1 :: shares]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        waiting = {pool.submit(rehearse, name, defects[name]): name for name in names}
        for done in concurrent.futures.as_completed(waiting):
            name = waiting[done]
            results[name] = seen, how, what = done.result()
            print(f"{how if seen else 'NOT SEEN (' + how + ')':18} {name}: {what}", flush=True)
    unseen = [name for name, (seen, _, _) in results.items() if not seen]
    late = [name for name, (seen, how, _) in results.items() if seen and how != "seen"]
    print(f"\n{len(results)} defects: {len(results) - len(unseen)} seen, {len(late)} of them by time-out alone; not seen: {', '.join(sorted(unseen)) or 'none'}")
    if chosen.json:
        pathlib.Path(chosen.json).write_text(json.dumps(results, indent=1))
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
