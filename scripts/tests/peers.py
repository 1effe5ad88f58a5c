"""Runs the suites that scripts/tests/peers has built, each test plain and with the profiling library preloaded, and compares."""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 120  # seconds of one test of MPICH's; mpi4py's suite has ten times as long


@dataclasses.dataclass
class Row:
    suite: str
    ranks: int
    tests: int = 0
    failed: dict = dataclasses.field(default_factory=lambda: {False: [], True: []})  # names, by whether the library was there
    served: int = 0  # calls of all ranks


def run(options, ranks, command, preload, limit, cwd=None, report=None):
    """The text that the ranks printed, and whether they all ended well in time."""
    program = ["env", *([f"LD_PRELOAD={options.library}"] if preload else []), *([f"STRETTO_REPORT={report}"] if report else []), *command]
    started = subprocess.Popen([str(ROOT / "scripts" / "launch"), options.mpirun, str(ranks), *program], cwd=cwd, text=True, errors="replace",
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, _ = started.communicate(timeout=limit)
        return text, started.returncode == 0
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        text, _ = started.communicate()
        return text + f"\nno end in {limit} s", False


def served(report):
    """Calls that stretto served, of all ranks."""
    try:
        rows = json.loads(report.read_text(encoding="utf-8"))["calls"]
    except (OSError, ValueError, KeyError):
        return 0
    return sum(row["calls"] for row in rows if row["path"] != "MPI")


def lines_of(testlist, most):
    """(program, ranks, arguments) of each line of MPICH's list that asks for at most so many ranks."""
    for line in testlist.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if len(words) < 2 or not words[1].isdigit() or int(words[1]) > most:
            continue
        yield words[0], int(words[1]), [word[4:] for word in words[2:] if word.startswith("arg=")]


def mpich(options):
    coll = options.directory / "mpich" / "coll"
    report = options.directory / "report.json"
    rows = {}
    for program, ranks, arguments in lines_of(coll / "testlist", options.ranks):
        if not (coll / program).exists():
            continue
        name = " ".join([program, *arguments])
        row = rows.setdefault(ranks, Row("mpich", ranks))
        row.tests += 1
        for preload in (False, True):
            report.unlink(missing_ok=True)
            text, ended = run(options, ranks, [str(coll / program), *arguments], preload, LIMIT, cwd=coll, report=report if preload else None)
            if not ended or "No Errors" not in text:
                row.failed[preload].append(name)
                if preload and name not in row.failed[False]:
                    print(f"mpich: {name} on {ranks} ranks:\n{text[-2000:]}", file=sys.stderr)
        row.served += served(report)
    return list(rows.values())


def mpi4py(options):
    python = options.directory / f"venv-{options.flavour}" / "bin" / "python"
    tests = options.directory / "mpi4py-tests" / "test" / "main.py"
    report = options.directory / "report.json"
    rows = []
    for ranks in (1, 2, 3)[: options.ranks]:
        row = Row("mpi4py", ranks)
        # Spawned processes would be started without the library; files and windows are not stretto's.
        command = [str(python), str(tests), "--no-numba", "--no-cupy", *(word for name in ("spawn", "dynproc", "io", "rma", "doc") for word in ("-e", name))]
        for preload in (False, True):
            report.unlink(missing_ok=True)
            text, _ = run(options, ranks, command, preload, 10 * LIMIT, report=report if preload else None)
            row.failed[preload] = sorted(set(re.findall(r"^(?:FAIL|ERROR): (.*)$", text, re.MULTILINE)))
            ran = [int(n) for n in re.findall(r"^Ran (\d+) tests? in", text, re.MULTILINE)]
            row.tests = max([row.tests, *ran])
            if len(ran) < ranks:
                row.failed[preload].append("a rank did not come to the end")
                print(text[-3000:], file=sys.stderr)
        row.served = served(report)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "mpirun", "flavour"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--directory", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument("suites", nargs="+")
    options = parser.parse_args()
    rows = [row for suite in options.suites for row in {"mpich": mpich, "mpi4py": mpi4py}[suite](options)]
    (options.directory / "results.json").write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=1), encoding="utf-8")
    print("| suite | ranks | tests | fail without the library | fail with it | fail with it alone | calls that stretto served |")
    print("|---|---|---|---|---|---|---|")
    worse = False
    for row in sorted(rows, key=lambda row: (row.suite, row.ranks)):
        plain, library = row.failed[False], row.failed[True]
        alone = [name for name in library if name not in plain]
        worse = worse or bool(alone)
        print(f"| {row.suite} | {row.ranks} | {row.tests} | {len(plain)} | {len(library)} | {len(alone)} | {row.served} |")
        for name in alone:
            print(f"{row.suite} on {row.ranks} ranks fails under the library: {name}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
