"""torch's stores (TCPStore, FileStore, HashStore) as the store that ranks meet in. Torch is imported only where it is the program's own."""

from __future__ import annotations

import datetime
import importlib.util
import os
import sys
import time

from stretto.errors import ArgumentError, WaitTimeoutError

LOOK = 0.005  # seconds between polls of a missing key


class TorchStore:
    """A store of torch.distributed with the three functions that stretto.init takes."""

    def __init__(self, store):
        self._store = store

    def set(self, key: str, value: bytes):
        self._store.set(key, value)

    def get(self, key: str, seconds: float) -> bytes | None:
        end = time.monotonic() + seconds
        while not self._store.check([key]):  # its wait() would print a warning after each timeout
            if time.monotonic() > end:
                return None
            time.sleep(LOOK)
        return self._store.get(key)

    def remove(self, key: str):
        self._store.delete_key(key)


def adapted(store):
    """The store itself, or a TorchStore where it is one of torch's, which remove a key by delete_key."""
    return TorchStore(store) if hasattr(store, "delete_key") and not hasattr(store, "remove") else store


def of_group(group):
    """(store, rank, size) of a process group of torch; None for what is none."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return None
    if isinstance(group, int) and group == distributed.GroupMember.NON_GROUP_MEMBER:
        raise ArgumentError("this process is not in the process group, whose ranks alone make the communicator")
    if not isinstance(group, distributed.ProcessGroup):
        return None
    return TorchStore(group.get_group_store()), group.rank(), group.size()


def of_torchrun(seconds):
    """(store, rank, size) of the ranks that torchrun started; None where it did not, or where Python has no torch. seconds: the limit of the store's waits."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or importlib.util.find_spec("torch") is None:
        return None
    import torch.distributed  # noqa: PLC0415  it takes a second to load

    try:
        store, rank, size = next(torch.distributed.rendezvous("env://", timeout=datetime.timedelta(seconds=seconds)))
    except torch.distributed.DistStoreError as error:
        raise WaitTimeoutError(f"the ranks of torchrun did not meet in its store within {seconds:g} s: {error}") from None
    return TorchStore(store), rank, size
