"""What a bound leaves out of a rank's own contribution to a sum: its residual, for error feedback.

Payloads fused and homomorphic round each contribution once, to the grid of an absolute eps, and add codes exactly. So what enters the sum is what a stream of
the contribution with that eps decodes to, wherever the sum is computed. A relative bound's grid depends on all ranks' values as well, so it is made absolute.
"""

from __future__ import annotations

import numpy as np

from stretto.api import arrays
from stretto.api.core import _core
from stretto.api.options import number, options, part_bounds, positive
from stretto.errors import ArgumentError, UnsupportedError

SMALLEST = float(np.nextafter(0.0, 1.0))

OPS = ("sum", "mean", "avg", "difference")  # a minimum takes no part of most contributions
PAYLOADS = ("raw", "fused", "homomorphic")


def residual_of(values, recv, residual, op):
    """The array of `residual`, of the shape and dtype of `values`."""
    if op not in OPS:
        raise UnsupportedError(f"residual with op {op!r}; there is one of {', '.join(OPS)}")
    left = arrays.writable(residual, "residual")
    if left.dtype != values.dtype or left.shape != values.shape:
        raise ArgumentError(f"residual has dtype {left.dtype} and shape {left.shape}; x {values.dtype} and {values.shape}")
    if arrays.on_device(left) != arrays.on_device(values):
        where = [one.memory if arrays.on_device(one) else "memory of the host" for one in (left, values)]
        raise ArgumentError(f"residual is {where[0]}, and x {where[1]}")
    if np.may_share_memory(left, values) or np.may_share_memory(left, recv):
        raise ArgumentError("residual overlaps x or out")
    return left


def prepared(comm, values, in_place, left, how):
    """(options, finish) of a call with a residual; finish(report) fills it in once the call is complete. Options are as of in_numbers()."""
    options(how)
    payload = how.get("payload", "auto")
    check_payload(payload)
    if how.get("abs") is None and how.get("rel") is None and "parts" not in how:
        return how, lambda report: _clear(left)
    if payload == "auto":
        how = {**how, "payload": "fused"}
    if how.get("rel") is not None:
        how = absolute(comm, values, how)
    on_device = arrays.on_device(values)
    if on_device and "parts" in how:
        raise UnsupportedError("options.parts with memory of a device")
    if not in_place:
        kept = values
    elif on_device:
        kept = _devices().copied(values)
    else:
        kept = left
        np.copyto(left, values)

    def finish(report):
        if report.eps == 0 or values.dtype.kind in "iu":
            _clear(left)
        elif on_device:
            _device_streams().residual(kept, left, report.eps)
        else:
            kind, parts = arrays.type_of(kept.dtype)
            bounds = part_bounds(how["parts"], report.eps) if "parts" in how else [(kept.size * parts, report.eps)]
            _core.residual(kind, kept.ctypes.data, left.ctypes.data, *map(list, zip(*bounds)))

    return how, finish


def check_payload(payload):
    """UnsupportedError for a payload that rounds a contribution more than once."""
    if payload != "auto" and payload not in PAYLOADS:
        raise UnsupportedError(f"residual with payload {payload!r}, which rounds more than once; there is one with {', '.join(PAYLOADS)}")


def _clear(left):
    if arrays.on_device(left):
        _devices().clear(left)
    else:
        left[...] = np.zeros((), left.dtype)


def _devices():
    from stretto.api import devices  # noqa: PLC0415  for arrays of a GPU alone

    return devices


def _device_streams():
    from stretto.api import device_streams  # noqa: PLC0415

    return device_streams


def absolute(comm, values, how):
    """The options with a relative bound turned into an absolute one, of the range of all ranks' values; exact where that is 0."""
    kind, parts = arrays.type_of(values.dtype)
    rel, how = positive(how["rel"], "rel"), {name: value for name, value in how.items() if name not in ("abs", "rel")}
    above = number(how.get("ignore_above", 0.0), "ignore_above")
    if arrays.on_device(values):
        work = _device_streams().Work(values.memory.owner, [values], kind, values.size * parts)
        lo, hi, _ = _device_streams().value_range(work, values, above)
        none = lo > hi
    else:
        lo, hi, _ = _core.value_range(kind, arrays.buffer(values), above, 1)
        none = lo == hi == 0 and not (values == 0).any()  # no value is in the range
    ends = np.array([-np.inf, -np.inf] if none else [-lo, hi])
    waits = {name: how[name] for name in ("timeout", "check") if name in how}
    comm.allreduce(ends, out=ends, op="max", **waits)
    span = (ends[1] / 2 + ends[0] / 2) * 2
    if not span > 0:
        return {**how, "payload": "auto"}
    return {**how, "abs": max(rel * span, SMALLEST)}
