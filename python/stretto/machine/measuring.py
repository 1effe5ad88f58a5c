"""Runs stretto-measure under the user's MPI launcher, or stretto-measure-ucx on ranks that a launcher starts, and reads their events (docs/command.md)."""

import contextlib
import json
import os
import re
import subprocess
import threading

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stretto.launch import over_ucx, programs
from stretto.errors import Failure

SAID = 12  # lines of an unknown failure that are repeated


def check_ranks(wanted, jobs):
    """That one job came of the launch, with the ranks that were asked for (None: the launcher's own options say). `jobs`: the ranks of each."""
    if len(jobs) > 1:
        raise Failure(f"{len(jobs)} jobs of {jobs[0]} rank{'s' * (jobs[0] > 1)} each came of the launch instead of one: the launcher is of another MPI than "
                      "the program", status=1)
    if wanted and jobs and jobs[0] != wanted:
        raise Failure(f"{wanted} ranks were started, and {jobs[0]} came: the launcher is of another MPI than the program, or gives fewer", status=1)


class Measurement:
    """What a run of stretto-measure reported."""

    def __init__(self):
        self.machine, self.regimes, self.rows, self.seconds = {}, {}, {}, None
        self.shares = {}  # of its core that each rank had before and after a part, the lesser
        self.repeated = []  # parts that were measured again
        self._share = 1
        self.jobs = []  # the ranks of each that reported: one, where the launch was right

    def take(self, event):
        kind = event.get("event")
        if kind == "machine":
            self.machine = event
            self.jobs.append(event["ranks"])
        elif kind == "regime":
            self.regimes[event["when"]] = event
        elif kind == "share":
            self.shares[event["after"]] = min(self._share, event["share"])
            self._share = event["share"]
        elif kind == "row":
            self.rows.setdefault(event["part"], []).append(event)
        elif kind == "end":
            self.seconds = event["seconds"]

    def replace(self, other):
        """Takes the parts of a later measurement in place of its own."""
        self.rows.update(other.rows)
        self.shares.update(other.shares)
        self.regimes["after"] = other.regimes["after"]
        self.seconds += other.seconds
        self.repeated += [part for part in other.rows if part not in self.repeated]

    def crowded(self):
        """Whether ranks share cores."""
        return self.machine["ranks"] > self.machine["cores"] * self.machine["hosts"]

    def of(self, part, **wanted):
        """Rows of a part whose fields have these values."""
        return [row for row in self.rows.get(part, []) if all(row.get(key) == value for key, value in wanted.items())]

    def regime(self):
        """One name where it was the same before and after; else both."""
        before, after = (self.regimes.get(when, {}).get("regime", "none") for when in ("before", "after"))
        return before if before == after else f"{before}, then {after}"

    def where(self):
        machine = self.machine
        hosts = "1 host" if machine["hosts"] == 1 else f"{machine['hosts']} hosts"
        return f"{machine['ranks']} ranks on {hosts}, {machine['library']}"

    def over_ucx(self):
        return self.machine["carrier"] == "ucx"


def program_for(mpirun, name):
    """The path of our program for the launcher: that of `mpirun`, or else the one at hand, if one is."""
    words = programs.launcher(mpirun) if mpirun is not None else programs.found_launchers()[:1]
    return programs.program(name, programs.flavour(words) if words else None)


def command(mpirun, hosts, ranks, parts, program="stretto-measure"):
    """The whole command line. Without `mpirun` the launcher is that of the MPI of our program, which is of the MPI whose launcher is at hand, if one is."""
    path = program_for(mpirun, program)
    words = programs.launcher(mpirun, path if mpirun is None else None)
    programs.allow_root(words, os.environ)
    words += programs.placed(programs.flavour(words), mpirun, hosts, ranks)
    return words + [path] + parts


def run_over_ucx(console, mpirun, hosts, ranks, parts):
    """The measurement over UCX. A launcher only starts the ranks, which meet in a store; it is removed with what a failure left in it."""
    arguments = [programs.program("stretto-measure-ucx"), *parts]
    environment = over_ucx.settings()
    launch = over_ucx.planned(mpirun, ranks, hosts, arguments, environment)
    if launch.places:  # ranks without a launcher: their output is read at their end
        argv, status, out, err = over_ucx.capture(mpirun, ranks, hosts, arguments)
        measurement, said = Measurement(), err.splitlines()
        for line in out.splitlines():
            try:
                measurement.take(json.loads(line))
            except ValueError:
                said.append(line)
        return checked(measurement, argv, ranks, status, said)
    with over_ucx.removed_after(environment["STRETTO_STORE"]):
        return run(launch.commands[0], console, ranks, launch.environment)


def run(argv, console, ranks=None, environment=None):
    """The measurement of a command; a bar a part on a terminal, a line a part elsewhere."""
    measurement, said = Measurement(), []
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=environment)
    except OSError as error:
        raise Failure(f"no MPI launcher: {argv[0]}: {error.strerror}") from None
    # Standard error may be long, so a thread reads it meanwhile.
    listener = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
    listener.start()
    try:
        with shown(console) as show:
            for line in process.stdout:
                with contextlib.suppress(ValueError):
                    event = json.loads(line)
                    measurement.take(event)
                    show(event)
                    continue
                said.append(line)
        status = process.wait()
    except BaseException:
        process.terminate()  # the launcher ends its ranks
        process.wait()
        raise
    listener.join(timeout=5)
    return checked(measurement, argv, ranks, status, said)


def checked(measurement, argv, ranks, status, said):
    """The measurement, if it is one."""
    if status != 0 or measurement.seconds is None:
        raise Failure(complaint(argv, status, said), status=2 if status == 2 else 1)
    check_ranks(ranks, measurement.jobs)
    return measurement


def complaint(argv, status, said, what="measurement"):
    """What a failing rank said; where none did, what the launcher said, whose reason may stand first or last."""
    lines = [line for line in (line.replace("\0", "").rstrip() for line in said) if line]
    ours = [found[1] for line in lines for found in [re.search(r"stretto-\w+: (.*)", line)] if found]
    if len(lines) > 2 * SAID:
        lines[SAID:-SAID] = ["..."]
    text = "\n".join(dict.fromkeys(ours) if ours else lines)
    return f"the {what} failed (status {status}): {text or 'nothing was said'}\nThe command was: {' '.join(argv)}"


@contextlib.contextmanager
def shown(console):
    if console.is_terminal:
        columns = (TextColumn("{task.description:<9}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
                   TextColumn("left"), TimeRemainingColumn(compact=True))
        with Progress(*columns, console=console, transient=True) as progress:
            tasks = {}

            def draw(event):
                if event.get("event") == "progress":
                    if event["part"] not in tasks:
                        tasks[event["part"]] = progress.add_task(event["part"], total=event["total"])
                    progress.update(tasks[event["part"]], completed=event["done"])

            yield draw
    else:

        def tell(event):
            if event.get("event") == "progress" and event["done"] == 0:
                console.print(f"measuring {event['part']}", highlight=False)

        yield tell
