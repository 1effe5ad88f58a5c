#!/usr/bin/env python3
"""The referee: decodes stretto streams, written from docs/format.md alone, for clarity and not for speed.

    referee.py STREAM OUT [DIVISOR]      decode STREAM (its mean, with DIVISOR) into the raw values OUT
    referee.py --folders ACCEPT REFUSE   decode all ACCEPT/*.str to exactly ACCEPT/*.bin, and refuse all REFUSE/*.str

The exit status is 1, with a message, for a malformed stream or a value that differs.
"""
import math
import pathlib
import struct
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: the referee needs numpy")
    sys.exit(77)

WIDEST_SUM = {4: 11, 8: 69}  # words of an exact sum, by the size of a value
DENORMAL = {4: -149, 8: -1074}  # exponent of the least denormal
PRECISION = {4: 24, 8: 53}
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "<i8", 5: "<f4", 6: "<f4"}  # 5 and 6 are rounded at the end


class Malformed(Exception):
    """What the stream breaks."""


def need(condition, message):
    if not condition:
        raise Malformed(message)


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Reader:
    """Takes the parts of a group off its front, and the widths off its back."""

    def __init__(self, data):
        self.data = data

    def front(self, n):
        need(n <= len(self.data), "a group is too short for its parts")
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def back(self, n):
        need(n <= len(self.data), "a group is too short for its parts")
        cut = len(self.data) - n
        taken, self.data = self.data[cut:], self.data[:cut]
        return taken


def float_of(magnitude, negative, size, precision):
    """RN of magnitude * 2^DENORMAL to that many bits (and the exponents of a float of that size, or float64's)."""
    shift = max(0, magnitude.bit_length() - precision)
    rounded = magnitude >> shift
    rest, half = magnitude - (rounded << shift), (1 << shift) >> 1
    rounded += shift > 0 and (rest > half or (rest == half and rounded & 1 == 1))
    largest = 128 if precision == 24 else 1024
    if rounded and rounded.bit_length() + shift + DENORMAL[size] > largest:
        return -math.inf if negative else math.inf
    value = math.ldexp(rounded, shift + DENORMAL[size])
    return -value if negative else value


def exact_sum(group, size, mean):
    (head,) = struct.unpack("<I", group.front(4))
    n, k, sign, special = head & 255, head >> 8 & 255, head >> 16 & 1, head >> 17 & 7
    need(head >> 20 == 0 and n + k <= WIDEST_SUM[size] and (n or not (k or sign)), "illegal head of an exact sum")
    words = struct.unpack(f"<{n}I", group.front(4 * n))
    need(n == 0 or (words[0] and words[-1]), "an exact sum begins or ends with a zero word")
    if special & 4 or special & 3 == 3:
        return math.nan
    if special:
        return math.inf if special & 1 else -math.inf
    magnitude = sum(word << 32 * (k + i) for i, word in enumerate(words))
    return float_of(magnitude, sign, size, 53 if mean else PRECISION[size])


def map_of_runs(data, m):
    need(data, "no runs")
    lengths, length = [], 0
    for i, byte in enumerate(data):
        length += byte
        if byte < 255:
            need(length or not lengths, "an empty run")
            lengths.append(length)
            length = 0
        else:
            need(i + 1 < len(data), "a run without end")
    need(sum(lengths) < m, "runs beyond the group")
    lengths.append(m - sum(lengths))
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)


def map_of_lanes(group, m):
    some, full = struct.unpack("<II", group.front(8))
    need(some and full & ~some == 0, "lanes: none, or `all` is no subset of `some`")
    places = np.zeros(1024, bool)
    for b in range(32):
        if some >> b & 1:
            need(32 * b < m, "lanes beyond the group")
            lanes = 0xFFFFFFFF
            if not full >> b & 1:
                (lanes,) = struct.unpack("<I", group.front(4))
                need(lanes and (m - 32 * b >= 32 or lanes >> (m - 32 * b) == 0), "lanes: none, or some beyond the group")
            places[32 * b : 32 * b + 32] = [lanes >> j & 1 for j in range(32)]
    return places[:m]


def read_exceptions(group, m, number, mean):
    kind, n = group.front(2)
    uniform, sums, runs, quiet_nan = (bool(kind >> i & 1) for i in range(4))
    need(kind < 16 and (not quiet_nan or (uniform and not sums)), "illegal kind of exceptions")
    need(runs or n == 0, "lanes with a number of runs")
    if runs:
        places = map_of_runs(group.front(n), m)
        need(not any(group.front(-(n + 2) % 4)), "padding of runs is not zero")
    else:
        need(not any(group.front(2)), "padding of lanes is not zero")
        places = map_of_lanes(group, m)
    if quiet_nan:
        values = np.array([0x7FC00000 if number.itemsize == 4 else 0x7FF8 << 48], f"<u{number.itemsize}").view(number)
    else:
        stored = 1 if uniform else int(places.sum())
        if sums:
            values = np.array([exact_sum(group, number.itemsize, mean) for _ in range(stored)])
        else:
            values = np.frombuffer(group.front(stored * number.itemsize), number)
    return places, values


