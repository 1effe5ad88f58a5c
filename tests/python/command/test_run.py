"""What `stretto run` starts, with launchers and libraries made up for the purpose."""

import os
import pathlib
import re

import pytest

from stretto.errors import Failure
from stretto.launch import emulate, programs, variables

OPENMPI = '[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.11" && exit\n'
MPICH = '[ "$1" = --version ] && echo "HYDRA build" && exit\n'


@pytest.fixture
def libraries(stretto):
    directory = stretto.home / "libraries"
    directory.mkdir()
    for name in ("libstretto_mpi.so", "libstretto_arena.so"):
        (directory / name).write_text("", encoding="utf-8")
    stretto.executable("libraries/stretto-model", '[ "$1 $2" = "profiles a100-hdr" ] && exit\n'
                       'if [ "$1" = rules ]; then grep -q fused "$2" && printf "1 rule\\nline 1: %s\\n" "${3:-unbounded}"; '
                       'grep -q spiral "$2" || exit 0; '
                       "echo \"stretto-model: $2, line 2: 'spiral' is no schedule\" >&2; exit 2; fi\n"
                       "echo \"stretto-model: machine '$2' is neither a file nor one of a100-hdr, built-in\" >&2\nexit 2\n")
    stretto.set("STRETTO_LIBEXEC", directory)
    for name in [name for name in os.environ if name == "LD_PRELOAD" or (name.startswith("STRETTO") and name != "STRETTO_LIBEXEC")]:
        stretto.monkeypatch.delenv(name)
    return directory


def printed(stretto, version, *arguments):
    launcher = stretto.executable("mpirun", version)
    line = stretto.succeeds("run", "--print", "--mpirun", launcher, *arguments).strip()
    return line.replace(str(launcher), "mpirun").replace(str(stretto.home), "~")


def test_bounds_act_on_moved_data_if_there_are_any(stretto, libraries):
    line = "mpirun -n 2 -x LD_PRELOAD=~/libraries/libstretto_mpi.so -x STRETTO_BOUND=abs:0.1 -x STRETTO_BOUND_MOVES=1 ./app"
    assert printed(stretto, OPENMPI, "-n", "2", "--bound", "abs:0.1", "--bound-moves", "./app") == line
    assert "and there is none: give --bound or --rules" in stretto.refused("run", "--bound-moves", "./app")


def test_np_is_another_name_of_n_before_the_program_alone(stretto, libraries):
    line = "mpirun -n 5 -x LD_PRELOAD=~/libraries/libstretto_mpi.so ./app -np 3"
    assert printed(stretto, OPENMPI, "-np", "5", "./app", "-np", "3") == line
    assert printed(stretto, OPENMPI, "-n", "5", "./app", "-np", "3") == line


def test_a_missing_program_is_named_before_the_launcher_runs(stretto, libraries):
    launcher = stretto.executable("mpirun", OPENMPI + "echo it ran >&2\n")
    stretto.set("OMPI_ALLOW_RUN_AS_ROOT", "1")
    stretto.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    said = stretto.refused("run", "--mpirun", launcher, "-n", "2", "./absent")
    assert "./absent: no such program" in said and "it ran" not in said
    text = stretto.home / "text"
    text.write_text("", encoding="utf-8")
    assert "not a program that can be executed" in stretto.refused("run", "--mpirun", launcher, text)
    assert "./absent" in stretto.succeeds("run", "--print", "--mpirun", launcher, "./absent")


def test_a_program_that_lies_here_and_not_on_the_path_is_named(stretto, libraries, monkeypatch):
    launcher = stretto.executable("mpirun", OPENMPI + "echo it ran >&2\n")
    here = stretto.home / "here"
    here.mkdir()
    (here / "solve").write_text("#!/bin/sh\n", encoding="utf-8")
    (here / "solve").chmod(0o755)
    monkeypatch.chdir(here)
    assert "solve: no such program on the PATH; ./solve is one" in stretto.refused("run", "--mpirun", launcher, "-n", "2", "solve")
    (here / "solve").chmod(0o644)
    assert stretto.refused("run", "--mpirun", launcher, "-n", "2", "solve").rstrip().endswith("solve: no such program")


def test_machine_is_another_name_of_profile(stretto, libraries):
    for option in ("--profile", "--machine"):
        assert "STRETTO_PROFILE=a100-hdr" in printed(stretto, OPENMPI, option, "a100-hdr", "./app")


