"""Where the C++ programs and the MPI launcher are.

Programs (stretto-measure, ...) and libraries to preload are looked for in, in this order: the directories of STRETTO_LIBEXEC;
libexec/stretto and bin (LIBRARIES) of a wheel's package and of the prefix that it is installed in; the builds of the checkout that this package belongs to;
the PATH (LD_LIBRARY_PATH). A checkout may have been built with several MPIs: what belongs to another MPI than the launcher is never
taken, and the launcher is that of the program's MPI where that can be told (a script's cannot): the one beside the libmpi that it is linked to
before those on the PATH.
"""

import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

from stretto.errors import Failure

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
LIBRARIES = ("lib", "lib64", *(f"lib/{machine}" for machine in (sysconfig.get_config_var("MULTIARCH"),) if machine))  # of a prefix; the last is Debian's
INSTALLED = ("libexec", "stretto", "python")  # where scripts/install puts the command's Python, below the prefix
LAUNCHERS = ("mpirun", "mpiexec.hydra", "mpiexec")
MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}  # the flavours whose programs and launchers can be told apart
STANDARD = "abi"  # the flavour of programs of MPI 5's standard binary interface, which any MPI's launcher may start
EARLY = "early abi"  # the same of MPICH before 5.0.2, in a library of another name
DIRECTORIES = {"stretto-doctor": "apps/doctor", "stretto-measure": "apps/measure", "stretto-measure-ucx": "apps/measure",
               "stretto-model": "apps/model",
               **dict.fromkeys(("stretto-ring", "stretto-matrix", "stretto-jacobi", "stretto-cg", "stretto-amr"), "apps/programs"),
               "libstretto.so": "src/api", "libstretto_arena.so": "src/node", "libstretto_mpi.so": "src/mpi",
               "libstretto_mpi_abi.so": "src/mpi", "libstretto_hdf5.so": "filters/hdf5"}
ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")  # without which Open MPI's launcher refuses root
SANDBOXES = ("/.dockerenv", "/run/.containerenv")  # files of a container
OVER_MPI = ("stretto-measure", "stretto-ring", "stretto-matrix", "stretto-jacobi", "stretto-cg", "stretto-amr", "libstretto_mpi.so")  # which a build without an MPI has not


# UCX's own 8 and 64 KiB keep four hosts of 1 Gb/s a tenth below the rate of the link. UCX reads them where it opens TCP; 1.13 (Debian's) takes
# them from the environment alone.
SEGMENTS_OF_TCP = {"UCX_TCP_TX_SEG_SIZE": "64k", "UCX_TCP_RX_SEG_SIZE": "128k"}


def find_ucx():
    """Has this process and those that it starts take the UCX of Python's wheel libucx, which is where the dynamic linker does not look, and its settings."""
    for name, value in SEGMENTS_OF_TCP.items():
        os.environ.setdefault(name, value)
    if "STRETTO_UCX" in os.environ:
        return
    found = importlib.util.find_spec("libucx")
    for directory in (found.submodule_search_locations or ()) if found else ():
        library = pathlib.Path(directory, "lib", "libucp.so.0")
        if library.is_file():
            os.environ["STRETTO_UCX"] = str(library)


def check_program(name):
    """That the program can be started on this host: a launcher's own message hides its name among others."""
    if shutil.which(name) is None:
        there = os.path.exists(name) and os.sep in name
        here = os.sep not in name and shutil.which(os.path.join(os.curdir, name))
        raise Failure(f"{name}: " + ("not a program that can be executed" if there else f"no such program{f' on the PATH; {here} is one' if here else ''}"))


def prefixes():
    """Where programs may be installed: a wheel has everything in the package, and `make install` gives the command a Python of its own in the prefix."""
    python = pathlib.Path(sys.prefix)
    return (pathlib.Path(__file__).resolve().parents[1], python, *(python.parents[2:3] if python.parts[-3:] == INSTALLED else ()))


