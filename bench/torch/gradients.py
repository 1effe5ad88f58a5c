#!/usr/bin/env python3
"""What gradients lose at a rate: normalised mean squared errors of streams within bounds, beside int8, int4 and fp8 with a scale a block.

usage: gradients.py [--json FILE] [GRADIENTS]      (a directory that run_torch.py's part loss saved; also STRETTO_DATA_DIR's gradients, where they are)

A row a method: bits a value with all scales and headers; ||q(x) - x||^2 / ||x||^2 of each rank's gradients ("of a rank"), and of the mean over the ranks. A
bound is a fraction of the root mean square of all ranks' gradients in a bucket, as of stretto.torch.State(rms=...).
"""

import argparse
import json
import math
import os
import pathlib

import numpy as np
import torch

import stretto

BOUNDS = (0.02, 0.05, 0.1, 0.2, 1.0)
BLOCK, SCALE_BITS = 32, 16  # values per shared scale; bits of a scale, a bfloat16
SAVED = "gpt_grad_step10_8x443008.f32"


def by_blocks(values, largest, rounded):
    """Values after rounding in units of their block's largest absolute value / `largest`."""
    blocks = torch.nn.functional.pad(values, (0, -values.numel() % BLOCK)).view(-1, BLOCK)
    scale = (blocks.abs().amax(dim=1, keepdim=True) / largest).to(torch.bfloat16).float().clamp_min(torch.finfo(torch.float32).tiny)
    return rounded((blocks / scale).clamp(-largest, largest)).mul(scale).view(-1)[:values.numel()]


def of_streams(ranks, bound):
    """([each rank's values after compression], bits a value)."""
    eps = bound * math.sqrt(sum(float(one.double().square().sum()) for one in ranks) / sum(one.numel() for one in ranks))
    streams = [stretto.compress(one.numpy(), abs=eps) for one in ranks]
    return [torch.from_numpy(one.decompress()) for one in streams], sum(len(bytes(one)) for one in streams) * 8 / sum(one.numel() for one in ranks)


def blocked(bits, largest, rounded):
    return lambda ranks: ([by_blocks(one, largest, rounded) for one in ranks], bits + SCALE_BITS / BLOCK)


METHODS = {
    **{f"stretto rms {bound:g}": (lambda ranks, bound=bound: of_streams(ranks, bound)) for bound in BOUNDS},
    "bf16": lambda ranks: ([one.to(torch.bfloat16).float() for one in ranks], 16),
    f"int8, blocks of {BLOCK}": blocked(8, 127, torch.round),
    f"fp8 e4m3, blocks of {BLOCK}": blocked(8, 448, lambda values: values.to(torch.float8_e4m3fn).float()),
    f"int4, blocks of {BLOCK}": blocked(4, 7, torch.round),
}


def square(values):
    return float(values.double().square().sum())


def measured(buckets, method):
    """(bits a value, error of a rank's gradients, error of their mean) over buckets, each a list of flat tensors, one a rank."""
    bits = lost = had = mean_lost = mean_had = values = 0
    for ranks in buckets:
        after, its_bits = method(ranks)
        count = ranks[0].numel()
        bits, values = bits + its_bits * count, values + count
        lost, had = lost + sum(square(a - b) for a, b in zip(after, ranks)), had + sum(map(square, ranks))
        exact = sum(one.double() for one in ranks)
        mean_lost, mean_had = mean_lost + square(sum(one.double() for one in after) - exact), mean_had + square(exact)
    return bits / values, lost / had, mean_lost / mean_had


def sources(directory):
    """name: buckets."""
    files = sorted(directory.glob("rank*.pt")) if directory else []
    if files:
        ranks = [torch.load(file, weights_only=False) for file in files]
        for step in ranks[0]:
            yield f"step {step} of the example, {len(ranks)} ranks", [[one[step][at][0] for one in ranks] for at in range(len(ranks[0][step]))]
    file = pathlib.Path(os.environ.get("STRETTO_DATA_DIR", "."), SAVED)
    if file.exists():
        yield "step 10 of a transformer, 8 ranks", [list(torch.from_numpy(np.fromfile(file, np.float32).reshape(8, -1)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("gradients", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for source, buckets in sources(options.gradients):
        print(f"{source}: {sum(ranks[0].numel() for ranks in buckets)} values\n{'':22} bits a value   error of a rank   of the mean", flush=True)
        for name, method in METHODS.items():
            bits, rank, mean = measured(buckets, method)
            print(f"{name:22} {bits:12.2f}   {rank:15.2e}   {mean:11.2e}", flush=True)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as rows:
                    rows.write(json.dumps({"part": "error", "name": name, "place": source, "bits": bits, "nmse": rank, "nmse_mean": mean}) + "\n")


if __name__ == "__main__":
    main()
