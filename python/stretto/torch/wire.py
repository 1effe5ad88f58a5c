"""Means of gradients that travel as bfloat16 and are summed in float32: each rank sums a part of all ranks' values, and sends it to all."""

from __future__ import annotations

import collections

import torch

from stretto.api.core import _core

PIECE = 1 << 20  # values of a bucket that travel together


def mean_parts(comm, values, how):
    """This rank's part of the mean over the ranks, in float32. `values` are flat and a multiple of comm.size long."""
    sent = _to_bf16(values, torch.empty_like(values, dtype=torch.bfloat16))
    received = torch.empty_like(sent)
    report = comm.alltoall(sent, out=received, **how)[1]
    part = torch.empty(values.numel() // comm.size, dtype=torch.float32, device=values.device)
    return _mean(comm, received, part), report


def allreduce_mean(comm, buffer, how, scratch):
    """The mean in the place of the flat buffer. Returns the reports of its calls. scratch: a dict that keeps memory for the next call.

    On the host a bucket goes in pieces: one is converted and summed while others travel. All ranks start their calls in the same order."""
    count, step = buffer.numel(), buffer.numel() if buffer.is_cuda else PIECE
    pieces = [_Piece(comm, buffer[first:first + step], scratch.setdefault((first, min(step, count - first), buffer.device), {}), how) for first in range(0, count, max(step, 1))]
    reports, summed, gathered = [], collections.deque(), collections.deque()
    for piece in [*pieces, None, None]:
        if piece is not None:
            piece.scatter()
            summed.append(piece)
        if summed and (piece is None or len(summed) > 1):
            reports.append(summed[0].sum_and_gather())
            gathered.append(summed.popleft())
        if gathered and (piece is None or len(gathered) > 1):
            reports.append(gathered.popleft().finish())
    return reports


class _Piece:
    def __init__(self, comm, values, kept, how):
        self._comm, self._values, self._how, self._request = comm, values, how, None
        count = values.numel()
        if not kept:
            own = -(-count // comm.size)
            kept["sent"], kept["received"] = (torch.zeros(own * comm.size, dtype=torch.bfloat16, device=values.device) for _ in range(2))
            kept["part"] = torch.empty(own, dtype=torch.bfloat16, device=values.device)
        self._sent, self._received, self._part = kept["sent"], kept["received"], kept["part"]

    def scatter(self):
        _to_bf16(self._values, self._sent[:self._values.numel()])
        self._request = self._start("alltoall", self._sent, self._received)

    def sum_and_gather(self):
        report = self._request.wait()[1]
        _mean(self._comm, self._received, self._part)
        self._request = self._start("allgather", self._part, self._received.view(self._comm.size, -1))
        return report

    def _start(self, collective, values, out):
        if values.is_cuda:  # in the order of the stream; a request would wait for it on the host
            return _Complete(getattr(self._comm, collective)(values, out=out, **self._how))
        return getattr(self._comm, "i" + collective)(values, out=out, **self._how)

    def finish(self):
        report = self._request.wait()[1]
        _of_bf16(self._received[:self._values.numel()], self._values)
        return report


class _Complete:
    def __init__(self, result):
        self._result = result

    def wait(self):
        return self._result


def _on_host(values, dtype=torch.float32):
    return values.is_cpu and values.dtype == dtype and values.is_contiguous()


def _to_bf16(values, out):
    if _on_host(values):
        _core.to_bf16(values.data_ptr(), out.data_ptr(), values.numel())
    else:
        out.copy_(values)
    return out


def _of_bf16(values, out):
    if _on_host(out):
        _core.of_bf16(values.data_ptr(), out.data_ptr(), values.numel())
    else:
        out.copy_(values)


def _mean(comm, received, part):
    """The mean of one row of each rank, summed in float32."""
    if received.is_cpu:
        _core.mean_of_bf16(received.data_ptr(), comm.size, part.numel(), part.data_ptr(), part.dtype == torch.float32)
    else:
        part.copy_(received.view(comm.size, -1).to(torch.float32).sum(0).div_(comm.size))
    return part