def test_settings_are_handed_on_in_the_launchers_own_words(stretto, libraries):
    assert printed(stretto, OPENMPI, "-n", "4", "./app", "-n", "9") == "mpirun -n 4 -x LD_PRELOAD=~/libraries/libstretto_mpi.so ./app -n 9"
    assert printed(stretto, MPICH, "-n", "4", "--bound", "rel:1e-4", "./app") == \
        "mpirun -n 4 -genv LD_PRELOAD ~/libraries/libstretto_mpi.so -genv STRETTO_BOUND rel:1e-4 ./app"
    assert printed(stretto, "", "./app", "--report").startswith("env LD_PRELOAD=~/libraries/libstretto_mpi.so mpirun ./app --report")


def test_open_mpi_starts_as_root_in_containers_only(stretto, libraries):
    stretto.monkeypatch.setattr("os.geteuid", lambda: 0)
    for name in (*programs.ROOT, "CI", "container"):
        stretto.monkeypatch.delenv(name, raising=False)
    stretto.monkeypatch.setattr(programs, "SANDBOXES", (str(stretto.home / "none"),))
    launcher = stretto.executable("mpirun", OPENMPI + "echo it ran >&2\n")
    stretto.executable("libraries/stretto-measure", "")
    for command in (("run", "--mpirun", launcher, "./app"), ("tune", "--mpirun", launcher)):
        said = stretto.refused(*command)
        assert "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" in said and "it ran" not in said
    allowed = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun"
    assert printed(stretto, MPICH, "./app").startswith("mpirun")
    stretto.set("CI", "true")
    assert printed(stretto, OPENMPI, "./app").startswith(allowed)
    stretto.monkeypatch.delenv("CI")
    stretto.monkeypatch.setattr(programs, "SANDBOXES", (str(stretto.home),))
    assert printed(stretto, OPENMPI, "./app").startswith(allowed)


def test_another_mpis_library_of_one_prefix_has_its_name(stretto, libraries):
    (libraries / "libstretto_mpi_mpich.so").write_text("", encoding="utf-8")
    stretto.monkeypatch.setattr("stretto.launch.programs.linked", lambda path: OPENMPI_APP if str(path).endswith("libstretto_mpi.so") else "")
    assert printed(stretto, MPICH, "./app") == "mpirun -genv LD_PRELOAD ~/libraries/libstretto_mpi_mpich.so ./app"
    assert printed(stretto, OPENMPI, "./app") == "mpirun -x LD_PRELOAD=~/libraries/libstretto_mpi.so ./app"


def test_over_ucx_the_launcher_only_starts_and_names_a_store(stretto, libraries):
    stretto.set("STRETTO_STORE", "file:///shared/job")
    assert printed(stretto, OPENMPI, "-n", "4", "--carrier", "ucx", "./app") == "mpirun -n 4 -x STRETTO_STORE=file:///shared/job ./app"
    stretto.monkeypatch.delenv("STRETTO_STORE")
    stretto.set("XDG_CACHE_HOME", stretto.home / "cache")
    assert re.fullmatch(r"mpirun -genv STRETTO_STORE file://~/cache/stretto-store-[0-9a-f]{16} ./app", printed(stretto, MPICH, "--carrier", "ucx", "./app"))
    assert "--bound is for unchanged MPI programs" in stretto.refused("run", "--carrier", "ucx", "--bound", "rel:1e-4", "./app")
    assert "--carrier 'tcp' is none; it takes mpi or ucx" in stretto.refused("run", "--carrier", "tcp", "./app")


def without_launchers(stretto):
    """No MPI's launcher is anywhere, and this is no allocation of Slurm."""
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home / "none")
    stretto.monkeypatch.setattr("stretto.launch.programs.LAUNCHERS", ("no-mpirun",))
    stretto.monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    stretto.set("STRETTO_STORE", "file:///shared/job")
    return lambda *arguments: stretto.succeeds("run", "--print", "--carrier", "ucx", *arguments).splitlines()


def test_ucx_without_mpi_launcher_starts_by_slurm_in_an_allocation(stretto, libraries):
    lines = without_launchers(stretto)
    srun = stretto.executable("bin/srun", '[ "$1" = --version ] && echo "slurm 23.11.4"\n')
    stretto.set("PATH", f"{srun.parent}:/usr/bin:/bin")
    assert lines("-n", "2", "./app")[0].startswith("sh -c ")
    stretto.set("SLURM_JOB_ID", "7")
    assert lines("-n", "4", "--hosts", "a,b", "./app") == ["env STRETTO_STORE=file:///shared/job srun --nodelist a,b -n 4 ./app"]


