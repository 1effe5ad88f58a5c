"""Arrays in the memory of a GPU in every collective and in the codec: those of an emulated device and, on a machine with a GPU, CuPy's and torch's."""

import ctypes
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import stretto
from gpu_arrays import DLPack, Emulator, Interface, Library
from stretto.api.core import _core

EMULATED = "emulated" in os.environ.get("STRETTO_CUDA_PLUGIN", "")
try:
    _core.cuda_available()
except stretto.UnsupportedError as error:
    pytest.skip(f"no device: {error}", allow_module_level=True)


class OfLibrary:
    """Arrays of a class of gpu_arrays."""

    bfloat16 = False

    def of(self, values, device):
        return Library.of(values, device)

    def numpy(self, x):
        return x.numpy()

    def empty(self, like):
        return like.new_empty(like.shape)


class OfDLPack(OfLibrary):
    def of(self, values, device):
        return DLPack(Interface.of(values, device))

    def empty(self, like):
        return DLPack(Interface(like.array.shape, like.array.dtype, like.array.device))


class OfCuPy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")

    def of(self, values, device):
        return self.cupy.asarray(values)

    def numpy(self, x):
        assert isinstance(x, self.cupy.ndarray)
        return x.get()

    def empty(self, like):
        return self.cupy.empty_like(like)


class OfTorch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")

    def of(self, values, device):
        return self.torch.from_numpy(np.array(values)).to(f"cuda:{device}")

    def numpy(self, x):
        assert isinstance(x, self.torch.Tensor) and x.is_cuda
        return x.cpu().numpy()

    def empty(self, like):
        return self.torch.empty_like(like)


class WithDLPackAlone:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


class OfCuPyByDLPack(OfCuPy):
    def of(self, values, device):
        made = WithDLPackAlone(super().of(values, device))
        self.cupy.cuda.get_current_stream().synchronize()
        return made

    def numpy(self, x):
        return super().numpy(x.array)

    def empty(self, like):
        return WithDLPackAlone(super().empty(like.array))


