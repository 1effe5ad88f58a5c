"""How a collective runs: words and numbers of the caller as the C interface has them."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import sys
import warnings
from collections.abc import Sequence
from typing import Literal, SupportsFloat, TypedDict

from stretto import units
from stretto.api.core import _core
from stretto.errors import ArgumentError, BoundError

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["CallOptions", "Coding", "Number", "Operation", "StreamCoding", "Unpack", "member", "number", "options", "positive"]

Number = SupportsFloat  # of Python or NumPy
Operation = Literal["sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor", "mean", "avg", "difference"]
Scope = Literal["contribution", "result", "result_statistical_95", "result_statistical_95_uniform"]
Payload = Literal["auto", "raw", "recompress", "homomorphic", "fused", "cprp2p", "mixed", "bfloat16"]
Coding = Literal["auto", "fixed", "dense"]
StreamCoding = Literal["auto", "fixed", "dense", "shaped"]


class CallOptions(TypedDict, total=False):
    """How a collective runs: the keywords that every collective of Comm takes. They are equal on all ranks. stretto_options.h has each at length."""

    abs: Number | None  # the bound, in units of the data; without abs and rel the call is exact
    rel: Number | None  # the bound, a fraction of the range of all ranks' values
    scope: Scope  # of the result of a reduction, or of each contribution; "result" unless given
    schedule: str | None  # a name of docs/algorithms.md, "native" or "node"; None: chosen
    payload: Payload  # the form of the values on their way; "auto": chosen
    segment: int  # bytes of values in a message; 0: chosen
    timeout: Number  # seconds until a wait for other ranks raises WaitTimeoutError; 0: 300 s; negative: never
    check: bool  # whether ranks compare their arguments first; True unless given
    reproducible: bool  # the same bits of floating reductions wherever the ranks are; False unless given
    ignore_above: Number  # magnitudes from here on are left out of the range of `rel`; 0: 1e15
    raw_below: int  # bytes: shorter messages travel raw beside streams; 0: chosen
    coding: Coding  # how streams in messages store their codes; "auto": chosen; no result depends on it
    parts: Sequence[tuple[int, Number]] | None  # of allreduce with payload "fused" or "homomorphic", in the place of `abs`: (elements, absolute bound) of parts of the vector


RELATIVE = ("rel", "weights_rel")  # bounds of which 1 is the whole range
NAMES = tuple(CallOptions.__annotations__)


def member(enum, word, what, also=()):
    """The member of an enum of the C interface that has this name. also: further words that the caller takes."""
    found = getattr(enum, word, None) if isinstance(word, str) and not word.startswith("_") else None
    if not isinstance(found, enum):
        raise ArgumentError(f"{what} is {word!r}; it takes {', '.join([*(one.name for one in enum), *also])}")
    return found


def options(given):
    """The options of a call from its keywords, which are checked; those of equal calls are one object, but for parts, whose bounds differ call by call."""
    try:
        return (_options if given.get("parts") is None else _options.__wrapped__)(**given)
    except TypeError:
        unknown = [name for name in given if name not in NAMES]
        if unknown:
            raise TypeError(f"no option {unknown[0]!r}; there are {', '.join(NAMES)}") from None
    return _options.__wrapped__(**given)  # a value that cannot be remembered, as an array: its check names it


@functools.lru_cache(maxsize=256, typed=True)
def _options(abs=None, rel=None, scope="result", schedule=None, payload="auto", segment=0, timeout=0.0, check=True, reproducible=False,
             ignore_above=0.0, raw_below=0, coding="auto", parts=None):
    kind, bound = _core.Bound.none, 0.0
    if abs is not None and rel is not None:
        raise BoundError(f"the bound is given twice: abs={abs} and rel={rel}")
    parts = parts_of(parts)
    if parts:
        if abs is not None or rel is not None:
            raise BoundError(f"the bound is given twice: {'rel' if abs is None else 'abs'}={rel if abs is None else abs} and parts")
        abs = max(bound for _, bound in parts)  # noqa: A001
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
                         reproducible=bool(reproducible), ignore_above=number(ignore_above, "ignore_above"), raw_below=int(raw_below),
                         coding=member(_core.Coding, coding, "coding"), parts=parts)


class Parts(tuple):
    """((elements, bound), ...) of parts of a vector, which need no check."""


def parts_of(given):
    """The Parts of a vector, checked; None has none."""
    if isinstance(given, Parts):
        return given
    found = []
    for one in () if given is None else given:
        try:
            count, bound = one
        except (TypeError, ValueError):
            raise TypeError(f"parts has {one!r}; it takes pairs of a number of elements and a bound") from None
        if not isinstance(count, numbers.Integral) or count < 0:
            raise ArgumentError(f"parts has {count!r} elements; it takes numbers of elements")
        found.append((int(count), positive(bound, "the bound of a part")))
    return Parts(found)


def in_numbers(how, numbers_of_one):
    """The options with parts as a tuple that counts real numbers, of which an element has so many; without parts if there are none."""
    if "parts" not in how:
        return how
    parts = parts_of(how["parts"])
    if numbers_of_one > 1:
        parts = Parts((count * numbers_of_one, bound) for count, bound in parts)
    how = {name: value for name, value in how.items() if name != "parts"}
    return {**how, "parts": parts} if parts else how


def part_bounds(parts, eps):
    """[(elements, eps)] of a call with these parts, as of parts_of(), whose report has this eps: that of the largest bound."""
    largest = max((bound for _, bound in parts), default=0.0)
    return [(count, _core.eps_of_part(eps, largest, bound)) for count, bound in parts]


def defaults():
    """The options that a call has where none is given, by name."""
    return {name: one.default for name, one in inspect.signature(_options).parameters.items()}


def positive(value, what):
    """A bound."""
    bound = number(value, what)
    if not (math.isfinite(bound) and bound > 0):
        raise BoundError(f"{what} is {bound}; a bound is finite and positive")
    if what in RELATIVE and bound >= 1:
        _warn(units.remark_on_relative(f"{what}={bound:g}", bound))
    return bound


def _warn(text):
    """A warning at the line of the caller outside of this package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "stretto":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


def number(value, what):
    """A float of a number; one beyond all floats is infinite."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{what} is {value!r}; it takes a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
