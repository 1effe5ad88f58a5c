"""stretto.torch between processes: the backend, the hook of DDP and FSDP2; communicators of process groups. Ranks are forks of one process that has imported torch, which takes
two seconds of a processor; one test starts them by torch's own launcher."""

import contextlib
import importlib.util
import os
import pathlib
import pickle
import re
import runpy
import signal
import subprocess
import sys
import time
import traceback

import pytest

import needs_torch  # noqa: F401

PROGRAMS = pathlib.Path(__file__).with_name("torch_programs")


def become(program, arguments, settings, out, port):
    """Runs the program in this process, which is a fork, and ends. The port of the store comes through a pipe, if there is one."""
    status = 1
    try:
        if port:
            os.close(port[1])
            settings["MASTER_PORT"] = str(int(os.read(port[0], 5)))
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        os.environ.update(settings)
        import torch.distributed
        torch.distributed.set_debug_level_from_env()  # as its import does
        sys.argv = [str(PROGRAMS / program), *map(str, arguments)]
        sys.path.insert(0, str(PROGRAMS))
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        print(end.code or "", file=sys.stderr)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Rank:
    """A rank that is running, and the file of all that it says."""

    def __init__(self, path, program, *arguments, port=None, **settings):
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch._dynamo  # noqa: F401  which DDP imports
        with contextlib.suppress(ImportError):  # names of torch's own: what torch.compile imports in two seconds
            import torch._functorch.aot_autograd  # noqa: F401
            import torch._inductor.lowering  # noqa: F401
        import torch.distributed.fsdp  # noqa: F401
        import stretto.torch  # noqa: F401
        self.path, self.status = path, None
        out = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND, 0o600)
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            become(program, arguments, settings, out, port)
        os.close(out)

    def ended(self):
        if self.status is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if process else None
        return self.status is not None


def words_of(started, seconds, *, together):
    """What each rank said, when all have ended. Whichever has not after so many seconds is killed, or if `together` after the first failure."""
    end = time.monotonic() + seconds
    while not all([one.ended() for one in started]):
        if time.monotonic() > end or (together and any(one.status for one in started)):
            for one in started:
                if one.status is None:
                    os.kill(one.process, signal.SIGKILL)
        time.sleep(0.01)
    return [one.path.read_text(encoding="utf-8") for one in started]


