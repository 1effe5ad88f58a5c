"""Runs stretto for long: jobs follow each other, some ranks die, and nothing may grow, hang or be left.

usage: soak.py LAUNCH MPIRUN LIBRARY FORMS UNCHANGED [--hours H | --jobs N] [--seconds S] [--seed N]

A job is the C interface (FORMS) or an unchanged program (UNCHANGED) under the profiling library, on 1 to 5 ranks, for S
seconds. In every third job the last rank kills itself; the next job is its successor.
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

# A shell stands between launcher and rank, so that the launcher does not see the death: the other ranks must.
OUTLIVED = '"$@"; ended=$?; [ $ended -lt 128 ] || sleep 60; exit $ended'
LIMIT = 5  # seconds that a rank waits for one that died
MIB = 1 << 20
# Allowed growth of a job: the model's cache of 4,096 answers and 128 programs, which communicators of a process share,
# fills up. Nothing else grows with calls or communicators.
LIVE, RESIDENT = 3 * MIB, 8 * MIB
LONG_ENOUGH = 200  # cycles after which growth is judged


@dataclasses.dataclass
class Total:
    jobs: int = 0
    deaths: int = 0
    calls: int = 0
    communicators: int = 0
    live: int = 0
    resident: int = 0
    descriptors: int = 0


def left_behind(mark):
    """Processes of a job that are still there, and files that stretto made."""
    processes = []
    for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environ.read_bytes():
                processes.append(f"process {environ.parent.name}")
        except OSError:
            continue
    files = [str(f) for place in ("/dev/shm", "/tmp") for f in pathlib.Path(place).glob("*stretto-node*")]
    return processes + files


def job(arguments, number, program, ranks, seed, dies):
    """Runs one job. Returns its line, or None where a rank died; raises where something is wrong."""
    mark = f"STRETTO_SOAK_JOB={os.getpid()}.{number}"
    # The allocator's caches of freed blocks count as live: without them a single block that is kept shows.
    variables = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    if program == arguments.unchanged:
        variables |= {"LD_PRELOAD": arguments.library}
    variables |= {"STRETTO_TIMEOUT": str(LIMIT)} if dies else {}
    death = [str(arguments.seconds * random.Random(seed).uniform(0.2, 0.8))] if dies else []
    seconds = arguments.seconds + (60 if dies else 0)  # long after the death
    ran = [program, str(seconds), str(seed)] + death
    command = [arguments.launch, arguments.mpirun, str(ranks), "env", mark, *(f"{k}={v}" for k, v in variables.items()),
               *(["sh", "-c", OUTLIVED, "sh"] if dies else []), *ran]
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as started:
        try:
            printed, _ = started.communicate(timeout=seconds + 60)
        except subprocess.TimeoutExpired:
            started.terminate()  # the launcher ends its ranks
            printed, _ = started.communicate()
            raise AssertionError(f"{command} hangs:\n{printed}") from None
    for _ in range(100):  # the launcher ends a little before its ranks
        left = left_behind(mark.encode())
        if not left:
            break
        time.sleep(0.1)
    assert not left, f"{command} left {left}"
    if dies:
        lasted = time.monotonic() - begun
        assert started.returncode != 0 and "outlived" not in printed, f"{command}, {lasted:.0f} s:\n{printed}"
        return None
    assert started.returncode == 0, f"{command} ends with {started.returncode}:\n{printed}"
    line = re.search(r"^\{.*\}$", printed, re.MULTILINE)
    assert line, f"{command} printed no line:\n{printed}"
    row = json.loads(line[0])
    assert row["descriptors_grew"] <= 0, f"{command}: {row}"
    if row["cycles"] >= LONG_ENOUGH:
        assert row["live_grew"] <= LIVE and row["resident_grew"] <= RESIDENT, f"{command}: {row}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("launch", "mpirun", "library", "forms", "unchanged"):
        parser.add_argument(name)
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if (arguments.hours > 0) == (arguments.jobs > 0) or arguments.seconds <= 0:
        parser.error("either --hours or --jobs is a positive number, and so is --seconds")
    draws = random.Random(arguments.seed)
    total, end = Total(), time.monotonic() + 3600 * arguments.hours
    for number in itertools.count():
        if number == arguments.jobs if arguments.jobs else time.monotonic() >= end:
            break
        program = (arguments.forms, arguments.unchanged)[number % 2]
        dies = number % 3 == 2
        ranks, seed = draws.choice((2, 3, 4, 5) if dies else (1, 2, 3, 4, 5)), draws.randrange(1 << 32)
        row = job(arguments, number, program, ranks, seed, dies)
        total.jobs += 1
        name = pathlib.Path(program).name
        if row is None:
            total.deaths += 1
            print(f"{number} {name}, {ranks} ranks: the last one died, and the job ended", flush=True)
            continue
        total.calls += row["calls"]
        total.communicators += row["communicators"]
        total.live = max(total.live, row["live_grew"])
        total.resident = max(total.resident, row["resident_grew"])
        total.descriptors = max(total.descriptors, row["descriptors_grew"])
        print(f"{number} {name}, {ranks} ranks: {json.dumps(row)}", flush=True)
    print(f"soaked: {total.jobs} jobs, {total.deaths} deaths, {total.calls} calls, {total.communicators} communicators; "
          f"at most {total.live} B more live, {total.resident} B more resident, {total.descriptors} more descriptors")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as wrong:
        sys.exit(f"error: {wrong}")