def test_ucx_without_launcher_starts_ranks_by_shell_or_ssh(stretto, libraries):
    lines = without_launchers(stretto)
    stretto.set("PATH", f"{stretto.executable('bin/ssh', '').parent}:/usr/bin:/bin")
    found = lines("-n", "3", "--hosts", "a:2,localhost", "./app", "x y")
    assert [line.startswith("ssh -o BatchMode=yes -o ConnectTimeout=30 a ") for line in found] == [True, True, False]
    assert found[2].startswith("sh -c ")
    for rank, line in enumerate(found):
        assert f"STRETTO_RANK={rank} STRETTO_SIZE=3 ./app" in line and str(stretto.home) in line
    assert len(lines("--hosts", "a:2,b", "./app")) == 3
    assert len(lines("-n", "2", "--hosts", "a:2,b", "./app")) == 2


@pytest.mark.parametrize("hosts, said", [("a,b", "--hosts 'a,b' has 2 places for 4 ranks"), ("a:x", "'a:x' is no HOST or HOST:RANKS"), ("a:0", "'a:0' is no"),
                                         ("a,,b", "'' is no HOST"), ("-oProxyCommand=x", "'-oProxyCommand=x' is no HOST")])
def test_over_ucx_hosts_that_are_none_are_refused_and_named(stretto, libraries, hosts, said):
    without_launchers(stretto)
    assert said in stretto.refused("run", "--carrier", "ucx", "-n", "4", f"--hosts={hosts}", "./app")


def test_over_ucx_without_ssh_it_is_said_what_was_looked_for(stretto, libraries):
    without_launchers(stretto)
    stretto.set("PATH", stretto.home)
    said = stretto.refused("run", "--carrier", "ucx", "--hosts", "a,b", "./app")
    assert "no launcher for --hosts a,b: none of no-mpirun and ssh is on the PATH, and this is no allocation of Slurm with srun" in said


SHARE = "--map-by :OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1"


def started(stretto, version, *arguments):
    """The line of a launcher that was found on the PATH, on a machine of two cores."""
    launcher = stretto.executable("mpirun", version)
    stretto.set("PATH", f"{launcher.parent}:{os.environ['PATH']}")
    stretto.monkeypatch.setattr("stretto.launch.programs.cores", lambda: 2)
    return stretto.succeeds("run", "--print", *arguments).strip()


def test_more_ranks_than_cores_are_told_to_share_them(stretto, libraries):
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"):
        stretto.monkeypatch.delenv(name, raising=False)
    assert f" {SHARE} -n 3 " in started(stretto, OPENMPI, "-n", "3", "./app")
    assert "OVERSUBSCRIBE" not in started(stretto, OPENMPI, "-n", "2", "./app")
    assert "OVERSUBSCRIBE" not in started(stretto, OPENMPI, "./app")
    assert "OVERSUBSCRIBE" not in started(stretto, MPICH, "-n", "3", "./app")


def test_ranks_that_somebody_else_places_are_left_alone(stretto, libraries):
    assert "OVERSUBSCRIBE" not in started(stretto, OPENMPI, "-n", "3", "--hosts", "a:3", "./app")
    assert "OVERSUBSCRIBE" not in printed(stretto, OPENMPI, "-n", "3", "./app")
    stretto.set("SLURM_JOB_ID", "7")
    assert "OVERSUBSCRIBE" not in started(stretto, OPENMPI, "-n", "3", "./app")


def test_each_option_has_its_setting(stretto, libraries):
    (stretto.home / "rules").write_text("", encoding="utf-8")
    line = printed(stretto, OPENMPI, "--arena", "--report", "--rules", "rules", "--profile", "a100-hdr", "--ignore-above", "1e30", "--comm-cores", "auto", "--hosts", "a,b", "./app")
    assert "--host a,b" in line
    for setting in ("LD_PRELOAD=~/libraries/libstretto_mpi.so:~/libraries/libstretto_arena.so", "STRETTO_REPORT=1",
                    "STRETTO_RULES=~/rules", "STRETTO_PROFILE=a100-hdr", "STRETTO_IGNORE_ABOVE=1e30", "STRETTO_COMM_CORES=auto"):
        assert f"-x {setting}" in line, line
    assert "STRETTO_REPORT=out.json" in printed(stretto, OPENMPI, "--report-to", "out.json", "./app")


