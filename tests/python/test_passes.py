"""Passes over a rank's own values beside a collective, compared with NumPy, and what a hook keeps of the library's choices."""

import threading
import weakref

import numpy as np
import pytest

import stretto
from stretto.api.core import _core

KINDS = {np.float32: _core.Type.f32, np.float64: _core.Type.f64, np.float16: _core.Type.f16}
SIZES = (0, 1, 15, 1023, 16 * 1024 + 5, 50_001)


def at(values):
    return values.ctypes.data


def inputs(dtype, n):
    """(values, residual); some of either are not finite."""
    numbers = np.random.default_rng(n)
    values, left = numbers.normal(size=n).astype(dtype), (numbers.normal(size=n) / 8).astype(dtype)
    left[3:4], left[7:8], values[11:12], values[13:14] = np.nan, np.inf, -np.inf, np.nan
    return values, left


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_contribution_and_residual_are_those_of_numpy(dtype, n):
    values, left = inputs(dtype, n)
    wide = np.float64 if dtype is np.float64 else np.float32
    expected = (values.astype(wide) + np.where(np.isfinite(left), left, 0).astype(wide)).astype(dtype)
    (squares,) = _core.add_residual(KINDS[dtype], at(values), at(left), [n])
    np.testing.assert_array_equal(left, expected)
    assert squares == pytest.approx(np.sum(expected.astype(np.float64)**2), rel=1e-12, nan_ok=True)
    assert _core.squares(KINDS[dtype], at(left), n) == pytest.approx(squares, rel=1e-12, nan_ok=True)
    decoded = stretto.compress(left, abs=0.01).decompress() if n else left.copy()
    _core.residual(KINDS[dtype], at(left), at(left), [n], [0.01])
    with np.errstate(invalid="ignore"):
        rest = (expected.astype(wide) - decoded.astype(wide)).astype(dtype)
    np.testing.assert_array_equal(left, np.where(np.isfinite(expected), rest, 0))


@pytest.mark.parametrize("dtype", KINDS)
def test_passes_over_parts_are_those_over_each(dtype):
    counts, bounds = [7, 0, 1030, 33, 5000], [0.1, 0.5, 0.0, 0.01, 0.02]
    values, left = inputs(dtype, sum(counts))
    each = left.copy()
    squares = _core.add_residual(KINDS[dtype], at(values), at(left), counts)
    at_each = np.split(each, np.cumsum(counts)[:-1])
    np.testing.assert_array_equal(squares, [_core.add_residual(KINDS[dtype], at(part), at(mine), [part.size])[0]
                                            for part, mine in zip(np.split(values, np.cumsum(counts)[:-1]), at_each)])
    np.testing.assert_array_equal(left, each)
    _core.residual(KINDS[dtype], at(left), at(left), counts, bounds)
    for part, bound in zip(at_each, bounds):
        _core.residual(KINDS[dtype], at(part), at(part), [part.size], [bound])
    np.testing.assert_array_equal(left, each)
    assert not left[7:1037].any() and left[1037:].any()
    with pytest.raises(stretto.ArgumentError, match="each part has an eps"):
        _core.residual(KINDS[dtype], at(left), at(left), counts, [0.1])


