"""h5netcdf writes and reads a NetCDF-4 file; the fill value is a mark of missing data, which keeps its bits."""

import h5netcdf
import numpy as np

from stretto.storage.hdf5 import Stretto

x = (15 + 10 * np.sin(np.arange(60_000) / 300)).reshape(60, 1000).astype(np.float32)
x[20:30, 200:400] = -999  # missing data

with h5netcdf.File("wind.nc", "w") as file:
    file.dimensions = {"y": 60, "x": 1000}
    wind = file.create_variable("wind", ("y", "x"), "f4", chunks=(10, 1000), fillvalue=np.float32(-999),
                                **Stretto(abs=1e-3))
    wind[...] = x
with h5netcdf.File("wind.nc") as file:
    y = file["wind"][...]
print(np.abs(y - x).max(), np.array_equal(y == -999, x == -999))
