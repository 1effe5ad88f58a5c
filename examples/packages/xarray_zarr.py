"""xarray writes and reads Zarr's format 3. Missing data that stay NaN need no mark."""

import numpy as np
import xarray

from stretto.storage.zarr import Stretto

x = (15 + 10 * np.sin(np.arange(60_000) / 300)).reshape(60, 1000).astype(np.float32)
x[20:30, 200:400] = -999  # missing data

data = xarray.Dataset({"wind": (("y", "x"), np.where(x == -999, np.nan, x))}, {"x": np.arange(1000.0)})
codec = Stretto(abs=1e-3, marks=(-999,))  # of format 3 the codec does not see xarray's fill value
encoding = {"wind": {"chunks": (10, 1000), "_FillValue": np.float32(-999), "dtype": "f4", "serializer": codec,
                     "compressors": ()}}
data.to_zarr("winds.zarr", mode="w", zarr_format=3, consolidated=False, encoding=encoding)
found = xarray.open_zarr("winds.zarr", consolidated=False)
print(float(abs(found["wind"] - data["wind"]).max()), int(found["wind"].isnull().sum()))
