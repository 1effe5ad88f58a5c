"""The commands as a user runs them, with the programs of this build under its MPI, on more ranks than this machine may have cores."""

import csv
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from stretto.launch import programs
from stretto.machine import profile


def believed(path):
    """The profile, whatever else ran on this machine meanwhile."""
    written = profile.read(path)
    profile.write({**written, "quality": {}}, path)
    return written


def launched(ranks):
    return f"{os.environ['LAUNCH']} {os.environ['MPIRUN']} {ranks}"


@pytest.mark.parametrize("ranks", [2, 3])
def test_tune_writes_the_profile_of_this_host(stretto, ranks):
    printed = json.loads(stretto.succeeds("tune", "--quick", "--doubted", "--json", "--mpirun", launched(ranks)))
    (path,) = (stretto.home / "config" / "stretto").iterdir()
    assert path.suffix == ".json"
    written = believed(path)
    assert written == printed
    assert written["ranks"] == ranks
    assert {cost for kind in written["codec"].values() for cost in kind[0]} == {"ratio", "call", "compress", "decompress", "add",
                                                                                "fused"}
    assert all(span["alpha"] + span["beta"] > 0 for spans in written["links"].values() for span in spans)
    assert {entry["collective"] for entry in written["node"]} == {entry["collective"] for entry in written["natives"]}
    (switches,) = written["switches"]
    assert switches["ranks"] == ranks and {"eager", "eager_reduce"} <= set(switches)
    assert {entry["collective"] for entry in written["natives"]} >= {"allreduce", "bcast", "barrier"}
    # The library's parser reads every figure back as it was written; the commands take this profile without being told.
    read = json.loads(stretto.succeeds("profiles", path, "--json"))
    assert {key: read[key] for key in ("name", "mpi", "ranks", "hosts", "gamma", "step", "natives", "node", "switches")} == {
        key: written[key] for key in ("name", "mpi", "ranks", "hosts", "gamma", "step", "natives", "node", "switches")}
    for entry in written["natives"]:
        size, seconds = entry["points"][-1]
        answer = json.loads(stretto.succeeds("explain", entry["collective"], "-n", ranks, "--per-node", ranks, "--bytes", size, "--json"))
        assert answer["profile"] == str(path)
        (native,) = (way for way in answer["candidates"] if way["label"] == "native")
        assert native["seconds"] == seconds, entry["collective"]


needs_ucx = pytest.mark.skipif(os.environ.get("UCX") != "1", reason="built without UCX")


@needs_ucx
@pytest.mark.parametrize("ranks", [2, 3])
def test_tune_over_ucx_writes_a_profile_that_is_taken_over_ucx_alone(stretto, ranks):
    stretto.set("XDG_CACHE_HOME", stretto.home / "cache")
    question = ("explain", "allreduce", "-n", ranks, "--bytes", "1M", "--json")
    before = json.loads(stretto.succeeds(*question, "--carrier", "ucx"))
    assert (before["machine"], before["messages"]) == ("built-in", "built-in")
    printed = json.loads(stretto.succeeds("tune", "--carrier", "ucx", "--quick", "--doubted", "--json", "--mpirun", launched(ranks)))
    (path,) = (stretto.home / "config" / "stretto").iterdir()
    assert "_UCX_" in path.name
    written = believed(path)
    assert written == printed
    assert written["ucx"]["library"].startswith("UCX ") and written["ucx"]["ranks"] == ranks
    assert all(span["alpha"] + span["beta"] > 0 for spans in written["ucx"]["links"].values() for span in spans)
    assert written["natives"] == [] and "mpi" not in written
    assert {entry["collective"] for entry in written["node"]} >= {"allreduce", "bcast", "barrier"}
    assert not list(stretto.home.glob("**/stretto-store-*")), "the store is gone"
    read = json.loads(stretto.succeeds("profiles", path, "--json"))["ucx"]
    assert {key: read[key] for key in ("library", "step", "agreement")} == {key: written["ucx"][key] for key in ("library", "step", "agreement")}
    # The commands take this profile over UCX, and not over an MPI.
    over_ucx = json.loads(stretto.succeeds(*question, "--carrier", "ucx"))
    assert (over_ucx["profile"], over_ucx["messages"]) == (str(path), written["name"])
    assert not any(way["label"] == "native" for way in over_ucx["candidates"])
    over_mpi = json.loads(stretto.succeeds(*question))
    assert (over_mpi["machine"], over_mpi["messages"]) == ("built-in", "built-in")
    # Named for the MPI, it gives all but the messages.
    named = json.loads(stretto.succeeds(*question, "--machine", path))
    assert (named["machine"], named["messages"]) == (written["name"], "built-in")


@needs_ucx
def test_one_rank_over_ucx_is_refused_with_what_to_do(stretto):
    assert "at least 2" in stretto.refused("tune", "--carrier", "ucx", "--mpirun", launched(1))
    assert "--carrier 'tcp' is none; it takes mpi or ucx" in stretto.refused("tune", "--carrier", "tcp")