def builds(flavour=None):
    """Release builds of the checkout, the newest first, one without an MPI last; but none of another MPI than `flavour`."""
    found = [path for path in (CHECKOUT / "build").glob("release*") if (path / "CMakeCache.txt").is_file()]
    others = {f"release-{other}" for other in MPIS if flavour in MPIS and other != flavour} | {"release-aarch64"}  # which is for another machine
    return sorted((path for path in found if path.name not in others), key=lambda path: (path.name == "release-none", -path.stat().st_mtime))


def given():
    return [pathlib.Path(directory) for directory in os.environ.get("STRETTO_LIBEXEC", "").split(os.pathsep) if directory]


def linked(path):
    """What an executable or a library is linked to, by the loader; empty where it is none, as a script is."""
    try:
        done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def mpi_of(path):
    """openmpi, mpich (whose binary interface is also that of its kin), STANDARD or EARLY, by the libmpi that a file is linked to; None where that does not tell."""
    text = linked(path)
    standard = re.search(r"\blibmpi_abi\.so\.(\d+)", text)
    if standard:
        return EARLY if standard[1] == "0" else STANDARD
    if re.search(r"\blibmpi\.so\.(20|40)\b", text):
        return "openmpi"
    return "mpich" if re.search(r"\blib(mpi|mpich)\.so\.12\b", text) else None


def over_mpi(path):
    """Whether an executable is linked to an MPI."""
    return bool(re.search(r"\blibmpi(ch|_abi)?\.so", linked(path)))


def launchers_of(path):
    """The launchers that lie beside the libmpi which an executable is linked to: in ../bin of it."""
    found = re.search(r"\blibmpi(?:ch|_abi)?\.so\S* => (/.*?)(?: \(0x\w+\))?$", linked(path), re.MULTILINE) if path else None
    if not found:
        return []
    library = pathlib.Path(found[1])
    places = dict.fromkeys(one.parent.parent / "bin" / name for one in (library, library.resolve()) for name in LAUNCHERS)
    return [str(place) for place in places if place.is_file() and os.access(place, os.X_OK)]


def fitting(path, flavour):
    """Whether a program or library serves this MPI. A wheel's libraries are linked to none, and need the standard's final interface."""
    return flavour not in (*MPIS, STANDARD, EARLY) or mpi_of(path) in ((EARLY,) if flavour == EARLY else (None, flavour))


def missing(what, name, places, flavour):
    if name == "libstretto_mpi_abi.so" and flavour == EARLY:
        return Failure("the program is linked to libmpi_abi.so.0, of an MPICH before 5.0.2, and stretto serves the standard's libmpi_abi.so.1.\n"
                       "Compile it by the mpicc_abi of MPICH 5.0.2 or newer, or by this MPICH's mpicc")
    if name == "libstretto_mpi_abi.so":
        return Failure(f"the {what} {name}, for programs of the standard binary interface of MPI 5, is not there; looked in {', '.join(map(str, places))}.\n"
                       "A build with an MPICH that has mpicc_abi makes it: make build MPI=mpich")
    if flavour in MPIS and builds():
        return Failure(f"no build for this launcher: {what} {name} is not there for {MPIS[flavour]}: make build MPI={flavour}\n"
                       f"Looked in {', '.join(map(str, places))}.")
    if name in OVER_MPI and builds() and all(build.name == "release-none" for build in builds()):
        return Failure(f"the {what} {name} is not there: stretto was built without an MPI, and this is for MPI programs. Build it with one: "
                       "make build MPI=openmpi")
    return Failure(f"the {what} {name} is not there; looked in {', '.join(map(str, places))}{' and on the PATH' * (what == 'program')}.\n"
                   "Build it (make build), or set STRETTO_LIBEXEC to the directory that holds it.")


def program(name, flavour=None):
    """The path of one of our programs."""
    places = [*given(), *(prefix / part for prefix in prefixes() for part in ("libexec/stretto", "bin")),
              *(build / DIRECTORIES[name] for build in builds(flavour))]
    for place in places:
        if os.access(place / name, os.X_OK) and (place / name).is_file() and fitting(place / name, flavour):
            return str(place / name)
    found = shutil.which(name)
    if found and fitting(found, flavour):
        return found
    raise missing("program", name, places, flavour)


