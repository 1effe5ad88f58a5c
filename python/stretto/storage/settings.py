"""Settings of the codecs: bounds that are checked, and are plain numbers, as JSON needs them; chunks that may not be encoded again."""

from __future__ import annotations

import numpy as np

from stretto.api.options import positive
from stretto.errors import ArgumentError, BoundError

MOST = 16  # marks of a stream


def bounds(absolute, relative):
    """(abs, rel), each a float or None. TypeError for other objects than real numbers; BoundError for two bounds, or one not finite and positive."""
    if absolute is not None and relative is not None:
        raise BoundError(f"the bound is given twice: abs={absolute} and rel={relative}")
    return tuple(None if value is None else positive(value, name) for name, value in (("abs", absolute), ("rel", relative)))


def coding(word):
    """A coding of files, "fixed", "dense", "shaped" or None. ArgumentError for another."""
    if word in ("fixed", "dense", "shaped", None):
        return word
    raise ArgumentError(f"coding is {word!r}; it takes fixed, dense, shaped or None")


def left_out(marks):
    """Marks, and 0, for the range of a chunk: Zarr fills chunks beyond an array's edge with its fill value, 0 unless given."""
    return [*marks, 0.0] if len(marks) < MOST and 0.0 not in marks else list(marks)


class Decoded(np.ndarray):
    """Decoded values of a chunk with a relative bound. Views and copies keep this class, so a chunk that is written in part has it when it is encoded.

    Results of arithmetic are plain arrays.
    """

    def __array_wrap__(self, values, context=None, return_scalar=False):
        return values[()] if return_scalar else np.asarray(values)


def marked(values, relative, rewrite):
    """The decoded values of a chunk; marked where they may not be encoded again."""
    return values if relative is None or rewrite else values.view(Decoded)


def must_be_new(values, relative, rewrite):
    """ArgumentError where decoded values of a chunk are to be encoded again within a relative bound: their errors would add up."""
    if relative is not None and not rewrite and isinstance(values, Decoded):
        raise ArgumentError(f"a chunk is written in part, within rel={relative}: what was in it would be rounded again, each time on another grid. Write "
                            "whole chunks, take abs=, or allow it by rewrite=True (also where Zarr 2 rewrites chunks at the edge of an array)")