def test_settings_of_the_shell_hold_on_all_hosts(stretto, libraries):
    stretto.set("STRETTO_BOUND", "abs:1")
    stretto.set("STRETTO", "0")
    line = printed(stretto, OPENMPI, "--hosts", "a,b", "./app")
    assert "-x STRETTO_BOUND=abs:1" in line
    assert "-x STRETTO=0" in line
    assert "STRETTO_BOUND=rel:1e-3" in printed(stretto, OPENMPI, "--bound", "rel:1e-3", "./app")


SETTING = re.compile(r'(?<!stretto, )"STRETTO_([A-Z_]+)"')
SAID = {"IN_PLACE"}  # in an error, as the header's name of a buffer


def test_known_variables_are_those_that_the_sources_read():
    """In the library, its modules, the programs and the package; and the list of the profiling library, which warns of slips, is equal."""
    root = programs.CHECKOUT
    read = set()
    for directory in ("src", "apps", "filters", "python"):
        for file in (root / directory).rglob("*"):
            if file.suffix in (".cpp", ".hpp", ".py") and file.name != "variables.py":
                read.update(SETTING.findall(file.read_text(encoding="utf-8")))
    benches = {name for file in (root / "bench").rglob("*.py") for name in SETTING.findall(file.read_text(encoding="utf-8"))}
    assert read - SAID - set(variables.KNOWN) == set()
    assert set(variables.KNOWN) - read - benches == set()
    own = re.search(r"kKnown = \{(.*?)\};", (root / "src/mpi/settings/variables.cpp").read_text(encoding="utf-8"), re.DOTALL)[1]
    assert tuple(re.findall(r'"([A-Z_]+)"', own)) == variables.KNOWN == tuple(sorted(variables.KNOWN))


def test_a_variable_that_nothing_reads_is_told_before_the_start(stretto, libraries):
    assert variables.unknown({"STRETTO": "0", "STRETTO_BOUND": "", "STRETT_BOUND": "", "PATH": ""}) == []
    assert variables.unknown(["STRETTO_BONUD", "STRETTO_SLEEPING"]) == [("STRETTO_BONUD", "STRETTO_BOUND", True), ("STRETTO_SLEEPING", "STRETTO_LEVELS", False)]
    stretto.set("STRETTO_WAITING", "sleep")
    stretto.set("STRETTO_BONUD", "rel:1e-4")
    launcher = stretto.executable("mpirun", OPENMPI)
    said = "is no variable of stretto's, and without effect; the nearest is"
    shown = stretto.run("run", "--print", "--mpirun", launcher, "./app").stderr
    assert f"stretto: STRETTO_WAITING {said} STRETTO_WAIT" in shown and "BONUD is no" not in shown  # which the library tells at MPI_Init
    assert f"stretto: STRETTO_BONUD {said} STRETTO_BOUND" in stretto.run("run", "--print", "--mpirun", launcher, "--carrier", "ucx", "./app").stderr


def test_a_former_preload_is_kept(stretto, libraries):
    stretto.set("LD_PRELOAD", "libother.so")
    assert "LD_PRELOAD=~/libraries/libstretto_mpi.so:libother.so" in printed(stretto, OPENMPI, "./app")


def test_a_library_in_a_path_with_a_space_is_preloaded_by_its_name(stretto, libraries):
    spaced = stretto.home / "my libraries"
    spaced.symlink_to(libraries)  # which is followed: the loader is told where a library really is
    stretto.set("STRETTO_LIBEXEC", spaced)
    stretto.monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert "-x LD_PRELOAD=~/libraries/libstretto_mpi.so ./app" in printed(stretto, OPENMPI, "./app")
    spaced.unlink()
    libraries.rename(spaced)
    line = "mpirun -x LD_PRELOAD=libstretto_mpi.so:libstretto_arena.so -x 'LD_LIBRARY_PATH=~/my libraries' ./app"
    assert printed(stretto, OPENMPI, "--arena", "./app") == line
    stretto.set("LD_PRELOAD", "libother.so")
    stretto.set("LD_LIBRARY_PATH", "/there")
    assert "LD_PRELOAD=libstretto_mpi.so:libother.so -x 'LD_LIBRARY_PATH=~/my libraries:/there' ./app" in printed(stretto, OPENMPI, "./app")
    stretto.set("STRETTO_LIBEXEC", libraries)
    (stretto.home / "with:colon").mkdir()
    libraries.symlink_to(stretto.home / "with:colon")
    (libraries / "libstretto_mpi.so").write_text("", encoding="utf-8")
    assert "with:colon/libstretto_mpi.so cannot be preloaded" in stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "./app")


