"""A rank of test_torch.py: DistributedDataParallel with stretto.torch.hook, compared with training without it. Says `fine`."""

import copy
import hashlib
import os
import sys
import warnings

import torch
import torch.distributed as dist

import stretto
import stretto.torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
SIZES = (64, 256)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.unused = torch.nn.Linear(*SIZES), torch.nn.Linear(*SIZES[::-1]), torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


def train(state, steps=4, dtype=torch.float32, poison=False, begin=None, compiled=False, **ddp):
    """(weights, gradients of the last step), flat, after some steps; state None: without the hook. begin: the weights after so many steps. compiled: by
    torch.compile, in whose code DDP calls the backend and autograd the hook."""
    torch.manual_seed(0)
    model = Model().to(dtype)
    if begin:
        torch.nn.utils.vector_to_parameters(begin[0], model.parameters())
    parallel = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=25 if compiled else 0.05, find_unused_parameters=True, **ddp)
    if state is not None:
        parallel.register_comm_hook(state, stretto.torch.hook)
    step = torch.compile(parallel, backend="aot_eager") if compiled else parallel
    optimizer, numbers = torch.optim.SGD(model.parameters(), 0.01), torch.Generator().manual_seed(rank + 1)
    for _ in range(begin[1] if begin else 0):
        torch.randn(32, SIZES[0], generator=numbers)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        x = torch.randn(32, SIZES[0], generator=numbers).to(dtype)
        if poison and rank == 1:
            x[0, 0] = float("nan")
        ((step(x) - x) ** 2).mean().backward()
        optimizer.step()
    if state is not None:
        state.free()
    flat = [torch.cat([one.detach().float().flatten() for one in values]) for values in (model.parameters(), [p.grad for p in model.parameters() if p.grad is not None])]
    return flat[0], flat[1]


def same_on_all_ranks(values):
    every = [torch.empty_like(values) for _ in range(size)]
    dist.all_gather(every, values)
    return all(torch.equal(one, values) for one in every)


def own_bounds(calls, schedule=None, excluded=(), kind="rms", fraction=0.05):
    """Parameters of a bucket have bounds of their own, and residuals; small ones are exact, which counts as one call with others or as one more."""
    torch.manual_seed(0)
    # 4 exact values at the beginning join 65536 others, whose last group then has 4 values, which are sent as they are.
    model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 4))
    model[0].forward = lambda x: x
    with torch.no_grad():
        model[3].weight.mul_(100)
    alone = copy.deepcopy(model)  # gradients of this rank
    left_out = [model[at].weight for at in excluded]
    state, seen = stretto.torch.State(**{kind: fraction}, per_parameter=True, error_feedback=True, schedule=schedule, exclude=left_out), []
    parallel = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
    parallel.register_comm_hook(state, lambda state, bucket: seen.extend(bucket.parameters()) or stretto.torch.hook(state, bucket))
    x = torch.randn(32, 64, generator=torch.Generator().manual_seed(rank + 1))
    for one in (parallel, alone):
        ((one(x) - 1) ** 2).mean().backward()
    assert state.totals.calls == calls, state.totals
    own, bounds = dict(zip(map(id, model.parameters()), alone.parameters())), []
    for parameter, left in zip(seen, state.state_dict()["residuals"], strict=True):
        gradient = own[id(parameter)].grad
        if gradient is None:
            assert not left.any()
            continue
        squares, entered = gradient.square().mean() / size, (gradient - left.view_as(gradient)) / size
        for one in (squares, entered):
            dist.all_reduce(one)
        torch.testing.assert_close(parameter.grad, entered, rtol=1e-5, atol=2e-6 * squares.sqrt().item())
        if gradient.numel() < 2000 or any(parameter is one for one in left_out):
            assert not left.any()
            continue
        ends = torch.stack([-gradient.min(), gradient.max()])
        dist.all_reduce(ends, op=dist.ReduceOp.MAX)
        bounds.append(fraction * (squares.sqrt() if kind == "rms" else ends.sum()).item())
        assert bounds[-1] / 2 < left.abs().max() <= bounds[-1] * (1 + 1e-6), (left.abs().max(), bounds)
    assert len(bounds) == 2 - len(excluded), bounds
    state.free()
    return state.totals


deterministic = sys.argv[1] == "deterministic"
dist.init_process_group("stretto" if deterministic else sys.argv[1])
rank, size = dist.get_rank(), dist.get_world_size()
if deterministic:
    said = []
    per_parameter = len(sys.argv) > 2  # small ones are exact then, for which such schedules are refused
    for how in ({"segment": 4096}, {"coding": "dense"}) if per_parameter else ({"schedule": "ring", "segment": 4096}, {"schedule": "recursive_doubling"}):
        weights, _ = train(stretto.torch.State(rms=0.02, error_feedback=True, per_parameter=per_parameter, deterministic=True, **how))
        said.append(f"hash {hashlib.sha256(weights.numpy().tobytes()).hexdigest()}")
    print("\n".join([*said, "fine"]), flush=True)
    dist.destroy_process_group()
    sys.exit()

if sys.argv[2:] == ["parts"]:  # between hosts several bounds travel in one call, and exact values in another
    os.environ["STRETTO_HOST"] = f"host{rank % 2}"
    bucket = 4 * (64 * 1024 + 1024 + 4 * 1024 + 4 + 4)  # bytes, which each of two ranks sends once
    for excluded, *bound in (((),), ((1,),), ((), "rel", 0.01)):
        totals = own_bounds(2, None, excluded, *bound)
        assert totals.raw_bytes == bucket if size == 2 else 0 < totals.raw_bytes <= 2 * bucket, totals
    print("fine", flush=True)
    dist.barrier()
    os._exit(0)

