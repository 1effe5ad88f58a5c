"""Starts the ranks of a program that needs no MPI: they meet in a store and go on over UCX (docs/carriers.md).

A launcher that is there starts them: that of --mpirun; an MPI's; srun, inside an allocation of Slurm; else ssh, on the hosts of --hosts.
Ranks of this host are started as ssh would start them, by the shell alone.
"""

import contextlib
import dataclasses
import os
import queue
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Dict, List, Optional

from stretto.launch import programs
from stretto.errors import Failure

GRACE = 10  # seconds in which ranks end by themselves after one failed, and in which those that are told to end do so
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30")  # asks nobody for a password
SSH_FAILED = 255

# Shell script per rank: starts the program in a directory, and kills it when standard input ends, so that the rank ends
# with its launcher. Without a terminal, ssh does not ensure this.
RANK = ('exec 3<&0; cd "$1" || exit 1; shift; "$@" 3<&- </dev/null & rank=$!; { read -r never <&3; kill "$rank"; } >/dev/null 2>&1 & watch=$!; '
        'wait "$rank"; status=$?; kill "$watch" 2>/dev/null; exit $status')


@dataclasses.dataclass
class Launch:
    """The command lines of a job: one of a launcher, or one for each rank."""

    commands: List[List[str]]
    environment: Dict[str, str]
    places: Optional[List[str]] = None  # the host of each rank, where no launcher sees to the ranks

    def place(self, k):
        return f"rank {k} on {self.places[k]}" if self.places else self.commands[k][0]


def store_of(given):
    """The store in which the ranks meet: what STRETTO_STORE says, or a directory of this job in the user's cache, which hosts share."""
    if given:
        return given
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.makedirs(cache, exist_ok=True)
    return f"file://{os.path.abspath(cache)}/stretto-store-{secrets.token_hex(8)}"


@contextlib.contextmanager
def removed_after(store):
    """A store of this job alone is removed with what a failure left in it; the user's stays."""
    try:
        yield
    finally:
        if store != os.environ.get("STRETTO_STORE"):
            shutil.rmtree(store[len("file://"):], ignore_errors=True)


def settings():
    """What all ranks are given, on all hosts."""
    environment = {name: value for name, value in os.environ.items() if name.startswith(("STRETTO_", "UCX_")) and name != "STRETTO_LIBEXEC"}
    environment["STRETTO_STORE"] = store_of(os.environ.get("STRETTO_STORE"))
    return environment


def here(host):
    name = socket.gethostname()
    return host in ("localhost", name, name.partition(".")[0])


def places(hosts, ranks):
    """The host of each rank: `hosts` as Open MPI has them, a:2,b:2, where a host without a number takes one rank; without `hosts`, this one."""
    if hosts is None:
        return ["localhost"] * (ranks or programs.cores())
    found = []
    for one in hosts.split(","):
        name, colon, slots = one.partition(":")
        if not name or name.startswith("-") or (colon and not (slots.isdecimal() and int(slots) > 0)):
            raise Failure(f"--hosts {hosts!r}: {one!r} is no HOST or HOST:RANKS")
        found += [name] * int(slots or 1)
    if ranks and ranks > len(found):
        raise Failure(f"--hosts {hosts!r} has {len(found)} place{'s' * (len(found) > 1)} for {ranks} ranks; say how many each takes, as in a:2,b:2")
    return found[:ranks]


def by_shell(hosts, ranks, arguments, environment):
    """A shell for each rank, through ssh where its host is another."""
    where = places(hosts, ranks)
    if not all(map(here, where)) and shutil.which(SSH[0]) is None:
        raise Failure(f"no launcher for --hosts {hosts}: none of {', '.join(programs.LAUNCHERS)} and ssh is on the PATH, and this is no allocation "
                      "of Slurm with srun; give a command, as in --mpirun 'srun -n 4'")
    program = arguments[0] if "/" in arguments[0] else shutil.which(arguments[0]) or arguments[0]
    searched = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    commands = []
    for rank, host in enumerate(where):
        given = {**({} if here(host) else searched), **environment, "STRETTO_RANK": rank, "STRETTO_SIZE": len(where)}
        words = ["sh", "-c", RANK, "stretto", os.getcwd(), "env", *(f"{name}={value}" for name, value in given.items()), program, *arguments[1:]]
        commands.append(words if here(host) else [*SSH, host, shlex.join(words)])
    return Launch(commands, dict(os.environ), where)


