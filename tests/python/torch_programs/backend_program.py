"""A rank of test_torch.py: each collective of torch.distributed over the backend, compared with what it means. Says `fine`."""

import datetime
import os
import pathlib
import sys
import threading
import time
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh

import stretto
import stretto.torch
from stretto.torch.group import Group, _open
from stretto.torch.lane import Lane

warnings.simplefilter("ignore")
torch.set_num_threads(1)
backend, here = sys.argv[1], pathlib.Path(sys.argv[2])
dist.init_process_group(backend, timeout=datetime.timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
world, op = dist.group.WORLD, dist.ReduceOp
every = range(size)

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def refused(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"nothing was raised; expected {words!r}")


def reductions():
    for dtype in (*FLOATS, *INTEGERS, torch.complex64, torch.bool):
        mine = [(torch.arange(7) % (2 + r)).to(dtype) for r in every]
        stacked = torch.stack(mine)
        wide = stacked.to(torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else torch.int64)
        expected = {op.SUM: wide.sum(0)}
        if not dtype.is_complex:
            expected |= {op.PRODUCT: wide.prod(0), op.MIN: wide.amin(0), op.MAX: wide.amax(0)}
        if dtype.is_floating_point:
            expected[op.AVG] = wide.mean(0)
        elif not dtype.is_complex:
            bits = [stacked[0].clone() for _ in range(3)]
            for one in stacked[1:]:
                bits = [bits[0] & one, bits[1] | one, bits[2] ^ one]
            expected |= dict(zip((op.BAND, op.BOR, op.BXOR), bits))
        for word, result in expected.items():
            result = result.bool() if dtype == torch.bool else result.to(dtype)
            for values in (mine[rank].clone(), mine[rank].repeat_interleave(2)[::2]):  # contiguous, and not
                for _ in range(2):  # the second call is prepared
                    got = values.clone(memory_format=torch.preserve_format) if values.is_contiguous() else mine[rank].repeat_interleave(2)[::2]
                    dist.all_reduce(got, word)
                    torch.testing.assert_close(got, result, rtol=2e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-6, atol=0)
            out = torch.empty_like(result)
            if not dtype.is_complex:
                dist.reduce_scatter_single(out, mine[rank].repeat(size), op=word)
                torch.testing.assert_close(out, result, rtol=2e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-6, atol=0)
    scaled = torch.full((3,), float(rank + 1))
    dist.all_reduce(scaled, torch._C._distributed_c10d._make_nccl_premul_sum(0.5))
    assert scaled.tolist() == [size * (size + 1) / 4] * 3
    refused(stretto.UnsupportedError, "no reduction AVG of torch.int64", lambda: dist.all_reduce(torch.ones(2, dtype=torch.int64), op.AVG))
    refused(stretto.UnsupportedError, "no reduction BAND of torch.float32", lambda: dist.all_reduce(torch.ones(2), op.BAND))
    refused(stretto.UnsupportedError, "layout torch.sparse_coo", lambda: dist.all_reduce(torch.ones(2).to_sparse()))
    at_root = torch.full((4,), float(rank))
    dist.reduce(at_root, size - 1, op.MAX)
    assert rank != size - 1 or at_root.tolist() == [size - 1.0] * 4
    parts = [torch.full((r + 1,), float(rank + r)) for r in every]
    out = torch.empty(rank + 1)
    dist.reduce_scatter(out, parts)
    assert out.tolist() == [sum(r + rank for r in every)] * (rank + 1)
    flat = torch.arange(2.0 * size)
    dist.reduce_scatter_single(flat[2 * rank:2 * rank + 2], flat)  # in place
    assert flat[2 * rank] == 2 * rank * size


def moves():
    for dtype in (*FLOATS, *INTEGERS, torch.complex64, torch.bool, torch.uint16, torch.float8_e4m3fn):
        values = torch.full((2, 3), rank).to(dtype)
        for source in every:
            got = values.clone()
            dist.broadcast(got, source)
            assert (got.float() == torch.full((2, 3), source).to(dtype).float()).all()
        for one in (values, values.t().contiguous().t()):
            outs = [torch.empty(2, 3, dtype=dtype) for _ in every]
            dist.all_gather(outs, one)
            assert all((out.float() == torch.full((2, 3), r).to(dtype).float()).all() for r, out in enumerate(outs))
        flat = torch.empty(2 * size, 3, dtype=dtype)
        for _ in range(2):
            dist.all_gather_single(flat, values)
        assert (flat[2 * rank].float() == values[0].float()).all() and (flat[-1].float() == torch.full((3,), size - 1).to(dtype).float()).all()
    flat = torch.zeros(3 * size)
    flat[3 * rank:3 * rank + 3] = rank
    dist.all_gather_single(flat, flat[3 * rank:3 * rank + 3])  # in place
    assert flat.tolist() == [float(r) for r in every for _ in range(3)]
    uneven = [torch.empty(r) for r in every]
    dist.all_gather(uneven, torch.full((rank,), float(rank)))
    assert [one.tolist() for one in uneven] == [[float(r)] * r for r in every]
    out = torch.empty(size)
    dist.all_to_all_single(out, torch.arange(float(size)) + 10 * rank)
    assert out.tolist() == [10.0 * r + rank for r in every]
    rows = torch.full((sum(every), 2), float(rank))
    out = torch.empty(rank * size, 2)
    dist.all_to_all_single(out, rows, [rank] * size, list(every))
    assert out.tolist() == [[float(r)] * 2 for r in every for _ in range(rank)]
    outs = [torch.empty(r + 1) for r in every]
    dist.all_to_all(outs, [torch.full((rank + 1,), float(rank)) for _ in every])
    assert [one.tolist() for one in outs] == [[float(r)] * (r + 1) for r in every]
    outs = [torch.empty(2) for _ in every] if rank == 1 else None
    dist.gather(torch.full((2,), float(rank)), outs, 1)
    assert rank != 1 or [one[0].item() for one in outs] == list(every)
    out = torch.empty(2)
    dist.scatter(out, [torch.full((2,), float(r)) for r in every] if rank == 1 else None, 1)
    assert out.tolist() == [rank] * 2
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in every]
    objects = [rank]
    dist.broadcast_object_list(objects, 1)
    assert objects == [1]
    dist.barrier()
    refused(stretto.ArgumentError, "output of all_gather_single has 5 elements", lambda: world.all_gather_single(torch.empty(5), torch.empty(3)) if stretto.torch.VERSION < (2, 14)
            else world._get_backend(torch.device("cpu")).all_gather_single(torch.empty(5), torch.empty(3)))


