"""Skips the module that imports this one, where Python has no torch or the machine no UCX."""

import ctypes
import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("Python has no torch here", allow_module_level=True)
try:
    ctypes.CDLL(os.environ.get("STRETTO_UCX", "libucp.so.0"))
except OSError as error:
    pytest.skip(f"no UCX: {error}", allow_module_level=True)
