"""xarray writes and reads NetCDF-4 by its engine h5netcdf. Coordinates without an encoding stay exact."""

import numpy as np
import xarray

from stretto.storage.hdf5 import Stretto

x = (15 + 10 * np.sin(np.arange(60_000) / 300)).reshape(60, 1000).astype(np.float32)
x[20:30, 200:400] = -999  # missing data

data = xarray.Dataset({"wind": (("y", "x"), np.where(x == -999, np.nan, x))}, {"x": np.arange(1000.0)})
encoding = {"wind": {"chunksizes": (10, 1000), "_FillValue": np.float32(-999), "dtype": "f4", **Stretto(abs=1e-3)}}
data.to_netcdf("winds.nc", engine="h5netcdf", encoding=encoding)
with xarray.open_dataset("winds.nc", engine="h5netcdf") as found:
    print(float(abs(found["wind"] - data["wind"]).max()), int(found["wind"].isnull().sum()))