@pytest.mark.parametrize("bound", ["1e-4", "rel:0", "rel:-1", "abs:x", "rel:1e-4x", ""])
def test_a_bound_that_is_none_is_refused_and_named(stretto, libraries, bound):
    assert f"--bound {bound!r} is no bound" in stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--bound", bound, "./app")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "1e15x", "none", ""])
def test_a_threshold_that_is_none_is_refused_and_named(stretto, libraries, value):
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), f"--ignore-above={value}", "./app")
    assert f"--ignore-above {value!r} is neither a positive number nor inf" in said
    assert "-x STRETTO_IGNORE_ABOVE=inf " in printed(stretto, OPENMPI, "--ignore-above", "inf", "./app")


@pytest.mark.parametrize("cores", ["", "2 3", "-1", "3-", "free", "1,,2"])
def test_cores_that_are_none_are_refused_and_named(stretto, libraries, cores):
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), f"--comm-cores={cores}", "./app")
    assert f"--comm-cores {cores!r} names no cores" in said
    assert "-x STRETTO_COMM_CORES=8-11,14 " in printed(stretto, OPENMPI, "--comm-cores", "8-11,14", "./app")


def test_help_and_refusals_say_what_a_bound_is_of(stretto, libraries):
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--bound", "1", "./app")
    assert "of the sum, or of each rank's contribution with :contribution after it" in said
    shown = stretto.succeeds("run", "--help")
    assert "SUM" in shown and ":contribution" in shown
    assert "STRETTO_BOUND=rel:1e-4:contribution" in printed(stretto, OPENMPI, "--bound", "rel:1e-4:contribution", "./app")


def test_a_profile_that_is_none_is_refused_with_those_there_are(stretto, libraries):
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--print", "--profile", "nope", "./app")
    assert said == "stretto: --profile nope: machine 'nope' is neither a file nor one of a100-hdr, built-in\n"


def test_a_profile_of_the_environment_is_refused_as_the_options_is(stretto, libraries):
    run = ("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--print", "./app")
    stretto.set("STRETTO_PROFILE", "nope")
    assert stretto.refused(*run) == "stretto: STRETTO_PROFILE nope: machine 'nope' is neither a file nor one of a100-hdr, built-in\n"
    assert "STRETTO_PROFILE=a100-hdr" in printed(stretto, OPENMPI, "--profile", "a100-hdr", "./app")
    stretto.set("STRETTO_PROFILE", "")
    stretto.succeeds(*run)


def test_what_is_said_of_a_file_has_no_control_characters(stretto, libraries):
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--rules", "\x1b[2J\u009b", "./app")
    assert "--rules \\x1b[2J\\x9b: No such file" in said


@pytest.mark.parametrize("bound", ([], ["--bound", "rel:1e-4"]))
def test_remarks_on_rules_depend_on_a_bound(stretto, libraries, bound):
    (stretto.home / "rules").write_text("allreduce payload:fused\n", encoding="utf-8")
    said = stretto.run("run", "--print", "--mpirun", stretto.executable("mpirun", OPENMPI), "--rules", "rules", *bound, "./app").stderr
    assert ("rules, line 1: --bounded" if bound else "rules, line 1: unbounded") in said


def test_rules_that_are_not_there_are_refused(stretto, libraries):
    assert "--rules none.txt" in stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--rules", "none.txt", "./app")


def test_rules_with_a_wrong_line_are_refused_before_the_start(stretto, libraries):
    launcher = stretto.executable("mpirun", OPENMPI)
    (stretto.home / "wrong").write_text("* off\n* schedule:spiral\n", encoding="utf-8")
    assert "--rules wrong, line 2: 'spiral' is no schedule" in stretto.refused("run", "--mpirun", launcher, "--rules", "wrong", "./app")
    stretto.set("STRETTO_RULES", "wrong")
    assert "STRETTO_RULES: wrong, line 2: 'spiral' is no schedule" in stretto.refused("run", "--mpirun", launcher, "./app")
    stretto.set("STRETTO_RULES", "absent")
    assert "STRETTO_RULES: absent: No such file" in stretto.refused("run", "--mpirun", launcher, "./app")


def test_without_the_library_it_is_said_where_it_was_looked_for(stretto, libraries):
    os.remove(libraries / "libstretto_arena.so")
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home)
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--arena", "./app")
    assert "libstretto_arena.so is not there" in said
    assert str(libraries) in said


