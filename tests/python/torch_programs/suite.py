"""Runs tests of torch's own distributed_test.py over a backend, in processes that are kept from test to test: forks of this one, which has imported torch.

    python suite.py [--backend stretto] [--ranks 3] [--seconds 60] [NAME...]

Without names it runs all. A line a test: "passed", "skipped" or "failed", its name, its seconds, and what the first failing rank said. After a failure the
processes are new. The last line has the counts, and the status is 1 where a test failed.

Tests that make their model for gloo, NCCL and MPI alone, by the name in BACKEND, read "gloo" there; their group is of the backend given. Tests of sub-groups and of
monitored_barrier run on fewer than 8 ranks for MPI alone, by the environment's BACKEND: they read "mpi" there.
"""

import argparse
import datetime
import faulthandler
import multiprocessing
import os
import pathlib
import queue
import sys
import tempfile
import time
import traceback
import unittest
import warnings


MODEL_BY_NAME = "test_accumulate_gradients"  # first words of such tests
ENDS_GROUP = "test_barrier_timeout_global"  # leaves a default group that has timed out: the processes are new after it
SIZE_BY_NAME = ("_group", "monitored_barrier")  # words of such tests


def names():
    from torch.testing._internal.distributed import distributed_test

    return sorted(name for name in dir(distributed_test.DistributedTest._DistTestBase) if name.startswith("test_"))


def rank_loop(rank, size, backend, file, seconds, tasks, answers):
    warnings.simplefilter("ignore")
    os.environ["LOCAL_RANK"] = str(rank)
    import torch
    import torch.distributed as dist
    from torch.testing._internal.common_utils import TestCase
    from torch.testing._internal.distributed import distributed_test

    torch.set_num_threads(1)
    skips = {skip.exit_code: skip.message for skip in distributed_test.TEST_SKIPS.values()}
    for feature in ("ddp", "subgroup"):
        distributed_test.DistTestCases.backend_feature[feature].add(backend)
    distributed_test.INIT_METHOD = f"file://{file}"  # of tests that make the default group again

    class Suite(TestCase, distributed_test.DistributedTest._DistTestBase):
        init_method = f"file://{file}"
        world_size = str(size)

    def init():
        dist.init_process_group(init_method=f"file://{file}", backend=backend, world_size=size, rank=rank, timeout=datetime.timedelta(seconds=30))

    init()
    while (name := tasks.get()) is not None:
        faulthandler.dump_traceback_later(seconds * 0.9)
        try:
            test = Suite(name)
            test.rank, test.file_name = rank, file
            torch.manual_seed(0)
            distributed_test.BACKEND = "gloo" if name.startswith(MODEL_BY_NAME) else backend
            os.environ["BACKEND"] = "mpi" if any(words in name for words in SIZE_BY_NAME) else backend
            test._barrier()
            getattr(test, name)()
            test._barrier()
            answers.put((rank, name, "passed", ""))
        except unittest.SkipTest as skip:
            answers.put((rank, name, "skipped", str(skip)))
        except SystemExit as end:
            answers.put((rank, name, "skipped" if end.code in skips else "failed", skips.get(end.code, f"exit {end.code}")))
        except BaseException:  # noqa: BLE001
            answers.put((rank, name, "failed", traceback.format_exc()))
        faulthandler.cancel_dump_traceback_later()
        if not dist.is_initialized():
            init()
    os._exit(0)


class Processes:
    def __init__(self, size, backend, seconds):
        from torch.testing._internal.distributed import distributed_test

        os.environ["WORLD_SIZE"], os.environ["BACKEND"] = str(size), backend
        distributed_test.initialize_temp_directories()
        distributed_test.Barrier.init()
        if backend == "stretto":
            import stretto.torch  # noqa: F401
        context = multiprocessing.get_context("fork")
        self.size, self.answers = size, context.Queue()
        self.tasks = [context.Queue() for _ in range(size)]
        self.file = os.path.join(tempfile.mkdtemp(), "store")
        self.ranks = [context.Process(target=rank_loop, args=(r, size, backend, self.file, seconds, self.tasks[r], self.answers), daemon=True) for r in range(size)]
        for one in self.ranks:
            one.start()

    def run(self, name, seconds):
        """(outcome, what the first failing rank said)."""
        for one in self.tasks:
            one.put(name)
        end, said = time.monotonic() + seconds, []
        while len(said) < self.size and time.monotonic() < end:
            try:
                said.append(self.answers.get(timeout=0.5))
            except queue.Empty:
                if any(not one.is_alive() for one in self.ranks):
                    break
            failed = [words for _, _, outcome, words in said if outcome == "failed"]
            if failed:
                return "failed", failed[0]
        if len(said) < self.size:
            return "failed", f"ranks {sorted(set(range(self.size)) - {one[0] for one in said})} gave no answer within {seconds} s"
        if any(outcome == "skipped" for _, _, outcome, _ in said):
            return "skipped", next(words for _, _, outcome, words in said if outcome == "skipped")
        return "passed", ""

    def end(self, kill):
        for tasks in self.tasks:
            tasks.put(None)
        for one in self.ranks:
            if not kill:
                one.join(20)
            if one.is_alive():
                one.kill()
            one.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--file", help="names, a line each")
    parser.add_argument("--without", help="a file with names that are left out, the first word of each line")
    parser.add_argument("--backend", default="stretto")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--full", action="store_true", help="print whole tracebacks")
    given = parser.parse_args()
    os.environ["WORLD_SIZE"], os.environ["BACKEND"] = str(given.ranks), given.backend
    os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp())
    os.environ["OMP_NUM_THREADS"] = "1"
    chosen = given.names + (pathlib.Path(given.file).read_text(encoding="utf-8").split() if given.file else []) or names()
    if given.without:
        left_out = {line.split()[0] for line in pathlib.Path(given.without).read_text(encoding="utf-8").splitlines() if line.strip()}
        chosen = [name for name in chosen if name not in left_out]
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        sys.exit(f"no test {unknown[0]} in torch's distributed_test.py")
    counts, processes, began = dict.fromkeys(("passed", "skipped", "failed"), 0), None, time.monotonic()
    for name in chosen:
        processes = processes or Processes(given.ranks, given.backend, given.seconds)
        start = time.monotonic()
        outcome, words = processes.run(name, given.seconds)
        counts[outcome] += 1
        words = words if given.full else (words.strip().splitlines() or [""])[-1]
        print(f"{outcome} {name} {time.monotonic() - start:.1f} {words}", flush=True)
        if outcome == "failed" or name == ENDS_GROUP:
            processes.end(kill=True)
            processes = None
    if processes:
        processes.end(kill=False)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, {time.monotonic() - began:.0f} s of {given.backend}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
