"""Streams of stretto: what the guarantee, the arithmetic and the bytes promise, for arrays of every kind; and what is refused."""

import os
import pathlib
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings, strategies as some  # noqa: E402
from hypothesis.extra import numpy as some_numpy  # noqa: E402

import stretto  # noqa: E402
from synthetic_fields import rough_rows  # noqa: E402

try:
    stretto.compress(np.zeros(1), abs=1)
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

quick = settings(max_examples=25, deadline=None, derandomize=True, database=None)
FLOATS = (np.float16, np.float32, np.float64)


def floats(dtype):
    width = np.dtype(dtype).itemsize * 8
    limit = 1000.0 if width == 16 else 1e9
    return some_numpy.arrays(dtype, some_numpy.array_shapes(max_dims=3, max_side=9, min_side=0),
                             elements=some.floats(-limit, limit, width=width))


fields = some.sampled_from(FLOATS).flatmap(floats)


def half_unit(x):
    """What rounding to the type of the result may add."""
    return np.spacing(np.abs(x).astype(x.dtype)).astype(np.longdouble) / 2 if x.size else np.zeros(x.shape)


def error(x, y):
    return np.abs(x.astype(np.longdouble) - y.astype(np.longdouble))


@quick
@given(fields, some.floats(1e-3, 1e3))
def test_every_value_keeps_an_absolute_bound(x, bound):
    s = stretto.compress(x, abs=bound)
    y = s.decompress()
    assert (y.shape, y.dtype, s.shape, s.dtype, s.eps) == (x.shape, x.dtype, x.shape, x.dtype, bound)
    assert (error(x, y) <= bound + half_unit(y) * (x.dtype == np.float16)).all()


@quick
@given(fields, some.sampled_from((1e-1, 1e-3)))
def test_every_value_keeps_a_relative_bound(x, bound):
    y = stretto.compress(x, rel=bound).decompress()
    span = np.ptp(x.astype(np.longdouble)) if x.size else 0
    assert (error(x, y) <= bound * span * (1 + 1e-12) + half_unit(y) * (x.dtype == np.float16)).all()


@quick
@given(some.sampled_from((np.int32, np.int64)).flatmap(lambda t: some_numpy.arrays(t, some_numpy.array_shapes(min_side=0))))
def test_integers_are_lossless(x):
    assert np.array_equal(stretto.compress(x).decompress(), x)


@quick
@given(some_numpy.arrays(np.float64, (3, 40), elements=some.floats(-1e6, 1e6)), some.permutations(range(3)))
def test_sums_keep_their_bound_and_have_the_same_bytes_in_any_order(x, order):
    streams = [stretto.compress(row, abs=0.5) for row in x]
    total = stretto.sum(streams)
    assert total == stretto.sum([streams[i] for i in order])
    assert (total.contributions, total.promised_error) == (3, 1.5)
    assert (np.abs(total.decompress() - x.sum(axis=0)) <= 1.5 + 1e-9).all()
    assert (np.abs(total.mean() - x.mean(axis=0)) <= 0.5 + 1e-9).all()
    assert (total - streams[0]).decompress() == pytest.approx((streams[1] + streams[2]).decompress())


@quick
@given(some_numpy.arrays(np.float32, some.tuples(some.integers(0, 30), some.integers(1, 5)), elements=some.floats(-100, 100, width=32)), some.slices(30))
def test_parts_are_parts_of_what_the_stream_decodes_to(x, part):
    s = stretto.compress(x, abs=0.25)
    if part.step not in (None, 1):
        with pytest.raises(IndexError, match="step"):
            s[part]
        return
    assert np.array_equal(s[part].decompress(), s.decompress()[part])
    cut = len(s) // 2
    assert np.array_equal(stretto.concatenate([s[:cut], s[cut:]]).decompress(), s.decompress())