def ranks(size, here, program, *arguments, seconds=240, **settings):
    """What `size` ranks of the program said, which find each other by the environment that torchrun sets; every one says fine. They are forked
    before the store, whose thread may hold a lock of the C library at any time: a fork would keep that lock for ever."""
    import torch.distributed
    shared = {"MASTER_ADDR": "localhost", "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0",
              "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), **settings}
    port = os.pipe()
    started = [Rank(here / f"said{rank}", program, *arguments, port=port, RANK=str(rank), LOCAL_RANK=str(rank), **shared) for rank in range(size)]
    store = torch.distributed.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    os.write(port[1], b"%05d" % store.port * size)
    said = words_of(started, seconds, together=True)
    for one in port:
        os.close(one)
    del store  # with its thread: a failure would keep it for the next test's forks
    assert all("fine" in words.splitlines() for words in said), said
    return "".join(said)


def test_backend_serves_collectives_of_torch(tmp_path):
    ranks(3, tmp_path, "backend_program.py", "stretto", tmp_path)


def test_ranks_of_a_process_group_meet_in_its_store(tmp_path):
    ranks(3, tmp_path, "group_program.py")


@pytest.mark.parametrize("backend", ("gloo", "stretto"))
def test_hook_keeps_its_bound_over_any_backend(tmp_path, backend):
    ranks(3, tmp_path, "hook_program.py", backend)


@pytest.mark.parametrize("size", (2, 3))
def test_bounds_of_parameters_travel_in_one_call_between_hosts(tmp_path, size):
    ranks(size, tmp_path, "hook_program.py", "gloo", "parts")


@pytest.mark.parametrize(("size", "bounds"), ((3, ()), (4, ()), (2, ("per_parameter",)), (3, ("per_parameter",))))
def test_deterministic_hook_gives_equal_bits(tmp_path, size, bounds):
    one_host = {"STRETTO_NODE": "0"} if bounds else {}  # without which bounds of a bucket's parameters travel in one call
    hashes = re.findall("[0-9a-f]{64}", ranks(size, tmp_path, "hook_program.py", "deterministic", *bounds, **one_host))
    assert len(hashes) == 2 * size and len(set(hashes)) == 1, hashes


@pytest.mark.parametrize(("backend", "size"), (("gloo", 2), ("stretto", 4)))
def test_sharded_model_is_equal_to_the_whole(tmp_path, backend, size):
    ranks(size, tmp_path, "fsdp_program.py", backend, TORCH_DISTRIBUTED_DEBUG="DETAIL" if backend == "stretto" else "OFF")  # DETAIL: torch wraps the backend


def separate(tmp_path, program, *arguments, size=3, **settings):
    """What each of the ranks said, which no failure of another ends."""
    return words_of([Rank(tmp_path / f"said{rank}", program, tmp_path / "store", rank, size, *arguments, **settings) for rank in range(size)], 240, together=False)


def test_failures_of_torch_are_pickled():
    import torch.distributed  # noqa: PLC0415

    import stretto.torch  # noqa: PLC0415
    from stretto.errors import BY_STATUS, StrettoError  # noqa: PLC0415
    from stretto.torch.errors import of_torch  # noqa: PLC0415

    for kind in (StrettoError, *BY_STATUS):
        failure = of_torch(kind("rank 1 has ended"), "allreduce")
        again = pickle.loads(pickle.dumps(failure))
        assert type(again) is type(failure) is getattr(stretto.torch, kind.__name__) and str(again) == str(failure), kind
        assert isinstance(again, kind) and isinstance(again, torch.distributed.DistBackendError) and again.status == kind.status, kind


def test_killed_rank_is_named_by_the_others(tmp_path):
    said = separate(tmp_path, "killed_program.py", "call")
    assert [words.split()[-1:] for words in said[:2]] == [["fine"]] * 2, said


@pytest.mark.parametrize(("size", "mode"), ((3, ""), (2, "staged")))
def test_tensors_of_cuda_are_served_on_emulated_devices(tmp_path, size, mode):
    plugin = os.environ.get("EMULATED_PLUGIN") or pytest.skip("no emulated device: EMULATED_PLUGIN names none")
    said = separate(tmp_path, "cuda_program.py", *filter(None, [mode]), size=size, EMULATED="1", STRETTO_CUDA_PLUGIN=plugin)
    assert all(words.endswith("fine\n") for words in said), said
    assert ("staged through pinned memory" if mode else "messages by peer (CUDA IPC)") in said[0], said[0]


@pytest.mark.parametrize("how", ("backward", "plain"))
def test_rank_killed_in_backward_is_named_by_the_others(tmp_path, how):
    said = separate(tmp_path, "killed_program.py", how)
    assert [words.split()[-1:] for words in said[:2]] == [["fine"]] * 2, said


def test_rank_that_sends_nothing_is_named_after_the_timeout(tmp_path):
    said = separate(tmp_path, "killed_program.py", "silent")
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said


@pytest.mark.parametrize(("how", "node"), (("ends", "1"), ("ends", "0"), ("leaves", "1"), ("waits", "0")))
def test_each_queued_call_names_the_rank_that_is_missing(tmp_path, how, node):
    said = separate(tmp_path, "killed_program.py", "queued", how, STRETTO_NODE=node)
    assert [words.split()[-1:] for words in said] == [["fine"]] * 2 + [[] if how == "ends" else ["fine"]], said


@pytest.mark.parametrize("how", ("idle", "waits"))
def test_group_is_destroyed_beside_a_stopped_rank(tmp_path, how):
    said = separate(tmp_path, "killed_program.py", "stopped", how)
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said


def test_monitored_barrier_names_the_rank_that_is_missing(tmp_path):
    said = separate(tmp_path, "killed_program.py", "monitored")
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said


@pytest.mark.parametrize("steps", (0, 2))
def test_rank_missing_in_backward_is_named_after_the_timeout(tmp_path, steps):
    said = separate(tmp_path, "killed_program.py", "missing", str(steps))
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said
    told = re.search(r"to make the communicator 'stretto-hook-0-0'; ranks that have not come: (1, )?2\. It fails after 8 s\.", said[0])
    assert steps or told, said


@pytest.mark.parametrize("backend", ("gloo", "stretto"))
def test_hook_refuses_bad_input_by_name(tmp_path, backend):
    ranks(3, tmp_path, "bad_program.py", backend)


def test_launcher_puts_tensors_where_ranks_see_them(tmp_path):
    done = subprocess.run([sys.executable, "-m", "stretto.torch", "--nproc-per-node", "3", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
                           str(PROGRAMS / "backend_program.py"), "stretto", str(tmp_path)], env={**os.environ, "OMP_NUM_THREADS": "1", "STRETTO_ARENA_REPORT": "1"},
                          capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and done.stdout.count("fine") == 3, done.stdout + done.stderr  # lines of ranks may run into each other


UNFIT = {"this is torch 2.5.1": "__version__ = '2.5.1'",
         "this torch 2.13.0 has no torch.distributed": "__version__ = '2.13.0'\nclass distributed:\n    is_available = lambda: False",
         "this torch 2.13.0 has no gloo": "__version__ = '2.13.0'\nclass distributed:\n    is_available = lambda: True\n    is_gloo_available = lambda: False",
         "torch is not installed here": "raise ImportError('none')"}


@pytest.mark.parametrize("words", UNFIT)
def test_unfit_torch_is_refused_by_name(tmp_path, words):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(UNFIT[words] + "\n", encoding="utf-8")
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run([sys.executable, "-c", "import stretto.torch"], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False)
    assert "works with torch 2.13 and later" in done.stderr and words in done.stderr, done.stderr


def suite(*arguments):
    """Runs suite.py; no test of torch's suite failed."""
    done = subprocess.run([sys.executable, PROGRAMS / "suite.py", *arguments], capture_output=True, text=True, timeout=2300, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("passed", "skipped"))) + done.stderr[-2000:]
    return done.stdout


def test_suite_in_short():
    if importlib.util.find_spec("expecttest") is None:
        pytest.skip("torch's suite needs the package expecttest")
    assert ", 0 failed" in suite("--file", PROGRAMS / "suite_short.txt")


def test_suite_as_a_whole():
    if importlib.util.find_spec("expecttest") is None:
        pytest.skip("torch's suite needs the package expecttest")
    assert ", 0 failed" in suite("--without", PROGRAMS / "suite_without.txt")
