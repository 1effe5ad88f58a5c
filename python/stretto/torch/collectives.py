"""The collectives of a process group under the names that torch calls: what a subclass of either generation inherits.

Each method checks its tensors, and makes one call of the library on their memory. A method whose options say asyncOp=False has run when it returns.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from stretto.api.core import _core
from stretto.errors import ArgumentError, StrettoError, UnsupportedError
from stretto.torch import tensors as memory
from stretto.torch.dtypes import REDUCE, moved, reduced
from stretto.torch.group import KINDS
from stretto.torch.work import DoneWork, Joined, untraced

NO_TYPE = _core.Type.u8  # of a barrier
BESIDE_FROM = 1 << 20  # bytes of an allreduce, as of a bucket of gradients, that may run beside another


def seconds_of(opts):
    """The limit that the options of a call give, or None for the group's."""
    timeout = getattr(opts, "timeout", None)
    return timeout.total_seconds() if timeout is not None and timeout.total_seconds() > 0 else None


def options_of(kind, opts, timeout=None, **fields):
    """The options of a call: `opts`, or new ones where the call was made by fields, as torch's shorter forms are."""
    if isinstance(opts, kind):
        return opts
    made = (kind[0] if isinstance(kind, tuple) else kind)()
    for name, value in fields.items():
        setattr(made, name, value)
    if timeout is not None:
        made.timeout = timeout
    return made


def plain(tensor):
    """Whether a prepared call may read and write the tensor's memory as it is. Prepared calls take real numbers, which have no conjugation."""
    return tensor.is_cpu and tensor.layout is torch.strided and tensor.is_contiguous() and not tensor.is_neg()


