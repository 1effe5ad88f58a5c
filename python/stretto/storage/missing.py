"""Marks of missing data: what a file says of them, values that look like one, and whether they are the same after as before."""

from __future__ import annotations

import math
import warnings

import numpy as np

from stretto.api.streams import marks_of
from stretto.errors import Failure, printable

ATTRIBUTES = ("_FillValue", "missing_value")  # of NetCDF's conventions
REFUSED, WARNED = 0.2, 0.01  # shares of all elements from which on a suspect is refused, or told
IGNORED = 1e15  # values from here on are ignored by ranges as they are
SAMPLED, SAMPLE = 32, 1 << 16  # number of sampled pieces, and elements of each
OF_A_CHUNK = 512  # sampled elements of a chunk that a codec gets


def marks_in(attributes, *more):
    """The marks that attributes name, and others, as floats. What is no number is none."""
    found = [np.asarray(attributes[name]) for name in ATTRIBUTES if name in attributes] + [np.asarray(one) for one in more]
    parts = [part for one in found if one.dtype.kind in "biufc" for part in ((one.real, one.imag) if one.dtype.kind == "c" else (one,))]
    return marks_of([float(value) for part in parts for value in np.ravel(part)])


def fill_of(variable):
    """The fill value of an array as a number of its dtype: that of its origin, else its attribute _FillValue, else its only mark; None where it has none."""
    value = variable.origin.get("fill", variable.attributes.get("_FillValue", variable.marks[0] if len(variable.marks) == 1 else None))
    value = np.asarray(value)
    if value.size != 1 or value.dtype.kind not in ("biufc" if variable.dtype.kind == "c" else "biuf"):
        return None
    with np.errstate(all="ignore"):
        found = value.reshape(()).astype(variable.dtype)[()]
    return None if variable.dtype.kind in "biu" and found != value.reshape(()) else found


def spread(flat, n):
    """About n elements of a flat array, one of each n-th of it at a changing place: a constant stride would see few columns of a grid."""
    stride = flat.size // n
    if stride < 2:
        return flat
    i = np.arange(flat.size // stride, dtype=np.uint64)
    part = i * np.uint64(0x9E3779B1) & np.uint64(0xFFFFFFFF)  # i-th multiple of the golden ratio, without its whole part
    return flat[i * np.uint64(stride) + (part * np.uint64(stride) >> np.uint64(32))]


def suspect(pieces):
    """(value, share) of one value that is a hundredth of all and farther from the others than these are from each other; None where there is none."""
    counts, total, samples = {}, 0, []
    for values in pieces:
        flat = spread(np.ravel(values), SAMPLE)
        total += flat.size
        flat = flat[np.isfinite(flat)].astype(np.float64)
        values, times = np.unique(flat, return_counts=True)
        often = times >= max(0.2 * WARNED * flat.size, 2)
        for value, count in zip(values[often], times[often]):
            counts[float(value)] = counts.get(float(value), 0) + int(count)
        samples.append(values)
    there = np.unique(np.concatenate([np.empty(0), *samples]))
    there = there[np.abs(there) < IGNORED]
    if there.size < 2:
        return None
    ends = ((there[0], there[1] - there[0], there[-1] - there[1]), (there[-1], there[-1] - there[-2], there[-2] - there[0]))  # no other is far from all others
    far = [(float(value), counts.get(float(value), 0)) for value, gap, spread in ends if gap > spread]
    value, count = max(far, key=lambda one: one[1], default=(0.0, 0))
    return (value, count / total) if count >= WARNED * total else None


def sampled(variable):
    """Pieces of a variable of floats, spread over all of it."""
    boxes = list(variable.boxes())
    for box in boxes[::max(len(boxes) // SAMPLED, 1)]:
        values = variable.read(box)
        yield values.view(values.real.dtype) if values.dtype.kind == "c" else values.astype(np.float64)


def need_no_suspect(console, name, pieces, kept=0.0):
    """Tells of a value that looks like a mark that nobody named, and which options there are. Failure where it is a fifth of all.

    kept: what `kept_from` of streams gives. Values from there on keep their bits, and no range counts them.
    """
    found = suspect(pieces)
    if found and abs(found[0]) < (kept or math.inf):
        value, share = found
        said = (f"{printable(name)}: {share:.0%} of the elements are {value:.9g}, far from all others. --mark {value:.9g} keeps such values as missing "
                "data and out of the range; --no-marks takes them as data")
        if share >= REFUSED:
            raise Failure(said)
        console.print(f"taken as data: {said}", markup=False, highlight=False, soft_wrap=True)


def warn_of_suspect(values, why, stacklevel):
    """A warning of a value of a chunk that looks like a mark that nobody named. Zeros are none: Zarr fills chunks with them.

    The text has no share: Python shows one text once a line, and each chunk has a share of its own.
    """
    if values.dtype.kind not in "fc" and values.dtype.name != "bfloat16" or not values.size:
        return
    flat = spread(values.reshape(-1), OF_A_CHUNK)
    flat = flat if flat.dtype.kind == "c" else flat.astype(np.float64)
    found = suspect([np.concatenate((flat.real, flat.imag)) if flat.dtype.kind == "c" else flat])
    if found and found[0]:
        value = found[0]
        warnings.warn(f"a hundredth or more of a chunk's elements are {value:.9g}, far from all others, and are taken as data: {why}. "
                      f"Stretto(..., marks=[{value:.9g}]) keeps such values as missing data", stacklevel=stacklevel)


def same_masks(name, before, after, marks):
    """Failure where an element equals a mark, or is NaN, before or after alone."""
    for mark in (*marks, math.nan):
        with np.errstate(over="ignore"):
            is_mark = np.isnan if math.isnan(mark) else lambda values, m=np.asarray(mark).astype(before.real.dtype): values == m
        for x, y in ((before.real, after.real), (before.imag, after.imag)) if before.dtype.kind == "c" else ((before, after),):
            differing = int(np.count_nonzero(is_mark(x) != is_mark(y)))
            if differing:
                raise Failure(f"{name!r}: {differing} elements equal {mark:g} either before or after compression alone", status=1)
