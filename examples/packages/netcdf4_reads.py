"""netCDF4 reads what h5netcdf_file.py wrote. HDF5_PLUGIN_PATH is set before it is imported; to keep its own filters, add their
directory after a colon."""

import os
import subprocess
import sys

from stretto.storage.hdf5 import plugin_path

program = "import netCDF4; print(netCDF4.Dataset('wind.nc')['wind'][3, 4])"
environment = {**os.environ, "HDF5_PLUGIN_PATH": plugin_path()}
print(subprocess.run([sys.executable, "-c", program], env=environment, check=True))
