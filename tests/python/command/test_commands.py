"""What the commands say, with launchers and measuring programs made up for the purpose: no MPI runs here."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import synthetic

from stretto.launch import programs
from stretto.machine import measuring, quality
from stretto.errors import Failure


def test_what_the_package_offers_is_one_list():
    """Type checkers read __all__ and what is imported for them; programs get what _WHERE names."""
    import ast  # noqa: PLC0415

    import stretto as package  # noqa: PLC0415

    tree = ast.parse(pathlib.Path(package.__file__).read_text(encoding="utf-8"))
    (told,) = (ast.literal_eval(one.value) for one in tree.body if isinstance(one, ast.Assign) and one.targets[0].id == "__all__")
    (checked,) = (one for one in tree.body if isinstance(one, ast.If) and getattr(one.test, "id", "") == "TYPE_CHECKING")
    imported = {name.name: one.module for one in checked.body if isinstance(one, ast.ImportFrom) for name in one.names}
    assert told == package.__all__ == sorted(package._WHERE) and imported == package._WHERE


def measured_by(stretto, text):
    """A launcher that runs its last words, and a stretto-measure that does as `text`."""
    stretto.executable("bin/stretto-measure", text)
    stretto.set("STRETTO_LIBEXEC", stretto.home / "bin")
    return stretto.executable("mpirun", 'while [ "${1##*/}" != stretto-measure ]; do shift; done; exec "$@"\n')


def test_tune_writes_what_was_measured_and_shows_it(stretto):
    (stretto.home / "events").write_text("a launcher's greeting\n" + synthetic.lines(), encoding="utf-8")
    launcher = measured_by(stretto, f'cat "{stretto.home}/events"\n')
    shown = stretto.succeeds("tune", "--mpirun", launcher, "-o", "p.json")
    for word in ("made-up", "4 ranks on 2 hosts", "near", "5 GB/s", "allreduce", "written to p.json"):
        assert word in shown, shown
    written = json.loads((stretto.home / "p.json").read_text(encoding="utf-8"))
    assert written["links"]["cache"][1]["alpha"] == 2e-6

    assert json.loads(stretto.succeeds("tune", "--mpirun", launcher, "-o", "p.json", "--json"))["name"] == "made-up"


def disturbed_by(stretto, times):
    """A stretto-measure whose step of the engine takes 4.7 ms the first `times` times."""
    good = [json.loads(line) for line in synthetic.lines().splitlines()]
    bad = [{**event, "seconds": 4.7e-3} if event.get("operation") == "step" else event for event in good]
    for name, made in (("good", good), ("bad", bad)):
        (stretto.home / name).write_text("".join(json.dumps(event) + "\n" for event in made), encoding="utf-8")
    return measured_by(stretto, f'cd "{stretto.home}"; echo "$*" >>asked\n[ "$(wc -l <asked)" -gt {times} ] && exec cat good\ncat bad\n')


def test_tune_measures_again_what_was_disturbed(stretto):
    launcher = disturbed_by(stretto, 1)
    done = stretto.run("tune", "--mpirun", launcher, "-o", "p.json")
    assert done.returncode == 0
    assert "disturbed, so measured again: engine (a step of the engine took 4.7 ms)" in done.stderr
    assert "measured again, for something disturbed them" in done.stdout
    assert (stretto.home / "asked").read_text(encoding="utf-8").splitlines()[1:] == ["engine"]
    written = json.loads((stretto.home / "p.json").read_text(encoding="utf-8"))
    assert written["step"] == 5e-7 and written["quality"]["doubts"] == [] and "engine" in written["quality"]["repeated"]


def test_tune_saves_implausible_profiles_only_when_forced(stretto):
    launcher = disturbed_by(stretto, 9)
    said = stretto.refused("tune", "--mpirun", launcher, "-o", "p.json", status=1)
    assert "engine: a step of the engine took 4.7 ms" in said.partition("not saved")[2]
    assert not (stretto.home / "p.json").exists()
    stretto.succeeds("tune", "--mpirun", launcher, "-o", "p.json", "--doubted")
    assert json.loads((stretto.home / "p.json").read_text(encoding="utf-8"))["quality"]["doubts"] == ["engine: a step of the engine took 4.7 ms"]
    assert len((stretto.home / "asked").read_text(encoding="utf-8").splitlines()) == 4


@pytest.mark.parametrize(("change", "said"), [
    ({"event": "share", "after": "links", "share": 0.4}, "links: the ranks had 40% of their cores"),
    ({"event": "row", "part": "native", "collective": "reduce", "bytes": 8, "seconds": 0.016}, "native: reduce of 8 B took 16 ms, of 1 KiB 3 µs"),
    ({"event": "row", "part": "node", "collective": "bcast", "bytes": 8, "seconds": 1e-3, "least": 1e-6}, "node: bcast of 8 B took 1 µs to 1 ms"),
])
def test_what_no_undisturbed_machine_shows_is_doubted(change, said):
    measurement = measuring.Measurement()
    for event in [*synthetic.events(), change, {"event": "row", "part": "native", "collective": "reduce", "bytes": 1024, "seconds": 3e-6}]:
        measurement.take(event)
    (line,) = quality.lines(quality.doubts(measurement))
    assert line.startswith(said)


@pytest.mark.parametrize(("hosts", "doubted"), [(1, ["links", "native"]), (2, [])])
def test_bursts_between_hosts_are_no_disturbance(hosts, doubted):
    measurement = measuring.Measurement()
    for event in ({"event": "machine", "ranks": 2, "cores": 2, "hosts": hosts},
                  {"event": "row", "part": "native", "collective": "reduce", "bytes": 131072, "seconds": 1.07e-3, "least": 1.75e-4},
                  {"event": "row", "part": "links", "placement": "network" if hosts > 1 else "core", "distance": "network" if hosts > 1 else "cache",
                   "buffers": "rotated", "bytes": 131072, "seconds": 1.07e-3, "least": 1.75e-4}):
        measurement.take(event)
    assert sorted(quality.doubts(measurement)) == doubted


def test_a_stream_below_one_group_may_take_longer_than_several():
    """It is the scalar code's, here with times of an undisturbed machine."""
    measurement = measuring.Measurement()
    for size, seconds in ((4096, 24.2e-6), (32768, 4e-6)):
        measurement.take({"event": "row", "part": "codec", "type": "f64", "data": "normal 1e-05", "operation": "fused", "busy": 1, "bytes": size,
                          "seconds": seconds, "least": seconds})
    measurement.take({"event": "machine", "ranks": 2, "cores": 2, "hosts": 1})
    assert not quality.doubts(measurement)
    for size, seconds in ((8192, 24.2e-6), (16384, 4e-6)):  # whole groups
        measurement.take({"event": "row", "part": "codec", "type": "f64", "data": "normal 1e-05", "operation": "add", "busy": 1, "bytes": size,
                          "seconds": seconds, "least": seconds})
    assert "codec" in quality.doubts(measurement)


