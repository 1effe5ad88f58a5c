"""Jobs over UCX as a user starts them on a machine without an MPI's launcher: JOB of tests/modules, and the commands of this build."""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from stretto.launch import programs

# Stand-ins that start a program here. ssh sees a host and one text for that host's shell.
SSH = 'while [ "${1#-}" != "$1" ]; do shift 2; done\necho "ssh $1" >>"$STARTED"\nshift\nexec env -i "PATH=$PATH" sh -c "$*"\n'
SRUN = '''[ "$1" = --version ] && echo "slurm 23.11.4" && exit
echo "srun $*" >>"$STARTED"
while [ "$1" != -n ]; do shift 2; done
count=$2 rank=0
shift 2
while [ $rank -lt $count ]; do
  SLURM_PROCID=$rank SLURM_NTASKS=$count "$@" & rank=$((rank + 1))
done
wait
'''


@pytest.fixture(autouse=True)
def ucx():
    library = os.environ.get("STRETTO_UCX") or "libucp.so.0"
    try:
        ctypes.CDLL(library)
    except OSError as error:
        pytest.skip(f"no UCX: {error}")


@pytest.fixture
def job(stretto):
    """Starts `stretto run --carrier ucx` in a process of its own, where nothing but ssh and srun is found; and what it was started by."""
    stretto.executable("bin/ssh", SSH)
    stretto.executable("bin/srun", SRUN)
    stretto.executable("bin/uname", "exec /bin/uname\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "STRETTO_")) or name == "STRETTO_UCX"}
    environment.update(PATH=f"{stretto.home}/bin:/usr/bin:/bin", XDG_CACHE_HOME=str(stretto.home / "cache"), STARTED=str(stretto.home / "started"),
                       PYTHONPATH=str(programs.CHECKOUT / "python"))
    # The launchers of the checkout's builds are not looked for.
    without = "import sys; from stretto import __main__; from stretto.launch import programs; programs.LAUNCHERS, programs.builds = ('no-mpirun',), lambda flavour=None: []; " \
              "sys.argv[0] = 'stretto'; __main__.main()"

    def start(*arguments, **more):
        return subprocess.Popen([sys.executable, "-c", without, "run", "--carrier", "ucx", *map(str, arguments)], text=True, cwd=stretto.home,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**environment, **more})

    return start


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, sorted(out.splitlines()), err


def started(stretto):
    path = stretto.home / "started"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


THREE = ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]


def test_ssh_starts_ranks_of_other_hosts_and_cleans_the_cache(stretto, job):
    assert ended(job("-n", 3, "--hosts", "a:2,b", os.environ["JOB"], "sum")) == (0, THREE, "")
    assert sorted(started(stretto)) == ["ssh a", "ssh a", "ssh b"]
    assert os.listdir(stretto.home / "cache") == []


def test_the_shell_starts_the_ranks_of_this_host(stretto, job):
    assert ended(job("-n", 3, os.environ["JOB"], "sum")) == (0, THREE, "")
    assert started(stretto) == []
    assert os.listdir(stretto.home / "cache") == []


def test_srun_starts_them_inside_an_allocation(stretto, job):
    assert ended(job("-n", 3, os.environ["JOB"], "sum", SLURM_JOB_ID="7")) == (0, THREE, "")
    assert started(stretto) == [f"srun -n 3 {os.environ['JOB']} sum"]
    assert os.listdir(stretto.home / "cache") == []


def test_the_users_store_stays(stretto, job):
    (stretto.home / "store").mkdir()
    assert ended(job("-n", 3, os.environ["JOB"], "sum", STRETTO_STORE=f"file://{stretto.home}/store"))[:2] == (0, THREE)
    assert os.listdir(stretto.home / "store") == []


def test_a_host_that_ssh_does_not_reach_ends_the_job_and_is_named(stretto, job):
    stretto.executable("bin/ssh", 'while [ "${1#-}" != "$1" ]; do shift 2; done\n[ "$1" != b ] || exit 255\nshift\nexec sh -c "$*"\n')
    status, _, err = ended(job("--hosts", "a,b", os.environ["JOB"], "sum"))
    assert status == 255
    assert "stretto: ssh to b failed" in err
    assert os.listdir(stretto.home / "cache") == []


def test_a_rank_that_fails_is_named_and_the_others_say_what_they_saw(stretto, job):
    status, out, err = ended(job("-n", 3, os.environ["JOB"], "die", 1))
    assert status == 137
    assert "stretto: rank 1 on localhost ended with status 137" in err
    assert [line for line in out if line.startswith("a collective: ")]
    assert os.listdir(stretto.home / "cache") == []


def test_a_program_that_is_not_there_is_told(job):
    status, _, err = ended(job("-n", 2, "./none"))
    assert status == 127
    assert "./none" in err


def gone(pid):
    for _ in range(600):
        if not pathlib.Path(f"/proc/{pid}").exists() or "Z" in pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("where", [("-n", "2"), ("--hosts", "a,b")])
def test_ranks_end_with_who_started_them_however_that_ends(stretto, job, number, where):
    waits = stretto.executable("waits", "echo $$\nexec sleep 300\n")
    process = job(*where, waits)
    pids = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(number)
    status, _, err = ended(process)
    assert status == (-9 if number == signal.SIGKILL else 128 + number), err
    for pid in pids:
        assert gone(pid)


def test_doctor_examines_ranks_that_meet_in_a_store(stretto):
    if programs.over_mpi(programs.program("stretto-doctor")):
        pytest.skip("the doctor of this build is for MPI programs")
    stretto.monkeypatch.setattr("stretto.launch.programs.LAUNCHERS", ("no-mpirun",))
    stretto.monkeypatch.setattr("stretto.launch.programs.configured_launchers", lambda mpi=None: [])
    stretto.monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    stretto.set("XDG_CACHE_HOME", stretto.home / "cache")
    report = json.loads(stretto.succeeds("doctor", "-n", "3", "--json"))
    (host,) = report["hosts"]
    assert host["ranks"] == [0, 1, 2]
    assert len({rank["pid"] for rank in report["ranks"]}) == 3
    usable = {way["access"]: way["usable"] for way in host["ways"]}
    assert usable["staged"] and not usable["process"]
    assert usable["kernel"] == (not any(pair["way"] == "kernel" for pair in host["pairs"]))
    assert report["mpi"].startswith("UCX ")
    assert [module["name"] for module in report["modules"] if module["used"]] == ["ucx"]
    assert os.listdir(stretto.home / "cache") == []
    assert len(json.loads(stretto.succeeds("doctor", "--hosts", "localhost:4", "--json"))["ranks"]) == 4
    assert "1 rank on 1 host, no MPI" in stretto.succeeds("doctor", "-n", "1")  # which needs no UCX
    stretto.set("STRETTO_MODULES", stretto.home)
    assert "libstretto_ucx.so" in stretto.refused("doctor", "-n", "2", status=1)
    stretto.executable("bin/ssh", "exit 255\n")
    stretto.set("PATH", f"{stretto.home}/bin:{os.environ['PATH']}")
    assert "the examination failed (status 255)" in stretto.refused("doctor", "--hosts", "nowhere:2", status=1)