def started():
    works = [dist.all_reduce(torch.full((1000,), float(i)), async_op=True) for i in range(20)]
    futures = [one.get_future() for one in works]
    for i, (work, future) in enumerate(zip(works, futures)):
        work.wait()
        assert future.wait()[0][0] == i * size
        if stretto.torch.VERSION < (2, 14):  # later versions hand out a Work of their own, which forwards wait() and get_future() alone
            assert work.is_completed() and work.is_success() and work.result()[0][0] == i * size
    # One rank waits at once and another does not: both make the same call.
    values = torch.ones(5)
    work = dist.all_reduce(values, async_op=rank == 0)
    if work is not None:
        work.wait()
    assert values[0] == size
    with dist.distributed_c10d._coalescing_manager():
        first, second = torch.ones(2), torch.ones(3)
        dist.all_reduce(first, op.MAX)
        dist.all_reduce(second, op.MAX)
    assert first[0] == 1 and second[0] == 1
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
        outs = [torch.empty(size * n) for n in (1, 2)]
        for out in outs:
            dist.all_gather_single(out, torch.full((out.numel() // size,), float(rank)))
    manager.wait()
    assert outs[1][-1] == size - 1


def large_sums_of_several_hosts():
    """They take two communicators in turns. Calls on the same memory, and all other calls, keep their order."""
    width, Group._width = Group._width, lambda self: 2  # these ranks share a host
    group = dist.new_group()
    many = [torch.full((1 << 18,), i + 1.0) for i in range(5)]
    works = [dist.all_reduce(one, group=group, async_op=True) for one in (*many, many[4])]
    works += [dist.broadcast(many[3], 1, group=group, async_op=True), dist.all_reduce(many[0], group=group, async_op=True)]
    dist.all_reduce(many[1], group=group)
    assert all(_open[group.group_name]._comms) and _open[group.group_name].lane.calls == 9
    for work in works:
        work.wait()
    assert [one[-1].item() for one in many] == [1.0 * size**2, 2.0 * size**2, 3.0 * size, 4.0 * size, 5.0 * size**2]
    dist.destroy_process_group(group)
    Group._width = width

    lane, said, a, b = Lane("test", lambda: 2), [], torch.ones(9), torch.ones(9)
    begun, ended = threading.Event(), threading.Event()
    lane.start([a], lambda side: said.append((side, begun.wait(60))), beside=True)
    lane.start([b], lambda side: (said.append(side), begun.set()), beside=True).wait()
    lane.drain()
    assert said == [1, (0, True)], said
    for later in ({"tensors": [a[4:]], "beside": True}, {"tensors": []}):
        said.clear()
        lane.start([a], lambda side: said.append(ended.wait(0.1)), beside=True)
        lane.start(call=lambda *side: (said.append("later"), ended.set()), **later)
        lane.drain()
        assert said == [False, "later"], said
        ended.clear()
    assert lane.close(60)


def messages():
    after, before = (rank + 1) % size, (rank - 1) % size
    got = torch.empty(3)
    for one in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((3,), float(rank)), after), dist.P2POp(dist.irecv, got, before)]):
        one.wait()
    assert got[0] == before
    if rank == 0:
        dist.send(torch.ones(3, 2).t()[::2], 1, tag=5)
    elif rank == 1:
        got = torch.empty(1, 3)
        # From 2.14 on torch does not ask the Work of a Python backend for the source of a message.
        assert dist.recv(got, 0 if stretto.torch.VERSION >= (2, 14) else None, tag=5) == 0 and got.sum() == 3