def test_tables_in_a_pipe_are_of_letters_alone(stretto):
    (stretto.home / "events").write_text(synthetic.lines(), encoding="utf-8")
    shown = stretto.succeeds("tune", "--mpirun", measured_by(stretto, f'cat "{stretto.home}/events"\n'), "-o", "p.json")
    assert not any("\u2500" <= letter <= "\u257f" for letter in shown), shown


def test_tune_adds_to_a_former_profile_unless_fresh_is_asked_for(stretto):
    (stretto.home / "events").write_text(synthetic.lines(), encoding="utf-8")
    launcher = measured_by(stretto, f'cat "{stretto.home}/events"\n')
    path = stretto.home / "p.json"
    former = {"version": 1, "links": {"node": [{"from": 0, "alpha": 1e-6, "beta": 1e-9}]}, "natives": []}
    for arguments, kept in (((), True), (("--fresh",), False)):
        path.write_text(json.dumps(former), encoding="utf-8")
        stretto.succeeds("tune", "--mpirun", launcher, "-o", path, *arguments)
        assert ("node" in json.loads(path.read_text(encoding="utf-8"))["links"]) is kept


def test_a_former_profile_of_another_version_is_replaced_with_a_note(stretto):
    (stretto.home / "events").write_text(synthetic.lines(), encoding="utf-8")
    launcher = measured_by(stretto, f'cat "{stretto.home}/events"\n')
    (stretto.home / "p.json").write_text('{"version": 0}', encoding="utf-8")
    done = stretto.run("tune", "--mpirun", launcher, "-o", "p.json")
    assert done.returncode == 0
    assert "of version 0" in done.stderr
    assert json.loads((stretto.home / "p.json").read_text(encoding="utf-8"))["version"] == 1