def test_without_a_program_the_usage_is_shown(stretto, libraries):
    assert "PROGRAM" in stretto.refused("run")


OPENMPI_APP, MPICH_APP = "\tlibmpi.so.40 => /opt/lib/libmpi.so.40 (0x7f)\n", "\tlibmpi.so.12 => not found\n"


def built(stretto, *flavours):
    """A checkout with builds for these MPIs, the last the newest, and a launcher of each MPI beside it."""
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home)
    for name in ("STRETTO_LIBEXEC", "LD_PRELOAD", "LD_LIBRARY_PATH"):
        stretto.monkeypatch.delenv(name, raising=False)
    stretto.set("PATH", "/usr/bin:/bin")
    stretto.monkeypatch.setattr("stretto.launch.programs.LAUNCHERS", ("no-mpirun",))
    for age, name in enumerate(flavours):
        build = stretto.home / "build" / f"release-{name}"
        launcher = stretto.executable(f"{name}/mpirun", {"openmpi": OPENMPI, "mpich": MPICH}[name])
        library = stretto.executable(f"build/release-{name}/src/mpi/libstretto_mpi.so", "")
        (build / "CMakeCache.txt").write_text(f"MPIEXEC_EXECUTABLE:UNINITIALIZED={launcher}\n", encoding="utf-8")
        os.utime(build, (age, age))
        assert library.is_file()


def of_mpi(stretto, text):
    """A program whose loader says this."""
    app = stretto.executable("app", "")
    stretto.monkeypatch.setattr("stretto.launch.programs.linked", lambda path: text if str(path) == str(app) else "")
    return app


@pytest.mark.parametrize("text, mpi", [(OPENMPI_APP, "openmpi"), (MPICH_APP, "mpich")])
def test_launcher_and_library_match_the_programs_mpi(stretto, text, mpi):
    for order in (("openmpi", "mpich"), ("mpich", "openmpi")):
        built(stretto, *order)
        line = stretto.succeeds("run", "--print", "-n", "2", of_mpi(stretto, text))
        assert line.startswith(f"{stretto.home}/{mpi}/mpirun ")
        assert f"build/release-{mpi}/src/mpi/libstretto_mpi.so" in line


@pytest.mark.parametrize("text", [OPENMPI, MPICH])
def test_the_standard_interface_has_a_library_and_any_launcher(stretto, text):
    built(stretto, "openmpi", "mpich")
    app = of_mpi(stretto, f"\tlibmpi_abi.so.1 => {stretto.home}/own/lib/libmpi_abi.so.1 (0x00007f00)\n")
    assert "libstretto_mpi_abi.so, for programs of the standard binary interface of MPI 5, is not there" in stretto.refused("run", "--print", app)
    library = stretto.executable("build/release-mpich/src/mpi/libstretto_mpi_abi.so", "")
    launcher = stretto.executable("given/mpirun", text)
    assert str(library) in stretto.succeeds("run", "--print", "--mpirun", launcher, app)
    stretto.executable("own/lib/libmpi_abi.so.1", "")
    stretto.monkeypatch.setattr("stretto.launch.programs.LAUNCHERS", ("mpiexec",))
    beside = stretto.executable("own/bin/mpiexec", text)
    line = stretto.succeeds("run", "--print", app)
    assert line.startswith(f"{beside} ") and str(library) in line


def test_the_standard_interface_of_an_early_mpich_is_refused(stretto):
    built(stretto, "mpich")
    library = stretto.executable("build/release-mpich/src/mpi/libstretto_mpi_abi.so", "")
    early, standard = "\tlibmpi_abi.so.0 => not found\n", "\tlibmpi_abi.so.1 => not found\n"
    launcher = stretto.executable("given/mpirun", MPICH)
    app = stretto.executable("app", "")

    def run(of_app, of_library, expected):
        texts = {str(app): of_app, str(library): of_library}
        stretto.monkeypatch.setattr("stretto.launch.programs.linked", lambda path: texts.get(str(path), ""))
        return expected("run", "--print", "--mpirun", launcher, app)

    said = run(early, standard, stretto.refused)
    assert "the program is linked to libmpi_abi.so.0, of an MPICH before 5.0.2" in said and "by this MPICH's mpicc" in said
    assert "MPICH before 5.0.2" in run(early, "\tlibc.so.6 => not found\n", stretto.refused)  # a wheel's library
    assert str(library) in run(early, early, stretto.succeeds)
    assert "libstretto_mpi_abi.so, for programs of the standard" in run(standard, early, stretto.refused)