def planned(mpirun, ranks, hosts, arguments, environment):
    """How the job is started, by the first launcher that is there."""
    path = shutil.which(arguments[0])
    if mpirun is None and not programs.launchers_of(path) and not programs.found_launchers():
        if "SLURM_JOB_ID" not in os.environ or shutil.which("srun") is None:
            return by_shell(hosts, ranks, arguments, environment)
        mpirun = "srun"
    words, own = programs.command(mpirun, ranks, hosts, arguments, environment)
    return Launch([words], own)


class Signalled(Exception):
    """A signal told this process to end."""


@contextlib.contextmanager
def raising_on_signals():
    def raise_signalled(number, _):
        raise Signalled(number)

    former = {number: signal.signal(number, raise_signalled) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


class Job:
    """The processes of a launch, which end together."""

    def __init__(self, launch, **streams):
        self.launch, self.processes, self.ended, self.status = launch, [], queue.SimpleQueue(), 0
        how = {"stdin": subprocess.PIPE, "start_new_session": True} if launch.places else {}
        for command in launch.commands:
            try:
                process = subprocess.Popen(command, env=launch.environment, **how, **streams)
            except OSError as error:
                self.end()
                raise Failure(f"no launcher: {command[0]}: {error.strerror}") from None
            self.processes.append(process)
            threading.Thread(target=self.await_one, args=(len(self.processes) - 1, process), daemon=True).start()
        self.left = set(range(len(self.processes)))

    def await_one(self, k, process):
        process.wait()
        self.ended.put(k)

    def end(self):
        """Tells all to end; those that do not are killed."""
        for process in self.processes:
            with contextlib.suppress(OSError):
                if process.stdin:
                    process.stdin.close()
                else:
                    process.terminate()
        limit = time.monotonic() + GRACE
        for process in self.processes:
            try:
                process.wait(max(0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(OSError):
                    (os.killpg if process.stdin else os.kill)(process.pid, signal.SIGKILL)
                process.wait()

    def take(self, k):
        """One has ended. How long the others may go on: for ever (None), or so many seconds."""
        self.left.discard(k)
        status = self.processes[k].returncode
        if status == 0:
            return None
        first, self.status = self.status == 0, self.status or (128 - status if status < 0 else status)
        if not first or not self.launch.places:
            return GRACE
        by_ssh = status == SSH_FAILED and not here(self.launch.places[k])
        what = f"ssh to {self.launch.places[k]} failed" if by_ssh else f"{self.launch.place(k)} ended with status {self.status}"
        print(f"stretto: {what}", file=sys.stderr)
        return 0 if by_ssh else GRACE

    def wait(self):
        """The status: 0, or that of the first that failed. The others may then say what they saw, and are told to end."""
        limit = None
        try:
            while self.left:
                try:
                    rest = self.take(self.ended.get(timeout=None if limit is None else max(0, limit - time.monotonic())))
                except queue.Empty:
                    print(f"stretto: {', '.join(map(self.launch.place, sorted(self.left)))} told to end", file=sys.stderr)
                    self.end()
                    break
                if rest is not None:
                    limit = min(limit or float("inf"), time.monotonic() + rest)
        except BaseException:
            self.end()
            raise
        return self.status


def wait_for(launch, **streams):
    with raising_on_signals():
        try:
            return Job(launch, **streams).wait()
        except Signalled as signalled:
            return 128 + signalled.args[0]


def run(mpirun, ranks, hosts, arguments, show=None):
    """Runs a job and returns its status; or, with `show`, hands its command lines to it instead."""
    environment = settings()
    launch = planned(mpirun, ranks, hosts, arguments, environment)
    if show:
        for command in launch.commands:
            show(programs.shown(command, {} if launch.places else environment, launch.environment))
        return 0
    with removed_after(environment["STRETTO_STORE"]):
        return wait_for(launch)


def capture(mpirun, ranks, hosts, arguments):
    """Command line, status, output and error output of a job."""
    environment = settings()
    launch = planned(mpirun, ranks, hosts, arguments, environment)
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err, \
            removed_after(environment["STRETTO_STORE"]):
        streams = {"stdout": out, "stderr": err}
        status = wait_for(launch, **({} if launch.places else {"stdin": subprocess.DEVNULL}), **streams)
        for stream in streams.values():
            stream.seek(0)
        return launch.commands[0], status, out.read(), err.read()