exact, gradients = train(None)
for how in ({}, {"rel": 1e-3}, {"abs": 1e-5}, {"rms": 0.01}, {"rms": 0.05, "error_feedback": True}, {"rms": 0.05, "per_parameter": True, "error_feedback": True},
            {"rel": 1e-3, "error_feedback": True}, {"rms": 0.02, "coding": "dense", "payload": "fused"},
            {"rel": 1e-3, "deterministic": True}, {"wire": "bf16"}, {"rms": 0.01, "warmup_steps": 2, "deterministic": True, "log": True}):
    state = stretto.torch.State(**how)
    weights, _ = train(state)
    assert same_on_all_ranks(weights), how
    assert (weights - exact).abs().max() < 2e-4, (how, (weights - exact).abs().max())
    assert state.totals.steps == 4 and state.totals.calls >= 8, state.totals
    assert state.totals.rounded_calls == (state.totals.calls if "wire" in how else 0), state.totals
    assert ("beside the rounding to bfloat16" in str(state.totals)) == ("wire" in how), state.totals
    raw = not how.keys() & {"deterministic", "error_feedback", "payload"}  # on one host no stream pays
    assert (state.totals.raw_calls == state.totals.calls) if raw else state.totals.raw_calls < state.totals.calls, (how, state.totals)

# One step from equal weights: the promised error holds against the exact mean.
for how in ({"abs": 1e-4, "payload": "fused"}, {"rms": 0.05, "deterministic": True}):
    state = stretto.torch.State(**how)
    difference = (train(state, steps=1)[1] - train(None, steps=1)[1]).abs().max().item()
    assert 0 < difference <= state.totals.promised_error * 1.01 + 1e-7, (how, difference, state.totals)
    assert state.totals.bytes_sent < state.totals.raw_bytes
for dtype in (torch.float16, torch.bfloat16):
    assert same_on_all_ranks(train(stretto.torch.State(rms=0.05, error_feedback=True), dtype=dtype)[0])

assert (train(stretto.torch.State(rms=0.05, error_feedback=True), compiled=True)[0] - exact).abs().max() < 2e-4

# A NaN of one rank is seen by all, whatever the bound; zero gradients stay zero.
for how in ({"rms": 0.01}, {"rel": 1e-3}, {"wire": "bf16"}, {"rms": 0.01, "error_feedback": True, "per_parameter": True}):
    assert train(stretto.torch.State(**how), steps=1, poison=True)[1].isnan().any(), how

own_bounds(1)
own_bounds(1, "node")

# The residuals survive a checkpoint: two steps and two steps equal four steps, bit for bit.
feedback = {"abs": 1e-3, "error_feedback": True, "deterministic": True}
state = stretto.torch.State(**feedback)
half, _ = train(state, steps=2)
saved = state.state_dict()
assert saved["steps"] == 2 and any(one.any() for one in saved["residuals"])
assert all(one.abs().max() <= 1.01e-3 for one in saved["residuals"])  # each is what the last call left out
ends = []
for residuals in (saved["residuals"], []):
    other = stretto.torch.State(**feedback)
    other.load_state_dict({**saved, "residuals": residuals})
    ends.append(train(other, steps=2, begin=(half, 2))[0])
    assert other.totals.steps == 4
whole, _ = train(stretto.torch.State(**feedback), steps=4)
assert torch.equal(ends[0], whole) and not torch.equal(ends[1], whole)

# An excluded parameter is exact.
torch.manual_seed(0)
model = Model()
state = stretto.torch.State(abs=1e-2, payload="fused", exclude=[model.one.weight], error_feedback=True)
parallel = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
parallel.register_comm_hook(state, stretto.torch.hook)
x = torch.randn(8, SIZES[0], generator=torch.Generator().manual_seed(rank))
((parallel(x) - x) ** 2).mean().backward()
plain = torch.nn.parallel.DistributedDataParallel(Model(), find_unused_parameters=True)
plain.module.load_state_dict(model.state_dict())
((plain(x) - x) ** 2).mean().backward()
torch.testing.assert_close(model.one.weight.grad, plain.module.one.weight.grad, rtol=1e-6, atol=1e-9)
assert not torch.equal(model.two.weight.grad, plain.module.two.weight.grad)
try:
    parallel.register_comm_hook(state, stretto.torch.hook)
except RuntimeError as error:
    assert "can only be called once" in str(error), error
else:
    sys.exit("a hook was registered twice")
state.free()

for given, words in (({"abs": 1, "rel": 1}, "the bound is given 2 times"), ({"rms": -1}, "rms is -1"), ({"wire": "int8"}, "'bf16' or None"),
                     ({"wire": "bf16", "rel": 1e-3}, "takes one of them"), ({"warmup_steps": -1}, "warmup_steps is -1"), ({"schedule": 5}, "schedule is 5"),
                     ({"bound": 1}, "State has no keyword 'bound'; there are abs, rel, rms, scope, per_parameter, error_feedback, deterministic, warmup_steps"),
                     ({"rel": .1, "exclude": 3}, "exclude has 3; it takes a list"), ({"group": "x"}, "group is 'x'"), ({"error_feedback": True}, "give abs=, rel= or rms="),
                     ({"per_parameter": True}, "per_parameter=True gives each parameter a bound of its own; give abs="),
                     ({"abs": 1, "error_feedback": True, "payload": "cprp2p"}, "residual with payload 'cprp2p'")):
    try:
        stretto.torch.State(**given)
    except (stretto.StrettoError, TypeError) as error:
        assert words in str(error), error
    else:
        sys.exit(f"State({given}) was accepted")
print("fine", flush=True)
dist.barrier()
os._exit(0)
