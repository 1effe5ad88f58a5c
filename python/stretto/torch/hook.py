"""The communication hook of DistributedDataParallel: the mean of a bucket within a bound, on threads beside the backward pass.

A bucket of the host passes three steps. Passes over this rank's own values are on one thread, calls on another, so that a bucket is prepared while the one before
it travels:

- prepare: adds the residual, and takes the sum of squares;
- send: the collective; then the bucket is complete;
- keep: what the bound left out becomes the new residual, after the last bucket of the step.

A bucket of CUDA passes them in one call, in the order of a stream."""

import dataclasses

import torch

from stretto.api import arrays, feedback
from stretto.api.core import _core
from stretto.api.options import part_bounds
from stretto.errors import UnsupportedError
from stretto.torch import wire
from stretto.torch.dtypes import NUMBERS
from stretto.torch.state import SMALL, State
from stretto.torch.work import result_of, untraced

MOST_ZEROS = 0.25  # of a bucket's values are exact, from which those with a bound are copied end to end


@untraced
def hook(state: State, bucket) -> torch.futures.Future[torch.Tensor]:
    """model.register_comm_hook(state, hook): the mean of the bucket over the ranks, within the bound of `state`."""
    if not isinstance(state, State):
        raise TypeError(f"the state of the hook is {state!r}; it takes a State, as in register_comm_hook(stretto.torch.State(rms=0.01), stretto.torch.hook)")
    buffer = bucket.buffer()
    if buffer.layout != torch.strided:
        raise UnsupportedError(f"a bucket of gradients of layout {buffer.layout}; dense gradients are served (as of Embedding(sparse=False))")
    if not buffer.is_cpu and not buffer.is_cuda:
        raise UnsupportedError(f"a bucket on the device {str(buffer.device)!r}; gradients in the host's memory and in CUDA's are served")
    if state.bound and buffer.dtype.is_complex:
        raise UnsupportedError(f"a bound for gradients of {str(buffer.dtype).removeprefix('torch.')}; real ones are served")
    future = torch.futures.Future(devices=[buffer.device]) if buffer.is_cuda else torch.futures.Future()
    Average(state, bucket, future).start()
    return future.then(result_of)


