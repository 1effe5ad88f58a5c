#!/usr/bin/env python3
"""Trains a small GPT on Python's own sources, and says what communication costs.

    torchrun --nproc-per-node 4 examples/training/train.py --hook stretto --rms 0.1 --feedback

Gradients are averaged over the ranks by DistributedDataParallel, or sharded by FSDP2 (--fsdp). A line every so many steps: losses, milliseconds of a step,
of these the wait for communication after the last gradient, megabytes that rank 0's hook of stretto sent to the network or as streams to shared memory, and those
that this host's network sent.
"""

import argparse
import json
import pathlib
import sys
import warnings

import gpt
import methods
import torch
import torch.distributed as dist
import training

import stretto.torch  # noqa: F401  the backend


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=("gloo", "stretto"), default="stretto", help="of torch.distributed (default stretto)")
    parser.add_argument("--hook", choices=methods.HOOKS, default="none", help="how gradients are averaged (default none: exactly)")
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument("--rms", type=float, help="bound of --hook stretto: a fraction of the gradients' root mean square")
    bound.add_argument("--rel", type=float, help="a fraction of their range")
    bound.add_argument("--abs", type=float, help="absolute")
    parser.add_argument("--feedback", action="store_true", help="add what the bound left out to the next step's gradients")
    parser.add_argument("--deterministic", action="store_true", help="the same bits for any schedule and order of arrival")
    parser.add_argument("--fsdp", action="store_true", help="shard the model (FSDP2)")
    parser.add_argument("--size", choices=gpt.SHAPES, default="10m", help="of the model (default 10m)")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=20, help="steps a line (default 20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=2, help="pieces of text a rank and step (default 2)")
    parser.add_argument("--context", type=int, default=64, help="bytes of a piece (default 64)")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate (default 0.001)")
    parser.add_argument("--json", type=pathlib.Path, help="write the lines to this file too, as JSON")
    given = parser.parse_args()
    for name in ("steps", "every", "batch", "context"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} {getattr(given, name)}: it takes a number of at least 1")
    taken = [name for name in ("rms", "rel", "abs", "feedback", "deterministic") if getattr(given, name)]
    if taken and given.hook != "stretto":
        parser.error(f"--hook {given.hook} takes no {', '.join(taken)}; --hook stretto does")
    if given.fsdp and (given.hook not in ("none", "stretto") or given.feedback):
        parser.error("--fsdp goes with --hook none or stretto, without --feedback")
    return given


def main():
    given = arguments()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group(given.backend)
    how = {"rms": given.rms, "rel": given.rel, "abs": given.abs, "error_feedback": given.feedback, "deterministic": given.deterministic}
    run = training.Training(given.size, given.hook, given.fsdp, given.seed, given.batch, given.context, given.rate, **{name: value for name, value in how.items() if value})
    if run.rank == 0:
        print(f"{sum(one.numel() for one in run.model.parameters()) / 1e6:.2f} million parameters, {run.ranks} ranks over {given.backend}, hook {given.hook}; "
              f"text: {run.train.numel() / 1e6:.1f} MB", flush=True)
    rows = []
    for row in run.course(given.steps, given.every):
        rows.append(row)
        if run.rank == 0:
            waits = "" if row["wait"] is None else f", wait {row['wait'] * 1e3:6.1f} ms"
            sent = f"{row['bytes'] / 1e6:.2f} MB over the network" if row["sent"] is None else f"{row['sent'] / 1e6:.2f} MB sent, {row['bytes'] / 1e6:.2f} over the network"
            print(f"step {row['step']:4}: loss {row['loss']:.4f}, validation {row['validation']:.4f}, {row['seconds'] * 1e3:7.1f} ms a step{waits}, "
                  f"{sent}", flush=True)
    if run.rank == 0:
        if hasattr(run.state, "totals"):
            waits = "" if rows[0]["wait"] is None else f"; {sum(row['wait'] * row['steps'] for row in rows):.3f} s of the steps waited for it"
            print(f"stretto: {run.state.totals}{waits}", flush=True)
        if given.json:
            given.json.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run.free()
    del run  # the model holds the group, whose threads must end before the interpreter does
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
