"""What ran in a collective."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Report:
    """What ran, on this rank. Times are in seconds; stretto_report.h has every field at length."""

    algorithm: str  # a schedule, "native" (the MPI's own), "node" (a host's shared memory) or "agreement"
    payload: str  # the form of the values on their way
    contributions: int  # arrays that were reduced
    raw_bytes: int  # bytes that this rank would send without compression
    bytes_sent: int  # bytes that it sent
    ratio: float  # raw_bytes / bytes_sent
    eps: float  # bound of each contribution, absolute; 0 when exact
    promised_error: float  # |result - exact| <= promised_error; 0 when exact
    codec_seconds: float
    agree_seconds: float
    seconds: float  # from the start to completion
    predicted_seconds: float  # by the model; 0: no prediction
    expected_ratio: float
    raw_below: int  # messages of fewer bytes of values travelled raw
    reason: str  # why this algorithm
    mpi_seconds: float  # the model's prediction for the MPI's own collective; 0: none
    bytes_known: bool  # whether bytes were counted
    ignored: int  # values left out of the range of a relative bound
    range: tuple[float, float]  # of a relative bound
    ignored_range: tuple[float, float]  # the same with those left out
    profile: str  # whose times the predictions took
    error_with_rounding: float  # |result - exact| <= this, with all rounding; infinite if unknown
    split: int  # levels of a started tree that the caller's core did; 0: communication cores drove all, or there were none
    wait_seconds: float  # with nothing to do but wait for messages
    device_carrier: str  # what moved messages of devices' memory; "": no call of such memory
    coding: str  # of the streams in its messages: "fixed" or "dense"; "": there were none
    segments: tuple[Report, ...] = ()  # of a call with segments: the report of each

    @classmethod
    def of_segments(cls, reports: list[Report]) -> Report:
        """The report of a call with segments: bytes and the codec's time are sums, bounds and other times the largest, the rest as of the first."""
        def most(name):
            return max(getattr(one, name) for one in reports)

        def sum_of(name):
            return sum(getattr(one, name) for one in reports)

        def common(name):
            words = {getattr(one, name) for one in reports}
            return words.pop() if len(words) == 1 else "several"

        raw, sent = sum_of("raw_bytes"), sum_of("bytes_sent")
        largest = ("eps", "promised_error", "error_with_rounding", "agree_seconds", "seconds", "predicted_seconds", "wait_seconds")
        return dataclasses.replace(reports[0], raw_bytes=raw, bytes_sent=sent, ratio=raw / sent if sent else 1.0, codec_seconds=sum_of("codec_seconds"),
                                   ignored=sum_of("ignored"), algorithm=common("algorithm"), payload=common("payload"), reason=common("reason"), coding=common("coding"),
                                   bytes_known=all(one.bytes_known for one in reports), segments=tuple(reports),
                                   **{name: most(name) for name in largest})


Report.__module__ = "stretto"
