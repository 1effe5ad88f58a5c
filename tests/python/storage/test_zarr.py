"""Zarr's arrays as streams, in both of its formats: written, read again, within their bound."""

import math
import warnings

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3.1")

import stretto  # noqa: E402
from synthetic_fields import rough_rows  # noqa: E402

try:
    from stretto.storage import numcodecs
    from stretto.storage.zarr import Stretto
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)


def wave(dtype=np.float32):
    return (100 * np.sin(np.arange(6000) / 30)).reshape(60, 100).astype(dtype)


def kept(path, x, **how):
    """What another reader of the array at `path` finds; and bytes on the disk."""
    made = zarr.create_array(str(path), shape=x.shape, chunks=(25, 40), dtype=x.dtype, **how)
    made[:] = x
    found = zarr.open_array(str(path), mode="r")[:]
    return found, sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def test_format_2_has_chunks_of_streams(tmp_path):
    x = wave()
    found, size = kept(tmp_path / "a.zarr", x, compressors=numcodecs.Stretto(abs=1e-3), zarr_format=2)
    assert np.abs(found - x).max() <= 1e-3 and size < x.nbytes


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64", "complex64", ">f4"))
@pytest.mark.parametrize("bound", ({"abs": 0.05}, {"rel": 5e-4}))
def test_format_3_keeps_a_bound(tmp_path, dtype, bound):
    x = wave(dtype)
    found, size = kept(tmp_path / "a.zarr", x, serializer=Stretto(**bound), compressors=None)
    assert found.dtype == x.dtype.newbyteorder("=") and np.abs(found.astype(complex) - x).max() <= 0.1 + 0.04 * (dtype == "float16") and size < x.nbytes


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint16", "int32", "uint64", "float32", "complex128"))
def test_format_3_keeps_bits_without_a_bound(tmp_path, dtype):
    x = wave().astype(dtype)
    assert np.array_equal(kept(tmp_path / "a.zarr", x, serializer=Stretto(), compressors=None)[0], x)


def test_format_3_in_shards_and_below_other_compressors(tmp_path):
    x = wave()
    made = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, chunks=(10, 20), shards=(30, 100), dtype=x.dtype, serializer=Stretto(abs=1e-3),
                             compressors=zarr.codecs.ZstdCodec())
    made[:] = x
    assert np.abs(zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[7:35, 3:4] - x[7:35, 3:4]).max() <= 1e-3


@pytest.mark.parametrize("how", ({"compressors": numcodecs.Stretto(rel=1e-3), "zarr_format": 2}, {"serializer": Stretto(rel=1e-3), "compressors": None}))
def test_chunks_at_the_edge_keep_the_bound_of_their_own_range(tmp_path, how):
    x = 1e6 + wave(np.float64)
    found, _ = kept(tmp_path / "a.zarr", x, **how)
    for rows in (slice(0, 25), slice(25, 50), slice(50, 60)):
        for columns in (slice(0, 40), slice(40, 80), slice(80, 100)):
            part = x[rows, columns]
            assert np.abs(found[rows, columns] - part).max() <= 1e-3 * np.ptp(part)


@pytest.mark.parametrize("bound", ({"abs": 1e-3}, {"rel": 1e-4}))
def test_a_mark_that_nobody_named_is_told(tmp_path, bound):
    x = wave()
    x[::7] = -9999
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept(tmp_path / "wave.zarr", wave(), serializer=Stretto(**bound), compressors=None)  # whose last chunks have zeros beyond the edge
        kept(tmp_path / "exact.zarr", x, serializer=Stretto(), compressors=None)
        for name, how in (("marks", {"serializer": Stretto(marks=(-9999,), **bound)}), ("fill", {"serializer": Stretto(**bound), "fill_value": -9999})):
            found, _ = kept(tmp_path / f"{name}.zarr", x, compressors=None, **how)
            assert np.array_equal(found == -9999, x == -9999)
    with pytest.warns(UserWarning, match=r"are -9999, far from all others.*the array's fill_value is 0.*marks=\[-9999\]"):
        kept(tmp_path / "none.zarr", x, serializer=Stretto(**bound), compressors=None)


def test_settings_stand_in_the_metadata(tmp_path):
    kept(tmp_path / "a.zarr", wave(), serializer=Stretto(rel=1e-3), compressors=None)
    assert zarr.open_array(str(tmp_path / "a.zarr"), mode="r").metadata.codecs == (Stretto(rel=1e-3),)


def test_a_wrong_byte_of_a_chunk_is_a_stream_error(tmp_path):
    kept(tmp_path / "a.zarr", wave(), serializer=Stretto(abs=1e-3), compressors=None)
    chunk = tmp_path / "a.zarr" / "c" / "1" / "1"
    content = bytearray(chunk.read_bytes())
    for at in (0, 8, 70, len(content) - 1):
        chunk.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
        with pytest.raises(stretto.StreamError):
            zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[:]
    chunk.write_bytes(stretto.compress(wave(np.float64)[:5], abs=1).__bytes__())
    with pytest.raises(stretto.StreamError, match="500 values of f64, where 1000 of f32 should be"):
        zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[:]