@untraced
class Collectives:
    """`_group` is the Group of an instance. Its prepared calls have hash(ReduceOp) in their keys: the number of the operation, in half the time of op.value."""

    # ---- reductions

    def allreduce(self, tensors, opts=None, timeout=None):
        if type(opts) is c10d.AllreduceOptions and len(tensors) == 1 and not opts.asyncOp:
            tensor = tensors[0]
            call = self._group.calls.get(("allreduce", tensor.dtype, hash(opts.reduceOp)))
            if call is not None and plain(tensor) and opts.timeout.days < 0:
                return self._at_once("allreduce", tensors, call, tensor.data_ptr(), tensor.numel())
        op = opts if opts is not None and not isinstance(opts, c10d.AllreduceOptions) else c10d.ReduceOp(REDUCE.SUM)
        opts = options_of(c10d.AllreduceOptions, opts, timeout, reduceOp=op)
        if getattr(opts, "sparseIndices", None) is not None:
            raise UnsupportedError("allreduce of sparse gradients; dense ones are served")
        tensor = memory.single(tensors, "allreduce")
        return self._go("allreduce", opts, [tensor], self._allreduced(tensor, opts), beside=tensor.is_cpu and tensor.nbytes >= BESIDE_FROM)

    def _allreduced(self, tensor, opts):
        """A function that reduces the tensor in place, on the communicator of that number."""
        op = opts.reduceOp.op
        type_, parts, its_op = reduced(tensor.dtype, op)
        seconds = seconds_of(opts)
        factor = opts.reduceOp.factor if op == REDUCE.PREMUL_SUM else None

        def run(side=0):
            values = memory.readable(memory.resolved(tensor))
            if factor is not None:
                values.mul_(factor)
            call = self._group.prepared(KINDS.allreduce, type_, its_op, send_in_place=True, seconds=seconds, side=side)
            if parts == 1 and factor is None and seconds is None and side == 0:
                self._group.calls["allreduce", tensor.dtype, hash(opts.reduceOp)] = call.run_in_place_at
            call.run_in_place(values, values.numel() * parts)
            if values is not tensor:
                tensor.copy_(values)

        return run

    def allreduce_coalesced(self, tensors, opts=None):
        opts = options_of((c10d.AllreduceCoalescedOptions, c10d.AllreduceOptions), opts)
        return self._all("allreduce_coalesced", opts, tensors, [self._allreduced(memory.check(one, "allreduce_coalesced"), opts) for one in tensors])

    def reduce(self, tensors, opts=None, op=None, timeout=None):
        if not isinstance(opts, c10d.ReduceOptions):
            opts = options_of(c10d.ReduceOptions, None, timeout, rootRank=opts or 0, reduceOp=op or c10d.ReduceOp(REDUCE.SUM))
        tensor = memory.single(tensors, "reduce")
        word = opts.reduceOp.op
        type_, parts, its_op = reduced(tensor.dtype, word)
        root, seconds = self._root(opts), seconds_of(opts)
        factor = opts.reduceOp.factor if word == REDUCE.PREMUL_SUM else None
        at_root = root == self._group.rank

        def run():
            values = memory.readable(memory.resolved(tensor))
            if factor is not None:
                values = values * factor
            count = values.numel() * parts
            call = self._group.prepared(KINDS.reduce, type_, its_op, root, send_in_place=at_root, seconds=seconds)
            if at_root:
                call.run_in_place(values, count)
                if values is not tensor:
                    tensor.copy_(values)
            else:
                call.run(values, count, None, 0, count)

        return self._go("reduce", opts, [tensor], run)

    def reduce_scatter(self, output, input, opts=None, timeout=None):  # noqa: A002  torch's name
        if isinstance(output, torch.Tensor):
            output, input = [output], [input]  # noqa: A001
        opts = options_of(c10d.ReduceScatterOptions, opts, timeout, **({} if opts is None else {"reduceOp": opts}))
        if len(input) != 1:
            raise ArgumentError(f"input of reduce_scatter is {len(input)} lists of tensors; it takes one")
        out, given = memory.single(output, "output of reduce_scatter"), self._one_each(input[0], "input of reduce_scatter")
        if given[self._group.rank].numel() != out.numel():
            raise ArgumentError(f"output of reduce_scatter has {out.numel()} elements; input {self._group.rank} has {given[self._group.rank].numel()}")
        memory.alike([out, *given], "tensors of reduce_scatter")
        counts = [one.numel() for one in given]
        return self._go("reduce_scatter", opts, [out], self._scattered_sum(out, lambda: memory.joined(given), counts, opts))

    def _scattered_sum(self, out, joined, counts, opts):
        """A function that reduces the flat tensor joined() and writes this rank's part of it to `out`."""
        word = opts.reduceOp.op
        type_, parts, its_op = reduced(out.dtype, word)
        factor = opts.reduceOp.factor if word == REDUCE.PREMUL_SUM else None
        group, seconds, even = self._group, seconds_of(opts), len(set(counts)) == 1

        def run():
            values = memory.readable(memory.resolved(joined()))
            if factor is not None:
                values = values * factor
            result = out if out.is_contiguous() else torch.empty_like(out, memory_format=torch.contiguous_format)
            if memory.overlap(values, result):
                values = values.clone()
            own, total = counts[group.rank] * parts, sum(counts) * parts
            if even:
                call = group.prepared(KINDS.reduce_scatter_block, type_, its_op, seconds=seconds)
                if parts == 1 and factor is None and seconds is None:
                    group.calls["reduce_scatter", out.dtype, hash(opts.reduceOp)] = call.run_at
            else:
                call = group.prepared(KINDS.reduce_scatter, type_, its_op, received=[n * parts for n in counts], seconds=seconds)
            call.run(values, total, result, own, own)
            if result is not out:
                out.copy_(result)

        return run

    def reduce_scatter_single(self, output, input, opts=None):  # noqa: A002
        if type(opts) is c10d.ReduceScatterOptions and not opts.asyncOp:
            call = self._group.calls.get(("reduce_scatter", output.dtype, hash(opts.reduceOp)))
            if call is not None and plain(output) and plain(input) and input.dtype is output.dtype and opts.timeout.days < 0:
                count, total, out, given = output.numel(), input.numel(), output.data_ptr(), input.data_ptr()
                if total == count * self._group.size and (out + output.nbytes <= given or given + input.nbytes <= out):
                    return self._at_once("reduce_scatter_single", [output], call, given, total, out, count, count)
        opts = options_of(c10d.ReduceScatterOptions, opts)
        return self._go("reduce_scatter_single", opts, [output], self._scattered_single(output, input, opts))

    def _scattered_single(self, out, values, opts):
        memory.check(out, "output of reduce_scatter_single")
        memory.check(values, "input of reduce_scatter_single")
        memory.alike([out, values], "tensors of reduce_scatter_single")
        if out.numel() * self._group.size != values.numel():
            raise ArgumentError(f"input of reduce_scatter_single has {values.numel()} elements; output has {out.numel()} for each of {self._group.size} ranks")
        return self._scattered_sum(out, lambda: values, [out.numel()] * self._group.size, opts)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        opts = options_of(c10d.ReduceScatterOptions, opts)
        return self._all("reduce_scatter_single_coalesced", opts, outputs,
                         [self._scattered_single(out, values, opts) for out, values in zip(outputs, inputs, strict=True)])

    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    # ---- collectives that move

    def broadcast(self, tensors, opts=None, timeout=None):
        if not isinstance(opts, c10d.BroadcastOptions):
            opts = options_of(c10d.BroadcastOptions, None, timeout, rootRank=opts or 0)
        elif len(tensors) == 1 and not opts.asyncOp:
            tensor = tensors[0]
            call = self._group.calls.get(("broadcast", tensor.dtype, opts.rootRank))
            if call is not None and plain(tensor) and opts.timeout.days < 0:
                return self._at_once("broadcast", tensors, call, tensor.data_ptr(), tensor.numel())
        tensor = memory.single(tensors, "broadcast")
        root, seconds = self._root(opts), seconds_of(opts)
        type_, parts = moved(tensor.dtype)

        def run():
            values = memory.readable(memory.resolved(tensor))
            call = self._group.prepared(KINDS.bcast, type_, root=root, seconds=seconds)
            if parts == 1 and seconds is None:
                self._group.calls["broadcast", tensor.dtype, root] = call.run_in_place_at
            call.run_in_place(values, values.numel() * parts)
            if values is not tensor and root != self._group.rank:
                tensor.copy_(values)

        return self._go("broadcast", opts, [tensor], run)

    def allgather(self, output, input, opts=None, timeout=None):  # noqa: A002
        if isinstance(input, torch.Tensor):
            output, input = [output], [input]  # noqa: A001
        opts = options_of(c10d.AllgatherOptions, opts, timeout)
        values = memory.single(input, "input of all_gather")
        if len(output) != 1:
            raise ArgumentError(f"output of all_gather is {len(output)} lists of tensors; it takes one")
        return self._go("allgather", opts, output[0], self._gathered(output[0], values, opts))

    def _gathered(self, output, values, opts):
        """A function that gathers values of all ranks into a list of tensors."""
        outs = self._one_each(output, "output of all_gather")
        memory.alike([values, *outs], "tensors of all_gather")
        counts = [one.numel() for one in outs]
        if counts[self._group.rank] != values.numel():
            raise ArgumentError(f"input of all_gather has {values.numel()} elements; output {self._group.rank} has {counts[self._group.rank]}")

        def run():
            flat, direct = memory.room(outs)
            self._gather_flat(flat, values, counts, seconds_of(opts))
            if not direct:
                memory.scatter_into(outs, flat)

        return run

    def _gather_flat(self, flat, values, counts, seconds):
        group = self._group
        type_, parts = moved(flat.dtype)
        values = memory.readable(memory.resolved(values))
        own, total, at = counts[group.rank] * parts, sum(counts) * parts, flat.data_ptr() + sum(counts[:group.rank]) * flat.element_size()
        in_place = values.data_ptr() == at and own > 0
        if not in_place and memory.overlap(values, flat):
            values = values.clone()
        if len(set(counts)) == 1:
            call = group.prepared(KINDS.allgather, type_, send_in_place=in_place, seconds=seconds)
            if parts == 1 and seconds is None and not in_place:
                group.calls["allgather", flat.dtype] = call.run_at
        else:
            call = group.prepared(KINDS.allgatherv, type_, send_in_place=in_place, received=[n * parts for n in counts], seconds=seconds)
        call.run(None if in_place else values, 0 if in_place else own, flat, total, own)

    def all_gather_single(self, output, input, opts=None):  # noqa: A002
        if type(opts) is c10d.AllgatherOptions and not opts.asyncOp:
            call = self._group.calls.get(("allgather", output.dtype))
            if call is not None and plain(output) and plain(input) and input.dtype is output.dtype and opts.timeout.days < 0:
                count, total, out, given = input.numel(), output.numel(), output.data_ptr(), input.data_ptr()
                if total == count * self._group.size and (out + output.nbytes <= given or given + input.nbytes <= out):
                    return self._at_once("all_gather_single", [output], call, given, count, out, total, count)
        opts = options_of(c10d.AllgatherOptions, opts)
        return self._go("all_gather_single", opts, [output], self._gathered_single(output, input, opts))

    def _gathered_single(self, out, values, opts):
        memory.check(out, "output of all_gather_single")
        memory.check(values, "input of all_gather_single")
        memory.alike([out, values], "tensors of all_gather_single")
        if out.numel() != values.numel() * self._group.size:
            raise ArgumentError(f"output of all_gather_single has {out.numel()} elements; input has {values.numel()} of each of {self._group.size} ranks")

        def run():
            flat = out if out.is_contiguous() else torch.empty_like(out, memory_format=torch.contiguous_format)
            self._gather_flat(flat, values, [values.numel()] * self._group.size, seconds_of(opts))
            if flat is not out:
                out.copy_(flat)

        return run

    def allgather_coalesced(self, outputs, inputs, opts=None):
        opts = options_of(c10d.AllgatherOptions, opts)
        calls = [self._gathered([outs[i] for outs in outputs], memory.check(values, "input of allgather_coalesced"), opts) for i, values in enumerate(inputs)]
        return self._all("allgather_coalesced", opts, [one for outs in outputs for one in outs], calls)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        opts = options_of(c10d.AllgatherOptions, opts)
        return self._all("all_gather_single_coalesced", opts, outputs,
                         [self._gathered_single(out, values, opts) for out, values in zip(outputs, inputs, strict=True)])

    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, output, input, opts=None, timeout=None):  # noqa: A002
        if not isinstance(opts, c10d.GatherOptions):
            opts = options_of(c10d.GatherOptions, None, timeout, rootRank=opts or 0)
        if isinstance(input, torch.Tensor):
            output, input = [output] if output else [], [input]  # noqa: A001
        values = memory.single(input, "input of gather")
        group, root, seconds = self._group, self._root(opts), seconds_of(opts)
        type_, parts = moved(values.dtype)
        outs = []
        if root == group.rank:
            if len(output) != 1:
                raise ArgumentError(f"output of gather is {len(output)} lists of tensors at the root; it takes one")
            outs = self._one_each(output[0], "output of gather")
            memory.alike([values, *outs], "tensors of gather")
            for one in outs:
                if one.numel() != values.numel():
                    raise ArgumentError(f"output of gather has a tensor of {one.numel()} elements; input has {values.numel()}")
        elif output and output[0]:
            raise ArgumentError("output of gather is given at the root alone")

        def run():
            sent = memory.readable(memory.resolved(values))
            own = sent.numel() * parts
            call = group.prepared(KINDS.gather, type_, root=root, seconds=seconds)
            if not outs:
                call.run(sent, own, None, 0, own)
                return
            flat, direct = memory.room(outs)
            if memory.overlap(sent, flat):
                sent = sent.clone()
            call.run(sent, own, flat, own * group.size, own)
            if not direct:
                memory.scatter_into(outs, flat)

        return self._go("gather", opts, outs, run)

    def scatter(self, output, input, opts=None, timeout=None):  # noqa: A002
        if not isinstance(opts, c10d.ScatterOptions):
            opts = options_of(c10d.ScatterOptions, None, timeout, rootRank=opts or 0)
        if isinstance(output, torch.Tensor):
            output, input = [output], [input] if input else []  # noqa: A001
        out = memory.single(output, "output of scatter")
        group, root, seconds = self._group, self._root(opts), seconds_of(opts)
        type_, parts = moved(out.dtype)
        given = []
        if root == group.rank:
            if len(input) != 1:
                raise ArgumentError(f"input of scatter is {len(input)} lists of tensors at the root; it takes one")
            given = self._one_each(input[0], "input of scatter")
            memory.alike([out, *given], "tensors of scatter")
            for one in given:
                if one.numel() != out.numel():
                    raise ArgumentError(f"input of scatter has a tensor of {one.numel()} elements; output has {out.numel()}")
        elif input and input[0]:
            raise ArgumentError("input of scatter is given at the root alone")

        def run():
            result = out if out.is_contiguous() else torch.empty_like(out, memory_format=torch.contiguous_format)
            own = out.numel() * parts
            call = group.prepared(KINDS.scatter, type_, root=root, seconds=seconds)
            if given:
                sent = memory.resolved(memory.joined(given))
                if memory.overlap(sent, result):
                    sent = sent.clone()
                call.run(sent, own * group.size, result, own, own)
            else:
                call.run(None, 0, result, own, own)
            if result is not out:
                out.copy_(result)

        return self._go("scatter", opts, [out], run)

    def all_to_all_single(self, output, input, output_split_sizes=(), input_split_sizes=(), opts=None):  # noqa: A002
        opts = options_of(c10d.AllToAllOptions, opts)
        memory.check(output, "output of all_to_all_single")
        memory.check(input, "input of all_to_all_single")
        memory.alike([output, input], "tensors of all_to_all_single")
        received, even_out = self._splits(output, output_split_sizes, "output")
        sent, even_in = self._splits(input, input_split_sizes, "input")

        def run():
            values = memory.readable(memory.resolved(input))
            result = output if output.is_contiguous() else torch.empty_like(output, memory_format=torch.contiguous_format)
            self._exchange(values, sent, result, received, seconds_of(opts), even=even_in and even_out)
            if result is not output:
                output.copy_(result)

        return self._go("all_to_all_single", opts, [output], run)

    alltoall_base = all_to_all_single

    def _splits(self, tensor, sizes, what):
        """(elements for each rank, whether torch was given no sizes)."""
        size = self._group.size
        rows = tensor.size(0) if tensor.dim() else tensor.numel()
        if not sizes:
            if rows % size:
                raise ArgumentError(f"{what} of all_to_all_single has {rows} rows; without split sizes they are cut into {size} equal parts")
            return [tensor.numel() // size] * size, True
        if len(sizes) != size or sum(sizes) != rows or min(sizes) < 0:
            raise ArgumentError(f"{what}_split_sizes are {list(sizes)}; {what} has {rows} rows and the group {size} ranks")
        row = tensor.numel() // rows if rows else 0
        return [n * row for n in sizes], False

    def alltoall(self, output, input, opts=None, timeout=None):  # noqa: A002
        opts = options_of(c10d.AllToAllOptions, opts, timeout)
        outs, given = self._one_each(output, "output of all_to_all"), self._one_each(input, "input of all_to_all")
        memory.alike([*outs, *given], "tensors of all_to_all")

        def run():
            flat, direct = memory.room(outs)
            self._exchange(memory.resolved(memory.joined(given)), [one.numel() for one in given], flat, [one.numel() for one in outs], seconds_of(opts))
            if not direct:
                memory.scatter_into(outs, flat)

        return self._go("alltoall", opts, list(output), run)

    def _exchange(self, values, sent, result, received, seconds, *, even=False):
        if memory.overlap(values, result):
            values = values.clone()
        type_, parts = moved(values.dtype)
        if even:
            call = self._group.prepared(KINDS.alltoall, type_, seconds=seconds)
        else:
            call = self._group.prepared(KINDS.alltoallv, type_, sent=[n * parts for n in sent], received=[n * parts for n in received], seconds=seconds)
        call.run(values, sum(sent) * parts, result, sum(received) * parts, sent[0] * parts if even else 0)

    def barrier(self, opts=None, timeout=None):
        opts = options_of(c10d.BarrierOptions, opts, timeout)
        seconds = seconds_of(opts)
        return self._go("barrier", opts, [], lambda: self._group.prepared(KINDS.barrier, NO_TYPE, seconds=seconds).run_in_place_at(0, 0))

    # ---- shared by the collectives

    def _at_once(self, what, tensors, call, *arguments):
        """A blocking call whose arguments are checked and prepared."""
        try:
            self._group.lane.run(call, *arguments)
        except StrettoError as error:
            raise self._group.ended(error, what) from None
        return DoneWork(tensors)

    def _go(self, what, opts, tensors, call, *, beside=False):
        """Runs the call, or starts it where the options say asyncOp. beside: as Lane.start has it."""
        group = self._group

        def run(*side):
            try:
                with torch.no_grad():
                    call(*side)
            except StrettoError as error:
                if isinstance(error, dist.DistBackendError):  # as of the group's first call
                    raise
                raise group.ended(error, what) from None

        if opts.asyncOp:
            return group.lane.start(tensors, run, beside=beside)
        group.lane.run(run)
        return DoneWork(tensors)

    def _all(self, what, opts, tensors, calls):
        def run():
            for call in calls:
                call()

        return self._go(what, opts, list(tensors), run)

    def _one_each(self, tensors, what):
        if len(tensors) != self._group.size:
            raise ArgumentError(f"{what} has {len(tensors)} tensors; the group has {self._group.size} ranks")
        return [memory.check(one, what) for one in tensors]

    def _root(self, opts):
        if not 0 <= opts.rootRank < self._group.size:
            raise ArgumentError(f"root is {opts.rootRank}; it takes a rank of the group, 0 to {self._group.size - 1}")
        return opts.rootRank

    # ---- calls that torch gathers

    def _start_coalescing(self, device):
        self._coalesced = []

    def _end_coalescing(self, device):
        works, self._coalesced = self._coalesced, []
        return Joined(works)
