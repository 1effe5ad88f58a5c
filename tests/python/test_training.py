"""examples/training as a user starts it: it learns by every hook, alike on all of them."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import needs_torch  # noqa: F401

TRAINING = pathlib.Path(__file__).parents[2] / "examples" / "training" / "train.py"
STEPS = 30


def train(tmp_path, *arguments, ranks=2):
    """(what it said, losses of validation by time). Bytes and waits of the last line are the sums of those of the steps."""
    rows = tmp_path / "rows.json"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", TRAINING,
               "--size", "tiny", "--context", "32", "--steps", STEPS, "--every", 10, "--json", rows, *arguments]
    done = subprocess.run(list(map(str, command)), env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    if "stretto: " in done.stdout:
        sent = sum(line["sent"] * line["steps"] for line in lines)
        assert f", {sent:.0f} bytes sent of " in done.stdout or (sent == 0 and "no bytes sent: ranks of one host read raw values in shared memory" in done.stdout), done.stdout
        assert lines[0]["wait"] is None or f"{sum(line['wait'] * line['steps'] for line in lines):.3f} s of the steps waited" in done.stdout, done.stdout
    return done.stdout, [line["validation"] for line in lines]


def test_hook_within_a_bound_learns_as_gloo_does(tmp_path):
    said, exact = train(tmp_path, "--backend", "gloo")
    assert "2 ranks over gloo, hook none" in said and exact[0] > exact[1] > exact[2], exact
    said, bounded = train(tmp_path, "--hook", "stretto", "--rms", 0.1, "--feedback")
    assert f"stretto: {STEPS} steps" in said and abs(bounded[-1] - exact[-1]) < 0.1, (exact, bounded)


def test_sharded_model_learns_on_three_ranks(tmp_path):
    said, losses = train(tmp_path, "--fsdp", "--hook", "stretto", "--rms", 0.1, ranks=3)
    assert "stretto: " in said and losses[0] > losses[-1], losses


@pytest.mark.parametrize(("arguments", "words"), ((("--steps", "0"), "--steps 0: it takes a number of at least 1"), (("--hook", "bf16", "--rms", "0.1"), "--hook bf16 takes no rms"),
                                                  (("--fsdp", "--hook", "int8"), "--fsdp goes with --hook none or stretto")))
def test_arguments_that_do_not_go_together_are_refused(arguments, words):
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    done = subprocess.run([sys.executable, TRAINING, *arguments], env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode != 0 and words in done.stderr, done.stderr


def test_outer_step_of_the_page_trains_alike_on_all_ranks():
    program = pathlib.Path(__file__).with_name("torch_programs") / "diloco_program.py"
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", str(program)],
                          env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0 and done.stdout.count("fine") == 2, done.stdout + done.stderr


def test_residuals_follow_their_parameters_to_other_buckets():
    import torch  # noqa: PLC0415

    from stretto.torch.feedback import Residuals  # noqa: PLC0415

    a, b, c = parameters = [torch.zeros(size) for size in (2, 3, 4)]
    residuals = Residuals()

    def of(*bucket):
        return residuals.of(bucket, [one.numel() for one in bucket], a)

    for bucket in ((a, b), (c,)):
        flat = of(*bucket)
        flat += torch.arange(flat.numel()) + 10 * bucket[0].numel()
    assert of(a, b).tolist() == [20, 21, 22, 23, 24]
    moved = of(c, b)
    assert moved.tolist() == [40, 41, 42, 43, 22, 23, 24]
    moved += 1
    assert of(a).tolist() == [20, 21] and [one.tolist() for one in residuals.state()] == [[20, 21], [23, 24, 25], [41, 42, 43, 44]], parameters
    assert of(a, b).tolist() == [20, 21, 23, 24, 25]
