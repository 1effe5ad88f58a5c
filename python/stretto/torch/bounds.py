"""Bounds of gradients: what a user gives, and the options of one call."""

from __future__ import annotations

import math

import numpy as np
import torch

from stretto.api.options import options, positive
from stretto.errors import ArgumentError, BoundError


class Bound:
    """At most one of abs (units of the gradients), rel (a fraction of their range) and rms (a fraction of their root mean square over all ranks)."""

    def __init__(self, abs=None, rel=None, rms=None, **how):  # noqa: A002
        given = {name: value for name, value in (("abs", abs), ("rel", rel), ("rms", rms)) if value is not None}
        if len(given) > 1:
            raise BoundError(f"the bound is given {len(given)} times: {', '.join(f'{name}={value}' for name, value in given.items())}")
        self.kind, self.value = next(iter(given.items()), (None, None))
        if self.kind:
            positive(self.value, self.kind)
        options({**how, **({self.kind: self.value} if self.kind in ("abs", "rel") else {})})  # refuses wrong options
        self.how = how

    def __bool__(self):
        return self.kind is not None

    def of(self, comm, parts):
        """The options of each part, a flat tensor. With rms= the ranks agree on the squares by one call; a part that is zero, or not finite, is exact."""
        if self.kind is None:
            return [self.how] * len(parts)
        if self.kind != "rms":
            return [{**self.how, self.kind: self.value}] * len(parts)
        squares = np.array([float(torch.linalg.vector_norm(part, dtype=torch.float32)) ** 2 for part in parts])
        comm.allreduce(squares, out=squares, **{name: self.how[name] for name in ("timeout", "check") if name in self.how})
        found = []
        for square, part in zip(squares, parts):
            eps = self.value * math.sqrt(square / (part.numel() * comm.size)) if part.numel() and math.isfinite(square) else 0.0
            exact = {name: value for name, value in self.how.items() if name not in ("payload", "scope")}
            found.append({**self.how, "abs": eps} if eps > 0 else exact)
        return found


def check_wire(wire, bound):
    """bf16 on the wire is a form of its own: no bound goes with it."""
    if wire not in (None, "bf16"):
        raise ArgumentError(f"wire is {wire!r}; it takes 'bf16' or None")
    if wire and bound:
        raise ArgumentError(f"wire={wire!r} and {bound.kind}={bound.value}; a call takes one of them")