KINDS = {"library": OfLibrary, "dlpack": OfDLPack} if EMULATED else {"cupy": OfCuPy, "torch": OfTorch, "dlpack": OfCuPyByDLPack}
MAKING = [name for name in KINDS if name != "dlpack"]  # those that make new arrays
DEVICES = 3 if EMULATED else 1
RANKS = (1, 2, 3)
DTYPES = (np.float32, np.float64, np.float16, np.complex64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def of_ranks(ranks, body, share=False):
    """body(comm, device) on so many ranks, each with a device of its own or, with `share`, all with the first."""
    return stretto.threads(ranks)(lambda comm: body(comm, 0 if share else comm.rank % DEVICES))()


def values_of(rank, shape, dtype=np.float32):
    """Small integers, whose sums are exact in every order and type."""
    return ((np.arange(np.prod(shape)).reshape(shape) * 3 + 7 * rank) % 11).astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_collective_gives_numpys_result(kind, ranks):
    gpu = KINDS[kind]()

    def body(comm, device):
        p, rank, started = comm.size, comm.rank, (False, True)
        shape = (6, 5)
        mine, every = values_of(rank, shape), [values_of(r, shape) for r in range(p)]
        total, flat = np.sum(every, axis=0), [one.reshape(-1) for one in every]
        root, counts = p - 1, [4 + 3 * r for r in range(p)]
        offsets = np.cumsum([0, *counts])
        ragged = [values_of(r, (counts[r],)) for r in range(p)]
        parts = np.stack([values_of(rank + r, (4,)) for r in range(p)])
        every_part = [np.stack([values_of(s + r, (4,)) for r in range(p)]) for s in range(p)]

        def on(values):
            return gpu.of(values, device)

        def same(got, expected):
            if expected is None:
                assert got is None
            else:
                found = gpu.numpy(got)
                assert found.dtype == expected.dtype and found.shape == expected.shape
                np.testing.assert_array_equal(found, expected)

        def empty(values):
            return gpu.empty(on(values))

        for later in started:

            def call(name, *arguments, **keywords):
                if not later:
                    return getattr(comm, name)(*arguments, **keywords)[0]
                return getattr(comm, "i" + name)(*arguments, **keywords).wait()[0]

            at_root = rank == root
            out = empty(total)
            assert call("allreduce", on(mine), out=out) is out
            same(out, total)
            same(call("allreduce", on(mine), out=empty(total), op="max"), np.max(every, axis=0))
            both = on(mine)
            assert call("allreduce", both, out=both) is both
            same(both, total)
            same(call("allreduce_multi", [on(mine), on(mine)], out=empty(total)), 2 * total)
            same(call("reduce", on(mine), root=root, **({"out": empty(total)} if at_root else {})), total if at_root else None)
            same(call("reduce_scatter", on(np.concatenate(every)), out=empty(mine)), p * every[rank])
            whole = np.concatenate(ragged)
            same(call("reduce_scatter", on(whole), out=empty(ragged[rank]), counts=counts), p * ragged[rank])
            same(call("allgather", on(mine), out=empty(np.stack(every))), np.stack(every))
            same(call("gather", on(mine), root=root, **({"out": empty(np.stack(every))} if at_root else {})), np.stack(every) if at_root else None)
            same(call("allgatherv", on(ragged[rank]), counts, out=empty(whole)), whole)
            same(call("gatherv", on(ragged[rank]), **({"counts": counts, "out": empty(whole)} if at_root else {}), root=root), whole if at_root else None)
            sent = on(every[rank])
            assert call("bcast", sent, root=root) is sent
            same(sent, every[root])
            same(call("scatter", on(np.stack(every)) if at_root else None, out=empty(mine), root=root), mine)
            same(call("scatterv", on(whole) if at_root else None, counts if at_root else None, out=empty(ragged[rank]), root=root), ragged[rank])
            same(call("alltoall", on(parts), out=empty(parts)), np.stack([every_part[s][rank] for s in range(p)]))
            sizes = [4] * p
            same(call("alltoallv", on(parts.reshape(-1)), sizes, sizes, out=empty(parts.reshape(-1))), np.concatenate([every_part[s][rank] for s in range(p)]))
            assert comm.barrier()[0] is None
            block = np.zeros(offsets[-1], np.float32)
            block[offsets[rank]:offsets[rank + 1]] = ragged[rank]
            gathered = on(block)
            call("allgatherv", stretto.IN_PLACE, counts, out=gathered)
            same(gathered, whole)
        assert len(flat) == p
        while not comm.device_done():
            pass

    of_ranks(ranks, body)
    of_ranks(ranks, body, share=True)


@pytest.mark.parametrize("kind", MAKING)
def test_new_results_are_arrays_of_the_same_library(kind):
    gpu = KINDS[kind]()

    def body(comm, device):
        mine, every = values_of(comm.rank, (6, 2)), [values_of(r, (6, 2)) for r in range(comm.size)]

        def same(got, expected):
            np.testing.assert_array_equal(gpu.numpy(got), expected)

        x = gpu.of(mine, device)
        total = np.sum(every, axis=0)
        same(comm.allreduce(x)[0], total)
        same(comm.iallreduce(x).wait()[0], total)
        same(comm.allgather(x)[0], np.stack(every))
        same(comm.reduce_scatter(x)[0], total[2 * comm.rank:2 * comm.rank + 2])
        same(comm.allgatherv(gpu.of(mine.reshape(-1), device), [12] * comm.size)[0], np.concatenate([one.reshape(-1) for one in every]))
        same(comm.alltoall(x)[0][:2] if hasattr(x, "reshape") else comm.alltoall(x)[0], every[0][2 * comm.rank:2 * comm.rank + 2] if hasattr(x, "reshape") else
             np.concatenate([one[2 * comm.rank:2 * comm.rank + 2] for one in every]))
        report = comm.allreduce(x)[1]
        assert report.device_carrier == "peer" if EMULATED else report.device_carrier, report

    of_ranks(3, body)


@pytest.mark.parametrize("kind", MAKING)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_dtype_is_reduced_on_the_device(kind, dtype):
    gpu = KINDS[kind]()

    def body(comm, device):
        every = [values_of(r, (33,), dtype) for r in range(comm.size)]
        np.testing.assert_array_equal(gpu.numpy(comm.allreduce(gpu.of(every[comm.rank], device))[0]), np.sum(every, axis=0, dtype=dtype))

    of_ranks(3, body)


@pytest.mark.parametrize("kind", MAKING)
def test_bounds_residuals_and_segments_are_those_of_the_host(kind):
    gpu = KINDS[kind]()

    def body(comm, device):
        x = np.random.default_rng(comm.rank).standard_normal(3000).astype(np.float32)
        x[5] = np.inf if comm.rank == 1 else 1
        for bound in ({"abs": 1e-2}, {"rel": 1e-2}, {"abs": 1e-2, "scope": "contribution"}):
            left = np.empty_like(x)
            a, l = gpu.of(x, device), gpu.of(x, device)
            expected, told = comm.allreduce(x, residual=left, **bound)
            found, report = comm.allreduce(a, residual=l, **bound)
            assert (report.eps, report.promised_error, report.payload) == (told.eps, told.promised_error, told.payload)
            np.testing.assert_array_equal(gpu.numpy(found), expected)
            np.testing.assert_array_equal(gpu.numpy(l), left)
            parts = [(1000, {"abs": 0.1, "payload": "fused"}), (2000, {"abs": 1e-3, "payload": "fused"})]
            comm.iallreduce(a, out=a, residual=l, segments=parts).wait()
            host = x.copy()
            comm.allreduce(host, out=host, residual=left, segments=parts)
            np.testing.assert_array_equal(gpu.numpy(a), host)
            np.testing.assert_array_equal(gpu.numpy(l), left)
        for left in ({}, {"residual": l}):
            with pytest.raises(stretto.UnsupportedError, match="parts with memory of a device"):
                comm.allreduce(a, parts=[(1000, 0.1), (2000, 1e-3)], payload="fused", **left)

    of_ranks(3, body)


@pytest.mark.parametrize("kind", MAKING)
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.float16, np.complex64), ids=lambda dtype: np.dtype(dtype).name)
def test_streams_have_the_bytes_of_the_host(kind, dtype):
    gpu, numbers = KINDS[kind](), np.random.default_rng(1)
    x, y = (numbers.standard_normal((50, 100)).astype(dtype) for _ in range(2))
    x[3, 4] = np.nan
    a, b = gpu.of(x, 0), gpu.of(y, 0)
    for bound in ({"abs": 1e-2}, {"rel": 1e-2}):
        s, host = stretto.compress(a, **bound), stretto.compress(x, checksum=False, **bound)
        assert bytes(s) == bytes(host) and s.to_host() == host
        assert (s.eps, s.contributions, s.nbytes, s.shape, s.dtype, s.ratio) == (host.eps, 1, host.nbytes, x.shape, x.dtype, host.ratio)
        np.testing.assert_array_equal(gpu.numpy(s.decompress()), host.decompress())
        out = gpu.empty(a)
        assert s.decompress(out=out) is out
        np.testing.assert_array_equal(gpu.numpy(out), host.decompress())
    s, t = (stretto.compress(one, abs=1e-2) for one in (a, b))
    hs, ht = (stretto.compress(one, abs=1e-2, checksum=False) for one in (x, y))
    pairs = [(s + t, hs + ht), (s - t, hs - ht), (s + b, hs + y), (stretto.sum([s, t, s]), stretto.sum([hs, ht, hs]))]
    if np.dtype(dtype).kind != "c":
        pairs += [(s.min(t), hs.min(ht)), (s.max(s + t), hs.max(hs + ht))]
    for found, expected in pairs:
        assert bytes(found) == bytes(expected)
        assert (found.contributions, found.promised_error) == (expected.contributions, expected.promised_error)
    np.testing.assert_array_equal(gpu.numpy((s + t).mean()), (hs + ht).mean())
    np.testing.assert_array_equal(gpu.numpy(type(s).of(hs, a).decompress()), hs.decompress())
    np.testing.assert_array_equal(np.asarray(s.reshape(5000)), hs.reshape(5000).decompress())