@quick
@given(some.binary(max_size=200), some.integers(0, 400), some.integers(0, 255))
def test_bytes_that_are_no_stream_are_refused(noise, place, value):
    with pytest.raises(stretto.StreamError):
        stretto.Stream.from_bytes(noise)
    good = bytes(stretto.compress(np.arange(100.0), abs=1))
    place %= len(good)
    if good[place] != value:
        with pytest.raises(stretto.StrettoError):
            stretto.Stream.from_bytes(good[:place] + bytes([value]) + good[place + 1:])
    with pytest.raises(stretto.StreamError):
        stretto.Stream.from_bytes(good[:place])


def wave(shape=(40, 50), dtype=np.float32):
    return np.sin(np.arange(np.prod(shape)) / 30).reshape(shape).astype(dtype)


def test_the_first_lines_of_the_page_run(capsys):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    exec(re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1], {})  # noqa: S102
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_streams_are_values():
    x = wave()
    s = stretto.compress(x, abs=1e-3)
    again = stretto.Stream.from_bytes(bytes(s), x.shape)
    assert s == again and hash(s) == hash(again) and pickle.loads(pickle.dumps(s)) == s
    assert s != stretto.compress(x, abs=1e-2) and s != s.reshape(-1 + 2001) and s != 3
    assert s.nbytes == len(bytes(s)) and s.ratio == x.nbytes / s.nbytes and len(s) == 40 and s.ndim == 2 and s.size == 2000
    assert "within 0.001" in repr(s) and np.array_equal(np.asarray(s), s.decompress())


def test_memory_of_every_layout_and_origin_gives_the_same_stream():
    x = wave()
    s = stretto.compress(x, abs=1e-3)

    class Exported:
        """Has DLPack alone."""

        def __dlpack__(self, **how):
            return x.__dlpack__(**how)

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    read_only = x.copy()
    read_only.flags.writeable = False
    for same in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1], read_only, memoryview(x), Exported(), np.ma.masked_array(x)):
        assert stretto.compress(same, abs=1e-3) == s
    assert stretto.compress(x, abs=1e-3, threads=3) == s
    out = np.empty((50, 40), np.float32).T
    assert s.decompress(out=out) is out and np.array_equal(out, s.decompress(threads=2))


def test_arithmetic_with_arrays_and_numbers():
    x = wave()
    s = stretto.compress(x, abs=1e-3)
    assert s + x == s + s == x + s == s * 2
    assert np.array_equal((-s).decompress(), -s.decompress())
    assert np.array_equal(s.min(-s).decompress(), -np.abs(s.decompress())) and np.array_equal(s.max(-s).decompress(), np.abs(s.decompress()))


def test_complex_numbers_are_pairs_and_bfloat16_is_served():
    z = (wave() + 1j * wave()[::-1]).astype(np.complex64)
    s = stretto.compress(z, abs=1e-3)
    y = (s + s).decompress()
    assert y.dtype == z.dtype and max(np.abs(y - 2 * z).real.max(), np.abs(y - 2 * z).imag.max()) <= 4e-3
    assert np.array_equal(s[3:5].decompress(), s.decompress()[3:5])
    assert stretto.Stream.from_bytes(bytes(s), z.shape, z.dtype) == s
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    b = wave().astype(bfloat16)
    s = stretto.compress(b, abs=1e-2)
    assert s.decompress().dtype == bfloat16 and np.abs(s.decompress().astype(float) - b.astype(float)).max() <= 1e-2 + 2**-9


def test_special_values_keep_their_bits_and_a_range_of_zero_is_exact():
    x = np.array([np.nan, np.inf, -np.inf, 1e300, 0.1])
    assert np.array_equal(stretto.compress(x, abs=1e-3).decompress()[:4], x[:4], equal_nan=True)
    for constant in (np.full(999, 0.1, np.float32), np.zeros(0), np.float64(0.3)):
        assert np.array_equal(stretto.compress(constant, rel=1e-3).decompress(), constant)


