"""What a State keeps of its buckets: how their values divide into parts with bounds of their own and exact ones, and what the library chose for their calls."""

from __future__ import annotations

import torch

from stretto.api.core import _core
from stretto.torch.bounds import Mark

SMALL = 2000  # values: a parameter with fewer is exact where parameters have bounds of their own: a part of a call costs more than these bytes
ASKED = 3  # first calls of a period, in which the library chooses
PERIOD = 64  # calls after which it chooses again: gradients change slowly


class Layouts:
    """Of a State's buckets, which a step has once. Python's passes over parameters take longer than a short call."""

    def __init__(self, exclude, per_parameter):
        self._exclude, self._per_parameter, self._known = exclude, per_parameter, {}

    def of(self, bucket):
        parameters, buffer = bucket.parameters(), bucket.buffer()
        key = bucket.index(), buffer.numel(), buffer.dtype, *map(id, parameters)
        found = self._known.get(key)
        if found is None:
            counts = [gradient.numel() for gradient in bucket.gradients()]
            found = self._known[key] = Layout(parameters, counts, [self._is_exact(*one) for one in zip(parameters, counts)], self._per_parameter, key)
        return found

    def clear(self):
        self._known.clear()

    def _is_exact(self, parameter, count):
        return id(parameter) in self._exclude or (self._per_parameter and count < SMALL)


class Layout:
    """Of some parameters. sizes: (values, whether exact) of each part; neighbours that are exact, or have a bound together, are one part."""

    def __init__(self, parameters, counts, exact, per_parameter, key):
        self.parameters, self.counts, self.key = parameters, counts, key  # parameters: keeps the ids in use
        sizes = []
        for count, is_exact in zip(counts, exact):
            if sizes and sizes[-1][1] == is_exact and (is_exact or not per_parameter):
                sizes[-1] = sizes[-1][0] + count, is_exact
            else:
                sizes.append((count, is_exact))
        self._divide(sizes)
        index, values, dtype = key[:3]
        self.mark = Mark.of(f"bucket {index} of {values} values", index, str(dtype), sizes)

    def _divide(self, sizes):
        self.sizes = sizes
        spans, at = ([], []), 0
        for count, is_exact in sizes:
            spans[is_exact].append((at, count))
            at += count
        self.bounded, self.exact = map(Spans, spans)
        self.exact_values = sum(self.exact.counts)
        # Values of each part with a bound, with those of exact parts beside it.
        firsts = [0, *(first for first, _ in spans[False][1:]), at]
        self.joined = [end - first for first, end in zip(firsts, firsts[1:])]

    def with_exact(self, bounds):
        """The parts where those with a bound of 0 are exact too."""
        bounds, found = iter(bounds), object.__new__(Layout)
        found._divide([(count, is_exact or not next(bounds)) for count, is_exact in self.sizes])
        return found

    def in_place(self, kept):
        """(values, eps) of all parts, of those with a bound."""
        kept = iter(kept)
        return [(count, 0.0) if is_exact else next(kept) for count, is_exact in self.sizes]


class Spans:
    """Ranges of a flat tensor of the host."""

    def __init__(self, spans):
        self.counts = [count for _, count in spans]
        self._spans, self._total = spans, sum(self.counts)

    def taken(self, values):
        """The values of the ranges, end to end."""
        out = torch.empty(self._total, dtype=values.dtype)
        _core.gather(values.data_ptr(), out.data_ptr(), values.itemsize, self._spans)
        return out

    def put(self, taken, values):
        """Values that were taken go to their ranges."""
        _core.scatter(taken.data_ptr(), values.data_ptr(), values.itemsize, self._spans)

    def clear(self, values):
        _core.clear(values.data_ptr(), values.itemsize, self._spans)


class Choices:
    """What the library chose for the calls of each key, which a step has once: choosing takes a pass over the values and a sample of them. All ranks have equal
    reports, and so equal choices."""

    def __init__(self, keeps_raw):
        """keeps_raw: False where the library must look at each call's values to know that raw sums keep the bound."""
        self._calls, self._chosen, self._keeps_raw = {}, {}, keeps_raw

    def of(self, key):
        """The options that the next call of this key takes: None where the library chooses, {} for a call without a bound, whose values travel raw."""
        number = self._calls[key] = self._calls.get(key, -1) + 1
        if number % PERIOD < ASKED:
            self._chosen.pop(key, None)
        return self._chosen.get(key)

    def note(self, key, report):
        """The report of a call in which the library chose."""
        if report.payload == "raw":
            if self._keeps_raw:
                self._chosen[key] = {}
        elif report.payload == "fused":
            self._chosen[key] = {"payload": "fused", "schedule": report.algorithm, **({"coding": report.coding} if report.coding else {})}