@pytest.mark.parametrize("kind", MAKING)
def test_dense_streams_of_a_gpu_hold_the_values_of_fixed_ones(kind):
    gpu, t = KINDS[kind](), np.arange(70000)
    x, y = (np.sin(0.01 * t * k).astype(np.float32) for k in (1, 3))
    a, b = gpu.of(x, 0), gpu.of(y, 0)
    s, dense = (stretto.compress(a, abs=1e-3, coding=coding) for coding in ("fixed", "dense"))
    assert (s.coding, dense.coding) == ("fixed", "dense") and dense.nbytes < s.nbytes
    assert dense.to_host().coding == "dense" and bytes(type(s).of(dense.to_host(), a)) == bytes(dense)
    other = stretto.compress(b, abs=1e-3)
    for found, expected in ((dense, s), (dense + other, s + other), (other - dense, other - s), (dense + b, s + b), (dense.max(other), s.max(other)),
                            (dense.reshape(700, 100), s.reshape(700, 100))):
        assert (found.coding, expected.coding) == ("dense", "fixed")
        np.testing.assert_array_equal(gpu.numpy(found.decompress()), gpu.numpy(expected.decompress()))
        np.testing.assert_array_equal(found.to_host().decompress(), expected.to_host().decompress())


@pytest.mark.parametrize("kind", MAKING)
def test_streams_refuse_by_name(kind):
    gpu = KINDS[kind]()
    x = np.arange(100, dtype=np.float32)
    s, host = stretto.compress(gpu.of(x, 0), abs=0.5), stretto.compress(x, abs=0.5)
    for error, words, call in (
            (stretto.BoundError, "need a bound", lambda: stretto.compress(gpu.of(x, 0))),
            (stretto.BoundError, "abs is -1", lambda: stretto.compress(gpu.of(x, 0), abs=-1)),
            (stretto.UnsupportedError, "int32", lambda: stretto.compress(gpu.of(x.astype(np.int32), 0))),
            (stretto.UnsupportedError, "marks=", lambda: stretto.compress(gpu.of(x, 0), abs=1, marks=[-1])),
            (stretto.ArgumentError, "memory of the host", lambda: s + host),
            (stretto.ArgumentError, "memory of the host", lambda: s + x),
            (stretto.ArgumentError, "out is memory of the host", lambda: s.decompress(out=np.empty_like(x))),
            (stretto.ArgumentError, "out has dtype float64", lambda: s.decompress(out=gpu.of(x.astype(float), 0))),
            (stretto.IncompatibleError, "0.5 and 1", lambda: s + stretto.compress(gpu.of(x, 0), abs=1)),
            (stretto.IncompatibleError, "(100,)", lambda: s + stretto.compress(gpu.of(x[:50], 0), abs=0.5)),
            (stretto.UnsupportedError, "to_host", lambda: s * 2),
            (stretto.UnsupportedError, "to_host", lambda: s[:5]),
            (stretto.UnsupportedError, "to_host", lambda: stretto.concatenate([s, s])),
            (stretto.UnsupportedError, "coding='shaped'", lambda: stretto.compress(gpu.of(x, 0), abs=1, coding="shaped")),
            (stretto.ArgumentError, "coding is 'thick'", lambda: stretto.compress(gpu.of(x, 0), abs=1, coding="thick")),
            (stretto.ArgumentError, "like is a ndarray", lambda: type(s).of(host, x))):
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value), raised.value


