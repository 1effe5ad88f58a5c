"""`import stretto.hdf5` makes stretto's filter known to h5py, for reading and for writing; stretto.storage.hdf5 has the documentation."""

from stretto.storage.hdf5 import FILTER, Stretto, plugin_path, register

__all__ = ["FILTER", "Stretto", "plugin_path", "register"]