def test_an_mpich_of_another_file_name_is_refused(stretto):
    built(stretto, "mpich")
    library = str(stretto.home / "build/release-mpich/src/mpi/libstretto_mpi.so")
    launcher = stretto.executable("given/mpirun", MPICH)
    app = stretto.executable("app", "")
    old, usual = "\tlibmpich.so.12 => /lib/libmpich.so.12 (0x00007f00)\n", "\tlibmpi.so.12 => not found\n"

    def run(of_app, of_library, expected):
        texts = {str(app): of_app, library: of_library}
        stretto.monkeypatch.setattr("stretto.launch.programs.linked", lambda path: texts.get(str(path), ""))
        return expected("run", "--print", "--mpirun", launcher, app)

    assert "linked to libmpich.so.12, and stretto here serves programs linked to libmpi.so.12" in run(old, usual, stretto.refused)
    assert library in run(old, old, stretto.succeeds) and library in run(usual, usual, stretto.succeeds)


def test_a_launcher_of_no_mpi_uses_the_programs_library(stretto):
    built(stretto, "openmpi", "mpich")
    line = stretto.succeeds("run", "--print", "--mpirun", stretto.executable("srun", ""), of_mpi(stretto, OPENMPI_APP))
    assert "build/release-openmpi/src/mpi/libstretto_mpi.so" in line


def test_a_script_that_tells_no_mpi_takes_the_newest_build(stretto):
    built(stretto, "openmpi", "mpich")
    assert f"{stretto.home}/mpich/mpirun" in stretto.succeeds("run", "--print", of_mpi(stretto, "\tnot a dynamic executable\n"))


def test_a_missing_build_for_the_launchers_mpi_names_the_command(stretto):
    built(stretto, "mpich")
    said = stretto.refused("run", "--print", "--mpirun", stretto.executable("o/mpirun", OPENMPI), of_mpi(stretto, OPENMPI_APP))
    assert "no build for this launcher" in said and "make build MPI=openmpi" in said


def test_missing_launcher_and_build_name_their_commands(stretto):
    built(stretto, "openmpi")
    assert "nothing was built for it: make build MPI=mpich" in stretto.refused("run", "--print", of_mpi(stretto, MPICH_APP))


def test_a_launcher_of_another_mpi_than_the_programs_is_refused(stretto):
    built(stretto, "mpich")
    app = of_mpi(stretto, OPENMPI_APP)
    said = stretto.refused("run", "--print", "--mpirun", stretto.home / "mpich/mpirun", app)
    assert "the program's MPI is Open MPI" in said and "a launcher of MPICH" in said
    stretto.set("PATH", f"{stretto.home}/mpich:/usr/bin:/bin")
    stretto.monkeypatch.setattr("stretto.launch.programs.LAUNCHERS", ("mpirun",))
    assert "no launcher of Open MPI, which is the program's MPI: mpirun is another's" in stretto.refused("run", "--print", app)


def test_a_library_of_another_mpi_is_passed_by_wherever_it_lies(stretto, libraries):
    stretto.monkeypatch.setattr("stretto.launch.programs.linked", lambda path: MPICH_APP if "libstretto" in str(path) else "")
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home)
    said = stretto.refused("run", "--print", "--mpirun", stretto.executable("mpirun", OPENMPI), "./app")
    assert "the library libstretto_mpi.so is not there" in said


def test_unusable_files_are_reported_before_any_start(stretto, libraries):
    launcher = stretto.executable("mpirun", OPENMPI)
    assert "--rules /tmp is a directory" in stretto.refused("run", "--mpirun", launcher, "--rules", "/tmp", "./app")
    assert "--report-to /no/x: no file can" in stretto.refused("run", "--mpirun", launcher, "--report-to", "/no/x", "./app")
    assert "--report-to /tmp: no file can" in stretto.refused("run", "--mpirun", launcher, "--report-to", "/tmp", "./app")
    assert "--mpirun is empty" in stretto.refused("run", "--mpirun", "", "./app")


