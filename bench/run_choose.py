#!/usr/bin/env python3
"""Runs bench_choose on this host and on several hosts made on it (tests/hosts), as `make bench-choose` does.

usage: run_choose.py --json FILE [--place NAME]... [--part NAME]... [--list] [--tune] [--built-in] [ARG of bench_choose...]

Needs BUILD, MPIRUN and MPI_FLAVOUR in the environment (`make bench-choose MPI=mpich` sets those of the other MPI). Each place is measured
in parts, and each part's rows are kept in a file of their own beside FILE, which is made of all of them in the end: so a sweep
can be run piece by piece, and a piece again. `stretto tune` makes a profile of each place, a minute, when there is none (--tune: anew).
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys

from places import ROOT, SKIPPED, NotPermitted, launch, place, skip

# name: hosts, Gb/s, ranks per host
PLACES = {
    "1x2": (1, None, 2),
    "1x4": (1, None, 4),
    "1x8": (1, None, 8),
    "2x1-1g": (2, 1, 1),
    "2x1-5g": (2, 5, 1),
    "4x1-1g": (4, 1, 1),
    "4x1-2.5g": (4, 2.5, 1),
    "2x2-1g": (2, 1, 2),
    "4x2-1g": (4, 1, 2),
    "4x2-5g": (4, 5, 2),
}
PARTS = {
    "profile": None,  # only the profile
    "allreduce": "allreduce",
    "move": "bcast,allgather,gather,scatter,alltoall",
    "reduce": "reduce,reduce_scatter,barrier",
    "programs": "programs",
}
LIMIT = 1800  # seconds after which a run counts as hung


def described(name):
    hosts, gbps, slots = PLACES[name]
    if hosts == 1:
        return "1 host"
    return f"{hosts} hosts {gbps}gbit" + (f" {slots} a host" if slots > 1 else "")


def run(name, argv):
    with place(*PLACES[name]) as command:
        subprocess.run(command(argv), timeout=LIMIT, check=True)


def tune(name, path):
    """The place's profile, by `stretto tune`."""
    programs = pathlib.Path(os.environ["BUILD"]) / "apps"
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), STRETTO_LIBEXEC=f"{programs / 'measure'}:{programs / 'model'}")
    with place(*PLACES[name]) as command:
        subprocess.run([sys.executable, "-m", "stretto", "tune", "--fresh", "--output", str(path), "--mpirun", shlex.join(command([]))],
                       check=True, timeout=LIMIT, env=environment, stdout=subprocess.DEVNULL)


def piece(options, rest, where, part):
    """One part of a place: its rows replace those that an earlier run left."""
    kept = options.json.parent / f"{options.json.stem}.parts"
    kept.mkdir(parents=True, exist_ok=True)
    name = f"{os.environ['MPI_FLAVOUR']}-{where}"
    profile = kept / f"{name}.profile.json"
    anew = part == "profile" or (options.tune and part == options.part[0])
    if not options.built_in and (anew or not profile.exists()):
        print(f"{described(where)}, profile", flush=True)
        tune(where, profile)
    if not PARTS[part]:
        return kept
    fresh = kept / f"{name}-{part}.running"
    fresh.unlink(missing_ok=True)
    fresh.touch()
    program = pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_choose"
    print(f"{described(where)}, {part}", flush=True)
    given = [] if options.built_in else ["--profile", str(profile)]
    run(where, [str(program), "--place", described(where), *given, "--json", str(fresh), "--only", PARTS[part], *rest])
    if "--first-calls" in rest:
        keep_cells(fresh, kept / f"{name}-{part}-first_calls.jsonl")
    else:
        fresh.replace(kept / f"{name}-{part}.jsonl")
    return kept


def keep_cells(fresh, path):
    """Adds the rows of first calls in `fresh`. They replace those of the same cells: lengths and profiles can be measured one by one."""
    rows = [json.loads(line) for line in fresh.read_text(encoding="utf-8").splitlines()]
    cells = {row["cell"] for row in rows}
    if path.exists():
        former = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [row for row in former if row["cell"] not in cells] + rows
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fresh.unlink()


def gather(options, kept):
    """All parts that there are, of both MPIs."""
    rows = [line for file in sorted(kept.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        json.loads(row)
    options.json.write_text("".join(row + "\n" for row in rows), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--place", action="append", choices=list(PLACES), help="all")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="all")
    parser.add_argument("--tune", action="store_true", help="measure the profiles anew")
    parser.add_argument("--built-in", action="store_true", help="with the profile of a machine where nobody ran stretto tune")
    parser.add_argument("--list", action="store_true", help="print places and parts")
    options, rest = parser.parse_known_args()
    if options.list:
        print("places:", *PLACES, "\nparts:", *PARTS)
        return 0
    options.part = options.part or [part for part in PARTS if PARTS[part]]
    measured = 0
    for where in options.place or PLACES:
        for part in options.part:
            try:
                gather(options, piece(options, rest, where, part))
                measured += 1
            except NotPermitted as reason:
                skip(reason)
            except subprocess.SubprocessError as error:
                print(f"bench_choose: {error}", file=sys.stderr)
                return 1
    return 0 if measured else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
