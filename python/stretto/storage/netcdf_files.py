"""NetCDF files of the classic formats: CDF-1, CDF-2 (offsets of 64 bits) and CDF-5 (lengths of 64 bits).

They are read here, without a package: the NetCDF library takes what is missing of a truncated file for zeros. The format's description is "NetCDF Classic
Format Specification" of Unidata, and for CDF-5 that of PnetCDF.
"""

from __future__ import annotations

import math

import numpy as np

from stretto.errors import Failure
from stretto.storage import elements, layout, missing
from stretto.storage.sources import PIECE, Variable, descriptor_of, name_coordinates, positioned

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12  # tags of lists
TYPES = {1: ">i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: ">u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
TEXT = 2
SPARSE = 4096  # bytes of a variable in a record from which on each record is read by itself


class _Header:
    """Reads the header's numbers, names and lists. ValueError where they are none."""

    def __init__(self, file, size):
        self._file, self._size = file, size
        self.version = self.bytes(4)[3]

    def bytes(self, count):
        if count > self._size - self._file.tell():
            raise ValueError(f"its header is truncated, or has a length of {count}")
        return self._file.read(count)

    def padded(self, count):
        return self.bytes(-(-count // 4) * 4)[:count]

    def number(self, width):
        return int.from_bytes(self.bytes(width), "big")

    def length(self):
        return self.number(8 if self.version == 5 else 4)

    def offset(self):
        return self.number(4 if self.version == 1 else 8)

    def name(self):
        return self.padded(self.length()).decode(errors="replace")

    def items(self, tag, read):
        found, count = self.number(4), self.length()
        if found not in (0, tag) or (found == 0 and count):
            raise ValueError(f"a list of its header has the tag {found}, where {tag} should be")
        return [read() for _ in range(count)]

    def dtype(self):
        number = self.number(4)
        if number not in TYPES or (number > 6 and self.version != 5):
            raise ValueError(f"its header has the type {number}")
        return np.dtype(TYPES[number])

    def attribute(self):
        name, dtype, count = self.name(), self.dtype(), self.length()
        content = self.padded(count * dtype.itemsize)
        if dtype.kind == "S":
            return name, content.rstrip(b"\0").decode(errors="replace")
        values = np.frombuffer(content, dtype).astype(elements.native(dtype))
        return name, values[0] if count == 1 else values

    def attributes(self):
        found = {}
        for name, value in self.items(ATTRIBUTE, self.attribute):
            layout.told_attributes({name: value})
            found[name] = value
        return found

    def dimension(self):
        return self.name(), self.length()

    def variable(self):
        name = self.name()
        which = [self.length() for _ in range(self.length())]
        attributes, dtype = self.attributes(), self.dtype()
        self.length()  # bytes, which follow from shape and type, and are wrong in files with long variables
        return name, which, attributes, dtype, self.offset()


def fill(source, stack):
    """Adds the variables of a file to a Source."""
    with open(source.path, "rb") as file:
        header = _Header(file, source.nbytes)
        told = header.length()
        dimensions = header.items(DIMENSION, header.dimension)
        source.attributes = header.attributes()
        variables = header.items(VARIABLE, header.variable)
    for name, which, *_ in variables:
        if any(one >= len(dimensions) for one in which) or any(dimensions[one][1] == 0 for one in which[1:]):
            raise ValueError(f"variable {name!r} has no such dimensions")
    rows = [math.prod(dimensions[one][1] for one in which[1:]) * dtype.itemsize for _, which, _, dtype, _ in variables]
    along = [bool(which) and dimensions[which[0]][1] == 0 for _, which, *_ in variables]
    # A file with one variable along the records has no padding between these.
    record = sum(row if sum(along) == 1 else -(-row // 4) * 4 for row, is_along in zip(rows, along) if is_along)
    streaming = told == (1 << (64 if header.version == 5 else 32)) - 1
    first = min((begin for (*_, begin), is_along in zip(variables, along) if is_along), default=0)
    records = told if not streaming else max(source.nbytes - first, 0) // record if record else 0
    descriptor = descriptor_of(source, stack)
    for (name, which, attributes, dtype, begin), row, is_along in zip(variables, rows, along):
        shape = [records if axis == 0 and is_along else dimensions[one][1] for axis, one in enumerate(which)]
        end = begin + (math.prod(shape) * dtype.itemsize if not is_along else record * (records - 1) + row if records else 0)
        if end > source.nbytes:
            raise Failure(f"{source.path} is truncated: {source.nbytes} bytes, and variable {name!r} ends at {end}", status=1)
        if dtype.kind == "S":
            source.left_out[name] = "it is text"
            continue
        read = positioned(descriptor, source.path, dtype, begin)
        if is_along and row != record:
            read = _in_records(descriptor, source.path, dtype, begin, row, record)
        axes = [dimensions[one][0] for one in which]
        floating = elements.is_floating(elements.native(dtype))
        source.add(Variable(name, shape, dtype, read, attributes, axes or None, axes == [name], marks=missing.marks_in(attributes) if floating else (),
                            origin={"unlimited": [0]} if is_along else None))
    name_coordinates(source)


def _in_records(descriptor, path, dtype, begin, row, record):
    """Reads elements of a variable that has `row` bytes in each record of `record` bytes."""
    n = row // dtype.itemsize
    several = max(PIECE // record, 1)  # records that are read at once
    content = positioned(descriptor, path, np.dtype(np.uint8), begin)

    def records(first, count):
        if row >= SPARSE:
            return np.stack([content(record * (first + i), row) for i in range(count)])
        return np.lib.stride_tricks.as_strided(content(record * first, record * (count - 1) + row), (count, row), (record, 1))

    def read(first, count):
        found, last = [np.empty(0, dtype)], first + count
        while first < last:
            which, skipped = divmod(first, n)
            whole = min(several, -(-last // n) - which)
            values = np.ascontiguousarray(records(which, whole)).reshape(-1).view(dtype)[skipped:skipped + last - first]
            found.append(values)
            first += len(values)
        return np.concatenate(found)

    return read
