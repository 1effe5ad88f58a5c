"""A rank of run_torch.py: measures the example of examples/training over the process group that the environment describes. Rank 0 appends rows to a file.

usage: torch_training.py PART ROWS SETTINGS      (SETTINGS: JSON; parts are the functions below)
"""

import json
import os
import pathlib
import statistics
import sys
import time
import warnings

import torch
import torch.distributed as dist

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "training"))

import methods  # noqa: E402
import training  # noqa: E402

import stretto.torch  # noqa: E402

# name: backend, options of Training. Bounds are fractions of the root mean square of a bucket's gradients.
BOUNDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
CASES = {
    "gloo fp32": ("gloo", {}),
    "gloo bf16": ("gloo", {"hook": "bf16"}),
    "PowerSGD 1": ("gloo", {"hook": "powersgd1"}),
    "PowerSGD 4": ("gloo", {"hook": "powersgd4"}),
    "int8 a tensor": ("gloo", {"hook": "int8"}),
    "int8 a row": ("gloo", {"hook": "int8-rows"}),
    "stretto exact": ("stretto", {}),
    "stretto bf16": ("gloo", {"hook": "stretto-bf16"}),
    **{f"stretto rms {bound:g}": ("gloo", {"hook": "stretto", "rms": bound}) for bound in BOUNDS},
    **{f"stretto rms {bound:g}, feedback": ("gloo", {"hook": "stretto", "rms": bound, "error_feedback": True}) for bound in BOUNDS},
    "FSDP2 gloo": ("gloo", {"sharded": True}),
    "FSDP2 stretto exact": ("stretto", {"sharded": True}),
    **{f"FSDP2 stretto rms {bound:g}": ("gloo", {"sharded": True, "hook": "stretto", "rms": bound}) for bound in BOUNDS},
}
FEEDBACK = {name: case for name, case in CASES.items() if name.endswith(", feedback")}
for name, (backend, how) in FEEDBACK.items():
    CASES[f"{name}, per parameter"] = (backend, {**how, "per_parameter": True})
    CASES[f"{name}, warmup 50"] = (backend, {**how, "warmup_steps": 50})
    CASES[f"{name}, per parameter, warmup 50"] = (backend, {**how, "per_parameter": True, "warmup_steps": 50})
for name in [name for name in CASES if name.startswith("stretto rms") and "warmup" not in name]:
    for coding in ("fixed", "dense"):
        CASES[f"{name}, {coding}"] = (CASES[name][0], {**CASES[name][1], "coding": coding})


def write(row):
    if dist.get_rank() == 0:
        with open(ROWS, "a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")


def over_ranks(seconds, op):
    value = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(value, op)
    return value.item()


def most(seconds):
    """The largest of all ranks' seconds."""
    return over_ranks(seconds, dist.ReduceOp.MAX)


class Bucket:
    """Saved gradients of one rank as DistributedDataParallel gives them to a hook."""

    def __init__(self, index, count, values, shapes):
        self._index, self._last, self._saved, self._shapes = index, index == count - 1, values, shapes
        self._parameters = [torch.empty(0) for _ in shapes]  # hooks tell parameters apart by their ids
        self._values = values.clone()

    def renew(self):
        self._values = self._saved.clone()

    def index(self):
        return self._index

    def buffer(self):
        return self._values

    def set_buffer(self, values):
        self._values = values

    def gradients(self):
        return [part.view(shape) for part, shape in zip(self._values.split([shape.numel() for shape in self._shapes]), self._shapes)]

    def parameters(self):
        return self._parameters

    def is_last(self):
        return self._last


def loss(size, steps, every, save, gradients, cases, **options):
    """Trains each of `cases` ([name, seed]). The gradients of the steps `save` are kept of "gloo fp32" with seed 0."""
    for name, seed in cases:
        kept, keep = {}, None
        if name == "gloo fp32" and seed == 0 and gradients:
            def keep(bucket):
                if run.steps in save:
                    kept.setdefault(run.steps, []).append((bucket.buffer().clone(), [one.shape for one in bucket.gradients()]))
        how = CASES[name][1]
        if how.get("hook") == "stretto" and not how.get("sharded"):
            how = {**how, "payload": "fused"}  # on one host the hook would choose the faster raw values
        run = training.Training(size, seed=seed, keep=keep, **options, **how) if keep else training.Training(size, seed=seed, **options, **how)
        for row in run.course(steps, every):
            write({"part": "loss", "name": name, "seed": seed, "size": size, "steps": steps, "ranks": run.ranks, "step": row["step"], "loss": row["loss"],
                   "validation": row["validation"]})
        if kept:
            pathlib.Path(gradients).mkdir(parents=True, exist_ok=True)
            torch.save(kept, pathlib.Path(gradients, f"rank{run.rank}.pt"))
        run.free()


