"""A rank of a test with tensors of CUDA, which all ranks keep on the first GPU: STORE RANK SIZE [staged | times]. Compares the backend stretto and the hook
with what they mean, and says `fine`; with times, writes rows of JSON. EMULATED=1: tensors of emulated_cuda.py."""

import datetime
import json
import os
import statistics
import sys
import time
import warnings

import torch
import torch.distributed as dist

import stretto.torch

if os.environ.get("EMULATED"):
    import emulated_cuda

    emulated_cuda.stand_in_for_cuda()

store, rank, size, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), (sys.argv[4:] or [""])[0]
device = torch.device("cuda:0")
if "emulated_cuda" in sys.modules:
    on = emulated_cuda.tensor
    if mode == "staged":  # the memory itself is of the plugin
        stretto.torch.cuda.reason_to_stage = lambda: "no device"
else:
    torch.cuda.set_device(device)
    warnings.simplefilter("ignore")

    def on(values):
        return values.to(device)


op = dist.ReduceOp


DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.complex64)
if "emulated_cuda" not in sys.modules:
    DTYPES += torch.float64, torch.float16, torch.int32, torch.uint8


def begin(backend, name):
    dist.init_process_group(backend, store=dist.FileStore(f"{store}-{name}", size), rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))


def values(r, n=1000, dtype=torch.float32):
    return ((torch.arange(n) * 3 + 7 * r) % 11).to(dtype)


def same(got, expected):
    assert got.is_cuda and torch.equal(got.cpu(), expected), (got, expected)


def collectives():
    every = [values(r) for r in range(size)]
    total, root = torch.stack(every).sum(0), size - 1
    for later in (False, True):

        def call(function, *arguments, later=later, **keywords):
            work = function(*arguments, async_op=later, **keywords)
            if later:
                work.wait()

        for dtype in DTYPES:
            x = on(values(rank, dtype=dtype))
            call(dist.all_reduce, x)
            same(x, torch.stack([values(r, dtype=dtype) for r in range(size)]).sum(0, dtype=dtype))
        for word, expected in ((op.MAX, torch.stack(every).amax(0)), (op.AVG, total / size), (op.PRODUCT, torch.stack(every).prod(0))):
            x = on(values(rank))
            call(dist.all_reduce, x, word)
            torch.testing.assert_close(x.cpu(), expected)
        wide = torch.zeros(1000, 2, device=device)
        x = wide[:, 0]
        x.copy_(values(rank))
        call(dist.all_reduce, x)  # not contiguous
        same(x, total)
        x = on(values(rank))
        call(dist.reduce, x, root)
        if rank == root:
            same(x, total)
        x = on(values(rank))
        call(dist.broadcast, x, root)
        same(x, every[root])
        gathered = torch.empty(size * 1000, device=device)
        call(dist.all_gather_into_tensor, gathered, on(values(rank)))
        same(gathered, torch.cat(every))
        parts = [torch.empty(1000, device=device) for _ in range(size)]
        call(dist.all_gather, parts, on(values(rank)))
        for one, expected in zip(parts, every):
            same(one, expected)
        part = torch.empty(1000, device=device)
        call(dist.reduce_scatter_tensor, part, on(torch.cat([values(r) for r in range(size)])))
        same(part, size * every[rank])
        call(dist.all_to_all_single, gathered, on(torch.cat([values(rank + r) for r in range(size)])))
        same(gathered, torch.cat([values(s + rank) for s in range(size)]))
        call(dist.gather, on(values(rank)), parts if rank == root else None, root)
        if rank == root:
            for one, expected in zip(parts, every):
                same(one, expected)
        call(dist.scatter, part, [on(one) for one in every] if rank == root else None, root)
        same(part, every[rank])
    if rank == 0:
        dist.send(on(values(0)), 1)
    elif rank == 1:
        x = torch.empty(1000, device=device)
        dist.recv(x, 0)
        same(x, values(0))
    dist.barrier()
    x = on(torch.ones(1000))  # much work, then a call that must come after it, then work that must come after the call
    for _ in range(50):
        x = x * 1.0
    big = on(torch.randn(300, 300) if "emulated_cuda" in sys.modules else torch.randn(1500, 1500))
    for _ in range(2 if "emulated_cuda" in sys.modules else 20):
        big = big @ big.T / 1500
    x += big[0, 0] * 0
    for later in (False, True):
        work = dist.all_reduce(x, async_op=later)
        if later:
            work.wait()
        x = x * 2
    same(x, torch.full((1000,), 4.0 * size * size))
    future = dist.all_reduce(x, async_op=True).get_future()
    same(future.wait()[0], torch.full((1000,), 4.0 * size**3))


def refusals():
    for words, call in (("have devices cpu, cuda:0", lambda: dist.all_gather_into_tensor(torch.empty(10 * size), on(torch.ones(10)))),
                        ("no reduction BAND", lambda: dist.all_reduce(on(torch.ones(10)), op.BAND)),
                        ("'meta'", lambda: dist.group.WORLD.allreduce([torch.ones(10, device="meta")]))):
        try:
            call()
        except (ValueError, RuntimeError, NotImplementedError) as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


class Bucket:
    """A bucket of one parameter's gradients, as DistributedDataParallel gives it to a hook."""

    def __init__(self, parameter, gradients):
        self._parameter, self._gradients = parameter, gradients

    def index(self):
        return 0

    def buffer(self):
        return self._gradients

    def parameters(self):
        return [self._parameter]

    def gradients(self):
        return [self._gradients]

    def is_last(self):
        return True


