"""Communicators, and the collectives of arrays over them."""

from __future__ import annotations

import functools
import math
import numbers
import sys
import threading
from collections.abc import Sequence

import numpy as np

from stretto.api import arrays, feedback
from stretto.api.core import _core
from stretto.api.options import CallOptions, Operation, Unpack, in_numbers, member, options
from stretto.api.report import Report
from stretto.api.requests import Batch, Request, Started
from stretto.errors import ArgumentError, UnsupportedError


class _InPlace:
    def __repr__(self):
        return "stretto.IN_PLACE"


#: As `x`: this rank's contribution is in `out`. As `out` of scatter and scatterv at the root: the root's block stays in `x`.
IN_PLACE = _InPlace()

Segments = Sequence[tuple[int, CallOptions]]  # elements of a part of a vector, and its options

KINDS = _core.Collective
SUM = _core.Op.sum
NO_TYPE = _core.Type.u8  # of calls without data
COMPLEX_OPS = ("sum", "difference", "mean")  # operations on real and imaginary parts separately


class Comm:
    """Ranks that call collectives together.

    Comm(MPI.COMM_WORLD) is made of a communicator of mpi4py, collectively, and has the same ranks. stretto.init() makes one without an MPI,
    stretto.threads(n) one of n threads.

    Rules of all collectives:
    - Each returns (result, report), and its form with an i before it a Request.
    - Arrays are those that stretto.compress takes, and also of integers of 8 to 64 bits. Contiguous ones are used in place; of others a copy is sent.
      `out` is a contiguous, writable array; without one the result is a new array.
    - Arrays of a GPU are tensors of torch, arrays of CuPy, and others with __cuda_array_interface__ or DLPack. A blocking call comes after what was enqueued
      on the array's stream (torch's and CuPy's current one, or the interface's), and before what is enqueued there afterwards. A request first waits for
      that stream, and its result is ready when it is complete. A new result is made by torch or CuPy; other libraries give out=.
    - One communicator is used by one thread at a time.
    - All ranks call the same collectives in the same order, with equal dtypes, shapes and options. Where they differ, each rank raises an
      IncompatibleError that names the field and both values.
    - Options, as in stretto_options.h: abs= or rel= (a bound: values are compressed; without one they are exact), scope="result" (unless given: the
      bound is of the result) or "contribution" (of each array that is reduced), schedule=, payload=, segment=, timeout= (seconds), check=,
      reproducible=, ignore_above=, raw_below= (bytes).
    - Ctrl-C ends a call that waits, on the other ranks with a WaitTimeoutError; the communicator has no further use. Only a call inside the MPI's own
      blocking collective (report.algorithm "native") does not hear it.
    """

    _when_freed = None  # called with the communicator when it is freed
    _subset = None  # subset(members, number): makes the communicator of these ranks for split `number`
    _splits = 0
    _rounding = True  # whether the reports of blocking calls have error_with_rounding, which takes a pass over the result

    def __init__(self, comm):
        if isinstance(comm, _core.Communicator):
            self._comm = comm
        else:
            self._comm = _core.of_mpi(_address(comm))
            self._subset = functools.partial(_subset_of_mpi, comm)
        self.rank, self.size = self._comm.rank, self._comm.size
        # held while a thread uses the communicator, since another may advance its requests
        self._lock = threading.RLock()

    def free(self):
        """Frees it, collectively over processes; over MPI before MPI_Finalize. No request of it may be left."""
        self._comm.free()
        when_freed, self._when_freed = self._when_freed, None
        if when_freed:
            when_freed(self)

    def split(self, color: int | None = 0, key: int = 0) -> Comm | None:
        """Collective: communicators of those ranks that gave the same color, in the order of key, and of rank where keys are equal.

        color: 0 to 2**31 - 1, or None, for which a rank gets None and is in no new communicator. key: -2**31 to 2**31 - 1.
        The new communicators live on their own: free each, collectively over its ranks, before or after this one. Of ranks that are threads it ends with
        them. Raises what stretto.init or stretto.Comm raises where the ranks do not come.
        """
        for value, what, least in ((color, "color", 0), (key, "key", -(2**31))):
            if not (color is None and what == "color") and (not isinstance(value, numbers.Integral) or not least <= value < 2**31):
                raise ArgumentError(f"{what} is {value!r}; it takes {least} to {2**31 - 1}{', or None' if what == 'color' else ''}")
        colors, keys = self.allgather(np.array([-1 if color is None else color, key], np.int64))[0].T.tolist()
        self._splits += 1
        if color is None:
            return None
        return self._subset(sorted((rank for rank in range(self.size) if colors[rank] == color), key=lambda rank: (keys[rank], rank)), self._splits)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.free()

    def __repr__(self):
        return f"<stretto.Comm, rank {self.rank} of {self.size}>"

    # ---- reductions

    def allreduce(self, x, out=None, op: Operation = "sum", *, residual=None, segments: Segments | None = None,
                  **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """out[i] = op over all ranks of x[i], on every rank. out=x: in place.

        op: sum, prod, min, max, land, lor, lxor, band, bor, bxor, mean (also avg), or difference (rank 0's less those of all others). A bound goes with sum,
        mean, min, max and difference. Error of a sum over p ranks: the bound, or p * bound with scope="contribution".
        residual: an array of x's shape and dtype, which receives x less what entered the sum for it, for error feedback. It is 0 where values travel raw,
          are exact, or are not finite. Of 16-bit types it is rounded to the type. All ranks give one; op is sum, mean or difference. With a bound the
          payload is then "fused" (or "homomorphic"), whether it gains or not; other payloads of streams are an UnsupportedError. With rel= the ranks
          first agree on the range by a call that waits. Costs a compression and a decompression of x, and in place a copy of it.
        segments: parts of the flat x one after another, as (elements, options): [(1000, {"rel": 1e-3}), (24, {})]. Options of a part go before those of the
          call. They are equal on all ranks. Each part is a call of its own, one after the other; iallreduce has all under way at once. report.segments has
          a report of each.
        """
        if residual is None and segments is None and "parts" not in how:
            return self._run(*self._allreduce(x, out, op), how)
        result, parts = self._parts(x, out, op, residual, segments, how)
        reports = []
        for call, how_of_part, finish in parts:
            reports.append(self._run(call, None, how_of_part)[1])
            if finish is not None:
                finish(reports[-1])
        return result, reports[0] if segments is None else Report.of_segments(reports)

    def iallreduce(self, x, out=None, op: Operation = "sum", *, residual=None, segments: Segments | None = None, **how: Unpack[CallOptions]) -> Request:
        """Starts allreduce."""
        if residual is None and segments is None and "parts" not in how:
            return self._start(*self._allreduce(x, out, op), how)
        result, parts = self._parts(x, out, op, residual, segments, how)
        with self._lock:
            started = [Started(_core.start(self._comm, options(how_of_part), call), finish) for call, how_of_part, finish in parts]
            return Request(self._lock, started[0] if segments is None else Batch(started), result)

    def _parts(self, x, out, op, residual, segments, how):
        """The result; and call, options and finish(report), which may be None, of each part. Made one by one: a relative residual has a call of its own."""
        send, recv, result, values = self._reduced(x, out)
        left = None if residual is None else feedback.residual_of(values, recv, residual, op)
        sizes = [(values.size, how)] if segments is None else _segments(segments, values.size, how)
        values, recv, left = (None if one is None else one.reshape(-1) for one in (values, recv, left))

        def parts():
            at = 0
            for count, how_of_part in sizes:
                part = slice(at, at + count)
                finish = None
                how_of_part = in_numbers(how_of_part, arrays.type_of(values.dtype)[1])
                if left is not None:
                    how_of_part, finish = feedback.prepared(self, values[part], send is IN_PLACE, left[part], how_of_part)
                given = IN_PLACE if send is IN_PLACE else values[part]
                yield self._call(KINDS.allreduce, given, recv[part], _count(values[part]), values.dtype, op=_op(op, values.dtype)), how_of_part, finish
                at += count

        return result, parts()

    def _allreduce(self, x, out, op):
        send, recv, result, values = self._reduced(x, out)
        return self._call(KINDS.allreduce, send, recv, _count(values), values.dtype, op=_op(op, values.dtype)), result

    def allreduce_multi(self, arrays_, out=None, op: Operation = "sum", **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """allreduce over all ranks and over the arrays of each, which may be different numbers of them; op is sum, mean, min or max."""
        return self._run(*self._allreduce_multi(arrays_, out, op), how)

    def iallreduce_multi(self, arrays_, out=None, op: Operation = "sum", **how: Unpack[CallOptions]) -> Request:
        """Starts allreduce_multi."""
        return self._start(*self._allreduce_multi(arrays_, out, op), how)

    def _allreduce_multi(self, arrays_, out, op):
        given = arrays.sequence(arrays_, "arrays_")
        values = [_readable(one, "a contribution") for one in given]
        if not values and out is None:
            raise ArgumentError("a rank without contributions gives out=, whose dtype and shape are those of the sum")
        like = values[0] if values else _writable(out)
        for one in values:
            if one.dtype != like.dtype or one.shape != like.shape:
                raise ArgumentError(f"contributions differ: {like.dtype} {like.shape} and {one.dtype} {one.shape}")
        recv, result = _out(out, like.shape, like, given[0] if given else None)
        return self._call(KINDS.allreduce_multi, values, recv, _count(like), like.dtype, op=_op(op, like.dtype)), result

    def reduce(self, x, out=None, op: Operation = "sum", root: int = 0, **how: Unpack[CallOptions]) -> tuple[np.ndarray | None, Report]:
        """allreduce with the result at `root` alone; elsewhere it is None."""
        return self._run(*self._reduce(x, out, op, root), how)

    def ireduce(self, x, out=None, op: Operation = "sum", root: int = 0, **how: Unpack[CallOptions]) -> Request:
        """Starts reduce."""
        return self._start(*self._reduce(x, out, op, root), how)

    def _reduce(self, x, out, op, root):
        root = self._root(root)
        if self.rank == root:
            send, recv, result, values = self._reduced(x, out)
        else:
            recv, result, send = None, None, _readable(_no_in_place(x, "root"))
            values = send
        return self._call(KINDS.reduce, send, recv, _count(values), values.dtype, op=_op(op, values.dtype), root=root), result

    def scan(self, x, out=None, op: Operation = "sum", **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """out[i] on rank r = op over ranks 0 to r of x[i], in this order. op: those of allreduce but mean and difference. Values travel as they are."""
        return self._run(*self._scan(KINDS.scan, x, out, op), how)

    def iscan(self, x, out=None, op: Operation = "sum", **how: Unpack[CallOptions]) -> Request:
        """Starts scan."""
        return self._start(*self._scan(KINDS.scan, x, out, op), how)

    def exscan(self, x, out=None, op: Operation = "sum", **how: Unpack[CallOptions]) -> tuple[np.ndarray | None, Report]:
        """scan over ranks 0 to r-1. The result of rank 0 is None, and nothing is written to its out."""
        return self._run(*self._scan(KINDS.exscan, x, out, op), how)

    def iexscan(self, x, out=None, op: Operation = "sum", **how: Unpack[CallOptions]) -> Request:
        """Starts exscan."""
        return self._start(*self._scan(KINDS.exscan, x, out, op), how)

    def _scan(self, kind, x, out, op):
        in_place = x is IN_PLACE or (x is out and out is not None)
        if kind == KINDS.exscan and self.rank == 0 and not in_place:
            send = values = _readable(x)
            recv, result = None, None
        else:
            send, recv, result, values = self._reduced(x, out)
        call = self._call(kind, send, recv, _count(values), values.dtype, op=_op(op, values.dtype))
        return call, None if kind == KINDS.exscan and self.rank == 0 else result

    def _reduced(self, x, out):
        if x is IN_PLACE or (x is out and out is not None):
            recv = _writable(out)
            arrays.type_of(recv.dtype)
            return IN_PLACE, recv, out, recv
        values = _readable(x)
        return values, *_out(out, values.shape, values, x), values

    def reduce_scatter(self, x, out=None, op: Operation = "sum", counts=None, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """x is reduced, and rank r gets part r of it.

        Without counts the first axis is cut into as many equal parts as there are ranks. With counts rank r gets counts[r] elements of the flat array.
        In place: x=IN_PLACE, out= the whole array, whose beginning is the result.
        """
        return self._run(*self._reduce_scatter(x, out, op, counts), how)

    def ireduce_scatter(self, x, out=None, op: Operation = "sum", counts=None, **how: Unpack[CallOptions]) -> Request:
        """Starts reduce_scatter."""
        return self._start(*self._reduce_scatter(x, out, op, counts), how)

    def _reduce_scatter(self, x, out, op, counts):
        in_place = x is IN_PLACE
        values = _writable(out) if in_place else _readable(x)
        if counts is None:
            shape = self._part(values, "x")
        else:
            counts = _sizes(counts, self.size, "counts")
            if sum(counts) != values.size:
                raise ArgumentError(f"counts are {sum(counts)} elements together; x has {values.size}")
            shape = (counts[self.rank],)
        recv, result = (values, out) if in_place else _out(out, shape, values, x)
        send, op = (IN_PLACE if in_place else values), _op(op, values.dtype)
        count = math.prod(shape) * arrays.type_of(values.dtype)[1]
        if counts is None:
            call = self._call(KINDS.reduce_scatter_block, send, recv, count, values.dtype, op=op)
        else:
            call = self._call(KINDS.reduce_scatter, send, recv, count, values.dtype, op=op, received=counts)
        if not in_place:
            return call, result
        if arrays.on_device(values) and not hasattr(out, "reshape"):
            return call, out
        return call, (out if hasattr(out, "reshape") else values).reshape(-1)[:math.prod(shape)].reshape(shape)

    # ---- collectives that move

    def allgather(self, x, out=None, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """out[r] = x of rank r, on every rank: shape (size, *x.shape). In place: x=IN_PLACE, this rank's block is in out.

        In place the first axis of out is cut into as many equal blocks as there are ranks, so that out may be flat.
        """
        return self._run(*self._gathered(KINDS.allgather, x, out, None), how)

    def iallgather(self, x, out=None, **how: Unpack[CallOptions]) -> Request:
        """Starts allgather."""
        return self._start(*self._gathered(KINDS.allgather, x, out, None), how)

    def gather(self, x, out=None, root: int = 0, **how: Unpack[CallOptions]) -> tuple[np.ndarray | None, Report]:
        """allgather with the result at `root` alone; elsewhere it is None."""
        return self._run(*self._gathered(KINDS.gather, x, out, self._root(root)), how)

    def igather(self, x, out=None, root: int = 0, **how: Unpack[CallOptions]) -> Request:
        """Starts gather."""
        return self._start(*self._gathered(KINDS.gather, x, out, self._root(root)), how)

    def _gathered(self, kind, x, out, root):
        receives = root is None or self.rank == root
        if x is IN_PLACE and receives:
            recv = _writable(out)
            count = math.prod(self._part(recv, "out")) * arrays.type_of(recv.dtype)[1]
            return self._call(kind, IN_PLACE, recv, count, recv.dtype, root=root or 0), out
        values = _readable(_no_in_place(x, "root"))
        recv, result = _out(out, (self.size, *values.shape), values, x) if receives else (None, None)
        return self._call(kind, values, recv, _count(values), values.dtype, root=root or 0), result

    def allgatherv(self, x, counts, out=None, displacements=None, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """The flat arrays of all ranks, counts[r] elements of rank r, at displacements[r] or end to end. `counts` are the same on all ranks."""
        return self._run(*self._gatheredv(KINDS.allgatherv, x, counts, out, displacements, None), how)

    def iallgatherv(self, x, counts, out=None, displacements=None, **how: Unpack[CallOptions]) -> Request:
        """Starts allgatherv."""
        return self._start(*self._gatheredv(KINDS.allgatherv, x, counts, out, displacements, None), how)

    def gatherv(self, x, counts=None, out=None, displacements=None, root: int = 0, **how: Unpack[CallOptions]) -> tuple[np.ndarray | None, Report]:
        """allgatherv with the result, and the counts, at `root` alone."""
        return self._run(*self._gatheredv(KINDS.gatherv, x, counts, out, displacements, self._root(root)), how)

    def igatherv(self, x, counts=None, out=None, displacements=None, root: int = 0, **how: Unpack[CallOptions]) -> Request:
        """Starts gatherv."""
        return self._start(*self._gatheredv(KINDS.gatherv, x, counts, out, displacements, self._root(root)), how)

    def _gatheredv(self, kind, x, counts, out, displacements, root):
        receives = root is None or self.rank == root
        in_place = x is IN_PLACE and receives
        values = _writable(out) if in_place else _readable(_no_in_place(x, "root"))
        blocks = _blocks(counts, displacements, self.size) if receives else ([], [])
        recv, result = (values, out) if in_place else _out(out, (_extent(*blocks),), values, x, exactly=False) if receives else (None, None)
        count = blocks[0][self.rank] if in_place else values.size
        call = self._call(kind, IN_PLACE if in_place else values, recv, count * arrays.type_of(values.dtype)[1], values.dtype, root=root or 0,
                          received=blocks[0], received_at=blocks[1])
        return call, result

    def bcast(self, x, root: int = 0, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """x of `root` on every rank, written into x of the others. Returns x."""
        return self._run(*self._bcast(x, root), how)

    def ibcast(self, x, root: int = 0, **how: Unpack[CallOptions]) -> Request:
        """Starts bcast."""
        return self._start(*self._bcast(x, root), how)

    def _bcast(self, x, root):
        root = self._root(root)
        values = _readable(x) if self.rank == root else _writable(x, "x")
        return self._call(KINDS.bcast, None, values, _count(values), values.dtype, root=root), x

    def scatter(self, x=None, out=None, root: int = 0, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """out = x[r] of `root` on rank r: the first axis of x has a row for each rank. Other ranks than the root give out=, and no x."""
        return self._run(*self._scatter(x, out, root), how)

    def iscatter(self, x=None, out=None, root: int = 0, **how: Unpack[CallOptions]) -> Request:
        """Starts scatter."""
        return self._start(*self._scatter(x, out, root), how)

    def _scatter(self, x, out, root):
        root = self._root(root)
        if self.rank != root:
            recv = _writable(_given(out, "out"))
            return self._call(KINDS.scatter, None, recv, _count(recv), recv.dtype, root=root), out
        values = _readable(_given(x, "x"))
        shape = values.shape[1:] if values.ndim and values.shape[0] == self.size else self._part(values, "x")
        recv, result = (IN_PLACE, x) if out is IN_PLACE else _out(out, shape, values, x, exactly=False)
        count = math.prod(shape) * arrays.type_of(values.dtype)[1]
        return self._call(KINDS.scatter, values, recv, count, values.dtype, root=root), result

    def scatterv(self, x=None, counts=None, out=None, displacements=None, root: int = 0, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """counts[r] elements of the flat x of `root`, at displacements[r] or end to end, to rank r. Other ranks give out= alone."""
        return self._run(*self._scatterv(x, counts, out, displacements, root), how)

    def iscatterv(self, x=None, counts=None, out=None, displacements=None, root: int = 0, **how: Unpack[CallOptions]) -> Request:
        """Starts scatterv."""
        return self._start(*self._scatterv(x, counts, out, displacements, root), how)

    def _scatterv(self, x, counts, out, displacements, root):
        root = self._root(root)
        if self.rank != root:
            recv = _writable(_given(out, "out"))
            return self._call(KINDS.scatterv, None, recv, _count(recv), recv.dtype, root=root), out
        values = _readable(_given(x, "x"))
        own, at = _blocks(counts, displacements, self.size)
        recv, result = (IN_PLACE, x) if out is IN_PLACE else _out(out, (own[self.rank],), values, x, exactly=False)
        call = self._call(KINDS.scatterv, values, recv, own[self.rank] * arrays.type_of(values.dtype)[1], values.dtype, root=root, sent=own, sent_at=at)
        return call, result

    def alltoall(self, x, out=None, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """Part d of x goes to rank d, whose out has it as part s, of rank s. The first axis is cut into equal parts. In place: x=IN_PLACE."""
        return self._run(*self._alltoall(x, out), how)

    def ialltoall(self, x, out=None, **how: Unpack[CallOptions]) -> Request:
        """Starts alltoall."""
        return self._start(*self._alltoall(x, out), how)

    def _alltoall(self, x, out):
        send, recv, result, values = self._reduced(x, out)
        count = math.prod(self._part(values, "x")) * arrays.type_of(values.dtype)[1]
        return self._call(KINDS.alltoall, send, recv, count, values.dtype), result

    def alltoallv(self, x, sendcounts=None, recvcounts=None, out=None, senddisplacements=None, recvdisplacements=None, **how: Unpack[CallOptions]) -> tuple[np.ndarray, Report]:
        """sendcounts[d] elements of the flat x go to rank d, recvcounts[s] of rank s come. In place: x=IN_PLACE, without what is sent."""
        return self._run(*self._alltoallv(x, sendcounts, recvcounts, out, senddisplacements, recvdisplacements), how)

    def ialltoallv(self, x, sendcounts=None, recvcounts=None, out=None, senddisplacements=None, recvdisplacements=None, **how: Unpack[CallOptions]) -> Request:
        """Starts alltoallv."""
        return self._start(*self._alltoallv(x, sendcounts, recvcounts, out, senddisplacements, recvdisplacements), how)

    def _alltoallv(self, x, sendcounts, recvcounts, out, senddisplacements, recvdisplacements):
        in_place = x is IN_PLACE
        values = _writable(out) if in_place else _readable(x)
        sent = ([], []) if in_place else _blocks(sendcounts, senddisplacements, self.size, "send")
        received = _blocks(recvcounts, recvdisplacements, self.size, "recv")
        recv, result = (values, out) if in_place else _out(out, (_extent(*received),), values, x, exactly=False)
        call = self._call(KINDS.alltoallv, IN_PLACE if in_place else values, recv, 0, values.dtype, sent=sent[0], sent_at=sent[1], received=received[0],
                          received_at=received[1])
        return call, result

    def barrier(self, **how: Unpack[CallOptions]) -> tuple[None, Report]:
        """Returns when every rank has called it; the result is None."""
        return self._run(self._call(KINDS.barrier, None, None, 0, None), None, how)

    def ibarrier(self, **how: Unpack[CallOptions]) -> Request:
        """Starts barrier."""
        return self._start(self._call(KINDS.barrier, None, None, 0, None), None, how)

    def device_done(self) -> bool:
        """Whether devices have done all that blocking calls have enqueued there. Raises what became of the last step of one, once, such as StreamError."""
        with self._lock:
            return self._comm.device_done()

    # ---- what they share

    def _root(self, root):
        if not isinstance(root, numbers.Integral) or not -(2**31) <= root < 2**31:
            raise ArgumentError(f"root is {root!r}; it takes a rank, 0 to {self.size - 1}")
        return int(root)

    def _part(self, values, what):
        """The shape of each of `size` equal parts of the first axis."""
        if not values.ndim or values.shape[0] % self.size:
            raise ArgumentError(f"{what} has shape {values.shape}; its first axis is cut into {self.size} equal parts")
        return (values.shape[0] // self.size, *values.shape[1:])

    def _call(self, kind, send, recv, count, dtype, *, op=SUM, root=0, sent=(), sent_at=(), received=(), received_at=()):
        kind_of, parts = (NO_TYPE, 1) if dtype is None else arrays.type_of(dtype)
        if isinstance(send, list):
            borrowed = [arrays.buffer(one) for one in send]
        else:
            borrowed = None if send is None or send is IN_PLACE else arrays.buffer(send)
        return _core.call(self._comm, kind, borrowed, None if recv is None or recv is IN_PLACE else arrays.buffer(recv), send is IN_PLACE, recv is IN_PLACE,
                          count, kind_of, op, root, *([n * parts for n in one] for one in (sent, sent_at, received, received_at)), _place(send, recv))

    def _run(self, call, result, how):
        with self._lock:
            return result, Report(*_core.run(self._comm, options(how), call, self._rounding))

    def _start(self, call, result, how):
        with self._lock:
            return Request(self._lock, Started(_core.start(self._comm, options(how), call)), result)


Comm.__module__ = "stretto"


def _address(comm):
    """Where the MPI_Comm of a communicator of mpi4py lies."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Comm):
        raise TypeError(f"{comm!r} is no communicator of mpi4py; without an MPI stretto.init() makes one")
    return mpi._addressof(comm)


def _place(send, recv):
    """Where a call's arrays are, if on a device. Nothing is asked where no array of a device has come yet."""
    devices = sys.modules.get("stretto.api.devices")
    if devices is None:
        return None
    sent = [("a contribution", one) for one in send] if isinstance(send, list) else [("x", send)]
    return devices.place([(name, one) for name, one in (*sent, ("out", recv)) if one is not IN_PLACE])


def _readable(x, what="x"):
    return arrays.readable(x, what, bits=True)


def _writable(out, what="out"):
    return arrays.writable(out, what, bits=True)


def _subset_of_mpi(comm, members, number):
    """The communicator of some ranks of one of mpi4py, collectively over them; others take no part."""
    group = comm.Get_group()
    chosen = group.Incl(members)
    part = comm.Create_group(chosen, number % 32768)
    chosen.Free()
    group.Free()
    made = Comm(part)
    made._when_freed = lambda _: part.Free()
    return made


def _segments(segments, size, how):
    """(elements, options) of each part, with the options of the call where the part has none."""
    parts = []
    for one in arrays.sequence(segments, "segments"):
        try:
            count, own = one
            own = dict(own)
        except (TypeError, ValueError):
            raise TypeError(f"segments has {one!r}; it takes pairs of a number of elements and a dict of options") from None
        if not isinstance(count, numbers.Integral) or count < 0:
            raise ArgumentError(f"segments has {count!r} elements; it takes numbers of elements")
        base = {name: value for name, value in how.items() if name not in ("abs", "rel")} if "abs" in own or "rel" in own else how
        options({**base, **own})  # refuses wrong options before anything starts
        parts.append((int(count), {**base, **own}))
    if sum(count for count, _ in parts) != size or not parts:
        raise ArgumentError(f"segments are {sum(count for count, _ in parts)} elements together; x has {size}")
    return parts


def _count(values):
    """Elements as the C interface counts them."""
    return values.size * arrays.type_of(values.dtype)[1]


def _op(word, dtype):
    if word == "avg":  # torch's name
        word = "mean"
    if dtype.kind == "c" and word not in COMPLEX_OPS:
        raise UnsupportedError(f"op {word!r} of {dtype}; complex numbers have {', '.join(COMPLEX_OPS)}")
    return member(_core.Op, word, "op", also=["avg"])


def _given(x, what):
    if x is None:
        raise TypeError(f"this rank gives {what}=")
    return x


def _no_in_place(x, where):
    if x is IN_PLACE:
        raise ArgumentError(f"IN_PLACE is for the {where} alone here")
    return x


def _out(out, shape, values, like, exactly=True):
    """(array, object) of `out`, or of a new result like `like`, whose array is `values`. `exactly`: of this shape; else of at least as many elements."""
    dtype = values.dtype
    if out is None:
        return arrays.result(like, shape, dtype, values)
    recv = _writable(out)
    if type(out) is not np.ndarray:
        recv = arrays.of_bytes(recv, out, dtype)
        if recv.ndim == 1 and recv.size == math.prod(shape) and not hasattr(out, "reshape"):  # memory without axes of its own
            recv = recv.reshape(shape)
    if recv.dtype != dtype:
        raise ArgumentError(f"out has dtype {recv.dtype}; the values {dtype}")
    if exactly and recv.shape != shape:
        raise ArgumentError(f"out has shape {recv.shape}; the result {shape}")
    if recv.size < math.prod(shape):
        raise ArgumentError(f"out has {recv.size} elements; the result {math.prod(shape)}")
    return recv, out


def _sizes(values, size, what):
    values = arrays.sequence(_given(values, what), what)
    for one in values:
        if not isinstance(one, numbers.Integral) or not 0 <= one < 2**48:
            raise ArgumentError(f"{what} has {one!r}; it takes numbers of elements")
    if len(values) != size:
        raise ArgumentError(f"{what} has {len(values)} numbers; the communicator has {size} ranks")
    return [int(one) for one in values]


def _blocks(counts, displacements, size, prefix=""):
    sizes = _sizes(counts, size, prefix + "counts")
    return sizes, [] if displacements is None else _sizes(displacements, size, prefix + "displacements")


def _extent(counts, displacements):
    if not displacements:
        return sum(counts)
    return max((at + n for n, at in zip(counts, displacements) if n), default=0)
