"""dask reads a .stretto file and writes and reads Zarr. Let dask's chunks hold whole chunks of Zarr."""

import dask.array
import numpy as np
import zarr

import stretto
from stretto.storage.zarr import Stretto

x = (15 + 10 * np.sin(np.arange(60_000) / 300)).reshape(60, 1000).astype(np.float32)
x[20:30, 200:400] = -999  # missing data

stretto.save("wind.stretto", x, abs=1e-3, overwrite=True)
with stretto.open("wind.stretto") as file:
    a = dask.array.from_array(file["data"], chunks=(20, 1000))
    print(float(abs(a - x).max().compute()))

target = zarr.create_array("wind.zarr", shape=x.shape, chunks=(10, 1000), dtype=x.dtype, fill_value=-999,
                           serializer=Stretto(abs=1e-3), compressors=None, overwrite=True)
dask.array.store(dask.array.from_array(x, chunks=(20, 1000)), target)
print(float(abs(dask.array.from_zarr("wind.zarr") - x).max().compute()))