@pytest.mark.parametrize(("make", "kind", "said"), [
    (lambda: Stretto(abs=1, rel=1), stretto.BoundError, "given twice"), (lambda: Stretto(abs=-1), stretto.BoundError, "abs is -1"),
    (lambda: Stretto(rel=math.nan), stretto.BoundError, "rel is nan"), (lambda: Stretto(abs="1"), TypeError, "abs is '1'"),
    (lambda: zarr.create_array({}, shape=(3,), dtype="int16", serializer=Stretto(abs=1), compressors=None), stretto.BoundError, "int16 is lossless"),
    (lambda: zarr.create_array({}, shape=(3,), dtype="U3", serializer=Stretto(), compressors=None), TypeError, "is not served"),
])
def test_what_is_wrong_is_refused(make, kind, said):
    with pytest.raises(kind, match=said):
        make()


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", ((7,), (60, 100), (5, 12, 100), (0, 3), (1, 6, 1)))
def test_format_2_keeps_places_in_both_orders(tmp_path, shape, order):
    x = wave().reshape(-1)[:math.prod(shape)].reshape(shape)
    chunks = tuple(max(n // 3, 1) for n in shape)
    made = zarr.create_array(str(tmp_path / "a.zarr"), shape=shape, chunks=chunks, dtype=x.dtype, order=order, zarr_format=2,
                             compressors=numcodecs.Stretto(abs=1e-3))
    made[:] = x
    assert np.allclose(zarr.open_array(str(tmp_path / "a.zarr"), mode="r")[:], x, rtol=0, atol=1.5e-3)


@pytest.mark.parametrize("kind", (np.float16, np.float32, np.int64))
@pytest.mark.parametrize("how", ({"serializer": lambda bound: Stretto(abs=bound), "compressors": lambda _: None},
                                 {"compressors": lambda bound: numcodecs.Stretto(abs=bound), "zarr_format": lambda _: 2}))
def test_numbers_of_numpy_stand_in_the_metadata(tmp_path, kind, how):
    found, _ = kept(tmp_path / "a.zarr", wave(), **{name: make(kind(2)) for name, make in how.items()})
    assert np.abs(found - wave()).max() <= 2


@pytest.mark.parametrize("how", [
    {"serializer": Stretto(rel=1e-3), "compressors": None}, {"serializer": Stretto(rel=1e-3)},
    {"serializer": Stretto(rel=1e-3), "compressors": None, "shards": (60, 100)},
    {"serializer": Stretto(rel=1e-3), "compressors": None, "filters": zarr.codecs.TransposeCodec(order=(1, 0))},
    {"compressors": numcodecs.Stretto(rel=1e-3), "zarr_format": 2}, {"compressors": numcodecs.Stretto(rel=1e-3), "zarr_format": 2, "order": "F"}])
def test_a_chunk_within_a_relative_bound_is_written_as_a_whole(tmp_path, how):
    x = wave()
    made = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, chunks=(30, 50), dtype=x.dtype, **how)
    made[:] = x
    with pytest.raises(stretto.ArgumentError, match="rewrite=True"):
        made[3:5, :50] = 7
    made[:30, :50] = x[:30, :50]
    assert np.abs(made[:] - x).max() <= 0.2


def test_a_chunk_is_written_in_part_where_that_is_asked_for(tmp_path):
    made = zarr.create_array(str(tmp_path / "a.zarr"), shape=(60, 100), chunks=(30, 50), dtype="f4", serializer=Stretto(rel=1e-3, rewrite=True),
                             compressors=None)
    made[:] = wave()
    zarr.open_array(str(tmp_path / "a.zarr"))[3:5] = 7
    assert np.abs(made[3:5] - 7).max() <= 0.2


@pytest.mark.parametrize("how", ("3", "2"))
@pytest.mark.parametrize("bound", ({"abs": 0.05}, {"rel": 5e-4}))
def test_chunks_are_predicted_along_their_axes(tmp_path, how, bound):
    x = rough_rows((60, 100))
    x[:20, :30] = np.nan
    sizes = {}
    for coding in (None, "shaped", "dense"):
        one = {"serializer": Stretto(coding=coding, **bound), "compressors": None} if how == "3" else {
            "compressors": numcodecs.Stretto(coding=coding, **bound), "zarr_format": 2}
        found, sizes[coding] = kept(tmp_path / str(coding), x, **one)
        assert np.array_equal(np.isnan(found), np.isnan(x)) and np.nanmax(np.abs(found - x)) <= 0.0501
    assert sizes["shaped"] < 0.9 * sizes["dense"] and abs(sizes[None] - sizes["shaped"]) < 300  # the metadata tells the coding


@pytest.mark.parametrize("how", ("3", "2"))
def test_chunks_of_both_codings_are_read(tmp_path, how):
    x = wave() + np.random.default_rng(5).standard_normal((60, 100)).astype(np.float32)
    sizes = {}
    for coding in (None, "dense", "fixed"):
        one = {"serializer": Stretto(abs=0.05, coding=coding), "compressors": None} if how == "3" else {
            "compressors": numcodecs.Stretto(abs=0.05, coding=coding), "zarr_format": 2}
        found, sizes[coding] = kept(tmp_path / str(coding), x, **one)
        assert np.abs(found - x).max() <= 0.0501
    assert sizes["dense"] < sizes["fixed"]
    with pytest.raises(stretto.ArgumentError, match="coding is 'packed'"):
        Stretto(abs=0.05, coding="packed")
