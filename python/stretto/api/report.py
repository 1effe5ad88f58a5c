"""What ran in a collective."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Report:
    """What ran, on this rank. Times are in seconds; stretto.h has every field at length."""

    algorithm: str  # a schedule, "native" (the MPI's own), "node" (a host's shared memory) or "agreement"
    payload: str  # the form of the values on their way
    contributions: int  # arrays that were reduced
    raw_bytes: int  # what this rank would have sent without compression
    bytes_sent: int  # what it sent
    ratio: float  # raw_bytes / bytes_sent
    eps: float  # bound of each contribution, absolute; 0 when exact
    promised_error: float  # |result - exact| <= promised_error; 0 when exact
    codec_seconds: float
    agree_seconds: float
    seconds: float  # from the start to completion
    predicted_seconds: float  # by the model; 0: no prediction
    expected_ratio: float
    raw_below: int  # messages of fewer bytes of values travelled raw
    trial: bool  # part of a trial: calls like this one may run differently
    reason: str  # why this algorithm
    mpi_seconds: float  # the model's prediction for the MPI's own collective; 0: none
    bytes_known: bool  # whether bytes were counted
    ignored: int  # values left out of the range of a relative bound
    range: tuple[float, float]  # of a relative bound
    ignored_range: tuple[float, float]  # the same with those left out
    profile: str  # whose times the predictions took
    error_with_rounding: float  # |result - exact| <= this, with all rounding; infinite where nobody looked at the values
    split: int  # levels of a started tree that the caller's core did; 0: communication cores drove all, or there were none
    wait_seconds: float  # with nothing to do but wait for messages
    device_carrier: str  # what moved messages of devices' memory; "": no call of such memory


Report.__module__ = "stretto"
