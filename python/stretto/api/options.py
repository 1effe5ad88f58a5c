"""How a collective runs: words and numbers of the caller as the C interface has them."""

from __future__ import annotations

import functools
import math
import numbers

from stretto.api.core import _core
from stretto.errors import ArgumentError, BoundError

NAMES = ("abs", "rel", "scope", "schedule", "payload", "segment", "timeout", "check", "trials", "reproducible", "ignore_above", "raw_below")


def member(enum, word, what):
    """The member of an enum of the C interface that has this name."""
    found = getattr(enum, word, None) if isinstance(word, str) and not word.startswith("_") else None
    if not isinstance(found, enum):
        raise ArgumentError(f"{what} is {word!r}; it takes {', '.join(one.name for one in enum)}")
    return found


def options(given):
    """The options of a call from its keywords, which are checked; those of equal calls are one object."""
    try:
        return _options(**given)
    except TypeError:
        unknown = [name for name in given if name not in NAMES]
        if unknown:
            raise TypeError(f"no option {unknown[0]!r}; there are {', '.join(NAMES)}") from None
    return _options.__wrapped__(**given)  # a value that cannot be remembered, as an array: its check names it


@functools.lru_cache(maxsize=256, typed=True)
def _options(abs=None, rel=None, scope="result", schedule=None, payload="auto", segment=0, timeout=0.0, check=True, trials=True, reproducible=False,
             ignore_above=0.0, raw_below=0):
    kind, bound = _core.Bound.none, 0.0
    if abs is not None and rel is not None:
        raise BoundError(f"the bound is given twice: abs={abs} and rel={rel}")
    for name, value, its in (("abs", abs, _core.Bound.absolute), ("rel", rel, _core.Bound.relative)):
        if value is not None:
            kind, bound = its, positive(value, name)
    if schedule is not None and not isinstance(schedule, str):
        raise TypeError(f"schedule is {schedule!r}; it takes a name of docs/algorithms.md")
    for name, value in (("segment", segment), ("raw_below", raw_below)):
        if not isinstance(value, numbers.Integral) or not 0 <= value < 2**63:
            raise ArgumentError(f"{name} is {value!r}; it takes bytes, or 0")
    return _core.Options(bound_kind=kind, bound=bound, scope=member(_core.Scope, scope, "scope"), schedule=schedule,
                         payload=member(_core.Payload, payload, "payload"), segment=int(segment), timeout=number(timeout, "timeout"), check=bool(check),
                         trials=bool(trials), reproducible=bool(reproducible), ignore_above=number(ignore_above, "ignore_above"), raw_below=int(raw_below))


def positive(value, what):
    """A bound."""
    bound = number(value, what)
    if not (math.isfinite(bound) and bound > 0):
        raise BoundError(f"{what} is {bound}; a bound is finite and positive")
    return bound


def number(value, what):
    """A float of a number; one beyond all floats is infinite."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{what} is {value!r}; it takes a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
