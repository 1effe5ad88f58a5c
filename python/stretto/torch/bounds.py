"""Bounds of gradients: what a user gives, and the options of one call."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import math
import numbers

import numpy as np
import torch

from stretto.api.core import _core
from stretto.api.options import NAMES, defaults, options, positive
from stretto.errors import ArgumentError, BoundError, IncompatibleError
from stretto.torch.dtypes import NUMBERS


@dataclasses.dataclass(frozen=True)
class Mark:
    """What ranks must have in common where they agree on a bound. number: a digest below 2**40, so that the sum of 8192 ranks is exact in a double. Of ranks that
    differ, one passes if its number is the mean of all: by chance alone."""

    words: str
    number: int

    @classmethod
    def of(cls, words, *content):
        return cls(words, int.from_bytes(hashlib.blake2b(repr(content).encode(), digest_size=5).digest(), "big"))


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

    def settings(self):
        """The bound and the options of calls, by name, as ranks compare them: all but the timeout."""
        given = {**defaults(), **self.how, "abs": None, "rel": None, "rms": None, **({self.kind: self.value} if self.kind else {})}
        del given["timeout"]
        return {name: plain(value) for name, value in given.items()}

    def limit(self, seconds):
        """Calls without a timeout of their own have this one from now on. Returns the limit of calls; `seconds` where they have none."""
        if not self.how.get("timeout"):
            self.how = {**self.how, "timeout": seconds}
        return self.how["timeout"] if self.how["timeout"] > 0 else seconds

    def squares(self, parts):
        """The sum of squares of this rank's values in each part, a flat tensor; None where the bound does not take them."""
        return [sum_of_squares(part) for part in parts] if self.kind == "rms" else None

    def of(self, comm, counts, squares, mark=None):
        """The options of each part, of which are given the number of values, and squares(). With rms= the ranks agree on the squares by one call; a part that is
        zero, or not finite, is exact. mark: a Mark, which all ranks must have in common; the same call compares it."""
        if self.kind is None:
            return [self.how] * len(counts)
        if self.kind != "rms":
            return [{**self.how, self.kind: self.value}] * len(counts)
        squares = np.array(squares if mark is None else [*squares, mark.number])
        comm.allreduce(squares, out=squares, **{name: self.how[name] for name in ("timeout", "check") if name in self.how})
        if mark is not None and squares[-1] != comm.size * mark.number:
            raise IncompatibleError(f"{mark.words} on rank {comm.rank} meets another on other ranks; has one before it failed on some rank?")
        found = []
        for square, count in zip(squares, counts):
            eps = self.value * math.sqrt(square / (count * comm.size)) if count and math.isfinite(square) else 0.0
            exact = {name: value for name, value in self.how.items() if name not in ("payload", "scope")}
            found.append({**self.how, "abs": eps} if eps > 0 else exact)
        return found

    def of_one(self, comm, values):
        """The options of one call, of a flat tensor."""
        return self.of(comm, [values.numel()], self.squares([values]))[0]


def plain(value):
    """Equal numbers of any type as one of Python's; other values as they are."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    return int(value) if float(value).is_integer() else float(value)


def sum_of_squares(values):
    """Of a flat tensor, in one pass."""
    if values.is_cpu and values.is_contiguous() and values.dtype in NUMBERS:
        kind, parts = NUMBERS[values.dtype]
        return _core.squares(kind, values.data_ptr(), values.numel() * parts)
    return float(torch.linalg.vector_norm(values, dtype=torch.float32)) ** 2


def check_keywords(function, given):
    """TypeError for a keyword that neither the function nor CallOptions has."""
    own = [name for name, one in inspect.signature(function).parameters.items() if one.kind is inspect.Parameter.KEYWORD_ONLY]
    unknown = [name for name in given if name not in NAMES]
    if unknown:
        raise TypeError(f"{function.__name__} has no keyword {unknown[0]!r}; there are {', '.join(dict.fromkeys([*own, *NAMES]))}")


def check_wire(wire, bound):
    """bf16 on the wire is a form of its own: no bound goes with it."""
    if wire not in (None, "bf16"):
        raise ArgumentError(f"wire is {wire!r}; it takes 'bf16' or None")
    if wire and bound:
        raise ArgumentError(f"wire={wire!r} and {bound.kind}={bound.value}; a call takes one of them")
