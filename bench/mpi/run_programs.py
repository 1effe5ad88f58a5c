#!/usr/bin/env python3
"""Times whole programs, plain and under the profiling library in turns, and prints the medians and their ratio.

usage: run_programs.py --json FILE [--ranks N] [--hosts N --gbps G] [--repeats N] [--bound BOUND] [--case NAME]... [--set NAME=VALUE]...
       run_programs.py --json FILE [the same] [--name NAME] [--directory DIR] [--same REGEX] [--set NAME=VALUE]... PROGRAM [ARG...]

The first form runs programs of Debian that it fetches (bench/mpi/debian.py), by their own MPI's launcher: ScaLAPACK's tests of the smallest
problems, Quantum ESPRESSO, Elk, and LAMMPS. With --hosts they run on several hosts of this machine.

Times are of whole processes, launching and MPI_Init with them. A ratio is the plain program's time over ours, of the two
runs of a turn. PROGRAM's output goes to a file, and is shown where PROGRAM fails. Lines of it that match REGEX must be the same in all runs.
With --bound (as STRETTO_BOUND) the last such lines differ: the row has both, and the largest difference of their numbers.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import debian  # noqa: E402
from places import ROOT, SKIPPED, NotPermitted, place, skip  # noqa: E402

SCALAPACK = debian.PREFIX / "scalapack" / "openmpi-tests"
PASSED = r"^ *\d+ tests completed and (?:passed|failed) residual checks"


@dataclass
class Program:
    name: str
    argv: list
    directory: pathlib.Path = None  # working directory; None: an empty one
    same: str = ""
    environment: dict = field(default_factory=lambda: dict(os.environ))  # of the launcher
    settings: list = field(default_factory=list)  # NAME=VALUE in the program's environment alone
    inputs: tuple = ()  # files that it wants in its working directory
    writes: str = ""  # file there whose lines count as printed
    tolerance: float = 0  # relative difference of numbers that counts as the same, where sums' order shows


def cases(root):
    """The programs of Debian that are measured where none is named."""
    environment = debian.environment(root)
    tests = [Program(name, [str(root / SCALAPACK / name)], root / SCALAPACK, PASSED, environment) for name in ("xsls", "xdls", "xdlu", "xclu")]
    silicon = [str(root / "usr" / "bin" / "pw.x"), "-in", str(ROOT / "bench" / "mpi" / "silicon.in")]
    melt = [str(root / "usr" / "bin" / "lmp"), "-log", "none", "-in", str(ROOT / "bench" / "mpi" / "melt.in")]
    elk = (ROOT / "bench" / "mpi" / "elk.in", root / "usr" / "share" / "elk-lapw" / "species" / "Si.in")
    return [*tests, Program("pw.x, 8 atoms of silicon", silicon, None, r"^! +total energy .*", environment, ["OMP_NUM_THREADS=1"]),
            Program("elk, 2 atoms of silicon", [str(root / "usr" / "bin" / "elk-lapw")], None, r"^ total energy .*", environment,
                    ["OMP_NUM_THREADS=1"], elk, "INFO.OUT", tolerance=1e-8),
            Program("lmp, 4000 atoms", melt, None, r"^ +(?:0|100) .*", environment, ["OMP_NUM_THREADS=1"])]


def interval(values):
    """The order statistics that hold the median with 95 % (those of a fair coin), or the extremes of few values."""
    v, n = sorted(values), len(values)
    k = max((k for k in range(n // 2 + 1) if sum(math.comb(n, i) for i in range(k)) / 2**n <= 0.025), default=0)
    return v[max(k - 1, 0)], v[n - max(k, 1)]


def difference(ours, plain):
    """The largest relative difference between the numbers of two texts."""
    if ours == plain:
        return 0.0
    a, b = ([float(x) for x in re.findall(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)] for text in (ours, plain))
    if len(a) != len(b) or not a:
        sys.exit(f"error: '{ours}' cannot be compared with '{plain}': they have {len(a)} and {len(b)} numbers")
    return max(abs(x - y) / max(abs(y), sys.float_info.min) for x, y in zip(a, b))


def same(program, found, wanted):
    return found == wanted or (program.tolerance > 0 and difference(" ".join(found), " ".join(wanted)) <= program.tolerance)


def run(program, words, timeout, directory):
    """How long it takes, and what must be the same in all runs; ends this program where the command fails."""
    with tempfile.TemporaryFile() as printed:
        begun = time.monotonic()
        with subprocess.Popen(words, env=program.environment, stdout=printed, stderr=subprocess.STDOUT) as process:
            limit = threading.Timer(timeout, process.kill)  # Popen.wait with a timeout would poll only every 50 ms
            limit.daemon = True
            limit.start()
            status = process.wait()
            took = time.monotonic() - begun
            limit.cancel()
        if took >= timeout:
            sys.exit(f"error: {' '.join(words)} takes more than {timeout} s")
        printed.seek(0)
        text = printed.read().decode(errors="replace")
        if status != 0:
            sys.exit(f"{text[-2000:]}\nerror: {' '.join(words)} ended with status {status}")
    if program.writes:
        text += (pathlib.Path(directory) / program.writes).read_text(errors="replace")
    if not program.same:
        return took, []
    found = re.findall(program.same, text, re.MULTILINE)
    if not found:
        sys.exit(f"{text[-2000:]}\nerror: {' '.join(words)} printed no line like '{program.same}'")
    return took, found


def measure(program, options, command, directory):
    """A row of turns of the two, which run in `directory`. Ends this program where their results differ."""
    library = pathlib.Path(os.environ["BUILD"]) / "src" / "mpi" / "libstretto_mpi.so"
    bound = [f"STRETTO_BOUND={options.bound}"] if options.bound else []
    plain, ours = (command(["env", "-C", str(directory), *first, *program.settings, *program.argv])
                   for first in ([], [f"LD_PRELOAD={library}", *bound]))
    for path in program.inputs:
        shutil.copy(path, directory)
    _, wanted = run(program, plain, options.timeout, directory)  # warms the page cache
    turns, error, within = [], 0.0, ""
    for turn in range(options.repeats):
        took = {}
        for kind in (("plain", "ours") if turn % 2 == 0 else ("ours", "plain")):
            took[kind], found = run(program, plain if kind == "plain" else ours, options.timeout, directory)
            if kind == "ours" and bound and found:
                within = found[-1]
                error = max(error, difference(within, wanted[-1]))
            elif not same(program, found, wanted):
                sys.exit(f"error: {program.name} under the library: {found}, plain: {wanted}" if kind == "ours" else
                         f"error: {program.name} differs from run to run: {found}, {wanted}")
        turns.append((took["plain"], took["ours"]))
    low, high = interval([p / o for p, o in turns])
    bounded = {"bound": options.bound, "within": " ".join(within.split()), "difference": error} if bound else {}
    return {
        "bench": "programs",
        "case": program.name,
        "metric": f"{options.ranks} ranks" if options.hosts == 1 else f"{options.hosts} hosts of {options.ranks} ranks",
        "value": statistics.median(o for _, o in turns),
        "unit": "s",
        "peer": "plain",
        "peer_value": statistics.median(p for p, _ in turns),
        "ratio": statistics.median(p / o for p, o in turns),
        "ratio_low": low,
        "ratio_high": high,
        "turns": options.repeats,
        "same": " ".join(wanted[-1].split()) if bound and wanted else "; ".join(" ".join(line.split()) for line in wanted),
        **bounded,
    }


def programs(parser, options):
    """What is to be measured; the launcher of Debian's programs is put into the environment (places.py)."""
    if options.program:
        path = shutil.which(options.program[0])
        if path is None:
            parser.error(f"no program '{options.program[0]}'")
        name = options.name or pathlib.Path(path).name
        argv = [str(pathlib.Path(path).resolve()), *options.program[1:]]
        return [Program(name, argv, options.directory or pathlib.Path.cwd(), options.same, settings=options.set)]
    if os.environ["MPI_FLAVOUR"] != "openmpi":
        raise debian.Unavailable("Debian's programs are linked to Open MPI: MPI=openmpi measures them")
    root = debian.unpack(ROOT / "build" / "programs")
    found = cases(root)
    for program in found:
        program.settings += options.set
    unknown = set(options.case) - {program.name for program in found}
    if unknown:
        parser.error(f"no case '{', '.join(unknown)}'; there are: {', '.join(program.name for program in found)}")
    # Also for the version of the launcher, which decides its options (tests/hosts/hosts.py).
    os.environ.update(debian.environment(root), MPIRUN=str(root / "usr" / "bin" / "orterun"))
    return [program for program in found if not options.case or program.name in options.case]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, help="on each host; 2 of a named program, else 4")
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--gbps", type=float, default=1)
    parser.add_argument("--repeats", type=int, default=9, help="turns")
    parser.add_argument("--bound", default="", help="STRETTO_BOUND of the runs under the library")
    parser.add_argument("--case", action="append", default=[], help="one of Debian's programs, by name; all")
    parser.add_argument("--name", help="in the table; PROGRAM's name otherwise")
    parser.add_argument("--directory", help="where PROGRAM runs")
    parser.add_argument("--same", default="", metavar="REGEX", help="lines of the output that must be the same in all runs")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="in the environment of PROGRAM, not of the launcher")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of one run")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.ranks is None:
        options.ranks = 2 if options.program else 4
    if options.repeats < 1 or options.ranks < 1:
        parser.error(f"--repeats {options.repeats} and --ranks {options.ranks} must be 1 or more")
    try:
        for program in programs(parser, options):
            with place(options.hosts, options.gbps, options.ranks) as command, tempfile.TemporaryDirectory() as scratch, \
                    open(options.json, "a", encoding="utf-8") as rows:
                rows.write(json.dumps(measure(program, options, command, program.directory or scratch)) + "\n")
    except (NotPermitted, debian.Unavailable) as reason:
        skip(reason)
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
