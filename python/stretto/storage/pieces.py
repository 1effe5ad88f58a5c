"""Arrays in pieces: boxes of at most so many elements, each of which is contiguous in C order, one after the other."""

from __future__ import annotations

import itertools
import math


def pieces(shape, most, multiple=1):
    """Yields index tuples of slices that cover an array of this shape in C order, each of at most `most` elements where one suffices.

    multiple: pieces of more than one row begin at multiples of it where they can, as chunks of HDF5 do.
    """
    if math.prod(shape) == 0:
        return
    for axis in range(len(shape)):  # the first axis whose rows fit
        row = math.prod(shape[axis + 1:])
        if row <= most:
            break
    else:
        yield ()
        return
    rows = max(most // row, 1)
    if axis == 0 and rows > multiple:
        rows -= rows % multiple
    for place in itertools.product(*map(range, shape[:axis])):
        before = tuple(slice(i, i + 1) for i in place)
        for first in range(0, shape[axis], rows):
            yield (*before, slice(first, min(first + rows, shape[axis])))