def library(name, flavour=None):
    """The path of one of our libraries that are preloaded. One prefix has libstretto_mpi.so of one MPI, and libstretto_mpi_FLAVOUR.so of others."""
    if name == "libstretto_mpi.so" and flavour in (STANDARD, EARLY):
        name = "libstretto_mpi_abi.so"
    names = [name]
    if name == "libstretto_mpi.so" and flavour in MPIS:
        names.append(f"libstretto_mpi_{flavour}.so")
    places = [*given(), *(prefix / part / below for prefix in prefixes() for part in LIBRARIES for below in ("", "stretto", "stretto/hdf5")),
              *(build / DIRECTORIES[name] for build in builds(flavour)),
              *(pathlib.Path(place) for place in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if place)]
    for place in places:
        for one in names:
            if (place / one).is_file() and fitting(place / one, flavour):
                return str((place / one).resolve())
    raise missing("library", name, places, flavour)


def check_names(path):
    """Refuses a program of an MPICH whose file has another name than the one that the library to be preloaded needs: the loader would look for both."""
    names = [set(re.findall(r"\blib(?:mpi|mpich)\.so\.12\b", linked(file))) for file in (path, library("libstretto_mpi.so", "mpich"))]
    if all(names) and not names[0] & names[1]:
        raise Failure(f"the program is linked to {min(names[0])}, and stretto here serves programs linked to {min(names[1])}. "
                      "Build stretto with that MPICH: make build MPI=mpich in its sources")


def preloaded(libraries):
    """What the environment is given so that the loader preloads the libraries, in front of others. LD_PRELOAD is separated by spaces, which LD_LIBRARY_PATH is not."""
    names, directories = [], []
    for path in libraries:
        directory, name = os.path.split(path)
        if ":" in path or (" " in path and ";" in path):
            raise Failure(f"{path} cannot be preloaded: the loader separates paths at a colon. Install stretto in a directory without one")
        names.append(name if " " in path else path)
        directories += [directory] * (" " in path)
    paths = {"LD_PRELOAD": names, **({"LD_LIBRARY_PATH": list(dict.fromkeys(directories))} if directories else {})}
    return {name: ":".join([*path, *filter(None, [os.environ.get(name)])]) for name, path in paths.items()}


