"""The codec of numcodecs: chunks of arrays keep their bound, also by way of Zarr's files."""

import json
import warnings

import numpy as np
import pytest

numcodecs = pytest.importorskip("numcodecs")

import stretto  # noqa: E402
from synthetic_fields import rough_rows  # noqa: E402

try:
    from stretto.storage.numcodecs import Stretto
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)


def wave(dtype=np.float32):
    return (100 * np.sin(np.arange(6000) / 30)).reshape(60, 100).astype(dtype)


@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.complex64, np.int32))
def test_chunks_keep_their_bound_with_and_without_a_buffer(dtype):
    x = wave(dtype)
    codec = numcodecs.get_codec({"id": "stretto"} if dtype == np.int32 else {"id": "stretto", "abs": 1e-3})
    assert numcodecs.get_codec(codec.get_config()).get_config() == codec.get_config()
    encoded = codec.encode(x)
    out = np.empty_like(x)
    codec.decode(encoded, out=out)
    assert np.abs(out - x).max() <= 1.5e-3 and len(encoded) < x.nbytes
    assert np.array_equal(np.asarray(codec.decode(encoded)).view(dtype).reshape(x.shape), out)


@pytest.mark.parametrize("order", "CF")
def test_chunks_are_predicted_along_their_axes(order):
    x = np.asarray(rough_rows((40, 30, 20)), order=order)
    encoded = {coding: Stretto(abs=0.05, coding=coding).encode(x) for coding in (None, "shaped", "dense")}
    assert encoded[None] == encoded["shaped"] and (order == "F" or len(encoded["shaped"]) < 0.9 * len(encoded["dense"]))
    out = np.empty_like(x)
    Stretto().decode(encoded["shaped"], out=out)
    assert np.abs(out - x).max() <= 0.0501


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ("bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64", "float64", "complex64",
                                   "complex128"))
def test_without_a_bound_elements_keep_their_bits(dtype, order, tmp_path):
    x = np.asarray((50 + wave(np.float64) / 3).astype(dtype), order=order)
    if x.dtype.kind in "fc":
        x[3, 4:9] = np.nan, np.inf, -np.inf, -0.0, 1e-7
    codec = Stretto()
    encoded = codec.encode(x)
    out = np.empty_like(x)
    codec.decode(encoded, out=out)
    assert out.tobytes() == x.tobytes() and len(encoded) < 1.2 * x.nbytes + 100
    assert np.asarray(codec.decode(encoded)).nbytes == x.nbytes
    zarr = pytest.importorskip("zarr", minversion="3.1")
    a = zarr.create_array(str(tmp_path / "a.zarr"), shape=x.shape, chunks=(25, 40), dtype=x.dtype, compressors=codec, zarr_format=2, order=order)
    a[...] = x
    assert zarr.open_array(str(tmp_path / "a.zarr"))[...].tobytes() == x.tobytes()


@pytest.mark.parametrize("bound", ({"abs": 1e-3}, {"rel": 1e-4}))
def test_a_fill_value_that_nobody_named_is_told(bound):
    x = wave()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Stretto(**bound).encode(x)
        x[::7] = 0  # as Zarr fills chunks beyond an array's edge
        Stretto(**bound).encode(x + 1e5 * (x != 0))
        x[::7] = -9999
        Stretto(marks=[-9999], **bound).encode(x)
        Stretto().encode(x)
    with pytest.warns(UserWarning, match=r"are -9999, far from all others.*marks=\[-9999\]"):
        Stretto(**bound).encode(x)


def test_what_is_wrong_is_refused():
    with pytest.raises(TypeError, match="<U1"):
        Stretto().encode(np.array(["a"]))
    with pytest.raises(stretto.StreamError):
        Stretto(abs=1).decode(b"no stream")
    with pytest.raises(stretto.ArgumentError, match="out has 4 bytes; the stream's values 24000"):
        Stretto(abs=1).decode(Stretto(abs=1).encode(wave()), out=np.empty(1, np.float32))


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.T, np.asfortranarray, lambda x: x[::-2, 1::3], lambda x: x.swapaxes(0, 1), lambda x: x[:0], lambda x: x[:1, :, :1],
    lambda x: np.broadcast_to(x[0], (3, *x.shape[1:])), lambda x: x[1, 2, 3]])
def test_elements_keep_their_places_in_every_layout(view, order):
    x = np.asarray(view(wave().reshape(5, 12, 100)))
    out = np.full(x.shape, np.nan, x.dtype, order)
    codec = Stretto(abs=1e-3)
    encoded = codec.encode(x)
    assert codec.decode(encoded, out=out) is out and np.allclose(out, x, rtol=0, atol=1.5e-3)
    assert np.allclose(codec.decode(encoded).reshape(x.shape), x, rtol=0, atol=1.5e-3)


def test_out_takes_the_values_through_its_strides():
    x, codec = wave(), Stretto(abs=1e-3)
    room = np.zeros((120, 100), np.float32)
    codec.decode(codec.encode(x), out=room[::2])
    assert np.allclose(room[::2], x, rtol=0, atol=1.5e-3) and not room[1::2].any()


def test_bytes_after_a_stream_that_are_no_shape_are_refused():
    encoded = Stretto(abs=1e-3).encode(np.asfortranarray(wave()))
    for wrong in (encoded[:-8], encoded[:-1], encoded + bytes(8), encoded[:-1] + b"\1"):
        with pytest.raises(stretto.StreamError, match="no shape of 6000 elements"):
            Stretto(abs=1e-3).decode(wrong)


@pytest.mark.parametrize("kind", (np.float16, np.float32, np.int64, int))
def test_numbers_of_numpy_stand_in_the_configuration(kind):
    config = json.loads(json.dumps(Stretto(abs=kind(2)).get_config()))
    assert config["abs"] == 2 and numcodecs.get_codec(config).get_config() == config


@pytest.mark.parametrize(("given", "kind"), [({"abs": -1}, stretto.BoundError), ({"rel": np.nan}, stretto.BoundError), ({"abs": "1"}, TypeError),
                                             ({"abs": 1, "rel": 1}, stretto.BoundError), ({"abs": np.ones(2)}, TypeError)])
def test_a_wrong_bound_is_refused_before_a_chunk_is_encoded(given, kind):
    with pytest.raises(kind):
        Stretto(**given)


def test_arithmetic_on_decoded_values_gives_values_that_are_encoded():
    codec = Stretto(rel=1e-3)
    decoded = codec.decode(codec.encode(wave()))
    with pytest.raises(stretto.ArgumentError, match="rewrite=True"):
        codec.encode(decoded)
    assert codec.encode(decoded * 2) and Stretto(rel=1e-3, rewrite=True).encode(decoded)