def groups():
    pair = dist.new_group([size - 1, 0])
    if rank in (0, size - 1):
        values = torch.full((4,), float(rank))
        dist.all_reduce(values, group=pair)
        assert values[0] == size - 1
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("all",))
    values = torch.ones(2)
    dist.all_reduce(values, group=mesh.get_group("all"))
    assert values[0] == size
    assert functional.all_reduce(torch.ones(3), "sum", world)[0] == size
    assert functional.all_gather_tensor(torch.ones(2), 0, world).sum() == 2 * size
    assert functional.reduce_scatter_tensor(torch.ones(2 * size), "avg", 0, world).sum() == 2
    compiled = torch.compile(lambda x: functional.all_reduce(x * 2, "sum", world) + 1, backend="aot_eager")
    assert compiled(torch.ones(3))[0] == 2 * size + 1
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    model(torch.full((2, 8), float(rank))).sum().backward()
    torch.testing.assert_close(model.module.weight.grad, torch.full((8, 8), 2 * sum(every) / size))


def taken_by_gloo():
    """Whether gloo's group, which torch 2.13 asks where a method is not overridden, was given a collective."""
    inner = getattr(world, "_messages", None)
    return 0 if inner is None else inner._get_sequence_number_for_group()


before = taken_by_gloo()
reductions()
moves()
started()
large_sums_of_several_hosts()
groups()
assert taken_by_gloo() == before, "a collective went to gloo"
messages()
dist.destroy_process_group()

# Again, in the same process. A rank that does not come is named, by every call that waits for it.
dist.init_process_group("cpu:stretto" if backend == "stretto" else "stretto", timeout=datetime.timedelta(seconds=3))
values = torch.ones(2)
dist.all_reduce(values)
assert values[0] == size
if rank == size - 1:
    while not all((here / f"told{r}").exists() for r in range(size - 1)):
        time.sleep(0.01)
else:
    refused(stretto.WaitTimeoutError, str(size - 1), lambda: dist.all_reduce(values))
    refused(RuntimeError, "", lambda: dist.all_reduce(values, async_op=True).wait())
    (here / f"told{rank}").touch()
    while not all((here / f"told{r}").exists() for r in range(size - 1)):
        time.sleep(0.01)
print("fine", flush=True)
sys.stdout.flush()
os._exit(0)