def refused(comm, error, words, call):
    """What a rank alone is refused before the call; every rank calls."""
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value), raised.value
    comm.barrier()


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_host_and_device_meet_in_one_call(kind):
    gpu = KINDS[kind]()

    def body(comm, device):
        x = values_of(comm.rank, (1000,))
        total = np.sum([values_of(r, (1000,)) for r in range(comm.size)], axis=0)
        for later in (False, True):
            if comm.rank == 1:
                given, out = x, np.empty_like(x)
            else:
                given = gpu.of(x, device)
                out = gpu.empty(given)
            found = (comm.iallreduce(given, out=out).wait() if later else comm.allreduce(given, out=out))[0]
            np.testing.assert_array_equal(found if comm.rank == 1 else gpu.numpy(found), total)

    of_ranks(3, body)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_arrays_are_refused_by_name(kind):
    gpu = KINDS[kind]()

    def body(comm, device):
        x = values_of(comm.rank, (12,))
        a = gpu.of(x, device)
        where = f"memory of device {device}"
        refused(comm, stretto.ArgumentError, f"out is {where}, and x memory of the host", lambda: comm.allreduce(x, out=a))
        refused(comm, stretto.ArgumentError, f"x is {where}, and out memory of the host", lambda: comm.allreduce(a, out=np.empty_like(x)))
        refused(comm, stretto.ArgumentError, "out has dtype float64; the values float32", lambda: comm.allreduce(a, out=gpu.of(x.astype(float), device)))
        refused(comm, stretto.ArgumentError, "out has shape (6, 2); the result (12,)", lambda: comm.allreduce(a, out=gpu.of(x.reshape(6, 2), device)))
        refused(comm, stretto.ArgumentError, "residual is memory of the host, and x memory", lambda: comm.allreduce(a, out=gpu.empty(a), residual=x, abs=1))
        refused(comm, stretto.ArgumentError, "a contribution memory of the host", lambda: comm.allreduce_multi([x, a], out=gpu.empty(a)))
        with pytest.raises(stretto.IncompatibleError) as raised:
            comm.allreduce(gpu.of(x[:12 - comm.rank], device), out=gpu.empty(gpu.of(x[:12 - comm.rank], device)))
        assert "count differs" in str(raised.value)

    of_ranks(3, body)


