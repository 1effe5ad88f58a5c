"""The communication hook of DistributedDataParallel: the mean of a bucket within a bound, on threads beside the backward pass.

A bucket of the host passes four steps. Passes over this rank's own values are on one thread, calls on others, so that a bucket is prepared while the one before
it travels:

- prepare: adds the residual, and takes the sum of squares;
- agree: a short call, on a communicator of its own, where it does not wait behind the messages of a bucket that travels;
- send: the collective; then the bucket is complete;
- keep: what the bound left out becomes the new residual, after the last bucket of the step.

A bucket of CUDA passes them in one call, in the order of a stream."""

import dataclasses

import torch

from stretto.api import arrays, feedback
from stretto.api.core import _core
from stretto.api.options import Parts, part_bounds
from stretto.errors import IncompatibleError, UnsupportedError
from stretto.torch import wire
from stretto.torch.dtypes import NUMBERS
from stretto.torch.state import AGREEMENTS, State
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
        self.buffer, self.is_last, self.layout = bucket.buffer(), bucket.is_last(), state.layouts.of(bucket)
        self.key = self.layout.key[:4]  # models may share a State
        self.left = self.squares = self.chosen = self.bounds = None
        self.ended = False
        self.lane = bucket.index() % len(state.lanes) if self.buffer.is_cpu else 0
        state.begin_bucket(bucket)

    def start(self):
        state = self.state
        if self.buffer.is_cpu:
            travel = self.then(state.lanes[self.lane], self.send, self.complete)
            self.then(state.passes, self.prepare, self.then(state.agreements, self.agree, travel))()
        else:
            state.lanes[0].start([self.buffer], self.guarded(self.prepare, self.agree, self.send, self.complete))

    def guarded(self, *steps):
        """The steps one after the other; a failure is the result of the bucket, since DDP waits for its future alone."""
        def run():
            try:
                with torch.no_grad():
                    for step in steps:
                        step()
            except BaseException as error:
                if not self.future.done():
                    self.end()
                    self.future.set_result(error)
                raise
        return run

    def then(self, lane, *steps):
        """A step that hands the bucket over to another lane for the next ones. Lanes keep the order of buckets, which ranks share."""
        return lambda: lane.start([], self.guarded(*steps))

    def complete(self):
        if self.left is not None and self.buffer.is_cpu:
            self.state.unkept.append(self.keep)
        self.end()
        self.future.set_result(self.buffer)

    def end(self):
        """Of the bucket, once, also where the end itself fails."""
        if not self.ended:
            self.ended = True
            self.state.end_bucket(self.is_last)

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
        self.sizes = self.layout.sizes
        self.values = buffer
        if state.residuals:
            self.left = state.residuals.of(self.layout.parameters, self.layout.counts, buffer)
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
        kind = NUMBERS[self.buffer.dtype][0]
        squares = _core.add_residual(kind, self.buffer.data_ptr(), self.left.data_ptr(), [size for size, _ in self.sizes])
        self.values, self.squares = self.left, [square for square, (_, exact) in zip(squares, self.sizes) if not exact]

    def agree(self):
        """Of all ranks, on bounds: `bounds` where several travel in one call, else `segments`."""
        state, buffer = self.state, self.buffer
        if self.exact or self.sends_16_bits():
            return
        comm = state.comm(AGREEMENTS if buffer.is_cpu else self.lane)
        if state.failure:
            raise state.failure
        try:
            found = state.bound.of(comm, [size for size, exact in self.sizes if not exact], self.squares, self.layout.mark)
            if self.left is not None and buffer.is_cpu and state.bound.kind == "rel":
                bounded = [values for values, exact in self.parts(self.values) if not exact]
                found = [feedback.absolute(comm, arrays.array(values), how) for values, how in zip(bounded, found)]
        except IncompatibleError as error:  # all ranks have it; later buckets would meet others as well
            state.failure = error
            raise
        if len(self.sizes) > 1 and buffer.is_cpu and state.sends_parts and not any("rel" in how for how in found):
            self.bounds = [how.get("abs", 0.0) for how in found]
            return
        bounds = iter(found)
        self.segments = [(size, state.exact.how if exact else next(bounds)) for size, exact in self.sizes]

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
        if self.bounds is not None:
            self.send_parts(comm)
            return
        residual = {} if self.left is None or buffer.is_cpu else {"residual": self.left}
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
        state, buffer, layout, bounds = self.state, self.buffer, self.layout, self.bounds
        if not all(bounds):  # parts that are zero or not finite are exact
            layout, bounds = layout.with_exact(bounds), [bound for bound in bounds if bound]
        compared = {"check": False} if state.bound.kind == "rms" else {}  # ranks have compared their layouts when they agreed on bounds
        means = None
        if layout.exact_values:
            means = layout.exact.taken(self.values)
            state.totals.add(comm.allreduce(means, out=means, op="mean", **{**state.exact.how, **compared})[1])
        how = {**state.bound.how, **state.streams, **compared}
        if not bounds:
            self.kept = [(buffer.numel(), 0.0)]
        elif layout.exact_values > buffer.numel() * MOST_ZEROS:
            parts = Parts(zip(layout.bounded.counts, bounds))
            sums = layout.bounded.taken(self.values)
            report = comm.allreduce(sums, out=sums, op="mean", parts=parts, **how)[1]
            state.totals.add(report)
            layout.bounded.put(sums, buffer)
            self.kept = layout.in_place(part_bounds(parts, report.eps))
        else:  # exact values travel as zeros of the part beside them, so that others need no copy
            layout.exact.clear(self.values)
            parts = Parts(zip(layout.joined, bounds))
            report = comm.allreduce(self.values, out=buffer, op="mean", parts=parts, **how)[1]
            raw = report.raw_bytes - report.raw_bytes * layout.exact_values // buffer.numel()  # zeros were counted with the exact values
            state.totals.add(dataclasses.replace(report, raw_bytes=raw))
            self.kept = part_bounds(parts, report.eps)  # a residual is that of the parts that travelled: groups of values begin with them
        if means is not None:
            layout.exact.put(means, buffer)

    def keep(self):
        """The residual, which holds the contribution, becomes what the bound left out of it."""
        try:
            _core.residual(NUMBERS[self.left.dtype][0], self.left.data_ptr(), self.left.data_ptr(), *map(list, zip(*self.kept)))
        except BaseException as error:
            self.state.failure = error
            raise
