"""Collectives of arrays: every one against NumPy on ranks that are threads; requests, disagreement, failures, and what is refused."""

import array
import asyncio
import concurrent.futures
import ctypes
import mmap
import queue

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings, strategies as some  # noqa: E402
from hypothesis.extra import numpy as some_numpy  # noqa: E402

import stretto  # noqa: E402
from stretto.api import options  # noqa: E402

try:
    stretto.threads(1)(lambda comm: None)()
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

quick = settings(max_examples=12, deadline=None, derandomize=True, database=None)
RANKS = 3
DTYPES = (np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def on_ranks(function, n=RANKS):
    return stretto.threads(n)(function)()


def numbers(dtype, shape=(6, 5)):
    """One small exact array a rank."""
    return [(np.arange(np.prod(shape)).reshape(shape) % 7 + r).astype(dtype) for r in range(RANKS)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_collective_of_every_dtype_in_and_out_of_place(dtype):
    x = numbers(dtype)
    total, flat = sum(x), [one.reshape(-1) for one in x]

    def body(comm):
        r, mine = comm.rank, x[comm.rank]

        def same(got, expected):
            assert got[0].dtype == dtype and np.array_equal(got[0], expected), (got, expected)
            assert isinstance(got[1], stretto.Report)

        same(comm.allreduce(mine), total)
        buffer = mine.copy()
        same(comm.allreduce(buffer, out=buffer), total)
        same(comm.allreduce_multi([mine] * r, out=np.empty_like(mine)), sum(k * one for k, one in enumerate(x)).astype(dtype))
        reduced = comm.reduce(mine, root=1)
        assert np.array_equal(reduced[0], total) if r == 1 else reduced[0] is None
        same(comm.scan(mine), sum(x[:r + 1]))
        buffer = mine.copy()
        same(comm.scan(buffer, out=buffer), sum(x[:r + 1]))
        same(comm.scan(mine, schedule="recursive_doubling"), sum(x[:r + 1]))
        for out in (None, mine.copy()):
            below = comm.exscan(mine, out=out, schedule="chain")
            assert np.array_equal(below[0], sum(x[:r])) if r > 0 else below[0] is None and (out is None or np.array_equal(out, mine))
        buffer = mine.copy()
        comm.exscan(stretto.IN_PLACE, out=buffer)
        assert np.array_equal(buffer, sum(x[:r]) if r > 0 else mine)
        same(comm.reduce_scatter(mine), total[2 * r:2 * r + 2])
        counts = [0, 10, 20]
        same(comm.reduce_scatter(mine, counts=counts), total.reshape(-1)[sum(counts[:r]):sum(counts[:r + 1])])
        same(comm.allgather(mine), np.stack(x))
        every = np.zeros((RANKS, 6, 5), dtype)
        every[r] = mine
        same(comm.allgather(stretto.IN_PLACE, out=every), np.stack(x))
        every = np.zeros(RANKS * 30, dtype)
        every[30 * r:30 * r + 30] = flat[r]
        same(comm.allgather(stretto.IN_PLACE, out=every.copy()), np.concatenate(flat))
        gathered = comm.gather(stretto.IN_PLACE if r == 1 else flat[r], out=every if r == 1 else None, root=1)
        assert np.array_equal(gathered[0], np.concatenate(flat)) if r == 1 else gathered[0] is None
        gathered = comm.gather(mine, root=2)
        assert np.array_equal(gathered[0], np.stack(x)) if r == 2 else gathered[0] is None
        counts = [4, 0, 9]
        expected = np.concatenate([one[:n] for one, n in zip(flat, counts)])
        same(comm.allgatherv(flat[r][:counts[r]], counts), expected)
        gathered = comm.gatherv(flat[r][:counts[r]], counts if r == 0 else None)
        assert np.array_equal(gathered[0], expected) if r == 0 else gathered[0] is None
        buffer = mine.copy()
        same(comm.bcast(buffer, root=2), x[2])
        same(comm.scatter(np.stack(x) if r == 1 else None, None if r == 1 else np.empty((6, 5), dtype), root=1), mine)
        same(comm.scatterv(flat[0] if r == 0 else None, [7, 3, 2] if r == 0 else None, None if r == 0 else np.empty([7, 3, 2][r], dtype)),
             flat[0][:12][[0, 7, 10][r]:[7, 10, 12][r]])
        same(comm.alltoall(mine), np.concatenate([one[2 * r:2 * r + 2] for one in x]))
        same(comm.alltoallv(flat[r], [r + 1] * RANKS, [1, 2, 3]), np.concatenate([one[r * (s + 1):(r + 1) * (s + 1)] for s, one in enumerate(flat)]))
        assert comm.barrier()[0] is None

    on_ranks(body)


@quick
@given(some_numpy.arrays(np.float32, some.tuples(some.just(RANKS), some.integers(0, 300)), elements=some.floats(-1000, 1000, width=32)),
       some.floats(1e-3, 10), some.sampled_from(("contribution", "result", None)))
def test_sums_are_within_the_bound_and_the_same_on_all_ranks(x, bound, scope):
    how = {"scope": scope} if scope else {}
    results = on_ranks(lambda comm: comm.allreduce(x[comm.rank], abs=bound, **how))
    promised = RANKS * bound if scope == "contribution" else bound
    expected = x.astype(float).sum(axis=0)
    for out, report in results:
        assert report.promised_error <= promised * (1 + 1e-12)
        assert (np.abs(out - expected) <= promised + np.spacing(np.abs(out)) * 2).all()
        assert report.error_with_rounding >= report.promised_error
        assert (np.abs(out - expected) <= report.error_with_rounding).all()
        assert np.array_equal(out, results[0][0])


def test_out_is_any_writable_memory():
    x = numbers(np.float32)

    def body(comm):
        for out in (bytearray(120), memoryview(bytearray(120)), array.array("f", [0] * 30), (ctypes.c_float * 30)(), memoryview(np.empty((6, 5), np.float32)),
                    np.empty((6, 5), np.float32), mmap.mmap(-1, 120)):
            assert comm.allreduce(x[comm.rank], out=out)[0] is out
            assert np.array_equal(np.frombuffer(out, np.float32), sum(x).reshape(-1))
        for kind, words, out in ((stretto.ArgumentError, "out is read-only", bytes(120)), (stretto.ArgumentError, "out is read-only", memoryview(b"1" * 120)),
                                 (stretto.ArgumentError, r"out has shape \(29,\)", bytearray(116)), (stretto.ArgumentError, "out has dtype uint8", bytearray(7)),
                                 (stretto.ArgumentError, "out has dtype float64", array.array("d", [0] * 30)),
                                 (stretto.ArgumentError, "out has dtype uint8", np.empty(120, np.uint8)),
                                 (TypeError, "out is a str", "text")):
            with pytest.raises(kind, match=words):
                comm.allreduce(x[comm.rank], out=out)

    on_ranks(body)


def test_requests_are_waited_for_in_any_order_tested_and_awaited():
    x = numbers(np.float64)

    def body(comm):
        out = np.empty_like(x[0])
        first, second, third = comm.iallreduce(x[comm.rank], out=out), comm.iallgather(x[comm.rank]), comm.ibarrier()
        gathered, report = second.wait()
        while not first.test():
            pass
        assert first.wait()[0] is out and np.array_equal(out, sum(x)) and np.array_equal(gathered, np.stack(x))
        assert report.algorithm and third.wait()[0] is None

        async def both():
            return await asyncio.gather(*map(asyncio.ensure_future, (as_coroutine(comm.iallreduce(x[comm.rank])), as_coroutine(comm.ibcast(out)))))

        async def as_coroutine(request):
            return await request

        assert np.array_equal(asyncio.run(both())[0][0], sum(x))

    on_ranks(body)


def test_a_future_and_callbacks_complete_while_nobody_waits():
    x = numbers(np.float32)

    def body(comm):
        told = queue.SimpleQueue()
        first, second = comm.iallreduce(x[comm.rank]), comm.iallgather(x[comm.rank])
        future = second.get_future()
        first.add_done_callback(lambda request: told.put(request.wait()))
        assert isinstance(future, concurrent.futures.Future)
        assert np.array_equal(told.get()[0], sum(x))
        result, report = future.result()
        assert np.array_equal(result, np.stack(x)) and isinstance(report, stretto.Report)
        second.add_done_callback(told.put)  # complete already
        assert told.get() is second and second.wait()[0] is result

        class Own:
            def set_result(self, value):
                told.put(value)

        comm.ibarrier().get_future(Own)
        assert told.get()[0] is None
        many = [comm.iallreduce(x[comm.rank]).get_future() for _ in range(5)]
        assert np.array_equal(comm.allreduce(x[comm.rank])[0], sum(x))  # the communicator serves calls meanwhile
        assert all(np.array_equal(one.result()[0], sum(x)) for one in many)

    on_ranks(body)


def test_a_future_has_the_error_and_survives_raising_callbacks(caplog):
    def body(comm):
        if comm.rank:
            return
        request = comm.iallreduce(np.ones(3), timeout=0.2)
        request.add_done_callback(lambda _: 1 / 0)
        future = request.get_future()
        with pytest.raises(stretto.WaitTimeoutError, match="rank 1"):
            future.result()
        with pytest.raises(stretto.WaitTimeoutError, match="rank 1"):
            request.wait()

    on_ranks(body, 2)
    assert "a callback of a request raised" in caplog.text and "ZeroDivisionError" in caplog.text


def test_a_split_has_the_ranks_of_a_color_in_the_order_of_keys():
    def body(comm):
        part = comm.split(None if comm.rank == 4 else comm.rank % 2, key=-comm.rank)
        if comm.rank == 4:
            assert part is None
            assert comm.split().size == 5
            return
        members = [2, 0] if comm.rank % 2 == 0 else [3, 1]
        assert (part.size, part.rank) == (2, members.index(comm.rank))
        assert part.allgather(np.array([comm.rank]))[0].reshape(-1).tolist() == members
        alone = part.split(part.rank)  # a split of a split
        assert (alone.size, alone.allreduce(np.ones(2))[0].tolist()) == (1, [1, 1])
        every = comm.split()
        assert (every.rank, every.size) == (comm.rank, 5)
        part.free()
        with pytest.raises(stretto.ArgumentError, match="was freed"):
            part.barrier()

    on_ranks(body, 5)


def test_a_rank_that_raises_ends_the_ranks_of_parts_too():
    def body(comm):
        part = comm.split(comm.rank // 2)
        if comm.rank == 3:
            raise KeyError("mine")
        part.barrier()
        if comm.rank == 2:
            raise AssertionError("the barrier of rank 3 succeeded")

    with pytest.raises(KeyError, match="mine"):
        on_ranks(body, 4)


@pytest.mark.parametrize("ranks", [1, 3])
def test_bfloat16_halves_bytes_and_gives_equal_bits(ranks):
    x = np.random.default_rng(5).standard_normal((ranks, 5000)).astype(np.float32)

    def body(comm):
        total, report = comm.allreduce(x[comm.rank], payload="bfloat16")
        mean, _ = comm.iallreduce(x[comm.rank], op="mean", payload="bfloat16").wait()
        moved, _ = comm.allgather(x[comm.rank], payload="bfloat16")
        return total, mean, moved, report

    results = on_ranks(body, ranks)
    for total, mean, moved, report in results:
        assert report.payload == "bfloat16" and report.promised_error == np.inf and report.ratio == (2 if ranks > 1 else 1)
        assert total.tobytes() == results[0][0].tobytes() and mean.tobytes() == results[0][1].tobytes()
        assert not np.any(total.view(np.uint32) & 0xFFFF) and not np.any(moved.view(np.uint32) & 0xFFFF)
        assert np.all(np.abs(total - x.astype(np.float64).sum(0)) <= (ranks + 1) * 2.0**-8 * np.abs(x).sum(0))
        assert np.allclose(moved.reshape(ranks, -1), x, rtol=2.0**-8)


RESIDUALS = [dict(abs=1e-2), dict(abs=1e-2, payload="homomorphic", scope="contribution"), dict(rel=1e-3), dict(rel=1e-3, op="mean"), dict(abs=1e-2, op="difference"),
             dict(abs=1e-2, payload="raw"), dict(), dict(rel=1e-3, in_place=True), dict(abs=1e-2, schedule="ring")]


@pytest.mark.parametrize("how", RESIDUALS, ids=str)
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.complex64))
def test_residuals_are_what_the_sum_left_out(how, dtype):
    how = dict(how)
    in_place = how.pop("in_place", False)
    ranks = 5
    x = [(np.random.default_rng(r).standard_normal(3001) + (1j if dtype is np.complex64 else 0) * r).astype(dtype) for r in range(ranks)]
    x[1][7], x[2][9] = np.inf, np.nan

    def body(comm):
        mine, left = x[comm.rank].copy(), np.full(3001, 7, dtype)
        out, report = comm.allreduce(mine, out=mine if in_place else None, residual=left, **how)
        again = np.full(3001, 7, dtype)
        comm.iallreduce(x[comm.rank], residual=again, **how).wait()
        assert np.array_equal(left, again)
        return out, left, report

    results = stretto.threads(ranks)(body)()
    report, finite = results[0][2], np.isfinite(sum(x))
    if report.eps:  # bit for bit: the exact sum, in code space, of streams of what each rank let in
        streams = [stretto.compress(one, abs=report.eps) for one in x]
        if how.get("op") == "difference":
            expected = streams[0] - stretto.sum(streams[1:])
        else:
            expected = stretto.sum(streams)
        assert np.array_equal((expected.mean(ranks) if how.get("op") == "mean" else expected.decompress())[finite], results[0][0][finite])
        for r, (_, left, _) in enumerate(results):
            kept = np.isfinite(x[r])
            assert np.array_equal(left[kept], x[r][kept] - streams[r].decompress()[kept]) and not left[~kept].any() and left.any()
    else:
        assert all(not left.any() for _, left, _ in results) and ("payload" in how or not how)


def test_error_feedback_keeps_the_mean_of_many_sums_exact():
    def body(comm):
        x = np.random.default_rng(comm.rank).standard_normal(1000)
        left, total = np.zeros(1000), 0
        for _ in range(50):
            given_in = x + left
            total = total + comm.allreduce(given_in, residual=left, abs=0.5)[0]
        return x, left, total

    results = on_ranks(body)
    assert np.allclose(results[0][2] + sum(left for _, left, _ in results), 50 * sum(x for x, _, _ in results), rtol=0, atol=1e-9)


def test_relative_residuals_ignore_ranks_without_values():
    def body(comm):
        x = np.array([[np.nan] * 4, [5, 6, 7, 8], [6, 6, 6, np.inf]][comm.rank], float)
        left = np.empty(4)
        assert comm.allreduce(x, rel=1e-2, scope="contribution", residual=left)[1].eps == pytest.approx(0.03)
        assert comm.allreduce(np.full(4, 2.0), rel=1e-2, residual=left)[1].eps == 0 and not left.any()

    on_ranks(body)


def test_segments_fail_alike_and_the_communicator_serves_on():
    def body(comm):
        with pytest.raises(stretto.IncompatibleError, match="count differs: 1 on rank 0, 3 on rank 2"):
            comm.allreduce(np.ones(6), segments=[(1 + comm.rank, {}), (0, {}), (5 - comm.rank, {})])
        assert comm.allreduce(np.ones(6))[0].tolist() == [3] * 6

    on_ranks(body)


def test_segments_have_bounds_of_their_own():
    x = [np.random.default_rng(r).standard_normal((50, 100)).astype(np.float32) for r in range(RANKS)]
    segments = [(1000, dict(abs=1e-1)), (24, {}), (0, {}), (976, dict(abs=None, payload="raw")), (3000, dict(rel=1e-3, scope="contribution"))]

    def body(comm):
        out, report = comm.allreduce(x[comm.rank], segments=segments, abs=1e-2)
        assert out.shape == (50, 100) and len(report.segments) == 5
        errors = np.abs(out - np.sum(x, axis=0, dtype=float)).reshape(-1)
        for (count, _), one, at in zip(segments, report.segments, (0, 1000, 1024, 1024, 2000)):
            assert not count or errors[at:at + count].max() <= one.error_with_rounding
        assert errors[1000:1024].max() <= 1e-2 + 1e-6 and report.promised_error == max(one.promised_error for one in report.segments)
        assert report.segments[3].promised_error == 0
        buffer, left = x[comm.rank].copy(), np.empty_like(x[comm.rank])
        same = comm.iallreduce(buffer, out=buffer, residual=left, segments=segments, abs=1e-2).get_future().result()[0]
        assert same is buffer and np.abs(buffer.reshape(-1)[1024:2000] - out.reshape(-1)[1024:2000]).max() <= 1e-5 and left[0].any() and not left.reshape(-1)[1024:2000].any()

    on_ranks(body)


@pytest.mark.parametrize("ranks", (2, 3))
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("in_place", (False, True))
def test_parts_keep_their_bounds_in_one_call_and_have_residuals(ranks, dtype, in_place):
    parts = ((700, 1e-1), (0, 1.0e-3), (1301, 1e-4), (1000, 1e-2))
    x = [np.random.default_rng(r).standard_normal(3001).astype(dtype) for r in range(ranks)]

    def body(comm):
        mine, left = x[comm.rank].copy(), np.full(3001, 7, dtype)
        out, report = comm.allreduce(mine, out=mine if in_place else None, op="mean", parts=parts, payload="fused", residual=left)
        again = np.full(3001, 7, dtype)
        other, _ = comm.iallreduce(x[comm.rank], op="mean", parts=list(parts), payload="homomorphic", residual=again).wait()
        assert np.array_equal(out, other) and np.array_equal(left, again)
        return out, left, report

    results = stretto.threads(ranks)(body)()
    report, mean, at = results[0][2], np.mean(np.asarray(x, np.float64), axis=0), 0
    assert report.eps == 1e-1 and report.promised_error == 1e-1 and all(np.array_equal(out, results[0][0]) for out, _, _ in results)
    entered = np.mean([np.asarray(one, np.float64) - left for one, (_, left, _) in zip(x, results)], axis=0)
    rounding = 1e-6 if dtype is np.float32 else 1e-14
    for count, bound in parts:
        here = slice(at, at + count)
        if count:
            assert bound / 2 < np.abs(results[0][0][here] - mean[here]).max() <= bound * (1 + 1e-6) + rounding
            assert all(bound / 2 < np.abs(left[here]).max() <= bound for _, left, _ in results)
        assert np.allclose(results[0][0][here], entered[here], rtol=0, atol=rounding)
        at += count


@pytest.mark.parametrize("ranks", (2, 3, 5))
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_residuals_of_parts_of_odd_lengths_are_what_no_schedule_sends(ranks, dtype):
    parts = ((1020, 1e-1), (7172, 1e-2), (4100, 1e-3), (1, 1e-1), (3, 1e-2), (1025, 1e-1))
    x = [np.random.default_rng(r).standard_normal(sum(count for count, _ in parts)).astype(dtype) for r in range(ranks)]

    def body(comm):
        found = []
        for schedule in ("ring", "recursive_doubling", "rabenseifner"):
            left = np.full_like(x[0], 7)
            out, _ = comm.allreduce(x[comm.rank], parts=parts, payload="fused", schedule=schedule, residual=left)
            found.append((out, left))
        assert all(np.array_equal(out, found[0][0]) and np.array_equal(left, found[0][1]) for out, left in found)
        return found[0]

    results = stretto.threads(ranks)(body)()
    entered = np.sum([np.asarray(one, np.float64) - left for one, (_, left) in zip(x, results)], axis=0)
    np.testing.assert_allclose(results[0][0], entered, rtol=0, atol=ranks * (1e-6 if dtype is np.float32 else 1e-14))


@pytest.mark.parametrize("dtype", (np.complex64, np.complex128))
def test_parts_of_complex_arrays_count_elements(dtype):
    x = (np.random.default_rng(5).standard_normal(3000) * (1 + 2j)).astype(dtype)

    def body(comm):
        left = np.empty_like(x)
        out, _ = comm.allreduce(x, parts=[(1000, 1e-1), (2000, 1e-3)], payload="fused", residual=left)
        assert np.array_equal(out, comm.iallreduce(x, parts=[(1000, 1e-1), (2000, 1e-3)], payload="fused").wait()[0])
        error = np.maximum(np.abs((out - comm.size * x).real), np.abs((out - comm.size * x).imag))
        assert 1e-2 < error[:1000].max() <= 1.01e-1 and error[1000:].max() <= 1.01e-3
        np.testing.assert_allclose(out, comm.size * (x - left), rtol=0, atol=1e-5)

    on_ranks(body)


def test_parts_may_be_none_and_are_not_remembered():
    def body(comm):
        x = np.arange(6.0)
        assert np.array_equal(comm.allreduce(x, parts=None)[0], comm.allreduce(x)[0])
        before = options._options.cache_info().currsize
        for bound in (1e-3, 2e-3, 3e-3):
            comm.allreduce(x, parts=iter([(6, bound)]), payload="fused")
        return options._options.cache_info().currsize - before

    assert stretto.threads(1)(body)() == [0]


def test_parts_that_say_nothing_are_refused():
    def body(comm):
        x = np.ones(6)
        for how, error, words in (({"parts": [(6, 1)], "abs": 1, "payload": "fused"}, stretto.BoundError, "given twice: abs=1 and parts"),
                                  ({"parts": [(6, 0)], "payload": "fused"}, stretto.BoundError, "the bound of a part is 0"), ({"parts": [6], "payload": "fused"}, TypeError, "parts has 6"),
                                  ({"parts": [(-1, 1)], "payload": "fused"}, stretto.ArgumentError, "parts has -1 elements"),
                                  ({"parts": [(5, 1)], "payload": "fused"}, stretto.ArgumentError, "parts have 5 elements, the vector 6"),
                                  ({"parts": [(6, 1)]}, stretto.UnsupportedError, "payload auto")):
            with pytest.raises(error, match=words):
                comm.allreduce(x, **how)
        with pytest.raises(stretto.UnsupportedError, match="parts with bcast"):
            comm.bcast(x, parts=[(6, 1)], payload="fused")

    on_ranks(body)


def test_ranks_that_differ_each_raise_what_differs():
    def body(comm, call):
        with pytest.raises(stretto.IncompatibleError) as told:
            call(comm)
        return str(told.value)

    for call, words in ((lambda comm: comm.allreduce(np.ones(5 + comm.rank)), "count differs: 5 on rank 0, 7 on rank 2"),
                        (lambda comm: comm.allreduce(np.ones(5, (np.float32, np.float64)[comm.rank % 2])), "type differs: f32 on rank 0, f64 on rank 1"),
                        (lambda comm: comm.allreduce(np.ones(5), abs=1 + comm.rank), "bound differs: 1 on rank 0, 3 on rank 2")):
        assert all(words in told for told in stretto.threads(RANKS)(body)(call)), words


def test_missing_ranks_are_named_and_raising_ranks_end_others():
    def late(comm):
        if comm.rank:
            return
        with pytest.raises(stretto.WaitTimeoutError, match="rank 1"):
            comm.allreduce(np.ones(3), timeout=0.2)

    on_ranks(late, 2)

    def raises(comm):
        if comm.rank == 1:
            raise KeyError("mine")
        if comm.rank == 0:
            comm.ibarrier().wait()
        elif comm.rank == 2:
            comm.barrier()
        request = comm.ibarrier()
        while not request.test():
            pass

    with pytest.raises(KeyError, match="mine"):
        on_ranks(raises, 4)


REFUSED = [
    (stretto.BoundError, "abs is -1", dict(abs=-1)),
    (stretto.BoundError, "given twice", dict(abs=1, rel=1)),
    (stretto.BoundError, "rel is nan", dict(rel=float("nan"))),
    (TypeError, "rel is 'a'", dict(rel="a")),
    (TypeError, r"abs is array\(0.001\); it takes a number", dict(abs=np.array(1e-3))),
    (stretto.ArgumentError, r"scope is \[\]; it takes", dict(scope=[])),
    (TypeError, "no option 'bound'", dict(bound=1)),
    (stretto.ArgumentError, "scope is 'all'; it takes contribution, result", dict(scope="all")),
    (stretto.ArgumentError, "op is 'average'", dict(op="average")),
    (stretto.ArgumentError, "payload is 3", dict(payload=3)),
    (stretto.ArgumentError, "segment is -1", dict(segment=-1)),
    (stretto.UnsupportedError, "no schedule 'nope'", dict(schedule="nope")),
    (stretto.ArgumentError, "timeout is NaN", dict(timeout=float("nan"))),
    (stretto.ArgumentError, r"out has shape \(3,\); the result \(4,\)", dict(out=np.empty(3))),
    (stretto.ArgumentError, "out has dtype float32", dict(out=np.empty(4, np.float32))),
    (stretto.ArgumentError, "not contiguous", dict(out=np.empty(4)[::-1])),
    (stretto.ArgumentError, "read-only", dict(out=np.broadcast_to(0.0, 4))),
    (TypeError, "out is a list", dict(out=[])),
]


@pytest.mark.parametrize(("kind", "words", "how"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_an_exception_that_names_it(kind, words, how):
    def body(comm):
        with pytest.raises(kind, match=words):
            comm.allreduce(np.ones(4), **how)

    on_ranks(body, 1)


def test_other_arguments_that_are_wrong():
    def body(comm):
        x = np.arange(6.0)
        for kind, words, call in (
                (stretto.ArgumentError, "overlap", lambda: comm.allreduce(x[:4], out=x[2:])),
                (stretto.ArgumentError, "residual has dtype float32", lambda: comm.allreduce(x, residual=np.empty(6, np.float32))),
                (stretto.ArgumentError, "residual overlaps x", lambda: comm.allreduce(x, residual=x)),
                (TypeError, "residual is a list", lambda: comm.allreduce(x, residual=[0] * 6)),
                (stretto.UnsupportedError, "residual with op 'max'", lambda: comm.allreduce(x, op="max", residual=np.empty(6))),
                (stretto.UnsupportedError, "payload bfloat16 takes f32, not f64", lambda: comm.allreduce(x.astype(np.float64), payload="bfloat16")),
                (stretto.UnsupportedError, "residual with payload 'bfloat16'", lambda: comm.allreduce(x, payload="bfloat16", residual=np.empty(6))),
                (stretto.UnsupportedError, "residual with payload 'cprp2p'", lambda: comm.allreduce(x, abs=1, payload="cprp2p", residual=np.empty(6))),
                (stretto.ArgumentError, "segments are 5 elements together; x has 6", lambda: comm.allreduce(x, segments=[(5, {})])),
                (stretto.ArgumentError, "segments has -1 elements", lambda: comm.allreduce(x, segments=[(-1, {}), (7, {})])),
                (TypeError, "segments has 6; it takes pairs", lambda: comm.allreduce(x, segments=[6])),
                (TypeError, "no option 'bound'", lambda: comm.allreduce(x, segments=[(6, dict(bound=1))])),
                (stretto.ArgumentError, "color is -1; it takes 0 to 2147483647, or None", lambda: comm.split(-1)),
                (stretto.ArgumentError, "color is 1.5", lambda: comm.split(1.5)),
                (stretto.ArgumentError, "key is None; it takes -2147483648", lambda: comm.split(0, None)),
                (stretto.ArgumentError, "root 5", lambda: comm.bcast(x, root=5)),
                (stretto.ArgumentError, "root is 'a'", lambda: comm.bcast(x, root="a")),
                (stretto.ArgumentError, "root is array", lambda: comm.scatter(x, root=np.arange(2))),
                (stretto.ArgumentError, "root is None", lambda: comm.gather(x, root=None)),
                (TypeError, "arrays_ is a memoryview", lambda: comm.allreduce_multi(memoryview(np.ones((2, 2))))),
                (stretto.NoMemoryError, "shape .281474976710655,. and dtype float64", lambda: comm.alltoallv(x, [1], [2**48 - 1])),
                (stretto.ArgumentError, "counts has 2 numbers", lambda: comm.allgatherv(x, [3, 3])),
                (stretto.ArgumentError, "counts has -1", lambda: comm.allgatherv(x, [-1])),
                (TypeError, "gives counts=", lambda: comm.allgatherv(x, None)),
                (stretto.ArgumentError, "x holds 6 elements; 7 are needed", lambda: comm.allgatherv(x, [7])),
                (stretto.UnsupportedError, "op 'prod' of complex128", lambda: comm.allreduce(x + 1j, op="prod")),
                (TypeError, "dtype object", lambda: comm.allreduce(np.array([None]))),
                (TypeError, "no communicator of mpi4py", lambda: stretto.Comm(comm))):
            with pytest.raises(kind, match=words):
                call()
        comm.free()
        with pytest.raises(stretto.ArgumentError, match="was freed"):
            comm.allreduce(x)

    on_ranks(body, 1)
    with pytest.raises(stretto.ArgumentError, match="0 ranks"):
        stretto.threads(0)