@pytest.mark.skipif(not EMULATED, reason="an emulated device's interface may say anything")
def test_interfaces_that_say_wrong_things_are_refused():
    def body(comm, device):
        x = values_of(comm.rank, (12,))
        good = Interface.of(x, device)

        def changed(**attributes):
            made = Interface.of(x, device)
            for name, value in attributes.items():
                setattr(made, name, value)
            return made

        def call(given=good, out=None):
            return lambda: comm.allreduce(given, out=Interface.of(x, device) if out is None else out)

        class Host(Interface):
            @property
            def __cuda_array_interface__(self):
                return {**super().__cuda_array_interface__, "data": (x.ctypes.data, False)}

        class Masked(Interface):
            @property
            def __cuda_array_interface__(self):
                return {**super().__cuda_array_interface__, "mask": self}

        refused(comm, stretto.ArgumentError, "CUDA takes that for memory of the host", call(Host.of(x, device)))
        refused(comm, TypeError, "masked array", call(Masked.of(x, device)))
        refused(comm, stretto.ArgumentError, "names stream 0", call(changed(stream=0)))
        refused(comm, stretto.InternalError, "invalid resource handle", call(changed(stream=12345)))
        refused(comm, stretto.ArgumentError, "x is not contiguous (its strides are (8,))", call(changed(strides=(8,), shape=(6,))))
        refused(comm, stretto.ArgumentError, "out is not contiguous (its strides are (8,))", call(out=changed(strides=(8,), shape=(6,))))
        refused(comm, stretto.ArgumentError, "out is read-only", call(out=changed(read_only=True)))
        refused(comm, TypeError, "dtype bool is not served", call(changed(dtype=np.dtype(np.int8).newbyteorder("=") if False else np.dtype(bool))))
        refused(comm, stretto.ArgumentError, "no array like a Interface is made here; give out=, in memory of device", lambda: comm.allreduce(good))
        other = Interface.of(x, (device + 1) % DEVICES)
        refused(comm, stretto.ArgumentError, f"out is memory of device {other.device}, and x memory of device {device}", call(out=other))
        comm.allreduce(good, out=good)
        with pytest.raises(stretto.UnsupportedError) as raised:  # one rank alone has another device than before; every rank hears of it
            mine = other if comm.rank == 1 else good
            comm.allreduce(mine, out=mine)
        assert "a communicator uses one device: first 1, now 2" in str(raised.value), raised.value

    of_ranks(3, body)


@pytest.mark.skipif(not EMULATED, reason="streams of the emulated device")
@pytest.mark.parametrize("later", (False, True), ids=("blocking", "started"))
def test_a_call_comes_after_the_streams_of_all_its_arrays(later):
    emulator = Emulator()

    def body(comm, device):
        x, every = values_of(comm.rank, (3000,)), [values_of(r, (3000,)) for r in range(comm.size)]
        first, second = emulator.new_stream(device), emulator.new_stream(device)
        for given_on, out_on in ((first, first), (first, second), (first, 1), (1, second), (None, 1), (None, None), (first, None)):
            given, out = emulator.filled_late(x, device, given_on), emulator.filled_late(x, device, out_on)
            for function, expected in ((comm.iallreduce if later else comm.allreduce, np.sum(every, axis=0)),
                                       (comm.iallgatherv if later else comm.allgatherv, x)):
                if expected is x:
                    given, out = emulator.filled_late(x[:1000], device, given_on), emulator.filled_late(x, device, out_on)
                    call = function(given, [1000] * comm.size, out=out)
                    expected = np.concatenate([one[:1000] for one in every])
                else:
                    call = function(given, out=out)
                if later:
                    call.wait()
                np.testing.assert_array_equal(out.numpy_on(out_on), expected)
        while not comm.device_done():
            pass
        given = emulator.filled_late(x, device, first)
        s = stretto.compress(Library.wrapped(given), abs=0.5)
        np.testing.assert_array_equal(s.decompress(out=emulator.filled_late(np.zeros_like(x), device, second)).numpy_on(second), stretto.compress(x, abs=0.5).decompress())

    of_ranks(3, body)
    assert emulator.first_race() is None, emulator.first_race()


