"""What `stretto run` starts, with launchers and libraries made up for the purpose."""

import os

import pytest

OPENMPI = '[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.11" && exit\n'
MPICH = '[ "$1" = --version ] && echo "HYDRA build" && exit\n'


@pytest.fixture
def libraries(stretto):
    directory = stretto.home / "libraries"
    directory.mkdir()
    for name in ("libstretto_mpi.so", "libstretto_arena.so"):
        (directory / name).write_text("", encoding="utf-8")
    stretto.set("STRETTO_LIBEXEC", directory)
    for name in [name for name in os.environ if name == "LD_PRELOAD" or (name.startswith("STRETTO") and name != "STRETTO_LIBEXEC")]:
        stretto.monkeypatch.delenv(name)
    return directory


def printed(stretto, version, *arguments):
    launcher = stretto.executable("mpirun", version)
    line = stretto.succeeds("run", "--print", "--mpirun", launcher, *arguments).strip()
    return line.replace(str(launcher), "mpirun").replace(str(stretto.home), "~")


def test_settings_are_handed_on_in_the_launchers_own_words(stretto, libraries):
    assert printed(stretto, OPENMPI, "-n", "4", "./app", "-n", "9") == "mpirun -n 4 -x LD_PRELOAD=~/libraries/libstretto_mpi.so ./app -n 9"
    assert printed(stretto, MPICH, "-n", "4", "--bound", "rel:1e-4", "./app") == \
        "mpirun -n 4 -genv LD_PRELOAD ~/libraries/libstretto_mpi.so -genv STRETTO_BOUND rel:1e-4 ./app"
    assert printed(stretto, "", "./app", "--report").startswith("env LD_PRELOAD=~/libraries/libstretto_mpi.so mpirun ./app --report")


SHARE = "--map-by :OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1"


def started(stretto, version, *arguments):
    """The line of a launcher that was found on the PATH, on a machine of two cores."""
    launcher = stretto.executable("mpirun", version)
    stretto.set("PATH", f"{launcher.parent}:{os.environ['PATH']}")
    stretto.monkeypatch.setattr("stretto.programs.cores", lambda: 2)
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
    line = printed(stretto, OPENMPI, "--arena", "--report", "--rules", "rules", "--profile", "a100-hdr", "--hosts", "a,b", "./app")
    assert "--host a,b" in line
    for setting in ("LD_PRELOAD=~/libraries/libstretto_mpi.so:~/libraries/libstretto_arena.so", "STRETTO_REPORT=1",
                    "STRETTO_RULES=~/rules", "STRETTO_PROFILE=a100-hdr"):
        assert f"-x {setting}" in line, line
    assert "STRETTO_REPORT=out.json" in printed(stretto, OPENMPI, "--report-to", "out.json", "./app")


def test_settings_of_the_shell_hold_on_all_hosts(stretto, libraries):
    stretto.set("STRETTO_BOUND", "abs:1")
    stretto.set("STRETTO", "0")
    line = printed(stretto, OPENMPI, "--hosts", "a,b", "./app")
    assert "-x STRETTO_BOUND=abs:1" in line
    assert "-x STRETTO=0" in line
    assert "STRETTO_BOUND=rel:1e-3" in printed(stretto, OPENMPI, "--bound", "rel:1e-3", "./app")


def test_a_former_preload_is_kept(stretto, libraries):
    stretto.set("LD_PRELOAD", "libother.so")
    assert "LD_PRELOAD=~/libraries/libstretto_mpi.so:libother.so" in printed(stretto, OPENMPI, "./app")


@pytest.mark.parametrize("bound", ["1e-4", "rel:0", "rel:-1", "abs:x", "rel:1e-4x", ""])
def test_a_bound_that_is_none_is_refused_and_named(stretto, libraries, bound):
    assert f"--bound {bound!r} is no bound" in stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--bound", bound, "./app")


def test_rules_that_are_not_there_are_refused(stretto, libraries):
    assert "--rules none.txt" in stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--rules", "none.txt", "./app")


def test_without_the_library_it_is_said_where_it_was_looked_for(stretto, libraries):
    os.remove(libraries / "libstretto_arena.so")
    stretto.monkeypatch.setattr("stretto.programs.CHECKOUT", stretto.home)
    said = stretto.refused("run", "--mpirun", stretto.executable("mpirun", OPENMPI), "--arena", "./app")
    assert "libstretto_arena.so is not there" in said
    assert str(libraries) in said


def test_without_a_program_the_usage_is_shown(stretto, libraries):
    assert "PROGRAM" in stretto.refused("run")
