"""A directory that all ranks see as the store that they meet in: that of STRETTO_STORE, for parts of a communicator made by it."""

from __future__ import annotations

import os
import pathlib
import tempfile
import time
import urllib.parse

LOOK = 0.005  # seconds between reads of a key that does not exist yet
SCHEME = "file://"


class DirectoryStore:
    """A store with the three functions that stretto.init takes."""

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)

    @classmethod
    def of_environment(cls) -> DirectoryStore:
        return cls(os.environ["STRETTO_STORE"].removeprefix(SCHEME))

    def _path(self, key):
        return self._directory / urllib.parse.quote(key, safe="")

    def set(self, key: str, value: bytes):
        file, aside = tempfile.mkstemp(prefix=".new-", dir=self._directory)
        with open(file, "wb") as new:
            new.write(value)
        os.replace(aside, self._path(key))

    def get(self, key: str, seconds: float) -> bytes | None:
        end = time.monotonic() + seconds
        while True:
            try:
                return self._path(key).read_bytes()
            except FileNotFoundError:
                if time.monotonic() > end:
                    return None
            time.sleep(LOOK)

    def remove(self, key: str):
        self._path(key).unlink(missing_ok=True)
