"""`stretto run`: starts a program under the user's mpirun with the profiling library preloaded."""

import os
import re
import secrets
import shlex
import shutil

from stretto import files, model, programs
from stretto.errors import Failure

BOUND = re.compile(r"(rel|abs):([0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?)(:result|:contribution)?")


def settings(flavour, bound=None, ignore_above=None, rules=None, report=None, profile=None, arena=False):
    """What the ranks' environment is given."""
    if bound is not None:
        found = BOUND.fullmatch(bound)
        if not found or not float(found[2]) > 0:
            raise Failure(f"--bound {bound!r} is no bound; it takes rel:1e-4 (of the range of the inputs) or abs:0.001, of the sum, "
                          "or of each rank's contribution with :contribution after it")
    if ignore_above is not None and not positive(ignore_above):
        raise Failure(f"--ignore-above {ignore_above!r} is neither a positive number nor inf")
    if rules is not None:
        files.read(rules, "--rules")  # on this host; the library reads them anew on each
    if profile is not None:
        check_profile(profile)
    preload = [programs.library("libstretto_mpi.so", flavour)]
    if arena:
        preload.append(programs.library("libstretto_arena.so", flavour))
    preload += [os.environ["LD_PRELOAD"]] if os.environ.get("LD_PRELOAD") else []
    # What is set here already holds on all hosts, or ranks would differ.
    inherited = {name: value for name, value in os.environ.items() if name.startswith("STRETTO_") and name != "STRETTO_LIBEXEC"}
    if "STRETTO" in os.environ:
        inherited["STRETTO"] = os.environ["STRETTO"]
    wanted = {"LD_PRELOAD": ":".join(preload), "STRETTO_BOUND": bound, "STRETTO_IGNORE_ABOVE": ignore_above, "STRETTO_RULES": rules and os.path.abspath(rules),
              "STRETTO_REPORT": report, "STRETTO_PROFILE": profile}
    return {**inherited, **{name: value for name, value in wanted.items() if value is not None}}


def positive(text):
    """Whether the library reads it as a positive number, or inf."""
    return bool(re.fullmatch(r"inf|[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", text)) and float(text) > 0


def check_profile(name):
    """That it is a shipped name, or a file that can be read: the library leaves all calls to the MPI else."""
    try:
        model.run(["profiles", name])
    except Failure as failure:
        raise Failure(f"--profile {name}: {failure}") from None


def check_report(file):
    """That the JSON can be written: rank 0 does so at the end of the program, on this host where no others are named."""
    directory = os.path.dirname(os.path.abspath(file))
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else directory, os.W_OK):
        raise Failure(f"--report-to {file}: no file can be written there")


def command(mpirun, ranks, hosts, arguments, environment):
    """The command line that starts the program, and the environment that it is started in.

    The launchers of Open MPI and MPICH hand settings to the ranks and are not preloaded themselves; other launchers (srun) hand
    on their own environment.
    """
    words = programs.launcher(mpirun, shutil.which(arguments[0]))
    flavour = programs.flavour(words)
    own = dict(os.environ)
    words += programs.placed(flavour, mpirun, hosts, ranks)
    if flavour == "other":
        own.update(environment)
    for name, value in environment.items():
        if flavour == "openmpi":
            words += ["-x", f"{name}={value}"]
        elif flavour == "mpich":
            words += ["-genv", name, value]
    return words + list(arguments), own


def store(given):
    """The store in which ranks without an MPI meet: what STRETTO_STORE says, or a directory of this job in the user's cache, which hosts share."""
    if given:
        return given
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.makedirs(cache, exist_ok=True)
    return f"file://{os.path.abspath(cache)}/stretto-store-{secrets.token_hex(8)}"


def check_over_ucx(**options):
    """Refuses what the profiling library does: such a program calls stretto itself."""
    for name, value in options.items():
        if value:
            raise Failure(f"--{name.replace('_', '-')} is for unchanged MPI programs; with --carrier ucx the program's own options hold")


def environment_over_ucx():
    """What ranks without an MPI are given."""
    environment = {name: value for name, value in os.environ.items() if name.startswith(("STRETTO_", "UCX_")) and name != "STRETTO_LIBEXEC"}
    environment["STRETTO_STORE"] = store(os.environ.get("STRETTO_STORE"))
    return environment


def run_over_ucx(mpirun, ranks, hosts, arguments, show=None):
    """The same for a program that makes its communicator by stretto_comm_create_environment: the launcher only starts it, and tells ranks."""
    environment = environment_over_ucx()
    become(*command(mpirun, ranks, hosts, arguments, environment), environment, mpirun, arguments, show)


def run(mpirun, ranks, hosts, arguments, show=None, **wanted):
    """Becomes the launcher; or, with `show`, hands the command line to it instead."""
    if wanted.get("report") not in (None, "1") and not hosts:
        check_report(wanted["report"])
    path = shutil.which(arguments[0])
    flavour = programs.flavour(programs.launcher(mpirun, path))
    environment = settings(path and programs.mpi_of(path) or flavour, **wanted)
    become(*command(mpirun, ranks, hosts, arguments, environment), environment, mpirun, arguments, show)


def become(argv, own, environment, mpirun, arguments, show):
    flavour = programs.flavour(programs.launcher(mpirun, shutil.which(arguments[0])))
    if show:
        inherited = [f"{name}={value}" for name, value in environment.items()] if flavour == "other" else []
        show(shlex.join(["env", *inherited, *argv] if inherited else argv))
        return
    try:
        os.execvpe(argv[0], argv, own)
    except OSError as error:
        raise Failure(f"no MPI launcher: {argv[0]}: {error.strerror}") from None
