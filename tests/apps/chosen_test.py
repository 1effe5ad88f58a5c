"""What `stretto choose` and `stretto explain` tell is what a running program reports, on one host and on several.

usage: chosen_test.py LAUNCH MPIRUN MODEL LIBRARY PROGRAM [HOSTSxRANKS]   (of each host; otherwise several such places)

Hosts are namespaces of this machine; where it does not permit them, one host is compared alone.
"""

import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))

from hosts import Hosts, NotPermitted  # noqa: E402

LAUNCH, MPIRUN, MODEL, LIBRARY, PROGRAM = sys.argv[1:6]
GIVEN = sys.argv[6] if len(sys.argv) > 6 else None
NAME = subprocess.run([PROGRAM, "name"], capture_output=True, text=True, check=True).stdout.strip()  # of the MPI, with its version
PLACES = (tuple(map(int, GIVEN.split("x"))),) if GIVEN else ((1, 3), (3, 1))  # hosts, ranks a host
BOUND = 1e-3
CELLS = 20  # collectives and lengths of the program
DENSE = 2  # STRETTO_CODING_DENSE
LARGEST_OF_CLASS = (1 << 10, 1 << 16, 1 << 20, 1 << 24, None)


def ask(*arguments):
    done = subprocess.run([MODEL, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def machine(directory):
    """The built-in profile with a network of 1 Gb/s, where streams pay."""
    profile = ask("profiles", "built-in")
    profile["links"]["network"] = [{**span, "beta": 8e-9} for span in profile["links"]["network"]]
    path = pathlib.Path(directory, "machine.json")
    path.write_text(json.dumps(profile), encoding="utf-8")
    return path


@contextlib.contextmanager
def runner(hosts, slots):
    """A function that runs the program's words on every rank of a place, with settings, and returns what rank 0 printed."""
    ranks = hosts * slots
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(Hosts(hosts, rate="1gbit", slots=slots)) if hosts > 1 else None

        def run(settings, *words):
            argv = ["env", *(f"{name}={value}" for name, value in settings.items()), PROGRAM, *words]
            command = made.launch_command(MPIRUN, ranks, argv) if made else [LAUNCH, MPIRUN, str(ranks), *argv]
            clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
            done = subprocess.run(list(map(str, command)), env=clean, capture_output=True, text=True, timeout=200, check=False)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            return done.stdout

        yield run


def path_of(algorithm, payload):
    """As the report of the profiling library writes it."""
    return algorithm if payload == "raw" else f"{algorithm}, {payload}"


@functools.lru_cache(maxsize=None)
def told(collective, nbytes, hosts, slots, machine_file, bound, ratio):
    """The path that `stretto choose` names, and its seconds. `stretto explain`, which walks more sizes, is asked of allreduces."""
    question = [collective, "-n", hosts * slots, "--per-node", slots, "--bytes", nbytes, "--machine", machine_file]
    if hosts > 1 and "Open MPI" in NAME:
        question += ["--eager-limit", "64K"]  # that of TCP
    if hosts > 1:
        question += ["--mpi", NAME]
    if bound:
        question += ["--bound", f"abs:{bound}", *(["--ratio", ratio] if ratio > 1 else [])]
    choice = ask("choose", *question)["choice"]
    if collective == "allreduce":
        assert ask("explain", *question)["taken"] == choice["label"], (question, choice)
    if choice["native"]:
        path = choice["label"]
    elif choice["label"].startswith("node,"):
        path = path_of("node", "raw" if choice["payload"] == "raw" else "mixed")
    else:
        path = path_of(choice["schedule"], choice["payload"])
    return path, choice["seconds"]


def class_of(nbytes):
    """The largest length of the report's size class."""
    return next(limit for limit in LARGEST_OF_CLASS if limit is None or nbytes <= limit)


def compare(hosts, slots, machine_file, directory):
    """Runs the program by the C interface and unchanged, exact and within a bound. Returns the paths that it took."""
    seen = set()
    with runner(hosts, slots) as run:
        for bound in (0, BOUND):
            settings = {"STRETTO_PROFILE": machine_file}
            lines = run(settings, "c", *[str(bound)] * (bound > 0)).splitlines()
            calls = [json.loads(line) for line in lines if line.startswith("{")]
            cells = [call for call in calls if call["collective"] != "iallreduce"]
            assert len(cells) == CELLS, lines
            # A report has the ratio of the coding that was chosen. So a question with both ratios can be asked of fixed streams alone.
            cells = [cell for cell in cells if cell["coding"] != DENSE]
            assert len(cells) > CELLS // 4, lines
            started = [call["algorithm"] for call in calls if call["collective"] == "iallreduce"]
            # Exchanges of Open MPI take turns between hosts, and long sums avoid them. Short ones are native.
            whole = "Open MPI" in NAME and hosts > 1
            assert started[0] == ("node" if hosts == 1 else "native"), started
            assert all((name not in ("native", "node")) == whole for name in started[-2:]), (hosts, slots, started)
            for cell in cells:
                path, seconds = told(cell["collective"], cell["bytes"], hosts, slots, machine_file, bound, cell["ratio"])
                assert path == path_of(cell["algorithm"], cell["payload"]), (hosts, slots, bound, path, cell)
                # Times are equal where no rank shares a host, whose caches a run sees, and where no ratio was predicted.
                apart = slots == 1 and cell["ratio"] == 1
                assert not apart or abs(cell["seconds"] / seconds - 1) < 1e-5, (hosts, slots, bound, seconds, cell)
                seen.add(path)
            report = pathlib.Path(directory, f"{hosts}x{slots}-{bound}.json")
            # Between hosts exact calls are served soon only where a rule says so.
            rules = pathlib.Path(directory, "exact.rules")
            rules.write_text("* ..1K exact\n" if bound else "* exact\n", encoding="utf-8")
            given = {"STRETTO_RULES": rules, **({"STRETTO_BOUND": f"abs:{bound}"} if bound else {})}
            run({**settings, **given, "STRETTO_REPORT": report, "LD_PRELOAD": LIBRARY}, "mpi")
            rows = json.loads(report.read_text(encoding="utf-8"))["calls"]
            for cell in cells:
                # The bound of an unchanged program holds for sums of more than 1 KiB.
                sums = cell["collective"] in ("allreduce", "reduce_scatter_block") and cell["bytes"] > 1024
                path, _ = told(cell["collective"], cell["bytes"], hosts, slots, machine_file, bound if sums else 0, cell["ratio"])
                # A report counts the block of a rank in an allgather.
                length = cell["bytes"] // (hosts * slots) if cell["collective"] == "allgather" else cell["bytes"]
                paths = {row["path"] for row in rows if row["operation"] == cell["collective"] and row["up_to_bytes"] == class_of(length)
                         and row["why"] != "the first calls of a communicator"}
                assert path in paths, (hosts, slots, bound, cell, path, rows)
    return seen


def main():
    seen = set()
    several = True
    with tempfile.TemporaryDirectory() as directory:
        machine_file = machine(directory)
        for hosts, slots in PLACES:
            try:
                seen |= compare(hosts, slots, machine_file, directory)
            except NotPermitted as reason:
                several = False
                print(f"not compared: {hosts} hosts are not permitted on this machine: {reason}")
    # Each kind of choice was compared.
    assert "node" in seen, seen
    if several and not GIVEN:
        assert "native" in seen and any("," in path for path in seen) and any(
            "," not in path and path not in ("native", "node") for path in seen), seen
    return 0


if __name__ == "__main__":
    sys.exit(main())
