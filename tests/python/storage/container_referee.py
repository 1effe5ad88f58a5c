"""The referee of containers: reads one, written from section 7 of docs/format.md alone. It is given what decompresses a stream."""

import json
import math
import struct
import zlib

import numpy as np

LOSSY = {"float32": (1, 1), "float64": (2, 1), "float16": (5, 1), "bfloat16": (6, 1), "complex64": (1, 2), "complex128": (2, 2)}
SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "int64": 8,
         "uint64": 8, "float64": 8, "complex64": 8, "complex128": 16}


class Malformed(Exception):
    """What the file breaks."""


def need(condition, message):
    if not condition:
        raise Malformed(message)


def no_constant(text):
    raise Malformed(f"the number {text} in the index")


def read(content, decompress):
    """(attributes, {name: (array, attributes, axes)}) of the bytes of a file; bfloat16 as its bits. `decompress` gives the values of a stream, flat."""
    need(len(content) >= 40, "shorter than a header")
    magic, version, index_crc, offset, length, zero, crc = struct.unpack("<8sIIQQII", content[:40])
    need(magic == bytes.fromhex("89 53 54 46 0d 0a 1a 0a") and version == 1 and zero == 0, "no container of version 1")
    need(crc == zlib.crc32(content[:36]), "the header's CRC differs")
    need(offset >= 40 and offset + length <= len(content), "the index is not in the file")
    index = content[offset:offset + length]
    need(zlib.crc32(index) == index_crc, "the index's CRC differs")
    told = json.loads(index.decode("utf-8"), parse_constant=no_constant)
    found = {}
    for one in told["arrays"]:
        need(one["name"] != "" and one["name"] not in found, "a name is empty, or twice there")
        found[one["name"]] = (array(content, offset, one, decompress), attributes(one), one.get("axes"))
    return attributes(told), found


def array(content, end, one, decompress):
    lossy, size = "eps" in one, SIZES[one["dtype"]]
    need(not lossy or one["eps"] > 0, "a bound of 0")
    kind, parts = LOSSY[one["dtype"]] if lossy else (3 if size <= 4 else 4, size // 8 or 1)
    values = []
    for offset, length, elements, checksum in one["chunks"]:
        need(offset >= 40 and length >= 64 and offset + length <= end and elements > 0, "a chunk outside the file")
        need(elements * parts <= (4096 if content[offset + 4] == 2 else 512) * length, "more elements than a stream of the length holds")
        stream = content[offset:offset + length]
        _, _, its_type, flags, _, count, eps, _, contributions, its_checksum, _, its_length, _ = struct.unpack("<4sBBBBQddIIQQQ", stream[:64])
        need((its_type, count, its_length) == (kind, elements * parts, length), "a stream of another type or length")
        need(flags == 1 and its_checksum == checksum, "a stream without the checksum of the index")
        need((eps, contributions) == (one.get("eps", 0), one.get("contributions", 1)), "a stream of another bound")
        values.append(decompress(stream))
    flat = np.concatenate(values) if values else np.empty(0, "<i8")
    need(flat.size == math.prod(one["shape"]) * parts, "chunks that do not fill the shape")
    return elements_of(flat, one["dtype"], size, lossy).reshape(one["shape"])


def elements_of(values, name, size, lossy):
    dtype = np.dtype("u2" if name == "bfloat16" else name)
    if lossy:
        return values.view(dtype)
    if size >= 4:
        return values.astype(f"<i{min(size, 8)}").view(dtype)
    narrow = values.astype(f"{'i' if name.startswith('int') else 'u'}{size}")
    need((narrow == values).all() and (name != "bool" or (values >> 1 == 0).all()), "integers that are no elements")
    return narrow.view(dtype)


def attributes(one):
    return {name: attribute(value) for name, value in one.get("attributes", {}).items()}


def attribute(value):
    if isinstance(value, list):
        return [attribute(part) for part in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"dtype", "shape", "hex"}:
        return np.frombuffer(bytes.fromhex(value["hex"]), value["dtype"]).reshape(value["shape"])
    return {name: attribute(part) for name, part in value.items()}