REFUSED = [
    (stretto.BoundError, "need a bound", lambda x, s: stretto.compress(x)),
    (stretto.BoundError, "given twice: abs=1 and rel=2", lambda x, s: stretto.compress(x, abs=1, rel=2)),
    (stretto.BoundError, "abs is nan", lambda x, s: stretto.compress(x, abs=float("nan"))),
    (stretto.BoundError, "rel is -1", lambda x, s: stretto.compress(x, rel=-1)),
    (stretto.BoundError, "abs is inf", lambda x, s: stretto.compress(x, abs=10**400)),
    (stretto.BoundError, "lossless", lambda x, s: stretto.compress(np.arange(3), abs=1)),
    (TypeError, "abs is '1'", lambda x, s: stretto.compress(x, abs="1")),
    (TypeError, "dtype object", lambda x, s: stretto.compress(np.array([None, 1]), abs=1)),
    (TypeError, "dtype bool", lambda x, s: stretto.compress(x > 0, abs=1)),
    (TypeError, "'>f4' is of the other byte order", lambda x, s: stretto.compress(x.astype(">f4"), abs=1)),
    (TypeError, "a list that is no array", lambda x, s: stretto.compress([[1.0, 2.0], [3.0]], abs=1)),
    (TypeError, "ignore_above is 'x'", lambda x, s: stretto.compress(x, rel=1, ignore_above="x")),
    (TypeError, "masked", lambda x, s: stretto.compress(np.ma.masked_less(x, 0), abs=1)),
    (stretto.UnsupportedError, "i16 has no streams", lambda x, s: stretto.compress(x.astype(np.int16))),
    (stretto.ArgumentError, "threads is 999", lambda x, s: stretto.compress(x, abs=1, threads=999)),
    (stretto.ArgumentError, "ignore_above is -1", lambda x, s: stretto.compress(x, rel=1, ignore_above=-1)),
    (stretto.ArgumentError, r"out has dtype float64 and shape \(40, 50\)", lambda x, s: s.decompress(out=x.astype(float))),
    (stretto.ArgumentError, "read-only", lambda x, s: s.decompress(out=np.broadcast_to(np.float32(0), x.shape))),
    (TypeError, "out is a list", lambda x, s: s.decompress(out=[])),
    (stretto.IncompatibleError, "grid width .*streams of one absolute bound have one grid", lambda x, s: s + stretto.compress(x, abs=1e-2)),
    (stretto.IncompatibleError, r"\(40, 50\) and one of float32 \(39, 50\)", lambda x, s: s + s[1:]),
    (stretto.ArgumentError, "count is 0", lambda x, s: s.mean(0)),
    (stretto.UnsupportedError, "a mean of int64", lambda x, s: stretto.compress(np.arange(3)).mean()),
    (stretto.ArgumentError, "factor is 0", lambda x, s: s * 0),
    (TypeError, "unsupported operand", lambda x, s: s * 1.5),
    (TypeError, "it takes two streams", lambda x, s: s.min(3)),
    (IndexError, "out of 40", lambda x, s: s[40]),
    (IndexError, "a step of 0", lambda x, s: s[::0]),
    (TypeError, "no index", lambda x, s: s[1, 2]),
    (stretto.ArgumentError, r"no shape \(7,\)", lambda x, s: stretto.Stream.from_bytes(bytes(s), 7)),
    (stretto.StreamError, "1 bytes after it", lambda x, s: stretto.Stream.from_bytes(bytes(s) + b"x")),
    (TypeError, "not 'int'", lambda x, s: stretto.Stream.from_bytes(64)),
    (TypeError, "holds no bytes", lambda x, s: stretto.Stream.from_bytes(np.array(["2020"], "M8[s]"))),
    (TypeError, "'1e-3' is no dtype", lambda x, s: stretto.Stream.from_bytes(bytes(s), None, "1e-3")),
    (TypeError, "shape is a memoryview", lambda x, s: s.reshape(memoryview(x))),
    (TypeError, "difference of a stream and an array", lambda x, s: s - np.ma.masked_array(x)),
    (stretto.ArgumentError, "no streams", lambda x, s: stretto.sum([])),
    (TypeError, "sum of a ndarray", lambda x, s: stretto.sum([x])),
    (stretto.StreamOverflowError, "exceed|fit|bits", lambda x, s: stretto.sum([stretto.compress(np.array([2**63 - 1]))] * 2).decompress()),
    (TypeError, "made by stretto.compress", lambda x, s: stretto.Stream()),
]


