"""FSDP2 within a bound: the reduce-scatter of gradients and the all-gather of weights that torch lets a user replace."""

from __future__ import annotations

import itertools

import torch

from stretto.api import ranks
from stretto.errors import ArgumentError, StrettoError, UnsupportedError
from stretto.torch import wire as wires
from stretto.torch.bounds import Bound, check_keywords, check_wire
from stretto.torch.dtypes import REDUCE
from stretto.torch.errors import of_torch
from stretto.torch.group import communicators, next_place, timeout_of
from stretto.torch.lane import Lane
from stretto.torch.state import Totals
from stretto.torch.work import DoneWork

_numbers = itertools.count()  # of lanes
HINT = "is fsdp() called on all ranks, with equal options, and are its models used in one order?"


class Sharding:
    """What both collectives share: a communicator of each process group, and its calls in their order."""

    def __init__(self, gradients, weights, wire, model):
        """model: what ranks compare of it, beside the options."""
        self.gradients, self.weights, self.wire, self.totals = gradients, weights, wire, Totals()
        self._settings = {**gradients.settings(), **{f"weights_{name}": weights.settings()[name] for name in ("abs", "rel")}, "wire": wire, **model}
        self._groups, self._places = {}, {}

    def of(self, group):
        """(communicator, lane) of a process group; the first use is collective."""
        found = self._groups.get(group)
        if found is None:
            seconds = self.gradients.limit(timeout_of(group))
            self.weights.limit(seconds)
            if group not in self._places:  # kept after a failure, so that a late rank meets the others' next attempt
                self._places[group] = next_place(group, "fsdp")
            name = f"stretto-fsdp-{self._places[group]}"
            comm, = communicators(group, [name], seconds, settings=self._settings, what="options of fsdp()", hint=HINT)
            found = self._groups[group] = (comm, Lane(f"fsdp {next(_numbers)}"))
        return found

    def run(self, what, group, outputs, async_op, call):
        try:
            comm, lane = self.of(group)
        except StrettoError as error:
            raise of_torch(error, f"{what} of FSDP, rank {group.rank()} of {group.size()}") from None

        def go():
            try:
                with torch.no_grad():
                    self.totals.add(*call(comm))
            except StrettoError as error:
                raise of_torch(error, f"{what} of FSDP, rank {comm.rank} of {comm.size}") from None

        if async_op:
            return lane.start(outputs, go)
        lane.run(go)
        return DoneWork(outputs)

    def free(self):
        """Frees the communicators, collectively. Otherwise the program's end does."""
        for comm, lane in self._groups.values():
            if lane.close(5):
                comm.free()
            else:
                ranks.leave(comm)
        self._groups.clear()


class Allocates:
    def __init__(self, sharding):
        self._sharding = sharding

    def allocate(self, size, *, dtype, device):
        return torch.empty(*size, dtype=dtype, device=device)


class ReduceScatter(Allocates):
    """Called by FSDP with the gradients of all ranks' shards."""

    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        word, factor = getattr(op, "op", op), None  # FSDP gives a RedOpType, or a ReduceOp with a factor
        if word == REDUCE.PREMUL_SUM:
            factor = op.factor
        elif word not in (REDUCE.SUM, REDUCE.AVG):
            raise UnsupportedError(f"reduce-scatter of FSDP with {word.name}; it takes SUM, AVG or PREMUL_SUM")
        mean, sharding = word == REDUCE.AVG, self._sharding

        def call(comm):
            values = input_tensor if factor is None else input_tensor * factor
            if sharding.wire and values.dtype == torch.float32:
                part, report = wires.mean_parts(comm, values.view(-1), sharding.gradients.how)
                output_tensor.copy_(part.view_as(output_tensor) if mean else part.mul_(comm.size).view_as(output_tensor))
                return report, True
            how = sharding.gradients.of_one(comm, values.view(-1))
            return comm.reduce_scatter(values.view(-1), out=output_tensor.view(-1), op="mean" if mean else "sum", **how)[1], False

        return sharding.run("reduce-scatter", group, [output_tensor], async_op, call)


class AllGather(Allocates):
    """Called by FSDP with this rank's shard of the weights, which may lie in its place in the output."""

    def __call__(self, output_tensor, input_tensor, group, async_op=False):
        sharding = self._sharding

        def call(comm):
            how = sharding.weights.of_one(comm, input_tensor.view(-1))
            # FSDP gathers several parameters as their bytes, which have no bound.
            if not input_tensor.dtype.is_floating_point:
                how = {name: value for name, value in how.items() if name not in ("abs", "rel")}
            return comm.allgather(input_tensor.clone().view(-1), out=output_tensor.view(comm.size, -1), **how)[1], False

        return sharding.run("all-gather", group, [output_tensor], async_op, call)


def fsdp(model, *, abs=None, rel=None, rms=None, scope="result", weights_abs=None, weights_rel=None, wire=None, deterministic=False, **how):  # noqa: A002
    """Gradients of a model of fully_shard() are reduced within a bound, its weights gathered exactly or within one. Returns the Sharding.

    abs=, rel=, rms=: of the gradients, as of stretto.torch.State. weights_abs=, weights_rel=: of the weights. wire="bf16": gradients travel as bfloat16.
    Works over process groups of any backend. Raises ArgumentError for a model without fully_shard.
    """
    check_keywords(fsdp, how)
    from torch.distributed.fsdp import FSDPModule  # noqa: PLC0415  it takes a second to load
    from torch.distributed.tensor import DTensor  # noqa: PLC0415

    modules = [one for one in model.modules() if isinstance(one, FSDPModule)]
    if not modules:
        raise ArgumentError(f"{type(model).__name__} has no module of fully_shard(); call torch.distributed.fsdp.fully_shard first")
    if deterministic:
        how = {**how, "reproducible": True}
    gradients = Bound(abs, rel, rms, scope=scope, **({"payload": "fused"} if deterministic else {}), **how)
    if not gradients:
        gradients = Bound(**how)
    check_wire(wire, gradients)
    # Parameters that fully_shard leaves alone may differ between ranks, and those of several meshes are of several groups.
    sharded = {name: one for name, one in model.named_parameters() if isinstance(one, DTensor)}
    alike = len({one.device_mesh for one in sharded.values()}) == 1
    shapes = {f"the shape of {name}": list(one.shape) for name, one in sharded.items() if alike}
    sharding = Sharding(gradients, Bound(weights_abs, weights_rel, **how), wire, {"the number of modules of fully_shard()": len(modules), **shapes})
    for one in modules:
        one.set_custom_reduce_scatter(ReduceScatter(sharding))
        if sharding.weights:
            one.set_custom_all_gather(AllGather(sharding))
    return sharding
