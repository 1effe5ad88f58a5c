"""The codec of numcodecs: chunks of arrays keep their bound, also by way of Zarr's files."""

import numpy as np
import pytest

numcodecs = pytest.importorskip("numcodecs")

import stretto  # noqa: E402

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


def test_what_is_wrong_is_refused():
    with pytest.raises(stretto.BoundError, match="need a bound"):
        Stretto().encode(wave())
    with pytest.raises(stretto.StreamError):
        Stretto(abs=1).decode(b"no stream")
    with pytest.raises(stretto.ArgumentError, match="out has 4 bytes; the stream's values 24000"):
        Stretto(abs=1).decode(Stretto(abs=1).encode(wave()), out=np.empty(1, np.float32))