class Average:
    """The mean over the ranks in the place of the flat buffer of a bucket's gradients."""

    def __init__(self, state, bucket, future):
        self.state, self.future = state, future
        self.buffer, self.parameters, self.gradients, self.is_last = bucket.buffer(), bucket.parameters(), bucket.gradients(), bucket.is_last()
        self.key = bucket.index(), self.buffer.numel(), self.buffer.dtype, *map(id, self.parameters[:1])  # models may share a State
        self.left = self.squares = self.chosen = None
        self.lane = bucket.index() % len(state.lanes) if self.buffer.is_cpu else 0
        state.begin_bucket(bucket)

    def start(self):
        if self.buffer.is_cpu:
            self.state.passes.start([], self.guarded(self.prepare, self.hand_over))
        else:
            self.state.lanes[0].start([self.buffer], self.guarded(self.prepare, self.send, self.complete))

    def guarded(self, *steps):
        """The steps one after the other; a failure is the result of the bucket, since DDP waits for its future alone."""
        def run():
            try:
                with torch.no_grad():
                    for step in steps:
                        step()
            except BaseException as error:
                if not self.future.done():
                    self.state.end_bucket(self.is_last)
                    self.future.set_result(error)
                raise
        return run

    def hand_over(self):
        self.state.lanes[self.lane].start([], self.guarded(self.send, self.complete))

    def complete(self):
        if self.left is not None and self.buffer.is_cpu:
            self.state.unkept.append(self.keep)
        self.state.end_bucket(self.is_last)
        self.future.set_result(self.buffer)

    def prepare(self):
        state, buffer = self.state, self.buffer
        self.exact = not state.bound or state.totals.steps < state.warmup_steps or buffer.numel() == 0
        if self.exact or self.sends_16_bits():
            return
        if state.chooses:
            self.chosen = state.choices.of(self.key)
            if self.chosen == {}:
                self.exact = True
                return
        self.sizes = parts_of(state, self.parameters, self.gradients)
        self.values = buffer
        if state.residuals:
            self.left = state.residuals.of(self.parameters, self.gradients)
            if state.failure:
                raise state.failure
            if buffer.is_cpu:
                self.add_left()
                return
            if not torch.isfinite(self.left.sum()):  # a sum reads memory once, nan_to_num_ also writes all of it
                self.left.nan_to_num_(0, 0, 0)
            buffer.add_(self.left)
        self.squares = state.bound.squares([part for part, exact in self.parts(buffer) if not exact])

    def sends_16_bits(self):
        return self.state.wire and self.buffer.dtype != torch.bfloat16

    def parts(self, values):
        """(values, whether exact) of each part."""
        return zip(values.split([size for size, _ in self.sizes]), [exact for _, exact in self.sizes])

    def add_left(self):
        """The residual becomes this rank's contribution, which is what travels: no other copy of it is needed until keep()."""
        kind, at = NUMBERS[self.buffer.dtype][0], 0
        squares = []
        for (values, exact), (left, _) in zip(self.parts(self.buffer), self.parts(self.left)):
            square = _core.add_residual(kind, values.data_ptr(), left.data_ptr(), values.numel())
            if not exact:
                squares.append(square)
        self.values, self.squares = self.left, squares

    def send(self):
        state, buffer, totals = self.state, self.buffer, self.state.totals
        comm = state.comm(self.lane)
        if self.sends_16_bits():
            for report in wire.allreduce_mean(comm, buffer, state.exact.how, state.scratch.setdefault(self.key, {})):
                totals.add(report, rounded=True)
            return
        if self.exact:
            totals.add(comm.allreduce(buffer, out=buffer, op="mean", **state.exact.how)[1])
            return
        bounds = iter(state.bound.of(comm, [size for size, exact in self.sizes if not exact], self.squares))
        self.segments = [(size, state.exact.how if exact else next(bounds)) for size, exact in self.sizes]
        if self.left is not None and buffer.is_cpu and state.bound.kind == "rel":
            self.segments = [(size, feedback.absolute(comm, arrays.array(values), how) if "rel" in how else how)
                             for (size, how), (values, _) in zip(self.segments, self.parts(self.values))]
        residual = {} if self.left is None or buffer.is_cpu else {"residual": self.left}
        if len(self.segments) > 1 and buffer.is_cpu and state.sends_parts and not any("rel" in how for _, how in self.segments):
            self.send_parts(comm)
            return
        if len(self.segments) == 1:
            how = self.segments[0][1]
            if self.chosen and how.keys() & {"abs", "rel"}:
                how = {**how, **self.chosen}
            if buffer.is_cpu and "abs" in how:
                how = {**how, **state.streams}
            self.report = comm.allreduce(self.values, out=buffer, op="mean", **residual, **how)[1]
        else:
            self.report = comm.allreduce(self.values, out=buffer, op="mean", segments=self.segments, **residual)[1]
        if state.chooses and not self.chosen and len(self.segments) == 1:
            state.choices.note(self.key, self.report)
        totals.add(self.report)
        self.kept = [(size, report.eps) for (size, _), report in zip(self.segments, self.report.segments or [self.report], strict=True)]

    def send_parts(self, comm):
        """One call for all values with a bound, and one for the exact ones, end to end."""
        values, exact = self.values.split([size for size, _ in self.segments]), ["abs" not in how for _, how in self.segments]
        self.kept = [(size, 0.0) for size, _ in self.segments]
        if any(exact):
            sums = torch.cat([one for one, is_exact in zip(values, exact) if is_exact])
            self.state.totals.add(comm.allreduce(sums, out=sums, op="mean", **self.state.exact.how)[1])
        if any(exact) and sums.numel() > self.values.numel() * MOST_ZEROS:
            self.send_compact(comm, values, exact)
        else:
            self.send_joined(comm, values, exact)
        if any(exact):
            exact_sums = iter(sums.split([len(one) for one, is_exact in zip(values, exact) if is_exact]))
            for out, is_exact in zip(self.buffer.split([size for size, _ in self.segments]), exact):
                if is_exact:
                    out.copy_(next(exact_sums))

    def send_joined(self, comm, values, exact):
        """Exact values travel as zeros of the part beside them, so that others need no copy."""
        parts, waiting, zeros = [], 0, 0
        for (size, how), one, is_exact in zip(self.segments, values, exact):
            if is_exact:
                one.zero_()
                waiting, zeros = waiting + size, zeros + size
            else:
                parts.append((waiting + size, how["abs"]))
                waiting = 0
        parts[-1] = parts[-1][0] + waiting, parts[-1][1]
        report = comm.allreduce(self.values, out=self.buffer, op="mean", parts=parts, **{**self.state.bound.how, **self.state.streams})[1]
        raw = report.raw_bytes - report.raw_bytes * zeros // self.values.numel()  # zeros were counted with the exact values
        self.state.totals.add(dataclasses.replace(report, raw_bytes=raw))
        self.kept = part_bounds(parts, report.eps)  # a residual is that of the parts that travelled: groups of values begin with them

    def send_compact(self, comm, values, exact):
        """Values with a bound travel end to end."""
        parts = [(size, how["abs"]) for (size, how), is_exact in zip(self.segments, exact) if not is_exact]
        if not parts:
            return
        sums = torch.cat([one for one, is_exact in zip(values, exact) if not is_exact])
        report = comm.allreduce(sums, out=sums, op="mean", parts=parts, **{**self.state.bound.how, **self.state.streams})[1]
        self.state.totals.add(report)
        bounds, means = iter(part_bounds(parts, report.eps)), iter(sums.split([size for size, _ in parts]))
        self.kept = [(size, 0.0) if is_exact else next(bounds) for (size, _), is_exact in zip(self.segments, exact)]
        for out, is_exact in zip(self.buffer.split([size for size, _ in self.segments]), exact):
            if not is_exact:
                out.copy_(next(means))

    def keep(self):
        """The residual, which holds the contribution, becomes what the bound left out of it."""
        try:
            for left, (_, eps) in zip(self.left.split([size for size, _ in self.kept]), self.kept):
                if eps == 0:
                    left.zero_()
                else:
                    _core.residual(NUMBERS[left.dtype][0], left.data_ptr(), left.data_ptr(), left.numel(), eps)
        except BaseException as error:
            self.state.failure = error
            raise


def parts_of(state, parameters, gradients):
    """[values, whether exact] of the parts of a bucket; neighbours that are exact, or have a bound together, are one part."""
    sizes = []  # [values, whether exact, whether the next parameter may join]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        exact = id(parameter) in state.exclude or (state.per_parameter and gradient.numel() < SMALL)
        joins = exact or not state.per_parameter
        if sizes and joins and sizes[-1][2] and sizes[-1][1] == exact:
            sizes[-1][0] += gradient.numel()
        else:
            sizes.append([gradient.numel(), exact, joins])
    return [(size, exact) for size, exact, _ in sizes]
