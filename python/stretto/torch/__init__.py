"""stretto as a backend of torch.distributed, on CPUs and GPUs and without an MPI.

    import stretto.torch
    torch.distributed.init_process_group("stretto")                     # or "cpu:stretto,cuda:nccl", "cpu:gloo,cuda:stretto"
    model.register_comm_hook(stretto.torch.State(rms=0.01), stretto.torch.hook)      # of DistributedDataParallel, over any backend
    stretto.torch.fsdp(model, rms=0.01)                                # of fully_shard, over any backend

docs/torch.md has more.
"""

from __future__ import annotations

OLDEST = (2, 13)


def _checked():
    """torch and its version, as numbers. ImportError says which versions work."""
    works = "stretto.torch works with torch 2.13 and later, built with torch.distributed and gloo"
    try:
        import torch  # noqa: PLC0415
    except ImportError as error:
        raise ImportError(f"{works}; torch is not installed here: pip install torch") from error
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        raise ImportError(f"{works}; this is torch {torch.__version__}")
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        raise ImportError(f"{works}; this torch {torch.__version__} has no {'gloo' if torch.distributed.is_available() else 'torch.distributed'}")
    return version


VERSION = _checked()

import torch.distributed as _distributed  # noqa: E402

from stretto.torch import errors as _errors  # noqa: E402
from stretto.torch.cuda import DeviceReport  # noqa: E402
from stretto.torch.group import report  # noqa: E402
from stretto.torch.hook import hook  # noqa: E402
from stretto.torch.sharded import fsdp  # noqa: E402
from stretto.torch.state import State  # noqa: E402

__all__ = ["DeviceReport", "State", "fsdp", "hook", "report"]

globals().update({kind.__name__: kind for kind in _errors.CLASSES.values()})

if VERSION < (2, 14):
    from stretto.torch.backend_2_13 import create  # noqa: E402
else:
    from stretto.torch.backend_2_14 import create  # noqa: E402

if not hasattr(_distributed.Backend, "STRETTO"):
    _distributed.Backend.register_backend("stretto", create, extended_api=True, devices=["cpu", "cuda"])
