"""The bytes of a container but its streams: header and index, as docs/format.md has them (section 7)."""

from __future__ import annotations

import json
import math
import struct
import zlib

import numpy as np

from stretto.errors import ArgumentError, StreamError
from stretto.storage.elements import DTYPES, dtype_named, is_floating, name_of, stream_type

MAGIC = b"\x89STF\r\n\x1a\n"
VERSION = 1
HEADER = struct.Struct("<8sIIQQII")  # magic, version, CRC-32 of the index, its offset and length, zero, CRC-32 of all before
VALUES_A_BYTE = 4096  # that a stream can hold at most, a dense one: 64 groups of 1,024 in 16 bytes

class Entry:
    """What an index says of one array. `eps` is None where elements keep their bits. `chunks`: [offset, length, elements, checksum] each.

    origin: how the array lay in the file that it comes from: "fill", its fill value; "chunks", lengths along its axes; "unlimited", the axes that grow;
    "dimensions", a path for each axis. Any may be missing.
    largest: the largest magnitude of finite elements that are rounded to a type of 16 bits; None where it is not known.
    """

    __slots__ = ("name", "dtype", "shape", "eps", "contributions", "asked", "axes", "attributes", "chunks", "marks", "origin", "largest")

    def __init__(self, name, dtype, shape, eps=None, contributions=1, asked=None, axes=None, attributes=None, chunks=(), marks=(), origin=None, largest=None):
        self.marks, self.origin, self.largest = list(marks), dict(origin or {}), largest
        self.name, self.dtype, self.shape, self.eps, self.contributions = name, dtype, tuple(shape), eps, contributions
        self.asked, self.axes, self.attributes, self.chunks = asked, axes, dict(attributes or {}), [list(chunk) for chunk in chunks]

    @property
    def size(self):
        return math.prod(self.shape)

    def told(self):
        """As the index has it."""
        found = {"name": self.name, "dtype": name_of(self.dtype), "shape": list(self.shape)}
        if self.eps is not None:
            found["eps"] = self.eps
        if self.contributions != 1:
            found["contributions"] = self.contributions
        if self.asked:
            found["bound"] = self.asked
        if self.marks:
            found["marks"] = self.marks
        if self.largest is not None:
            found["largest"] = self.largest
        if self.axes:
            found["axes"] = list(self.axes)
        if self.attributes:
            found["attributes"] = told_attributes(self.attributes)
        if self.origin:
            found["origin"] = told_attributes(self.origin)
        return {**found, "chunks": self.chunks}


def told_attributes(attributes):
    """Attributes as JSON. TypeError for a value that has no place there."""
    found = {}
    for name, value in attributes.items():
        if not isinstance(name, str):
            raise TypeError(f"the attribute {name!r} has no text for a name")
        found[utf8(name, "the name of an attribute")] = _told(name, value)
    return found