def test_layout_of_a_bucket_takes_exact_values_out_and_back():
    torch = pytest.importorskip("torch")
    from stretto.torch.buckets import Layouts  # noqa: PLC0415

    class Bucket:
        shapes = (30, 3000, 20, 40, 2500, 2600, 10)

        def __init__(self, number=0):
            self.index = lambda: number
            self.gradients = lambda: [torch.empty(count) for count in self.shapes]
            self.buffer = lambda: values

    values = torch.arange(1.0, 1 + sum(Bucket.shapes))
    parameters = [torch.empty(0) for _ in Bucket.shapes]
    Bucket.parameters = lambda self: parameters
    layouts = Layouts({}, per_parameter=True)
    layout = layouts.of(Bucket())
    assert layouts.of(Bucket()) is layout
    marks = {layouts.of(Bucket(number)).mark for number in range(3)} | {Layouts({}, per_parameter=False).of(Bucket()).mark}
    assert len({mark.number for mark in marks}) == 4 and all(0 <= mark.number < 1 << 40 for mark in marks), marks
    assert layout.mark == Layouts({}, per_parameter=True).of(Bucket()).mark and layout.mark.words == f"bucket 0 of {values.numel()} values"
    layouts.clear()
    assert layouts.of(Bucket()) is not layout
    assert layout.sizes == [(30, True), (3000, False), (60, True), (2500, False), (2600, False), (10, True)]
    assert layout.joined == [3090, 2500, 2610] and layout.exact_values == 100
    saved, taken = values.clone(), layout.exact.taken(values)
    assert taken.equal(torch.cat([saved[:30], saved[3030:3090], saved[-10:]]))
    layout.exact.clear(values)
    assert values.count_nonzero() == 8100 and layout.bounded.taken(values).equal(layout.bounded.taken(saved))
    layout.exact.put(taken, values)
    assert values.equal(saved)
    zero = layout.with_exact([0.5, 0.0, 0.25])
    assert zero.exact_values == 2600 and zero.joined == [5590, 2610] and zero.in_place([(3000, 1), (2600, 2)]) == [
        (30, 0), (3000, 1), (60, 0), (2500, 0), (2600, 2), (10, 0)]
    assert layout.with_exact([0, 0, 0]).exact_values == values.numel()
    excluded = Layouts({id(parameters[1]): parameters[1]}, per_parameter=False).of(Bucket())
    assert excluded.sizes == [(30, False), (3000, True), (5170, False)]


def test_ranks_that_agree_for_different_buckets_are_told():
    pytest.importorskip("torch")
    from stretto.torch.bounds import Bound, Mark  # noqa: PLC0415

    def program(comm):
        bound, same, own = Bound(rms=0.5), Mark.of("bucket 3", 3), Mark.of(f"bucket {comm.rank}", comm.rank)
        (how,) = bound.of(comm, [4], [float("nan")], same)
        assert "abs" not in how
        (how,) = bound.of(comm, [4], [16.0 * (comm.rank + 1)], same)
        try:
            bound.of(comm, [4], [16.0], own)
        except stretto.IncompatibleError as error:
            return how["abs"], str(error)
        return None

    told = "bucket {0} on rank {0} meets another on other ranks; has one before it failed on some rank?"
    assert stretto.threads(3)(program)() == [(0.5 * np.sqrt(8), told.format(rank)) for rank in range(3)]


def test_squares_neither_overflow_nor_vanish():
    for value in (1e30, 1e-30):
        values = np.full(1000, value, np.float32)
        assert _core.squares(_core.Type.f32, at(values), values.size) == pytest.approx(1000 * float(values[0])**2, rel=1e-12)


def test_integers_have_no_passes():
    with pytest.raises(stretto.UnsupportedError, match="floating types"):
        _core.squares(_core.Type.i32, 0, 0)


@pytest.mark.parametrize("n", SIZES)
def test_bfloat16_is_that_of_torch(n):
    torch = pytest.importorskip("torch")
    values = torch.from_numpy(inputs(np.float32, n)[0])
    narrow, wide = torch.empty(n, dtype=torch.bfloat16), torch.empty(n)
    _core.to_bf16(values.data_ptr(), narrow.data_ptr(), n)
    assert narrow.view(torch.int16).equal(values.to(torch.bfloat16).view(torch.int16)) or narrow.isnan().equal(values.isnan())
    _core.of_bf16(narrow.data_ptr(), wide.data_ptr(), n)
    torch.testing.assert_close(wide, narrow.to(torch.float32), equal_nan=True, rtol=0, atol=0)
    rows = torch.stack([narrow, narrow * 3, -narrow]).contiguous()
    mean = torch.empty(n)
    _core.mean_of_bf16(rows.data_ptr(), 3, n, mean.data_ptr(), True)
    torch.testing.assert_close(mean, (rows[0].float() + rows[1].float() + rows[2].float()) / 3, equal_nan=True, rtol=0, atol=0)
    _core.mean_of_bf16(rows.data_ptr(), 3, n, narrow.data_ptr(), False)
    torch.testing.assert_close(narrow, mean.to(torch.bfloat16), equal_nan=True, rtol=0, atol=0)