def buckets():
    for how in ({}, {"rel": 1e-3}, {"abs": 1e-3}, {"rms": 0.05}, {"rms": 0.05, "error_feedback": True}, {"rel": 1e-3, "deterministic": True}, {"wire": "bf16"}):
        state, parameter, ahead = stretto.torch.State(**how), torch.nn.Parameter(torch.zeros(3000)), torch.zeros(3000)
        for step in range(2):
            every = [torch.randn(3000, generator=torch.Generator().manual_seed(10 * step + r)) for r in range(size)]
            mean = stretto.torch.hook(state, Bucket(parameter, on(every[rank]))).wait().cpu()
            ahead += mean - torch.stack(every).mean(0)
        assert ahead.abs().max() <= 2 * state.totals.promised_error + (0.03 if "wire" in how else 1e-5), (how, ahead.abs().max(), state.totals)
        assert "wire" in how or not how.keys() & {"error_feedback", "deterministic"} or state.totals.raw_calls == 0, (how, state.totals)
        sums = [torch.empty(3000, device=device) for _ in range(size)]
        dist.all_gather(sums, on(ahead))
        assert all(torch.equal(one.cpu(), ahead) for one in sums), how
        state.free()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


def train(state, steps=4):
    """The weights after some steps, flat."""
    torch.manual_seed(0)
    parallel = torch.nn.parallel.DistributedDataParallel(Model().to(device), bucket_cap_mb=0.05, device_ids=[0])
    if state is not None:
        parallel.register_comm_hook(state, stretto.torch.hook)
    optimizer, numbers = torch.optim.SGD(parallel.parameters(), 0.01), torch.Generator().manual_seed(rank + 1)
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(32, 64, generator=numbers).to(device)
        ((parallel(x) - x) ** 2).mean().backward()
        optimizer.step()
    if state is not None:
        state.free()
    return torch.cat([one.detach().flatten() for one in parallel.parameters()])


def hooks():
    exact = train(None)
    for how in ({}, {"rel": 1e-3}, {"rms": 0.01}, {"rms": 0.05, "error_feedback": True}, {"rel": 1e-3, "deterministic": True}, {"wire": "bf16"}):
        state = stretto.torch.State(**how)
        weights = train(state)
        every = [torch.empty_like(weights) for _ in range(size)]
        dist.all_gather(every, weights)
        assert all(torch.equal(one, weights) for one in every), how
        assert (weights - exact).abs().max() < 2e-4, (how, (weights - exact).abs().max())
        assert state.totals.steps == 4, state.totals
        if rank == 0:
            print(json.dumps({"hook": how, "largest difference": float((weights - exact).abs().max()), "totals": str(state.totals)}), flush=True)


def median_of(call, turns):
    times = []
    for _ in range(turns):
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def times():
    """Medians of all_reduce over the ranks of this job: by the device collectives, staged, and of gloo."""
    for way in ("stretto", "stretto, staged", "gloo"):
        stretto.torch.cuda.STAGED_UP_TO = 0
        stretto.torch.cuda.reason_to_stage = lambda way=way: "as the test says" if "staged" in way else ""
        begin(way.partition(",")[0], f"times-{way}")
        comm = stretto.init(dist.group.WORLD, name="times") if way == "stretto" else None
        for nbytes in (4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20):
            x = torch.rand(nbytes // 4, device=device)
            turns = 5 if nbytes > 10 << 20 else 21
            calls = {f"dist.all_reduce, {way}": lambda x=x: dist.all_reduce(x, op.MAX)}
            if comm is not None:
                calls["stretto.Comm.allreduce"] = lambda x=x: comm.allreduce(x, out=x, op="max")
                calls["stretto.Comm.allreduce, rel=1e-3"] = lambda x=x: comm.allreduce(x, out=x, op="max", rel=1e-3, payload="fused")
            for name, call in calls.items():
                for _ in range(3):
                    call()
                found = median_of(call, turns)
                if rank == 0:
                    print(json.dumps({"call": name, "bytes": nbytes, "ranks": size, "us": round(1e6 * found, 1), "transports": os.environ.get("UCX_TLS", "")}), flush=True)
        if comm is not None:
            comm.free()
        if rank == 0 and way != "gloo":
            print(json.dumps({"report": str(stretto.torch.report())}), flush=True)
        dist.destroy_process_group()


if mode == "times":
    times()
else:
    begin("stretto", "tests")
    if mode != "staged":  # a short call, then the device's
        short = on(values(rank))
        dist.all_reduce(short)
        same(short, torch.stack([values(r) for r in range(size)]).sum(0))
        report = stretto.torch.report()
        assert (report.short_calls, report.staged_calls, report.device_calls) == (1, 0, 0), report
        stretto.torch.cuda.STAGED_UP_TO = 0
    collectives()
    refusals()
    if mode != "staged":
        buckets()
        if "emulated_cuda" not in sys.modules:
            hooks()
    report = stretto.torch.report()
    assert (report.staged_calls > 0, report.device_calls > 0) == (mode == "staged", mode != "staged"), report
    if rank == 0:
        print(report, flush=True)
    dist.destroy_process_group()
print("fine", flush=True)