def read_widths(group, form, limit):
    if form == 0:
        return [0] * 32
    need(form <= 4, f"illegal form of widths {form}")
    (mask,) = struct.unpack("<I", group.back(4)) if form > 2 else (0xFFFFFFFF,)
    need(mask, "a mask that says nothing")
    n = mask.bit_count()
    if form in (2, 4):
        stored = list(group.back(-(-n // 4) * 4))
    else:
        stored = [nibble for byte in group.back(-(-n // 8) * 4) for nibble in (byte & 15, byte >> 4)]
    need(all(width <= limit for width in stored[:n]), f"a width above {limit}")
    rest = iter(stored)
    return [next(rest) if mask >> b & 1 else 0 for b in range(32)]


def read_group(data, m, number, mean):
    """Codes of one group, which of its places are exceptions, and their values (one, or one for each)."""
    codes, none = np.zeros(m, np.int64), np.zeros(m, bool)
    if not data:
        return codes, none, []
    group = Reader(data)
    (word,) = struct.unpack("<I", group.front(4))
    predictor, wide, short, form, has_exceptions = word & 3, word >> 2 & 1, word >> 3 & 1, word >> 4 & 7, word >> 7 & 1
    if form == 7:
        need(word == 0x70 and number.kind == "f" and len(group.data) == m * number.itemsize, "illegal verbatim group")
        return codes, ~none, np.frombuffer(group.data, number)
    need(short or word >> 8 == 0, "a base in word 0 that is not announced")
    need(not short or (predictor >= 2 and not wide), "a short base without differences, or in a wide group")
    unit, unsigned = (8, np.uint64) if wide else (4, np.uint32)
    base = slope = 0
    if predictor >= 2:
        base = word >> 8 if short else int.from_bytes(group.front(unit), "little")
        base -= (base >> 23 & 1) << 24 if short else 0
    if predictor == 3:
        slope = int.from_bytes(group.front(unit), "little")
    places, values = none, []
    if has_exceptions:
        need(number.kind == "f", "exceptions among integers")
        places, values = read_exceptions(group, m, number, mean)
    widths = read_widths(group, form, 8 * unit - (predictor == 0))
    need(len(group.data) == 4 * sum(widths), "the planes do not fill the group")
    residuals = []
    for width in widths:
        planes = struct.unpack(f"<{width}I", group.front(4 * width))
        for j in range(32):
            e = sum((plane >> j & 1) << i for i, plane in enumerate(planes))
            residuals.append(e - (1 << width) if predictor and width and planes[-1] >> j & 1 else e)
    e = np.array([r % (1 << 8 * unit) for r in residuals], unsigned)
    if predictor == 3:
        e = np.cumsum(e, dtype=unsigned) + unsigned(slope)
    if predictor >= 2:
        e = np.cumsum(e, dtype=unsigned) + unsigned(base % (1 << 8 * unit))
    return e.view(f"<i{unit}")[:m].astype(np.int64), places, values


def read_header(data):
    need(len(data) >= 64, "shorter than a header")
    magic, version, kind, flags, zero, count, eps, width, contributions, checksum, bound, length, exceptions = struct.unpack(
        "<4sBBBBQddIIQQQ", data[:64])
    need(magic == b"STRT" and version == 1, "no stretto stream of version 1")
    need(kind in TYPES and flags < 2 and zero == 0 and count <= 1 << 48, "illegal type, flags or count")
    integers = kind in (3, 4)
    need(eps == 0 if integers else math.isfinite(eps) and eps > 0, f"illegal bound {eps}")
    need(width == 1 if integers else math.isfinite(width) and width > 0, f"illegal grid width {width}")
    with np.errstate(over="ignore"):
        need(kind == 2 or float(np.float32(width)) == width, f"the grid width {width} is no binary32 number")
    need(contributions >= 1 and bound <= 1 << 63 and exceptions <= count, "illegal contributions, code bound or exceptions")
    need(64 <= length <= len(data), "truncated")
    data = data[:length]
    need(checksum == (crc32c(data[:36] + bytes(4) + data[40:]) if flags else 0), "the checksum differs")
    return data, kind, count, width, bound, exceptions


def split_groups(data, count):
    groups = -(-count // 1024)
    chunks = -(-groups // 64)
    begin = 64 + 8 * chunks + -(-2 * groups // 8) * 8
    need(begin <= len(data), "truncated in the index")
    offsets = np.frombuffer(data, "<u8", chunks, 64)
    lengths = np.frombuffer(data, "<u2", groups, 64 + 8 * chunks)
    starts = begin + 4 * np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    need(starts[-1] == len(data), "the lengths do not add up")
    need((offsets == starts[:groups:64].astype(np.uint64)).all(), "an offset is wrong")
    return [data[a:b] for a, b in zip(starts[:-1], starts[1:])]


def product_of_long_code(q, width):
    sign, low = (-1 if q < 0 else 1), abs(q) % (1 << 32)
    try:
        numerator, denominator = width.as_integer_ratio()
        low_numerator, low_denominator = (float(low) * width).as_integer_ratio()
        exact = (abs(q) - low) * numerator * low_denominator + low_numerator * denominator
        return sign * (exact / (denominator * low_denominator))  # Python divides integers with one rounding
    except OverflowError:
        return sign * math.inf


def rounded(values, kind):
    """float32 to float16 or bfloat16, to nearest even; of a NaN the upper bits stay, made quiet if no payload is left."""
    bits = values.view("<u4")
    nan = np.isnan(values)
    if kind == 6:
        near = (bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1) >> 16).astype("<u2")
        kept = (bits >> 16).astype("<u2")
        return np.where(nan, np.where(kept & 0x7F, kept, kept | 0x40), near).astype("<u2")
    near = values.astype("<f2").view("<u2")
    kept = (bits >> 16 & 0x8000 | 0x7C00 | bits >> 13 & 0x3FF).astype("<u2")
    return np.where(nan, np.where(kept & 0x3FF, kept, kept | 0x200), near).astype("<u2")


def decode(data, divisor=1):
    """The values of a stream, as an array of its type (float16 and bfloat16: their bits)."""
    data, kind, count, width, bound, exceptions = read_header(data)
    number = np.dtype(TYPES[kind])
    parts = []
    for g, group in enumerate(split_groups(data, count)):
        codes, places, values = read_group(group, min(1024, count - 1024 * g), number, divisor > 1)
        exceptions -= int(places.sum())
        if number.kind == "i":
            if divisor > 1:  # towards zero
                codes = np.array([abs(q) // divisor * (-1 if q < 0 else 1) for q in codes.tolist()], np.int64)
            need(kind == 4 or (codes == codes.astype(number)).all(), "a code outside int32")
            parts.append(codes.astype(number))
            continue
        with np.errstate(all="ignore"):
            wide = codes.astype(np.float64) * width
            for i in np.flatnonzero((codes > 1 << 53) | (codes < -(1 << 53))):
                wide[i] = product_of_long_code(int(codes[i]), width)
            if divisor > 1:
                wide[places] = values
                wide /= divisor
            elif number.itemsize == 4 and bound <= 1 << 24:
                wide = codes.astype(np.float32) * np.float32(width)
            parts.append(wide.astype(number))
            if divisor == 1:
                parts[-1][places] = values
    need(exceptions == 0, "the header miscounts the exceptions")
    result = np.concatenate(parts) if parts else np.zeros(0, number)
    return rounded(result, kind) if kind in (5, 6) else result


def complaint_about(path):
    """What is wrong with decoding an accepted stream; NAME.meanN.str is decoded with divisor N, and no .bin says that all is zero."""
    divisor = int(path.stem.partition(".mean")[2] or 1)
    wanted = path.with_suffix(".bin")
    try:
        got = decode(path.read_bytes(), divisor).tobytes()
    except Malformed as error:
        return f"refused: {error}"
    return "other values" if got != (wanted.read_bytes() if wanted.exists() else bytes(len(got))) else None


def check_folders(accept, refuse):
    accepted, refused = sorted(pathlib.Path(accept).glob("*.str")), sorted(pathlib.Path(refuse).glob("*.str"))
    wrong = 0 if accepted and refused else 1
    for path in accepted:
        complaint = complaint_about(path)
        if complaint:
            print(f"{path.name}: {complaint}")
            wrong += 1
    for path in refused:
        try:
            decode(path.read_bytes())
            print(f"{path.name}: accepted")
            wrong += 1
        except Malformed as error:
            print(f"{path.name}: refused as it should be: {error}")
    print(f"{len(accepted)} streams to accept, {len(refused)} to refuse, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "--folders":
        sys.exit(1 if check_folders(*sys.argv[2:]) else 0)
    try:
        decoded = decode(pathlib.Path(sys.argv[1]).read_bytes(), *map(int, sys.argv[3:]))
    except Malformed as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    pathlib.Path(sys.argv[2]).write_bytes(decoded.tobytes())