def test_hosts_and_ranks_are_given_in_the_launchers_own_words(stretto):
    program = stretto.executable("bin/stretto-measure", "")
    stretto.set("STRETTO_LIBEXEC", program.parent)
    for version, words in (("HYDRA build", "-hosts a,b -n 3"), ("mpirun (Open MPI) 5.0.11", "--host a,b -n 3"),
                           ("no text: share/prte/help-schizo-ompi.txt", "--host a,b -n 3")):
        launcher = stretto.executable("mpirun", f'[ "$1" = --version ] && echo "{version}" && exit\necho "$*" >&2\nexit 7\n')
        said = stretto.refused("tune", "--mpirun", launcher, "--hosts", "a,b", "-n", "3", status=1)
        assert f"{words} {program} links codec" in said


def test_a_failing_ranks_message_is_what_is_told(stretto):
    launcher = measured_by(stretto, 'echo "[node7] noise of the launcher" >&2\n'
                           'echo "[node7] stretto-measure: rank 2 on node7: no memory for 3 streams" >&2\nexit 1\n')
    said = stretto.refused("tune", "--mpirun", launcher, status=1)
    assert "rank 2 on node7: no memory for 3 streams" in said
    assert "noise" not in said


def test_fewer_ranks_than_were_started_are_told(stretto):
    (stretto.home / "events").write_text(synthetic.lines(), encoding="utf-8")
    launcher = measured_by(stretto, f'cat "{stretto.home}/events"\n')
    assert "5 ranks were started, and 4 came" in stretto.refused("tune", "--mpirun", launcher, "-n", "5", "-o", "p.json", status=1)
    assert not (stretto.home / "p.json").exists()


def test_a_run_that_ends_without_its_end_has_failed(stretto):
    launcher = measured_by(stretto, "echo 'node7: link down' >&2\n")
    said = stretto.refused("bench", "pingpong", "--mpirun", launcher, status=1)
    assert "node7: link down" in said
    assert "The command was: " in said


def test_without_a_launcher_it_is_said_how_to_name_one(stretto):
    assert "no MPI launcher: 'no-such-mpirun'" in stretto.refused("tune", "--mpirun", "no-such-mpirun -n 4")
    assert "--mpirun is empty" in stretto.refused("tune", "--mpirun", " ")


def test_a_missing_measuring_program_reports_the_searched_paths(stretto, monkeypatch):
    monkeypatch.setattr(programs, "CHECKOUT", stretto.home)
    stretto.set("STRETTO_LIBEXEC", "/nowhere/at/all")
    launcher = stretto.executable("mpirun", "")
    said = stretto.refused("tune", "--mpirun", launcher)
    assert "the program stretto-measure is not there" in said
    assert "/nowhere/at/all" in said and "make build" in said


def test_where_there_is_no_launcher_at_all_it_is_told(stretto, monkeypatch):
    monkeypatch.setattr(programs, "CHECKOUT", stretto.home)
    stretto.set("PATH", stretto.home)
    stretto.set("STRETTO_LIBEXEC", stretto.executable("bin/stretto-measure", "").parent)
    assert "no MPI launcher: none of mpirun" in stretto.refused("bench", "pingpong")