def codings_of(state):
    """The codings of the State's calls from now on, a set that fills."""
    seen, add = set(), state.totals.add

    def note(report, **how):
        seen.add(report.coding or report.payload)
        add(report, **how)

    state.totals.add = note
    return seen


def communication(place, gradients, turns, names):
    """The time from the first bucket's start to the last one's end, with nothing to compute, in turns."""
    saved = torch.load(pathlib.Path(gradients, f"rank{dist.get_rank()}.pt"), weights_only=False)
    buckets = next(reversed(saved.values()))
    count, groups = len(buckets), {"gloo": dist.group.WORLD, "stretto": dist.new_group(backend="stretto")}
    ready = {}
    for name in names:
        backend, how = CASES[name]
        how = dict(how)
        hook = how.pop("hook", "none")
        state, function = methods.of(hook, groups[backend], **({"powersgd_start": 2} if hook.startswith("powersgd") else {}), **how)
        ready[name] = (state, function, [Bucket(at, count, *one) for at, one in enumerate(buckets)])
    codings = {name: codings_of(state) for name, (state, _, _) in ready.items() if isinstance(state, stretto.torch.State)}
    taken = {name: [] for name in names}
    for turn in range(-4, turns):  # uncounted: PowerSGD has two exact steps, and the library's first calls explore
        for name, (state, function, mine) in ready.items():
            for bucket in mine:
                bucket.renew()
            if isinstance(state, stretto.torch.State):
                state.passes.drain()  # what follows a step is no other turn's time
            dist.barrier()
            sent, used, began = training.sent_by_this_host(), time.process_time(), time.perf_counter()
            for one in [function(state, bucket) for bucket in mine]:
                one.wait()
            seconds, used, sent = time.perf_counter() - began, time.process_time() - used, training.sent_by_this_host() - sent
            seconds, used = most(seconds), over_ranks(used, dist.ReduceOp.SUM)
            if turn >= 0:
                taken[name].append((seconds, sent, used))
    for name, found in taken.items():
        times = sorted(seconds for seconds, _, _ in found)
        write({"part": "communication", "name": name, "place": place, "ms": statistics.median(times) * 1e3, "fastest": times[0] * 1e3, "slowest": times[-1] * 1e3,
               "bytes": statistics.median(sent for _, sent, _ in found), "cpu": statistics.median(used for _, _, used in found) * 1e3,
               "turns": turns, "values": sum(values.numel() for values, _ in buckets), "codings": sorted(codings.get(name, ()))})
        state = ready[name][0]
        if isinstance(state, stretto.torch.State):
            state.free()


def steps(place, size, turns, rounds, names):
    """Whole steps of training, `turns` of each case in a row, in as many rounds."""
    taken, groups = {name: [] for name in names}, {"gloo": dist.group.WORLD, "stretto": dist.new_group(backend="stretto")}
    for _ in range(rounds):
        for name in names:
            run = training.Training(size, group=groups[CASES[name][0]], **CASES[name][1], **({"powersgd_start": 2} if name.startswith("PowerSGD") else {}))
            for turn in range(-3, turns):
                dist.barrier()
                row = run.step()
                if turn >= 0:
                    taken[name].append((most(row["seconds"]), row["wait"], row["bytes"]))
            run.free()
    for name, found in taken.items():
        waits = [wait for _, wait, _ in found if wait is not None]
        write({"part": "steps", "name": name, "place": place, "ms": statistics.median(seconds for seconds, _, _ in found) * 1e3,
               "wait": statistics.median(waits) * 1e3 if waits else None, "bytes": statistics.median(sent for _, _, sent in found), "size": size, "turns": len(found)})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    PART, ROWS, SETTINGS = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    dist.init_process_group("gloo")
    {"loss": loss, "communication": communication, "steps": steps}[PART](**SETTINGS)
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # several backends end in no fixed order
