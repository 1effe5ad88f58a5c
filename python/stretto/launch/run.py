"""`stretto run`: starts a program under the user's mpirun with the profiling library preloaded."""

import os
import re
import shutil
import sys

from stretto import files, model
from stretto.launch import emulate, programs, variables
from stretto.errors import Failure

DIRECTORY = ("wdir", "wd", "chdir", "hostfile", "machinefile", "f")  # options of launchers that lead to another directory or host
CORES = re.compile(r"auto|\d+(-\d+)?(,\d+(-\d+)?)*")
BOUND = re.compile(r"(rel|abs):([0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?)(:result|:contribution)?")


def settings(flavour, bound=None, bound_moves=False, ignore_above=None, rules=None, report=None, profile=None, arena=False, comm_cores=None):
    """What the ranks' environment is given."""
    if bound is not None:
        found = BOUND.fullmatch(bound)
        if not found or not float(found[2]) > 0:
            raise Failure(f"--bound {bound!r} is no bound; it takes rel:1e-4 (of the range of the inputs) or abs:0.001, of the sum, "
                          "or of each rank's contribution with :contribution after it")
    if bound_moves and bound is None and rules is None:
        raise Failure("--bound-moves lets a bound act on moved data too, and there is none: give --bound or --rules")
    if ignore_above is not None and not positive(ignore_above):
        raise Failure(f"--ignore-above {ignore_above!r} is neither a positive number nor inf")
    check_rules(rules, bound is not None)
    check_profile(profile)
    if comm_cores is not None and not CORES.fullmatch(comm_cores):
        raise Failure(f"--comm-cores {comm_cores!r} names no cores; it takes auto, or numbers as in 14,15 or 8-11")
    preload = [programs.library("libstretto_mpi.so", flavour)]
    if arena:
        preload.append(programs.library("libstretto_arena.so", flavour))
    # Settings of this environment apply on all hosts; otherwise ranks would differ.
    inherited = {name: value for name, value in os.environ.items() if name.startswith("STRETTO_") and name != "STRETTO_LIBEXEC"}
    if "STRETTO" in os.environ:
        inherited["STRETTO"] = os.environ["STRETTO"]
    wanted = {**programs.preloaded(preload), "STRETTO_BOUND": bound, "STRETTO_BOUND_MOVES": "1" if bound_moves else None,
              "STRETTO_IGNORE_ABOVE": ignore_above, "STRETTO_RULES": rules and os.path.abspath(rules),
              "STRETTO_REPORT": report, "STRETTO_PROFILE": profile, "STRETTO_COMM_CORES": comm_cores}
    return {**inherited, **{name: value for name, value in wanted.items() if value is not None}}


def positive(text):
    """Whether the library reads it as a positive number, or inf."""
    return bool(re.fullmatch(r"inf|[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", text)) and float(text) > 0


def check_rules(given, bounded):
    """That the library takes the file of --rules, or else of STRETTO_RULES, on this host: it would run the program without rules."""
    file, what = given or os.environ.get("STRETTO_RULES"), "--rules" if given else "STRETTO_RULES:"
    if not file:
        return
    files.read(file, what)
    try:
        remarks = model.run(["rules", file, *(["--bounded"] if bounded or os.environ.get("STRETTO_BOUND") else [])]).splitlines()[1:]
    except Failure as failure:
        raise Failure(f"{what} {failure}") from None
    for remark in remarks:
        print(f"stretto: {what} {file}, {remark}", file=sys.stderr)


def check_profile(given):
    """That --profile, or else STRETTO_PROFILE, is a shipped name or a readable file: the library leaves all calls to the MPI else."""
    name, what = (os.environ.get("STRETTO_PROFILE") or None, "STRETTO_PROFILE") if given is None else (given, "--profile")
    if name is None:
        return
    try:
        model.run(["profiles", name])
    except Failure as failure:
        raise Failure(f"{what} {name}: {failure}") from None


def unread_variables(carrier):
    """What is said of variables that nothing reads. Of those an unchanged program's library warns itself of, once it runs, nothing is said here."""
    return [variables.said(name, nearest) for name, nearest, by_library in variables.unknown() if carrier != "mpi" or not by_library]


def check_report(file):
    """That the JSON can be written: rank 0 does so at the end of the program, on this host where no others are named."""
    directory = os.path.dirname(os.path.abspath(file))
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else directory, os.W_OK):
        raise Failure(f"--report-to {file}: no file can be written there")


def check_over_ucx(**options):
    """Refuses what the profiling library does: such a program calls stretto itself."""
    for name, value in options.items():
        if value:
            raise Failure(f"--{name.replace('_', '-')} is for unchanged MPI programs; with --carrier ucx the program's own options hold")


def unserved(program):
    """What is said of a program that --carrier ucx would start, and that calls an MPI alone; else None."""
    path = shutil.which(program)
    if path and programs.over_mpi(path) and not re.search(r"\blibstretto\.so", programs.linked(path)):
        return f"{program} is linked to an MPI, and not to stretto: with --carrier ucx it runs as without stretto. Without --carrier its MPI calls are served"
    return None


def check_emulated(carrier, printed):
    """Refuses what has no meaning between hosts that are made for the run."""
    if printed:
        raise Failure("--print shows one command line, and --emulate makes hosts before it starts the ranks: give one of them")
    if carrier != "mpi":
        raise Failure(f"--emulate starts its ranks by an MPI's launcher, and --carrier is {carrier}: give one of them")


def emulated(network, mpirun, ranks, hosts, arguments, **wanted):
    """Runs the program between hosts that are made for it; its status."""
    if hosts:
        raise Failure(f"--emulate makes the hosts, and --hosts names {hosts}; give one of them")
    path = shutil.which(arguments[0])
    words = programs.launcher(mpirun, path)
    return emulate.run(network, words, ranks, arguments, settings(path and programs.mpi_of(path) or programs.flavour(words), **wanted))


def run(mpirun, ranks, hosts, arguments, show=None, **wanted):
    """Becomes the launcher; or, with `show`, hands the command line to it instead."""
    if wanted.get("report") not in (None, "1") and not hosts:
        check_report(wanted["report"])
    path = shutil.which(arguments[0])
    flavour = programs.flavour(programs.launcher(mpirun, path))
    environment = settings(path and programs.mpi_of(path) or flavour, **wanted)
    if path and programs.mpi_of(path) == "mpich":
        programs.check_names(path)
    argv, own = programs.command(mpirun, ranks, hosts, arguments, environment)
    if show:
        show(programs.shown(argv, environment, own))
        return
    if not hosts and not any(word.lstrip("-") in DIRECTORY for word in argv):  # the program may be elsewhere
        programs.check_program(arguments[0])
    try:
        os.execvpe(argv[0], argv, own)
    except OSError as error:
        raise Failure(f"no MPI launcher: {argv[0]}: {error.strerror}") from None
