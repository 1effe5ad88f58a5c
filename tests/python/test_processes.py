"""Collectives of the Python package between processes: over the MPI of the build, and without an MPI over UCX."""

import concurrent.futures
import ctypes
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import stretto
from stretto.launch import programs

PROGRAM = str(pathlib.Path(__file__).with_name("processes_program.py"))

try:
    from stretto.api import ranks
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)


@pytest.mark.parametrize("form", ("blocking", "started", "making"))
def test_ranks_of_mpi4py_sum_and_hear_ctrl_c(form, tmp_path):
    if "MPIRUN" not in os.environ:
        pytest.skip("a build without an MPI")
    library = pathlib.Path(os.environ["MPIRUN"]).resolve().parent.parent / "lib"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    if subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], env=environment, capture_output=True, check=False).returncode:
        pytest.skip("mpi4py does not load this MPI")
    done = subprocess.run([os.environ["LAUNCH"], os.environ["MPIRUN"], "2", sys.executable, PROGRAM, "mpi", "2", form, f"{tmp_path}/heard"], env=environment, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.stdout.count("fine") == 2, done.stdout + done.stderr


class Store(dict):
    def set(self, key, value):
        self[key] = value

    def get(self, key, seconds):
        return dict.get(self, key)

    def remove(self, key):
        self.pop(key, None)


@pytest.fixture
def ucx():
    try:
        ctypes.CDLL(os.environ.get("STRETTO_UCX", "libucp.so.0"))
    except OSError as error:
        pytest.skip(f"no UCX: {error}")
    try:
        stretto.init(Store(), 0, 1, transports="tcp").free()
    except stretto.UnsupportedError as error:
        if "libucx-dev" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("has_wheel", (True, False))
def test_the_wheel_of_ucx_is_found_and_segments_of_tcp_are_longer(monkeypatch, tmp_path, has_wheel):
    for name in ("STRETTO_UCX", *programs.SEGMENTS_OF_TCP):
        monkeypatch.setenv(name, "")  # so that what is set here ends with the test
        monkeypatch.delenv(name)
    monkeypatch.setenv("UCX_TCP_RX_SEG_SIZE", "256k")
    library = tmp_path / "libucx" / "lib" / "libucp.so.0"
    if has_wheel:
        library.parent.mkdir(parents=True)
        library.touch()
    spec = importlib.machinery.ModuleSpec("libucx", None, is_package=True)
    spec.submodule_search_locations.append(str(library.parents[1]))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if has_wheel else None)
    programs.find_ucx()
    assert (os.environ["UCX_TCP_TX_SEG_SIZE"], os.environ["UCX_TCP_RX_SEG_SIZE"]) == ("64k", "256k")
    assert os.environ.get("STRETTO_UCX") == (str(library) if has_wheel else None)


def test_a_build_without_the_module_over_ucx_names_the_package(tmp_path):
    program = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import stretto, test_processes; stretto.init(test_processes.Store(), 0, 1)"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "STRETTO_MODULES": str(tmp_path)}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"UnsupportedError: no module for ucx: {tmp_path}/libstretto_ucx.so is not there; install libucx-dev" in done.stderr


def test_ranks_meet_in_a_store_of_the_program(ucx):
    store = Store()
    with stretto.init(store, 0, 1, transports="tcp") as comm:
        assert (comm.rank, comm.size, dict(store)) == (0, 1, {})
        assert comm in ranks._open
    assert comm not in ranks._open
    with pytest.raises(stretto.WaitTimeoutError, match="ranks that did not come within 0.1 s: 1"):
        stretto.init(store, 0, 2, timeout=0.1)

    class Text(Store):
        def get(self, key, seconds):
            return "text"

    with pytest.raises(TypeError, match="get of a store gave a str; it gives bytes, or None"):
        stretto.init(Text(), 1, 2)

    class Broken(Store):
        def set(self, key, value):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        stretto.init(Broken(), 0, 1)