def configured_launchers(mpi=None):
    """The launchers that the builds of the checkout were configured with, the newest build's first."""
    for build in builds(mpi):
        cache = (build / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^MPIEXEC_EXECUTABLE:\w+=(.+)$", cache, re.MULTILINE)
        if found and os.access(found[1], os.X_OK):
            yield found[1]


def found_launchers(mpi=None):
    """Those on the PATH, then those of the checkout's builds."""
    return [*filter(shutil.which, LAUNCHERS), *configured_launchers(mpi)]


def launcher(given=None, path=None):
    """The launching command as a list: what the user gave (words of a shell), or one that is found, of the MPI of the program `path` where that
    is known.

    A launcher of another MPI would start so many jobs of one rank each.
    """
    mpi = mpi_of(path) if path else None
    mpi = mpi if mpi in MPIS else None
    if given is not None:
        words = shlex.split(given)
        if not words:
            raise Failure("--mpirun is empty; give a command, as in --mpirun 'mpirun -n 4'")
        if shutil.which(words[0]) is None:
            raise Failure(f"no MPI launcher: {words[0]!r} is no program that can be run")
        if mpi and flavour(words) in MPIS and flavour(words) != mpi:
            raise Failure(f"the program's MPI is {MPIS[mpi]}, and {words[0]} is a launcher of {MPIS[flavour(words)]}; name that MPI's own by --mpirun")
        return words
    found = found_launchers(mpi)
    for name in [*launchers_of(path), *found]:
        if mpi is None or flavour([name]) not in MPIS or flavour([name]) == mpi:
            return [name]
    if found:
        raise Failure(f"no launcher of {MPIS[mpi]}, which is the program's MPI: {', '.join(found)} {'is' if len(found) == 1 else 'are'} another's. "
                      "Give the command, as in --mpirun '/opt/mpi/bin/mpirun -n 4'.")
    if mpi and builds():
        raise Failure(f"no launcher of {MPIS[mpi]}, which is the program's MPI, is on the PATH, and nothing was built for it: make build MPI={mpi}")
    places = "on the PATH" + ", or beside the libmpi of the program" * bool(mpi)
    raise Failure(f"no MPI launcher: none of {', '.join(LAUNCHERS)} is {places}. Load your MPI's module, or give the command, "
                  "as in --mpirun '/opt/mpi/bin/mpirun -n 4'." + " A program that calls no MPI is started by --carrier ucx." * bool(path and mpi is None))


def cores():
    """Cores that this process may use; two threads of one count once, as a launcher counts."""
    together = set()
    for cpu in os.sched_getaffinity(0):
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        together.add(path.read_text(encoding="utf-8") if path.exists() else str(cpu))
    return len(together)


def placed(flavour, given, hosts, ranks):
    """The launcher's words for hosts and ranks. Open MPI refuses more ranks than cores until it is told that they share them: it is,
    unless the user (--mpirun, --hosts) or a batch system says where ranks go."""
    words = []
    if hosts:
        words += [{"mpich": "-hosts", "slurm": "--nodelist"}.get(flavour, "--host"), hosts]
    elsewhere = given or hosts or any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"))
    if flavour == "openmpi" and not elsewhere and ranks and ranks > cores():
        words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    if ranks:
        words += ["-n", str(ranks)]
    return words


def flavour(command):
    """openmpi, mpich, slurm or other, by what the launcher says of itself."""
    try:
        done = subprocess.run([command[0], "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "other"
    text = done.stdout + done.stderr
    if "HYDRA" in text:
        return "mpich"
    if text.startswith("slurm "):
        return "slurm"
    # Ubuntu 26.04's package lacks the text of --version, and names the file of Open MPI's texts.
    return "openmpi" if any(word in text for word in ("Open MPI", "prterun", "PRRTE", "schizo-ompi")) else "other"


def allow_root(words, environment):
    """Open MPI's launcher refuses root unless `environment` has two variables. In a container or a CI job root is the usual user: they are set."""
    if os.geteuid() != 0 or "--allow-run-as-root" in words or all(name in environment for name in ROOT) or flavour(words) != "openmpi":
        return
    if not any(map(os.path.exists, SANDBOXES)) and not {"CI", "container"} & set(environment):
        raise Failure(f"Open MPI does not start programs as root unless it is told to: export {ROOT[0]}=1 {ROOT[1]}=1")
    environment.update(dict.fromkeys(ROOT, "1"))


def command(mpirun, ranks, hosts, arguments, environment):
    """The command line that starts a program, and the environment that it is started in.

    The launchers of Open MPI and MPICH hand settings to the ranks and are not preloaded themselves; other launchers (srun) hand
    on their own environment.
    """
    words = launcher(mpirun, shutil.which(arguments[0]))
    kind = flavour(words)
    own = dict(os.environ)
    allow_root(words, own)
    words += placed(kind, mpirun, hosts, ranks)
    if kind not in MPIS:
        own.update(environment)
    for name, value in environment.items():
        if kind == "openmpi":
            words += ["-x", f"{name}={value}"]
        elif kind == "mpich":
            words += ["-genv", name, value]
    return words + list(arguments), own


def shown(argv, environment, own):
    """A command line for a shell, with the settings before it that its launcher hands on from its own environment, or needs there."""
    inherited = [] if flavour(argv) in MPIS else [f"{name}={value}" for name, value in environment.items()]
    inherited += [f"{name}={own[name]}" for name in ROOT if name in own and name not in os.environ]
    return shlex.join(["env", *inherited, *argv] if inherited else argv)
