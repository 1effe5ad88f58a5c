"""An ensemble of sea surface temperatures: compressed within a hundredth of a degree, averaged without decompressing, and read in part.

    python climate_field.py [FILE.nc VARIABLE]

The file's first axis counts members or times. It is read by h5py (NetCDF 4) or netCDF4; without a file the script computes an ensemble.
"""

import sys

import numpy as np

import stretto

BOUND = 0.01  # kelvin, of each value of each member


def read(path, variable):
    """Values as float32, NaN where the file marks missing data."""
    try:
        import h5py
    except ImportError:
        import netCDF4

        with netCDF4.Dataset(path) as file:
            return np.ma.filled(file[variable][:].astype(np.float32), np.nan)
    with h5py.File(path) as file:
        data, about = file[variable][:], file[variable].attrs
        values = data * about.get("scale_factor", np.float32(1)) + about.get("add_offset", np.float32(0))
        return np.where(np.isin(data, about.get("_FillValue", [])), np.nan, values).astype(np.float32)


def computed(members=12, latitudes=181, longitudes=360):
    """Warm at the equator, with eddies of each member's own, and land without data."""
    random = np.random.default_rng(11)
    latitude, longitude = np.meshgrid(np.linspace(-90, 90, latitudes), np.linspace(0, 360, longitudes, endpoint=False), indexing="ij")
    mean = 271.3 + 29 * np.cos(np.radians(latitude)) ** 2
    phases = random.uniform(0, 2 * np.pi, (members, 4))
    eddies = sum(np.cos(np.radians((k + 2) * longitude + (k + 1) * latitude) + phases[:, k, None, None]) / (k + 1) for k in range(4))
    fields = (mean + eddies + 0.05 * random.standard_normal(eddies.shape)).astype(np.float32)
    fields[:, (np.sin(np.radians(3 * longitude)) + np.cos(np.radians(2 * latitude)) > 1.4)] = np.nan
    return fields


fields = read(*sys.argv[1:3]) if len(sys.argv) > 2 else computed()
streams = [stretto.compress(field, abs=BOUND) for field in fields]
print(f"{len(streams)} fields of {fields[0].shape}: {fields.nbytes / 1e6:.1f} MB in {sum(s.nbytes for s in streams) / 1e6:.2f} MB")

# The sum is of codes, so its only error is that of its members; the mean's is again one bound.
total = stretto.sum(streams)
mean, exact = total.mean(), fields.mean(axis=0, dtype=np.float64)
error = np.nanmax(np.abs(mean - exact))
print(f"the mean of {total.contributions}: at most {error:.4f} from the exact one, where {BOUND} is promised")
assert error <= BOUND * (1 + 1e-4)  # the rounding of the result to float32 comes on top
assert np.array_equal(np.isnan(mean), np.isnan(exact))  # missing data stay missing

# A part is read without the rest.
tropics = streams[0][fields.shape[1] // 3: fields.shape[1] // 2]
print(f"a part of {tropics.shape} is a stream of {tropics.nbytes} bytes; its warmest value is {np.nanmax(tropics.decompress()):.2f} K")