@pytest.mark.parametrize(("rank", "here", "missing"), ((0, (0, 2), "1, 3"), (2, (2,), "0"), (2, (0, 2), None), (0, (0, 1, 2, 3), None)))
def test_a_rank_that_waits_for_others_names_them_once(caplog, rank, here, missing):
    store = Store({f"stretto/job/hello/{one}": b"" for one in here})
    meeting = ranks._Meeting(store, rank, 4, 0.0)
    for key in ("session", "session", f"hello/{rank}"):
        meeting.get(f"stretto/job/{key}", 0)
    words = f"rank {rank} of 4 has waited 0 s to make the communicator 'job'; ranks that have not come: {missing}. It fails after 0 s."
    assert [one.getMessage() for one in caplog.records] == ([words] if missing else [])
    assert ranks._Meeting(store, rank, 4, 300.0).get("stretto/job/session", 0) is None and len(caplog.records) == (missing is not None)  # not at once


class LikeTorch:
    """The functions of torch's stores that are used."""

    def __init__(self):
        self.keys = {}

    def set(self, key, value):
        self.keys[key] = bytes(value)

    def check(self, keys):
        return all(key in self.keys for key in keys)

    def get(self, key):
        return self.keys[key]

    def delete_key(self, key):
        return self.keys.pop(key, None) is not None


def test_ranks_meet_in_a_store_of_torch(ucx):
    store, size = LikeTorch(), 3

    def sum_of(rank):
        with stretto.init(store, rank, size, transports="tcp") as comm:
            return comm.allreduce(np.ones(5, np.float32))[0]

    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        for result in pool.map(sum_of, range(size)):
            assert (result == size).all()
    assert store.keys == {}
    with pytest.raises(stretto.WaitTimeoutError, match="ranks that did not come within 0.1 s: 1"):
        stretto.init(store, 0, 2, timeout=0.1)


def test_limit_of_the_environment_ends_a_creation_that_has_none(ucx, monkeypatch):
    monkeypatch.setenv("STRETTO_TIMEOUT", "0.2")
    with pytest.raises(stretto.WaitTimeoutError, match="ranks that did not come within 0.2 s: 1"):
        stretto.init(LikeTorch(), 0, 2)
    with pytest.raises(stretto.WaitTimeoutError, match="ranks that did not come within 0.1 s: 1"):
        stretto.init(LikeTorch(), 0, 2, timeout=0.1)
    for text in ("soon", "-1", "inf"):
        monkeypatch.setenv("STRETTO_TIMEOUT", text)
        with pytest.raises(stretto.ArgumentError, match=f"STRETTO_TIMEOUT: '{text}' is no positive number of seconds"):
            stretto.init(LikeTorch(), 0, 2)


def test_ranks_of_torchrun_meet_without_more_words(ucx, tmp_path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("Python has no torch here")
    program = tmp_path / "program.py"
    text = "import os, numpy, stretto\ncomm = stretto.init()\nos.write(1, b'sum %d;' % comm.allreduce(numpy.ones(5))[0][0])\n"  # in one piece
    program.write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO_STORE", "STRETTO_RANK", "STRETTO_SIZE"))}
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program)], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.stdout.count("sum 2;") == 2, done.stdout + done.stderr


def test_limit_of_the_environment_ends_the_rendezvous_of_torchrun(tmp_path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("Python has no torch here")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO_STORE", "STRETTO_RANK", "STRETTO_SIZE", "TORCHELASTIC"))}
    done = subprocess.run([sys.executable, "-c", "import stretto; stretto.init()"], capture_output=True, text=True, timeout=120, check=False,
                          env={**environment, "STRETTO_TIMEOUT": "1", "TORCHELASTIC_RUN_ID": "alone", "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"})
    assert "WaitTimeoutError: the ranks of torchrun did not meet in its store within 1 s" in done.stderr, done.stderr


def test_ranks_without_an_mpi_sum_and_hear_ctrl_c(tmp_path, ucx):
    started = [subprocess.Popen([sys.executable, PROGRAM, "ucx", "3", "blocking", f"{tmp_path}/heard"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, "STRETTO_STORE": f"file://{tmp_path}/store", "STRETTO_RANK": str(r), "STRETTO_SIZE": "3"}) for r in range(3)]
    said = [rank.communicate(timeout=120)[0] for rank in started]
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said


def test_a_rank_alone_is_told_what_its_environment_lacks(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO_STORE", "STRETTO_RANK", "STRETTO_SIZE"))}
    done = subprocess.run([sys.executable, "-c", "import stretto; stretto.init()"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "stretto.errors.ArgumentError: " in done.stderr and "set STRETTO_RANK and STRETTO_SIZE" in done.stderr, done.stderr