def test_the_build_of_the_launchers_mpi_is_taken_and_no_other(stretto, monkeypatch):
    monkeypatch.setattr(programs, "CHECKOUT", stretto.home)
    monkeypatch.delenv("STRETTO_LIBEXEC", raising=False)
    for build in ("release-openmpi", "release-mpich"):
        stretto.executable(f"build/{build}/apps/measure/stretto-measure", "")
        (stretto.home / "build" / build / "CMakeCache.txt").write_text("", encoding="utf-8")
    for mpi in ("mpich", "openmpi"):
        assert f"build/release-{mpi}/" in programs.program("stretto-measure", mpi)
    (stretto.home / "build/release-mpich/CMakeCache.txt").unlink()
    stretto.set("PATH", stretto.home)
    with pytest.raises(Failure, match="make build MPI=mpich"):
        programs.program("stretto-measure", "mpich")


def test_programs_lie_in_the_prefix_of_the_package_too(stretto, monkeypatch):
    monkeypatch.setattr(programs, "CHECKOUT", stretto.home)
    monkeypatch.delenv("STRETTO_LIBEXEC", raising=False)
    monkeypatch.setattr(sys, "prefix", str(stretto.home))
    path = stretto.executable("bin/stretto-model", "")
    assert programs.program("stretto-model") == str(path)


def test_the_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "stretto", "bench", "pingpong", "--largest", "many"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "stretto: size 'many' is no number of bytes; it takes 4096, 64K, 16M, 1G\n"


def test_bad_arguments_are_told_before_anything_runs(stretto):
    assert "no number of bytes" in stretto.refused("bench", "pingpong", "--largest", "many")
    assert ".gif" in stretto.refused("bench", "pingpong", "--plot", "p.gif")
    assert stretto.refused("rnu").count("Did you mean 'run'?") == 1
    assert stretto.refused("bench", "pingpnog").count("Did you mean") == 1
    assert "No such command" in stretto.refused("qqq")
    assert "--ranks" in stretto.refused("tune", "-n", "1")


def test_without_arguments_all_there_is_fits_one_screen(stretto):
    done = subprocess.run([sys.executable, "-m", "stretto"], env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    commands = [line for line in lines[lines.index("Commands:") + 1:] if re.match(r"  \w", line)]
    assert len(lines) <= 36 and all(len(line) <= 80 for line in lines), done.stdout
    for command in ("run", "doctor", "tune", "report", "ratio", "explain", "plan", "bench"):
        assert sum(line.split()[0] == command for line in commands) == 1, command
    assert stretto.succeeds() == stretto.succeeds("--help")


def test_every_command_has_a_help_with_examples(stretto):
    assert "tune" in stretto.succeeds("--help")
    for command in (("tune",), ("bench", "pingpong")):
        assert f"stretto {' '.join(command)}" in stretto.succeeds(*command, "--help").partition("Examples")[2]
    for command, names in (("run", ("--report ", "--arena", "--print")), ("tune", ("--fresh", "--quick", "--json"))):
        lines = stretto.succeeds(command, "--help").splitlines()
        for name in names:
            (line,) = [line for line in lines if line.startswith(f"  {name}")]
            assert "<" not in line and "BOOL" not in line, line  # a flag takes no value
    for command in ((), ("bench",), ("tune",), ("bench", "pingpong"), ("ratio",), ("run",), ("doctor",), ("draw",)):
        shown = stretto.succeeds(*command, "-h")
        assert shown == stretto.succeeds(*command, "--help")
        assert not set("│─╭\\") & set(shown) and "..." not in shown.replace("]...", ""), shown
    for command in ("run", "draw", "ratio", "report", "compress", "decompress", "inspect", "compare"):
        shown = stretto.succeeds(command, "-h")
        assert shown.lower().count("arguments:\n") == 1, shown
    assert "The program and its arguments." in stretto.succeeds("run", "-h") and "the stacking program was given" in stretto.succeeds("draw", "-h")
    assert "130 when interrupted" in " ".join(stretto.succeeds("-h").split())
    assert stretto.succeeds("--version") == "stretto 0.1.0\n"