def _told(name, value):
    if isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
        if value.dtype.kind not in "biufc" or value.dtype.name not in DTYPES:
            raise TypeError(f"the attribute {name!r} has dtype {value.dtype}; numbers, text and what JSON holds are kept")
        return {"dtype": value.dtype.name, "shape": list(value.shape), "hex": value.astype(value.dtype.newbyteorder("<")).tobytes().hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return _told(name, np.float64(value))
    if isinstance(value, str):
        return utf8(value, f"the attribute {name!r}")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_told(name, one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value) and set(value) != {"dtype", "shape", "hex"}:
        return {utf8(key, f"the attribute {name!r}"): _told(name, one) for key, one in value.items()}
    raise TypeError(f"the attribute {name!r} is a {type(value).__name__}; numbers, text, lists and dicts of them are kept")


def _heard(value):
    """An attribute of an index as Python has it."""
    if isinstance(value, list):
        return [_heard(one) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"dtype", "shape", "hex"}:
        return {key: _heard(one) for key, one in value.items()}
    _need(isinstance(value["hex"], str), f"hex is {value['hex']!r}, no text")
    shape, content = _lengths(value["shape"], "of an attribute"), bytes.fromhex(value["hex"])
    dtype = dtype_named(value["dtype"])
    _need(len(content) == math.prod(shape) * dtype.itemsize, "an attribute has not the bytes of its shape")
    found = np.frombuffer(content, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
    return found[()] if not shape else found


def write_index(entries, attributes):
    """The index as bytes."""
    told = {"arrays": [entry.told() for entry in entries]}
    if attributes:
        told["attributes"] = told_attributes(attributes)
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def utf8(text, where):
    """The text, which UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{error.object[error.start:error.end]!r} in {where} is no text that UTF-8 holds") from None
    return text


def write_header(offset, index):
    """The header for an index at that offset."""
    front = HEADER.pack(MAGIC, VERSION, zlib.crc32(index), offset, len(index), 0, 0)[:-4]
    return front + struct.pack("<I", zlib.crc32(front))


def read_header(content, size):
    """(offset, length, CRC-32) of the index of a file of `size` bytes that begins with `content`. StreamError names what is wrong."""
    _need(content[:len(MAGIC)] == MAGIC[:len(content)], "it does not begin as a .stretto file does")
    _need(len(content) >= HEADER.size, f"{len(content)} bytes are less than a header of {HEADER.size}")
    _, version, checksum, offset, length, zero, own = HEADER.unpack(content[:HEADER.size])
    _need(own == zlib.crc32(content[:HEADER.size - 4]), "the header's checksum differs")
    _need(version == VERSION, f"it is of version {version}; this release reads version {VERSION}")
    _need(zero == 0 and offset >= HEADER.size and offset + length < 1 << 63, "the header has illegal values")
    _need(offset + length <= size, f"it is truncated: {size} bytes of {offset + length}")
    return offset, length, checksum


def read_index(content, offset, checksum):
    """(entries, attributes) of an index that lies at `offset`."""
    _need(zlib.crc32(content) == checksum, "the checksum of the index differs")
    try:
        told = json.loads(content.decode(), parse_constant=_no_number)
        _need(isinstance(told, dict), "the index is no object")
        entries = [_entry(one, offset) for one in _list(told.get("arrays"), "arrays")]
        attributes = _attributes(told)
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        if isinstance(error, StreamError):
            raise
        raise StreamError(f"the index is no JSON of a container: {type(error).__name__}: {error}") from None
    names = [entry.name for entry in entries]
    _need(len(set(names)) == len(names), "two arrays have one name")
    return entries, attributes


def _entry(told, end):
    name = _text(told["name"], "name")
    try:
        dtype, shape = dtype_named(told["dtype"]), _lengths(told["shape"], "")
        eps, contributions, axes = told.get("eps"), told.get("contributions", 1), told.get("axes")
        _need(eps is None or (isinstance(eps, float) and 0 < eps < math.inf and is_floating(dtype)), f"eps is {eps!r}")
        _need(_is_count(contributions) and 1 <= contributions < 1 << 32, f"contributions are {contributions!r}")
        _need(axes is None or (isinstance(axes, list) and len(axes) == len(shape) and all(isinstance(one, str) for one in axes)), f"axes are {axes!r}")
        asked = told.get("bound")
        _need(asked is None or (isinstance(asked, str) and eps is not None), f"the bound is {asked!r}")
        marks = told.get("marks", [])
        _need(isinstance(marks, list) and len(marks) <= 16 and all(isinstance(one, float) for one in marks), f"marks are {marks!r}")
        largest = told.get("largest")
        _need(largest is None or (isinstance(largest, float) and 0 <= largest < math.inf), f"the largest magnitude is {largest!r}")
        chunks = [_chunk(one, end, stream_type(dtype, eps is None)[1]) for one in _list(told["chunks"], "chunks")]
        _need(sum(chunk[2] for chunk in chunks) == math.prod(shape), f"chunks hold {sum(chunk[2] for chunk in chunks)} elements of shape {shape}")
        return Entry(name, dtype, shape, eps, contributions, asked, axes, _attributes(told), chunks, marks, _origin(told, len(shape)), largest)
    except StreamError as error:
        raise StreamError(f"array {name!r}: {error}") from None


def _chunk(told, end, parts):
    _need(isinstance(told, list) and len(told) == 4 and all(map(_is_count, told)), f"a chunk is {told!r}")
    offset, length, elements, checksum = told
    _need(offset >= HEADER.size and length >= 64 and offset + length <= end, f"a chunk of {length} bytes at {offset} does not lie before the index at {end}")
    _need(1 <= elements and elements * parts <= VALUES_A_BYTE * length, f"a chunk of {length} bytes has {elements} elements")
    _need(checksum < 1 << 32, f"a chunk has the checksum {checksum}")
    return told


def _attributes(told, key="attributes"):
    found = told.get(key, {})
    _need(isinstance(found, dict), f"{key} is no object")
    return {name: _heard(value) for name, value in found.items()}


def _origin(told, axes):
    found = _attributes(told, "origin")
    need = {"chunks": lambda one: len(one) == axes and all(_is_count(n) and n for n in one), "unlimited": lambda one: all(_is_count(n) and n < axes for n in one),
            "dimensions": lambda one: len(one) == axes and all(isinstance(path, str) for path in one)}
    for key, is_legal in need.items():
        _need(key not in found or (isinstance(found[key], list) and is_legal(found[key])), f"{key} of its origin are {found.get(key)!r}")
    _need(isinstance(found.get("fill", 0), (bool, int, float, np.generic)), f"the fill value of its origin is {found.get('fill')!r}")
    return found


def _lengths(told, what):
    _need(isinstance(told, list) and len(told) <= 64 and all(map(_is_count, told)), f"a shape {what} is {told!r}")
    return tuple(told)


def _is_count(value):
    return type(value) is int and 0 <= value < 1 << 63


def _list(value, what):
    _need(isinstance(value, list), f"{what} are no list")
    return value


def _text(value, what):
    _need(isinstance(value, str) and value != "", f"{what} is {value!r}, no text")
    return value


def _no_number(text):
    raise StreamError(f"the index has the number {text}")


def _need(condition, message):
    if not condition:
        raise StreamError(message)


def check_name(name):
    """Names of arrays are texts that UTF-8 can hold, of at least a character."""
    if not isinstance(name, str):
        raise TypeError(f"an array's name is {name!r}; it takes text")
    if not name or "\0" in name:
        raise ArgumentError(f"an array's name is {name!r}; it takes text without a NUL")
    return utf8(name, "an array's name")
