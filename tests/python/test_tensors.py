"""Tensors of torch as arrays of collectives and streams. Skipped where Python has no torch."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import stretto  # noqa: E402

try:
    stretto.threads(1)(lambda comm: None)()
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

RANKS = 3
DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64, torch.int8, torch.uint8, torch.int64)


@pytest.fixture(params=("ml_dtypes", "without ml_dtypes"))
def packages(request, monkeypatch):
    """With and without the package that gives NumPy a bfloat16."""
    if request.param == "ml_dtypes":
        pytest.importorskip("ml_dtypes")
    else:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_are_read_and_written_in_place(dtype, packages):
    def body(comm):
        x = (torch.arange(12).reshape(6, 2) + comm.rank).to(dtype)
        total = (3 * torch.arange(12).reshape(6, 2) + 3).to(dtype)

        def same(got, expected):
            assert isinstance(got, torch.Tensor) and got.dtype == dtype and torch.equal(got, expected), got

        same(comm.allreduce(x)[0], total)
        out = torch.empty_like(x)
        assert comm.allreduce(x, out=out)[0] is out
        same(out, total)
        assert comm.iallreduce(x.T, out=out.T.contiguous()).wait()[0].shape == (2, 6)  # a copy of x.T is sent
        same(comm.allgather(x)[0], torch.stack([x - comm.rank + r for r in range(RANKS)]))
        same(comm.reduce_scatter(x)[0], total[2 * comm.rank:2 * comm.rank + 2])
        same(comm.allreduce_multi([x, x])[0], 2 * total)
        same(comm.allgatherv(x.reshape(-1), [12] * RANKS)[0][:12], x.reshape(-1) - comm.rank)
        same(comm.alltoall(x)[0][:2], (x - comm.rank)[2 * comm.rank:2 * comm.rank + 2])
        rows = comm.scatter(torch.stack([x] * RANKS) if comm.rank == 0 else None, None if comm.rank == 0 else torch.empty_like(x))[0]
        same(rows, x - comm.rank)
        assert comm.bcast(x, root=1)[0] is x
        same(x, (torch.arange(12).reshape(6, 2) + 1).to(dtype))
        y = x.clone()
        assert comm.allreduce(y, out=y)[0] is y
        same(y, 3 * x)
        same(comm.reduce_scatter(stretto.IN_PLACE, out=y)[0], 9 * x[2 * comm.rank:2 * comm.rank + 2])

    stretto.threads(RANKS)(body)()


def test_parameters_are_read_and_bounds_hold_for_bfloat16(packages):
    def body(comm):
        x = torch.nn.Parameter(torch.randn(5000, generator=torch.Generator().manual_seed(comm.rank)))
        assert not comm.allreduce(x)[0].requires_grad
        half = x.detach().to(torch.bfloat16)
        exact = sum(torch.randn(5000, generator=torch.Generator().manual_seed(r)).to(torch.bfloat16).double() for r in range(RANKS))
        out, report = comm.allreduce(half, abs=0.1)
        assert (out.double() - exact).abs().max() <= report.error_with_rounding

    stretto.threads(RANKS)(body)()


def test_residuals_of_tensors():
    def body(comm):
        for dtype in (torch.float32, torch.bfloat16):
            pytest.importorskip("ml_dtypes")
            x = torch.randn(3000, generator=torch.Generator().manual_seed(comm.rank)).to(dtype)
            left = torch.full_like(x, 7)
            total, report = comm.allreduce(x, rel=1e-2, op="avg", residual=left)
            assert 0 < left.abs().max() <= report.eps + 2**-8 * 4 * (dtype == torch.bfloat16)
            entered = comm.allreduce(x.double() - left.double())[0] / RANKS
            assert (entered - total.double()).abs().max() <= (2**-6 if dtype == torch.bfloat16 else 1e-6)

    stretto.threads(RANKS)(body)()


def test_tensors_that_are_no_memory_are_refused_by_name():
    def body(comm):
        for kind, words, x, out in ((stretto.UnsupportedError, "x is a tensor on the device 'meta'", torch.empty(3, device="meta"), None),
                                    (TypeError, "x is a tensor of torch.float32, layout torch.sparse_coo", torch.ones(3).to_sparse(), None),
                                    (TypeError, "x is a tensor of torch.float8_e4m3fn", torch.ones(3).to(torch.float8_e4m3fn), None),
                                    (TypeError, "dtype bool is not served", torch.ones(3) > 0, None),
                                    (stretto.ArgumentError, "out is not contiguous", torch.ones(3), torch.ones(6)[::2]),
                                    (stretto.ArgumentError, "out has dtype float64; the values float32", torch.ones(3), torch.ones(3).double()),
                                    (stretto.ArgumentError, r"out has shape \(4,\); the result \(3,\)", torch.ones(3), torch.ones(4))):
            with pytest.raises(kind, match=words):
                comm.allreduce(x, out=out)

    stretto.threads(1)(body)()


def test_streams_of_tensors(monkeypatch):
    x = torch.linspace(0, 1, 5000)
    assert np.abs(stretto.compress(x, abs=1e-3).decompress() - x.numpy()).max() <= 1e-3
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(stretto.UnsupportedError, match="ml_dtypes"):
        stretto.compress(x.to(torch.bfloat16), abs=1e-3)
