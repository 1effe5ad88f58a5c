"""Failures of the library as programs of torch expect them: each is also a torch.distributed.DistBackendError, and so a RuntimeError."""

from __future__ import annotations

import functools

import torch.distributed as dist

from stretto.errors import StrettoError, WaitTimeoutError


@functools.cache
def _both(kind):
    return type(kind.__name__, (kind, dist.DistBackendError), {"__module__": "stretto.torch"})


def of_torch(error: StrettoError, what: str) -> StrettoError:
    """The failure with the name of the group and of the call before it."""
    if isinstance(error, WaitTimeoutError):
        what += " reached its timeout and ended"  # torch's programs look for this word
    return _both(type(error))(f"{what}: {error}").with_traceback(error.__traceback__)