def test_blocking_calls_of_a_hook_take_no_pass_for_rounding():
    def program(comm):
        x = np.linspace(0, 1, 5000, dtype=np.float32)
        finite = np.isfinite(comm.allreduce(x, abs=1e-3, payload="fused")[1].error_with_rounding)
        comm._rounding = False
        total, report = comm.allreduce(x, abs=1e-3, payload="fused")
        assert np.abs(total - 3 * x).max() <= report.promised_error * 1.0001
        return finite, report.error_with_rounding

    assert stretto.threads(3)(program)() == [(True, np.inf)] * 3


def test_choice_of_a_bucket_is_kept_and_asked_again():
    pytest.importorskip("torch")
    from stretto.torch.buckets import ASKED, PERIOD, Choices  # noqa: PLC0415

    class Chosen:
        algorithm, payload, coding = "ring", "fused", "fixed"

    choices, asked = Choices(keeps_raw=True), []
    for call in range(PERIOD + ASKED + 1):
        found = choices.of("bucket")
        if found is None:
            asked.append(call)
            choices.note("bucket", Chosen)
        else:
            assert found == {"payload": "fused", "schedule": "ring", "coding": "fixed"}
    assert asked == [*range(ASKED), *range(PERIOD, PERIOD + ASKED)]
    Chosen.payload = "recompress"
    assert choices.of("other") is None and choices.note("other", Chosen) is None and choices.of("other") is None
    Chosen.payload = "raw"
    for _ in range(ASKED):
        choices.of("third")
        choices.note("third", Chosen)
    assert choices.of("third") == {}


def test_raw_calls_are_asked_each_time_under_a_bound_of_the_result():
    pytest.importorskip("torch")
    from stretto.torch.buckets import ASKED, Choices  # noqa: PLC0415

    class Raw:
        algorithm, payload, coding = "ring", "raw", ""

    choices = Choices(keeps_raw=False)
    for _ in range(2 * ASKED):
        assert choices.of("bucket") is None
        choices.note("bucket", Raw)


@pytest.mark.parametrize("grace", (5, 0))
def test_end_of_a_state_keeps_residuals_of_buckets_that_are_under_way(monkeypatch, grace):
    """Also of one that ends after free(), which waits for so many seconds."""
    torch = pytest.importorskip("torch")
    import stretto.torch  # noqa: PLC0415
    from stretto.torch import state as states  # noqa: PLC0415

    monkeypatch.setattr(states, "GRACE", grace)
    state, kept, ended = stretto.torch.State(rms=0.1, error_feedback=True), [], threading.Event()
    lane, drain = state.lanes[0], state.lanes[0].drain

    def drains(seconds):
        if grace:
            ended.set()
        return drain(seconds)

    def last_bucket():
        ended.wait()
        state.end_bucket(is_last=True)

    parameter = torch.zeros(3)
    state.layouts._known["bucket"] = [parameter]
    freed = weakref.ref(parameter)
    del parameter
    monkeypatch.setattr(lane, "drain", drains)
    state._under_way, state.unkept = 1, [lambda: kept.append(1)]
    work = lane.start([], last_bucket)
    state.free()
    assert kept == [1] * bool(grace) and freed() is None
    ended.set()
    work.wait()
    assert kept == [1] and state._under_way == 0 and state.totals.steps == 1