def test_pingpong_writes_tables_and_plots(stretto):
    found = json.loads(stretto.succeeds("bench", "pingpong", "--quick", "--largest", "16K", "--mpirun", launched(2), "--json",
                                        "--csv", "p.csv", "--plot", "p.png", "--plot", "p.svg"))
    assert {fit["buffers"] for fit in found["fits"]} == {"reused", "rotated"}
    assert {row["bytes"] for row in found["rows"]} == {0, *(2**k for k in range(15))}
    assert all(row["seconds"] > 0 for row in found["rows"])
    with open(stretto.home / "p.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(found["rows"])
    assert (stretto.home / "p.png").stat().st_size > 10000
    assert "</svg>" in (stretto.home / "p.svg").read_text(encoding="utf-8")


def test_one_rank_is_refused_with_what_to_do(stretto):
    assert "at least 2" in stretto.refused("tune", "--mpirun", launched(1))


def test_doctor_says_what_serves_between_the_ranks_of_this_host(stretto):
    report = json.loads(stretto.succeeds("doctor", "--mpirun", launched(3), "--json"))
    (host,) = report["hosts"]
    assert host["ranks"] == [0, 1, 2]
    for module in report["modules"]:  # its own reason, not that of a failure before it
        assert module["there"] or f"no module for {module['name']}: " in module["reason"], module
    assert len({rank["pid"] for rank in report["ranks"]}) == 3
    usable = {way["access"]: way["usable"] for way in host["ways"]}
    assert usable["staged"]
    assert not usable["process"]
    assert usable["kernel"] == (not any(pair["way"] == "kernel" for pair in host["pairs"]))
    assert (len(report["ranks"]) > host["cores"]) == any("hardware threads" in one["what"] for one in report["advice"])
    shown = stretto.succeeds("doctor", "--mpirun", launched(3))
    assert "3 ranks on 1 host" in shown


def test_run_preloads_the_library_and_the_report_tells_what_it_served(stretto):
    words = [os.environ["MPIRUN"]]
    if programs.flavour(words) == "openmpi":
        words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        stretto.set("OMPI_ALLOW_RUN_AS_ROOT", 1)
        stretto.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", 1)
    stretto.monkeypatch.delenv("LD_PRELOAD", raising=False)
    # In a process of its own: it becomes the launcher.
    command = [sys.executable, "-m", "stretto", "run", "-n", "3", "--mpirun", shlex.join(words), "--report", os.environ["CALLS"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("3 ranks, sum ")
    assert "stretto: collectives of 3 ranks" in done.stderr
    assert "MPI: nonblocking" in done.stderr


def test_run_emulates_hosts_of_a_network_where_permitted(stretto):
    done = stretto.run("run", "--emulate", "2@1gbit", "--mpirun", os.environ["MPIRUN"], "--report-to", stretto.home / "report.json", os.environ["CALLS"])
    if "does not permit several hosts" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert json.loads((stretto.home / "report.json").read_text(encoding="utf-8"))["ranks"] == 2


def test_programs_measure_between_emulated_hosts(stretto):
    done = stretto.run("bench", "ring", "--emulate", "2@1gbit", "--mpirun", os.environ["MPIRUN"], "--bytes", 80000, "--repeats", 1, "--json")
    if "does not permit several hosts" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["link"]["distance"] == "network" and "emulated at 1 Gb/s" in found["link"]["profile"]
    assert {(row["ranks"], row["hosts"]) for row in found["rows"]} == {(2, 2)}
    assert all(row["model"] > 4 * 80000 * 8 / 1e9 for row in found["rows"])  # p rounds of two messages


@pytest.mark.parametrize(("program", "arguments"), [
    ("ring", ("--bytes", 8000, "--repeats", 1)), ("matrix", ("--points", "6,5", "--repeats", 1)), ("jacobi", ("--side", 6, "--sweeps", 2, "--check", 1)),
    ("cg", ("--side", 6, "--steps", 2, "--form", "blocking")), ("amr", ("--roots", 2, "--levels", 1, "--cells", 2, "--steps", 10)),
])
def test_json_has_the_fields_of_its_page_and_no_others(stretto, program, arguments):
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "command.md").read_text(encoding="utf-8")
    section = page.partition("## JSON of bench\n")[2].partition("\n## ")[0]
    (row,) = [line for line in section.splitlines() if line.startswith(f"| {program} |")]
    of_all = section.partition("A row of any program has ")[2].partition("Further:")[0]
    words = set(re.findall(r"`(\w+)`", row + of_all)) - {"alone", "stretto"}
    found = json.loads(stretto.succeeds("bench", program, "--mpirun", launched(2), *arguments, "--compare", 1, "--profile", "built-in", "--json"))
    assert set(found) <= set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    assert all(set(one) == words for one in found["rows"]), words ^ set(found["rows"][0])
    assert found.get("same_mesh", True)  # as without stretto
    keys = set(re.findall(r"`(\w+)`", row.split("|")[2])) | {"ranks", "alone", "stretto", "ratio", "ratio_low", "ratio_high", "turns"}
    assert set(found["comparison"][0]) == keys


def test_runs_alternate_with_and_without_the_profiling_library(stretto):
    result = json.loads(stretto.succeeds("bench", "cg", "--mpirun", launched(2), "--side", 16, "--steps", 5, "--form", "reproducible", "--compare", 2,
                                         "--profile", "built-in", "--json"))
    assert [(row["library"], row["ranks"], row["steps"]) for row in result["rows"]] == [("alone", 2, 5), ("stretto", 2, 5)]
    (row,) = result["comparison"]
    assert (row["ranks"], row["turns"]) == (2, 2) and row["alone"] > 0 and row["stretto"] > 0
    assert result["histories"] == {"reproducible": True}
    assert result["link"] == {"profile": "built-in", "distance": "cache"}
