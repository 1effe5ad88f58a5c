"""Failures of the library as programs of torch expect them: each is also a torch.distributed.DistBackendError, and so a RuntimeError."""

from __future__ import annotations

import torch.distributed as dist

from stretto.errors import BY_STATUS, StrettoError, WaitTimeoutError

# By the exceptions of stretto. They are attributes of stretto.torch, where pickle finds them: torch pickles the results of futures.
CLASSES = {kind: type(kind.__name__, (kind, dist.DistBackendError), {"__module__": "stretto.torch", "__doc__": kind.__doc__}) for kind in (StrettoError, *BY_STATUS)}

UNUSABLE = "the communicator is unusable: "  # before the reason, in the library's messages about calls after a failure


def of_torch(error: StrettoError, what: str) -> StrettoError:
    """The failure with the name of the group and of the call before it."""
    if isinstance(error, WaitTimeoutError) and UNUSABLE not in str(error):  # else an earlier call ended, for the reason that follows
        what += " reached its timeout and ended"  # torch's programs look for this word
    return CLASSES[next(kind for kind in type(error).__mro__ if kind in CLASSES)](f"{what}: {error}").with_traceback(error.__traceback__)