@pytest.mark.parametrize(("kind", "words", "call"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_an_exception_that_names_it(kind, words, call):
    x = wave()
    with pytest.raises(kind, match=words):
        call(x, stretto.compress(x, abs=1e-3))


def test_memory_of_a_device_that_is_not_there_is_refused():
    class OnADevice:
        def __init__(self, kind):
            self.kind = kind

        def __dlpack_device__(self):
            return self.kind, 0

    with pytest.raises(stretto.UnsupportedError, match=r"device \(4, 0\)"):
        stretto.compress(OnADevice(4), abs=1)
    program = "import stretto\nclass X: __dlpack_device__ = lambda self: (2, 0)\ntry: stretto.compress(X(), abs=1)\nexcept stretto.UnsupportedError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "STRETTO_CUDA_PLUGIN": "/none.so"}, check=True, capture_output=True, text=True)
    assert "no CUDA plugin: /none.so" in done.stdout, done.stdout


@quick
@given(some.sampled_from((*FLOATS, np.int32, np.int64)).flatmap(lambda dtype: some_numpy.arrays(
    dtype, some_numpy.array_shapes(max_dims=5, max_side=9, min_side=0), elements=some.floats(-100, 1000, width=16) if np.dtype(dtype).kind == "f" else None)),
    some.sampled_from((1e-3, 0.5, 30.0)))
def test_shaped_streams_keep_the_bound_in_every_shape(x, eps):
    s = stretto.compress(x, coding="shaped", **({} if x.dtype.kind == "i" else {"abs": eps}))
    y = s.decompress()
    assert s.coding in ("dense", "shaped") and y.shape == x.shape and stretto.Stream.from_bytes(bytes(s), x.shape, x.dtype) == s
    if x.dtype.kind == "i":
        assert np.array_equal(y, x)
    else:
        assert x.size == 0 or (np.abs(y.astype(np.longdouble) - x) <= eps + (half_unit(y) if x.dtype == np.float16 else 0)).all()


@pytest.mark.parametrize("shape", ((60, 200), (5, 20, 100), (2, 2, 2, 2, 2, 2, 2, 2, 2, 50), (1, 40, 1, 100)))
@pytest.mark.parametrize("dtype", (np.float32, np.complex64))
def test_a_shape_saves_bytes(shape, dtype):
    x = rough_rows(shape, dtype)
    shaped, dense = (stretto.compress(x, abs=0.05, coding=coding) for coding in ("shaped", "dense"))
    assert shaped.coding == "shaped" and shaped.nbytes < 0.8 * dense.nbytes
    assert np.abs(shaped.decompress(threads=3) - x).max() <= 0.0501 * (1 + (dtype == np.complex64))
    assert pickle.loads(pickle.dumps(shaped)) == shaped


def test_shaped_streams_say_what_they_lack():
    s = stretto.compress(rough_rows((60, 200)), abs=0.05, coding="shaped")
    for work in (lambda: s + s, lambda: s - s, lambda: s * 2, lambda: -s, lambda: s[3], lambda: s[3:5], lambda: s.max(s), lambda: s + s.decompress(),
                 lambda: stretto.sum([s, s]), lambda: stretto.concatenate([s, s])):
        with pytest.raises(stretto.UnsupportedError, match="a shaped stream"):
            work()
    assert np.allclose(s.mean(4), s.decompress() / 4)


def test_codings_differ_in_bytes_alone():
    x = (np.sin(np.arange(200_000) / 300) + np.random.default_rng(3).standard_normal(200_000) * 1e-2).astype(np.float32)
    fixed, dense = stretto.compress(x, abs=1e-3), stretto.compress(x, abs=1e-3, coding="dense")
    assert (fixed.coding, dense.coding, stretto.compress(x, abs=1e-3, coding="auto")) == ("fixed", "dense", fixed)
    assert dense.nbytes < fixed.nbytes and np.array_equal(dense.decompress(), fixed.decompress())
    assert (fixed + dense).coding == dense[:1000].coding == (dense * 2).coding == "dense"
    assert np.array_equal((fixed + dense).decompress(), (fixed + fixed).decompress())
    with pytest.raises(stretto.ArgumentError, match="coding is 'packed'; it takes auto, fixed, dense, shaped"):
        stretto.compress(x, abs=1e-3, coding="packed")
    assert stretto.compress(np.float32(3), abs=1e-3, coding="shaped").coding == "dense"


def temperatures(dtype, share, mark=-9984):
    """Values about 280, of which `share` are the mark."""
    numbers = np.random.default_rng(5)
    x = numbers.normal(280, 15, (100, 200)).astype(dtype)
    x[numbers.random(x.shape) < share] = mark
    return x


def masked(shape, where, mark=-9984):
    """Values about 280, with the mark at an index."""
    x = np.random.default_rng(5).normal(280, 15, shape).astype(np.float32)
    x[where] = mark
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, "bfloat16"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_fill_value_that_nobody_named_is_told(dtype, share, tmp_path):
    x = temperatures(pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype, share)
    said = r"of the elements or more are -9984, far from all others.* no mark is named.*marks=\[-9984\]"
    with pytest.warns(UserWarning, match=said) as told:
        stretto.compress(x, abs=0.1)
    assert [one.filename for one in told] == [__file__]
    with pytest.warns(UserWarning, match=said) as told:
        stretto.save(tmp_path / "x.stretto", {"t": x}, rel=1e-3)
    assert [one.filename for one in told] == [__file__]
    with stretto.File(tmp_path / "y.stretto", "w") as file, pytest.warns(UserWarning, match=said) as told:
        file.add("t", x, abs=0.1)
    assert [one.filename for one in told] == [__file__]


@pytest.mark.parametrize("x", [masked((2048, 2048), np.s_[:, 100:783]), masked((2048, 2048), np.s_[:, 1::3]), masked((4096, 64), np.s_[:, 40:]),
                               masked((4096, 64), np.s_[1::3]), masked(1 << 18, np.s_[1::3]), masked((512, 512), np.s_[:, 1::3]).astype(np.complex64)],
                         ids=lambda x: f"{x.dtype} {x.shape}")
def test_a_fill_value_of_whole_columns_or_rows_is_told(x):
    with pytest.warns(UserWarning, match="are -9984, far from all others"):
        stretto.compress(x, rel=1e-3)


def test_a_fill_value_is_told_once_a_line():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for share in np.linspace(0.2, 0.8, 20):
            stretto.compress(temperatures(np.float32, share), abs=0.1)
    assert len(told) == 1


def test_what_the_range_ignores_is_not_told(tmp_path):
    x = temperatures(np.float32, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for limit in (5000, 9984):
            assert np.array_equal(stretto.compress(x, rel=1e-3, ignore_above=limit).decompress() == -9984, x == -9984)
        stretto.save(tmp_path / "x.stretto", {"t": x}, rel=1e-3, ignore_above=5000)
    for bound in ({"rel": 1e-3, "ignore_above": 9985}, {"abs": 0.1, "ignore_above": 5000}):
        with pytest.warns(UserWarning, match="are -9984, far from all others"):
            stretto.compress(x, **bound)


@pytest.mark.parametrize("x", [temperatures(np.float32, 0), temperatures(np.float32, 0.5, 0), temperatures(np.float32, 0.5, 200), temperatures(np.float32, 0.5, np.nan),
                               temperatures(np.float32, 0.5, 1e20), temperatures(np.float32, 0.01), np.full(20_000, 3.5), np.arange(20_000) % 2 + 1.0,
                               np.repeat([1.0, 2.0, 3.0], 7000), np.zeros(20_000)], ids=str)
def test_data_have_no_fill_value(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stretto.compress(x, abs=0.1)


def test_named_marks_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stretto.compress(temperatures(np.float32, 0.5), abs=0.1, marks=[-9984])