def mpi_elsewhere(stretto, name="mpi"):
    """The text of a loader that finds libmpi in a prefix which is on no PATH; a launcher is beside it."""
    library = stretto.executable(f"{name}/lib/libmpi.so.40.40.7", "")
    (library.parent / "libmpi.so.40").symlink_to(library.name)
    stretto.executable(f"{name}/bin/mpirun", OPENMPI)
    stretto.set("PATH", "/usr/bin:/bin")
    return f"\tlibc.so.6 => /lib/libc.so.6 (0x7f)\n\tlibmpi.so.40 => {library.parent}/libmpi.so.40 (0x00007f01)\n"


def test_the_launcher_beside_the_programs_libmpi_needs_no_path(stretto, libraries):
    text = mpi_elsewhere(stretto, "an mpi")
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home / "none")
    assert stretto.succeeds("run", "--print", "-n", "1", of_mpi(stretto, text)).startswith(f"'{stretto.home}/an mpi/bin/mpirun' -n 1 ")


def test_the_launcher_beside_libmpi_precedes_the_search_path(stretto, libraries):
    text = mpi_elsewhere(stretto)
    stretto.set("PATH", f"{stretto.executable('other/mpirun', OPENMPI).parent}:/usr/bin:/bin")
    app = of_mpi(stretto, text)
    assert stretto.succeeds("run", "--print", app).startswith(f"{stretto.home}/mpi/bin/mpirun ")
    os.remove(stretto.home / "mpi/bin/mpirun")
    assert stretto.succeeds("run", "--print", app).startswith("mpirun ")


def test_without_any_launcher_it_is_said_where_it_was_looked_for(stretto, libraries):
    text = mpi_elsewhere(stretto)
    os.remove(stretto.home / "mpi/bin/mpirun")
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home / "none")
    stretto.monkeypatch.setattr("stretto.launch.programs.LAUNCHERS", ("no-mpirun",))
    said = stretto.refused("run", "--print", of_mpi(stretto, text))
    assert "none of no-mpirun is on the PATH, or beside the libmpi of the program" in said
    assert "--carrier ucx" not in said
    assert "A program that calls no MPI is started by --carrier ucx." in stretto.refused("run", "--print", of_mpi(stretto, ""))


def test_a_network_that_is_none_is_refused(stretto, libraries):
    launcher = stretto.executable("mpirun", OPENMPI)
    for text in ("4", "4@fast", "1@1gbit", "4@0gbit", "@1gbit"):
        assert f"--emulate '{text}' is no network" in stretto.refused("run", "--emulate", text, "--mpirun", launcher, "./app")
    for options in (("--print",), ("--carrier", "ucx"), ("--print", "--carrier", "ucx")):
        said = stretto.refused("run", "--emulate", "4@1gbit", *options, "--mpirun", stretto.executable("mpirun", OPENMPI + "touch started\n"), "./app")
        assert "give one of them" in said and options[0] in said and not (stretto.home / "started").exists()
    assert "--hosts names a,b" in stretto.refused("run", "--emulate", "4@1gbit", "--hosts", "a,b", "./app")
    assert "with options of its own" in stretto.refused("run", "--emulate", "4@1gbit", "--mpirun", f"{launcher} -n 4", "./app")


def test_an_installed_command_says_what_emulated_hosts_need(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "CHECKOUT", tmp_path)
    with pytest.raises(Failure) as failure:
        emulate.place()
    assert str(failure.value) == "--emulate needs a checkout of stretto: use the command .venv/bin/stretto of one"


def test_a_prefixs_own_python_finds_its_installed_packages(monkeypatch):
    monkeypatch.setattr("sys.prefix", "/opt/stretto/libexec/stretto/python")
    assert pathlib.Path("/opt/stretto") in programs.prefixes()
    monkeypatch.setattr("sys.prefix", "/home/a/python")
    assert programs.prefixes()[1:] == (pathlib.Path("/home/a/python"),)


@pytest.mark.parametrize(("linked", "told"), (("", False), ("\tlibstretto.so.0 => /p/lib/libstretto.so.0 (0x7f)\n", False), (None, True)))
def test_an_mpi_program_under_the_carrier_ucx_is_told_of(stretto, libraries, linked, told):
    of_libmpi = "\tlibmpi.so.40 => /mpi/lib/libmpi.so.40 (0x7f)\n"
    app = of_mpi(stretto, of_libmpi if linked is None else linked and of_libmpi + linked)
    done = stretto.run("run", "--print", "--mpirun", stretto.executable("mpirun", OPENMPI), "--carrier", "ucx", app)
    said = f"{app} is linked to an MPI, and not to stretto: with --carrier ucx it runs as without stretto."
    assert done.returncode == 0 and (said in done.stderr) == told, done.stderr
