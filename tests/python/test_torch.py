"""stretto.torch between processes: the backend, the hook of DDP and FSDP2, started by torch's own launcher."""

import importlib.util
import os
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

import needs_torch  # noqa: F401

PROGRAMS = pathlib.Path(__file__).with_name("torch_programs")


def ranks(size, program, *arguments, seconds=240, module="torch.distributed.run", **settings):
    """What `size` ranks of the program said; every one says fine. module: of the launcher."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO_STORE", "STRETTO_RANK", "STRETTO_SIZE"))}
    done = subprocess.run([sys.executable, "-m", module, "--nproc-per-node", str(size), "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
                           str(PROGRAMS / program), *map(str, arguments)], env={**environment, "OMP_NUM_THREADS": "1", **settings}, capture_output=True, text=True, timeout=seconds,
                          check=False)
    assert done.returncode == 0 and done.stdout.count("fine") == size, done.stdout + done.stderr  # lines of ranks may run into each other
    return done.stdout


def test_backend_serves_collectives_of_torch(tmp_path):
    ranks(3, "backend_program.py", "stretto", tmp_path)


@pytest.mark.parametrize("backend", ("gloo", "stretto"))
def test_hook_keeps_its_bound_over_any_backend(backend):
    ranks(3, "hook_program.py", backend)


@pytest.mark.parametrize("size", (3, 4))
def test_deterministic_hook_gives_equal_bits(size):
    hashes = re.findall("[0-9a-f]{64}", ranks(size, "hook_program.py", "deterministic"))
    assert len(hashes) == 2 * size and len(set(hashes)) == 1, hashes


@pytest.mark.parametrize(("backend", "size"), (("gloo", 2), ("stretto", 4)))
def test_sharded_model_is_equal_to_the_whole(backend, size):
    ranks(size, "fsdp_program.py", backend, TORCH_DISTRIBUTED_DEBUG="DETAIL" if backend == "stretto" else "OFF")  # DETAIL: torch wraps the backend


def separate(tmp_path, program, *arguments):
    """What each of three ranks said that no launcher ends with the others."""
    started = [subprocess.Popen([sys.executable, PROGRAMS / program, tmp_path / "store", str(rank), "3", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}) for rank in range(3)]
    return [rank.communicate(timeout=120)[0] for rank in started]


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
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "EMULATED": "1", "STRETTO_CUDA_PLUGIN": plugin}
    started = [subprocess.Popen([sys.executable, PROGRAMS / "cuda_program.py", tmp_path / "store", str(rank), str(size), *filter(None, [mode])], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) for rank in range(size)]
    said = [rank.communicate(timeout=240)[0] for rank in started]
    assert all(words.endswith("fine\n") for words in said), said
    assert ("staged through pinned memory" if mode else "messages by peer (CUDA IPC)") in said[0], said[0]


@pytest.mark.parametrize("how", ("backward", "plain"))
def test_rank_killed_in_backward_is_named_by_the_others(tmp_path, how):
    said = separate(tmp_path, "killed_program.py", how)
    assert [words.split()[-1:] for words in said[:2]] == [["fine"]] * 2, said


def test_rank_that_sends_nothing_is_named_after_the_timeout_of_the_group(tmp_path):
    said = separate(tmp_path, "killed_program.py", "silent")
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said


@pytest.mark.parametrize("steps", (0, 2))
def test_rank_missing_in_backward_is_named_after_the_timeout_of_the_group(tmp_path, steps):
    said = separate(tmp_path, "killed_program.py", "missing", str(steps))
    assert [words.split()[-1:] for words in said] == [["fine"]] * 3, said


@pytest.mark.parametrize("backend", ("gloo", "stretto"))
def test_hook_refuses_bad_input_by_name(backend):
    ranks(3, "bad_program.py", backend)


def test_launcher_puts_tensors_where_ranks_see_them(tmp_path):
    ranks(3, "backend_program.py", "stretto", tmp_path, module="stretto.torch", STRETTO_ARENA_REPORT="1")


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