@pytest.mark.skipif(EMULATED, reason="streams of CUDA")
@pytest.mark.parametrize("later", (False, True), ids=("blocking", "started"))
def test_a_call_follows_the_current_stream(later):
    cupy, torch = pytest.importorskip("cupy"), pytest.importorskip("torch")

    def body(comm, device):
        call = (lambda x, out: comm.iallreduce(x, out=out).wait()) if later else (lambda x, out: comm.allreduce(x, out=out))
        with torch.cuda.stream(torch.cuda.Stream()):
            big, x = torch.randn(2000, 2000, device="cuda"), torch.zeros(1_000_000, device="cuda")
            for step in range(5):
                for _ in range(10):
                    big = big @ big.T / 2000
                x += comm.rank + 1 + 0 * big.flatten()[0]
                x = torch.nan_to_num(x)
                call(x, x)
                x *= 0.5
            expected = 0.0
            for step in range(5):
                expected = (comm.size * expected + comm.size * (comm.size + 1) / 2) * 0.5
            assert torch.equal(x.cpu(), torch.full((1_000_000,), expected)), (x, expected)
        with cupy.cuda.Stream(non_blocking=True):
            big, x = cupy.random.standard_normal((2000, 2000), dtype=cupy.float32), cupy.zeros(1_000_000, cupy.float32)
            for step in range(5):
                for _ in range(10):
                    big = big @ big.T / 2000
                x += comm.rank + 1 + 0 * cupy.nan_to_num(big.ravel()[0])
                call(x, x)
                x *= 0.5
            np.testing.assert_array_equal(x.get(), np.full(1_000_000, expected, np.float32))

    of_ranks(2, body)


def test_nothing_of_a_gpu_is_loaded_before_an_array_of_one_comes():
    program = "\n".join(("import sys, numpy, stretto", "x = numpy.ones(5, numpy.float32)", "stretto.threads(2)(lambda comm: comm.allreduce(x, abs=1))()",
                         "stretto.compress(x, abs=1).decompress()", "names = {name.partition('.')[0] for name in sys.modules}",
                         "assert not names & {'cupy', 'torch', 'numba'} and 'stretto.api.devices' not in sys.modules, names",
                         "assert 'cuda' not in open('/proc/self/maps').read()"))
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_array_without_a_plugin_is_refused_by_name():
    program = "\n".join(("import stretto", "class X: __cuda_array_interface__ = {'shape': (3,), 'typestr': '<f4', 'data': (4096, False), 'version': 3}",
                         "try: stretto.threads(1)(lambda comm: comm.allreduce(X(), out=X()))()", "except stretto.UnsupportedError as error: print(error)"))
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "STRETTO_CUDA_PLUGIN": "/none.so"}, check=True, capture_output=True, text=True)
    assert "no CUDA plugin: /none.so" in done.stdout, done.stdout


@pytest.mark.parametrize("ranks", (1, 2, 3))
@pytest.mark.parametrize("library", ["emulated"] if EMULATED else ["cupy", "torch"])
def test_processes_share_one_device(tmp_path, ranks, library):
    try:
        ctypes.CDLL(os.environ.get("STRETTO_UCX", "libucp.so.0"))
    except OSError as error:
        pytest.skip(f"no UCX: {error}")
    program = pathlib.Path(__file__).with_name("gpu_ranks.py")
    started = [subprocess.Popen([sys.executable, program, tmp_path, str(rank), str(ranks), library], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for rank in range(ranks)]
    said = [rank.communicate(timeout=120)[0] for rank in started]
    assert all("fine" in words for words in said), said
    if ranks > 1:
        assert "messages by peer (CUDA IPC)" in said[0], said[0]
