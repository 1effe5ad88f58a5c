"""The referee: decodes stretto streams, written from docs/format.md alone, for clarity and not for speed. referee_test.py runs it."""

import math
import struct
from fractions import Fraction

import numpy as np

TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "<i8", 5: "<f4", 6: "<f4"}  # 5 and 6 are rounded at the end


class Malformed(Exception):
    """What the stream breaks."""


def need(condition, message):
    if not condition:
        raise Malformed(message)


def bits(words):
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)


class Parts:
    """The bytes of a group, taken off its front, or (n < 0) off its back."""

    def __init__(self, data):
        self.left = data

    def take(self, n):
        need(abs(n) <= len(self.left), "a group is too short for its parts")
        at = n if n >= 0 else len(self.left) + n
        front, back = self.left[:at], self.left[at:]
        self.left = back if n >= 0 else front
        return front if n >= 0 else back

    def words(self, n):
        return np.frombuffer(self.take(4 * n), "<u4")

    def signed(self, size):
        return int.from_bytes(self.take(size), "little", signed=True)


# Sections 1 and 2: header and index.


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def read_header(data):
    need(len(data) >= 64, "shorter than a header")
    magic, version, kind, flags, zero, count, eps, width, contributions, checksum, bound, length, exceptions = struct.unpack(
        "<4sBBBBQddIIQQQ", data[:64])
    need(magic == b"STRT" and version in (1, 2, 3), "no stretto stream of version 1, 2 or 3")
    need(kind in TYPES and flags < 2 and zero == 0 and count <= 1 << 48, "illegal type, flags or count")
    integers = kind in (3, 4)
    need(eps == 0 if integers else 0 < eps < math.inf, f"illegal bound {eps}")
    need(width == 1 if integers else 0 < width < math.inf, f"illegal grid width {width}")
    need(kind == 2 or float(np.float32(width)) == width, f"the grid width {width} is no binary32 number")
    need(contributions >= 1 and bound <= 1 << 63 and exceptions <= count, "illegal contributions, code bound or exceptions")
    need(64 <= length <= len(data), "truncated")
    data = data[:length]
    need(checksum == (crc32c(data[:36] + bytes(4) + data[40:]) if flags else 0), "the checksum differs")
    return data, version, kind, count, width, bound, exceptions


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


# Section 3: a group.


def map_of_runs(data, m):
    data = np.frombuffer(data, np.uint8)
    last = np.flatnonzero(data != 255)  # byte of each length
    need(len(data) and data[-1] != 255, "no runs, or a run without end")
    lengths = np.add.reduceat(data, np.concatenate(([0], last[:-1] + 1)), dtype=np.int64)
    need(lengths[1:].all() and lengths.sum() < m, "an empty run, or runs beyond the group")
    return np.repeat(np.arange(len(lengths) + 1) % 2 == 1, [*lengths, m - lengths.sum()])


def map_of_lanes(group, m):
    some, full = bits(group.words(2)).reshape(2, 32)
    need(some.any() and not (full & ~some).any(), "lanes: none, or `all` is no subset of `some`")
    lanes = np.zeros(32, "<u4")
    lanes[some & ~full] = group.words(int((some & ~full).sum()))
    places = bits(lanes)
    need(places.reshape(32, 32).any(1)[some & ~full].all(), "lanes of nothing")
    need(not places[m:].any() and not full[-(-m // 32):].any(), "lanes beyond the group")
    return (places | np.repeat(full, 32))[:m]


def nearest(magnitude, places, precision):
    """magnitude * 2^-places, rounded to that many bits, as a float64."""
    shift = max(0, magnitude.bit_length() - precision)
    return rounded(Fraction(round(Fraction(magnitude, 1 << shift)) << shift, 1 << places))


def rounded(exact):
    """RN64 of a fraction."""
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def exact_sum(group, size, divisor):
    head = int(group.words(1)[0])
    n, k, sign, special = head & 255, head >> 8 & 255, head >> 16 & 1, head >> 17 & 7
    need(head >> 20 == 0 and n + k <= (11 if size == 4 else 69) and (n or not (k or sign)), "illegal head of an exact sum")
    words = group.take(4 * n)
    need(n == 0 or (any(words[:4]) and any(words[-4:])), "an exact sum begins or ends with a zero word")
    if special:
        return {1: math.inf, 2: -math.inf}.get(special, math.nan)
    magnitude = int.from_bytes(words, "little") << 32 * k
    places = 149 if size == 4 else 1074
    if divisor > 1:
        value = rounded(Fraction(magnitude, divisor << places))
    else:
        value = nearest(magnitude, places, 24 if size == 4 else 53)
    return -value if sign else value


def read_exceptions(group, m, number, divisor):
    """Which places are exceptions, and their values or means (one, or one for each)."""
    kind, n = group.take(2)
    uniform, sums, runs, quiet_nan = (bool(kind >> i & 1) for i in range(4))
    need(kind < 16 and (not quiet_nan or (uniform and not sums)), "illegal kind of exceptions")
    need(runs or n == 0, "lanes with a number of runs")
    listed = group.take(n)
    need(not any(group.take(-(n + 2) % 4)), "padding of the map is not zero")
    places = map_of_runs(listed, m) if runs else map_of_lanes(group, m)
    stored = 1 if uniform else int(places.sum())
    if quiet_nan:
        return places, np.full(1, math.nan, number)
    if sums:
        return places, np.array([exact_sum(group, number.itemsize, divisor) for _ in range(stored)])
    values = np.frombuffer(group.take(stored * number.itemsize), number)
    return places, values / np.float64(divisor) if divisor > 1 else values


def read_widths(group, form, limit):
    need(form <= 4, f"illegal form of widths {form}")
    there = bits(group.words(-1)) if form > 2 else np.full(32, form > 0)
    n = int(there.sum())
    need(n or form == 0, "a mask that says nothing")
    stored = np.frombuffer(group.take(-4 * -(-n // (4 if form in (2, 4) else 8))), np.uint8)
    if form in (1, 3):
        stored = np.stack((stored & 15, stored >> 4), 1).ravel()
    widths = np.zeros(32, int)
    widths[there] = stored[:n]
    need((widths <= limit).all(), f"a width above {limit}")
    return widths


def read_group(data, m, number, divisor):
    """Codes of a group, which of its places are exceptions, and their values."""
    codes, none = np.zeros(m, np.int64), np.zeros(m, bool)
    if not data:
        return codes, none, []
    group = Parts(data)
    word = int(group.words(1)[0])
    predictor, wide, short, form, has_exceptions = word & 3, word >> 2 & 1, word >> 3 & 1, word >> 4 & 7, word >> 7 & 1
    if form == 7:
        need(word == 0x70 and number.kind == "f" and len(group.left) == m * number.itemsize, "illegal verbatim group")
        values = np.frombuffer(group.left, number)
        return codes, ~none, values / np.float64(divisor) if divisor > 1 else values
    need(short or word >> 8 == 0, "a base in word 0 that is not announced")
    need(not short or (predictor >= 2 and not wide), "a short base without differences, or in a wide group")
    size = 8 if wide else 4
    starts = []  # base and slope
    if predictor >= 2:
        starts.append(int.from_bytes(data[1:4], "little", signed=True) if short else group.signed(size))
    if predictor == 3:
        starts.append(group.signed(size))
    places, values = none, []
    if has_exceptions:
        need(number.kind == "f", "exceptions among integers")
        places, values = read_exceptions(group, m, number, divisor)
    widths = read_widths(group, form, 8 * size - (predictor == 0))
    need(len(group.left) == 4 * widths.sum(), "the planes do not fill the group")
    e = np.zeros((32, 32), np.uint64)  # residuals, and then codes: modulo 2^64, which 2^32 divides
    for b, width in enumerate(widths.tolist()):
        weights = np.uint64(1) << np.arange(width, dtype=np.uint64)
        if predictor:
            weights[-1:] = -weights[-1:]  # two's complement
        e[b] = weights @ bits(group.words(width)).reshape(width, 32).astype(np.uint64)
    e = e.ravel()
    for start in reversed(starts):
        e = np.cumsum(e) + np.uint64(start % (1 << 64))
    return e[:m].astype(f"<i{size}").astype(np.int64), places, values


# Section 8: version 2, whose dense chunks become groups of section 3.


def split_chunks(data, count, number):
    chunks = -(-count // 65536)
    begin = 64 + 8 * chunks
    need(begin <= len(data), "truncated in the index")
    entries = [int(entry) for entry in np.frombuffer(data, "<u8", chunks, 64)]
    starts = [entry & (1 << 63) - 1 for entry in entries] + [len(data)]
    need(starts[0] == begin, "the first chunk starts elsewhere")
    groups = []
    for c, entry in enumerate(entries):
        need(starts[c] <= starts[c + 1] <= len(data) and starts[c + 1] % 4 == 0, "chunks out of order")
        chunk, values = data[starts[c]:starts[c + 1]], min(count - 65536 * c, 65536)
        sizes = [min(values - v, 1024) for v in range(0, values, 1024)]
        groups += dense_groups(chunk, sizes, number) if entry >> 63 else fixed_groups(chunk, len(sizes))
    return groups


def fixed_groups(chunk, n):
    parts = Parts(chunk)
    lengths = np.frombuffer(parts.take(-(-2 * n // 4) * 4), "<u2", n)
    groups = [parts.take(4 * int(length)) for length in lengths]
    need(not parts.left, "a fixed chunk goes on behind its groups")
    return groups


class BitQueue:
    def __init__(self, data):
        self.bits, self.at = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little"), 0

    def take(self, n):
        need(self.at + n <= len(self.bits), "no bits left")
        self.at += n
        return int("".join(map(str, self.bits[self.at - n:self.at][::-1])) or "0", 2)


def read_table(queue, last):
    frequencies = []
    for _ in range(last):
        rest = 4096 - sum(frequencies)
        length = queue.take(4) if rest else 0
        frequencies.append(1 << length - 1 | queue.take(length - 1) if length else 0)
        need(frequencies[-1] <= rest, "frequencies add up to more than 4096")
    frequencies.append(4096 - sum(frequencies))
    return np.array(frequencies), np.concatenate(([0], np.cumsum(frequencies)[:-1]))


class Coder:
    """The states, and the words not yet taken."""

    def __init__(self, words, planes):
        self.words = words
        self.x = np.zeros((len(planes) // 28, 32), np.int64)
        for i, plane in enumerate(planes):
            self.x[i // 28] |= bits(plane.reshape(1)).astype(np.int64) << i % 28
        need((self.x >= 4096).all(), "a state below 4096")

    def step(self, table, which):
        """32 symbols of a table, by the states of a set."""
        need(table is not None, "no such table")
        frequency, start = table
        x = self.x[which]
        slot = x & 4095
        symbols = np.searchsorted(start[frequency > 0], slot, "right") - 1
        symbols = np.flatnonzero(frequency)[symbols]
        x = frequency[symbols] * (x >> 12) + slot - start[symbols]
        low = x < 4096
        n = int(low.sum())
        need(n <= len(self.words), "no words left")
        x[low] = x[low] << 16 | self.words[len(self.words) - n:]
        self.words = self.words[:len(self.words) - n]
        self.x[which] = x
        return symbols


def read_number(group):
    value, shift = 0, 0
    while True:
        byte = group.take(1)[0]
        value |= (byte & 127) << shift
        shift += 7
        need(value < 1 << 64 and (byte < 128 or shift < 70), "a number of more than 64 bits")
        if byte < 128:
            return value


def signed_number(group):
    value = read_number(group)
    return value >> 1 ^ -(value & 1)


def code_bytes(value, wide):
    need(wide or -(1 << 31) <= value < 1 << 31, "a narrow code beyond 32 bits")
    return (value % (1 << 64)).to_bytes(8, "little")[:8 if wide else 4]


def stored_widths(widths):
    there = widths > 0
    size = 4 if widths.max() <= 15 else 8

    def packed(w):
        if size == 4:
            w = np.append(w, np.zeros(len(w) % 2, int))
            w = w[::2] | w[1::2] << 4
        return w.astype(np.uint8).tobytes() + bytes(-len(w) % 4)

    masked, plain = packed(widths[there]), packed(widths)
    if len(masked) + 4 < len(plain):
        return (3 if size == 4 else 4), masked + np.packbits(there, bitorder="little").tobytes()
    return (1 if size == 4 else 2), plain


def dense_block(low, classes, width, signed):
    """The planes of a block of known classes."""
    values = np.where(classes > 0, 1 << np.maximum(classes, 1) - 1, 0).astype(object)
    for k in range(2, width + 1):
        for j in np.flatnonzero(classes >= k):
            values[j] |= low.take(1) << k - 2
    if signed:
        values = np.array([v >> 1 ^ -(v & 1) for v in values], object)
    return b"".join(sum((int(v) >> i & 1) << j for j, v in enumerate(values)).to_bytes(4, "little") for i in range(width))


def dense_groups(chunk, sizes, number):
    """The groups of a dense chunk as section 3 has them."""
    need(len(chunk) >= 8, "a chunk is too short")
    word = int.from_bytes(chunk[:4], "little")
    low_end, sets = 4 + 4 * (word & (1 << 24) - 1), 1 + (word >> 24 & 1)
    need(word >> 25 == 0 and low_end <= len(chunk), "illegal word 0 of a chunk")
    low, queue = BitQueue(chunk[4:low_end]), BitQueue(chunk[low_end:])
    widest = queue.take(7)
    need(widest <= 64, "a width above 64")
    tables = [[read_table(queue, w) if queue.take(1) else None for w in range(1, widest + 1)] for _ in range(2)]
    heads = Parts(chunk[low_end + -(-queue.at // 8):])
    states = np.frombuffer(heads.take(-112 * sets) if widest else b"", "<u4")
    rest = len(heads.left)
    coder = Coder(np.frombuffer(heads.left[rest % 2:], "<u2").astype(np.int64), states)
    groups, base = [], 0
    for m in sizes:
        kind = heads.take(1)[0]
        predictor, wide, largest = kind & 3, kind >> 2 & 1, kind >> 4
        if largest == 15:
            largest = heads.take(1)[0]
            need(15 <= largest <= 64 or largest == 255, "illegal largest width")
        if largest == 255:
            need(kind & 15 == 0 and number.kind == "f", "illegal verbatim group")
            groups.append(b"\x70\0\0\0" + heads.take(m * number.itemsize))
            continue
        word, group = predictor | wide << 2, b""
        if predictor >= 2:
            base = (base + signed_number(heads) + (1 << 63)) % (1 << 64) - (1 << 63)
            short = not wide and -(1 << 23) <= base < 1 << 23
            word |= (8 | base % (1 << 24) << 8) if short else 0
            group += code_bytes(base, wide) if not short else b""
        if predictor == 3:
            group += code_bytes(signed_number(heads), wide)
        if kind & 8:
            word |= 128
            n = read_number(heads)
            need(n, "an empty exceptions section")
            group += heads.take(4 * n)
        if largest:
            need(largest <= widest, "a largest width above the chunk's")
            widths = coder.step(tables[0][largest - 1], 0)
            for b, width in enumerate(widths.tolist()):
                if width:
                    classes = coder.step(tables[1][width - 1], b % sets)
                    group += dense_block(low, classes, width, predictor > 0)
            form, end = stored_widths(widths)
            word |= form << 4
            group += end
        group = b"" if word == 0 else word.to_bytes(4, "little") + group
        need(len(group) <= 16384, "a group of more than 4,096 words")
        groups.append(group)
    need((coder.x == 4096).all(), "a state ends elsewhere")
    need(0 <= 2 * len(coder.words) + rest % 2 - (rest - len(heads.left)) < 4, "heads and words do not meet")
    need(-(-low.at // 32) * 32 == len(low.bits), "low bits are left")
    return groups


# Section 4: codes to values.


def product(q, width):
    """RN64 of a code beyond 2^53 times the width."""
    low = int(math.copysign(abs(q) % (1 << 32), q))
    return rounded((q - low) * Fraction(width) + Fraction(low * width))


def products(codes, width):
    v = codes * width
    for i in np.flatnonzero((codes > 1 << 53) | (codes < -(1 << 53))):
        v[i] = product(int(codes[i]), width)
    return v


def values_of(codes, places, values, number, width, bound, divisor):
    if number.kind == "i":
        codes = codes // divisor + ((codes < 0) & (codes % divisor != 0))  # towards zero
        need((codes == codes.astype(number)).all(), "a code outside int32")
        return codes.astype(number)
    if divisor > 1:
        y = np.array([rounded(q * Fraction(width) / divisor) for q in codes.tolist()])
        y[places] = values
        return y.astype(number)
    v = products(codes, width)
    y = codes.astype("<f4") * np.float32(width) if number.itemsize == 4 and bound <= 1 << 24 else v.astype(number)
    y[places] = values
    return y


def halves(y, kind):
    """The bits of float32 numbers as float16 or bfloat16, to nearest even; of a NaN the upper bits stay, made quiet if no payload is left."""
    all_bits = y.view("<u4")
    if kind == 6:
        near, kept, payload = all_bits + 0x7FFF + (all_bits >> 16 & 1) >> 16, all_bits >> 16, 0x7F
    else:
        near, kept, payload = y.astype("<f2").view("<u2"), all_bits >> 16 & 0x8000 | 0x7C00 | all_bits >> 13 & 0x3FF, 0x3FF
    kept |= np.where(kept & payload, 0, payload + 1 >> 1).astype("<u4")
    return np.where(np.isnan(y), kept, near).astype("<u2")


# Section 9: version 3, an array of codes.


def inner(data, count):
    """The numbers of the stream of integers at the front, and the bytes behind it."""
    own, version, kind, n, _, bound, exceptions = read_header(data)
    need(version == 2 and kind == 3 and n == count and exceptions == 0 and data[6] == 0, "another stream where integers should be")
    return whole(own, version, count, np.dtype("<i4"), 1.0, bound, 0, 1), data[len(own):]


def summed(numbers, axes, shape):
    need(axes >> len(shape) - 1 == 0 and axes.bit_count() <= 2, "illegal axes")
    numbers = numbers.reshape(shape).astype("<u4")
    for k in range(len(shape)):
        if axes >> k & 1:
            numbers = np.cumsum(numbers, k, dtype="<u4")
    return numbers.astype("<i4").ravel()


def shaped(data, count, number, width, bound, exceptions, divisor):
    need(len(data) >= 72 and 1 <= data[64] <= 8 and len(data) >= 72 + 8 * data[64], "illegal number of axes, or truncated")
    n, code_axes, map_axes, form = data[64:68]
    shape = [int(extent) for extent in np.frombuffer(data, "<u8", n, 72)]
    need(not any(data[68:72]) and count and math.prod(shape) == count, "illegal shape")
    need(form < 2 and bound <= 1 << 31 and (exceptions or not (map_axes or form)), "illegal form or code bound")
    need(number.kind == "f" or exceptions == 0, "exceptions among integers")
    codes, rest = inner(data[72 + 8 * n:], count)
    codes = summed(codes, code_axes, shape).astype(np.int64)
    places = np.zeros(count, bool)
    if exceptions:
        numbers, rest = inner(rest, count)
        numbers = summed(numbers, map_axes, shape)
        need(((numbers == 0) | (numbers == 1)).all() and numbers.sum() == exceptions, "an illegal map of exceptions")
        places = numbers == 1
    need(len(rest) == (1 if form else exceptions) * number.itemsize, "other exact values than the header says")
    values = np.frombuffer(rest, number)
    return checked(codes, places, values / np.float64(divisor) if divisor > 1 else values, number, width, bound, divisor)


def checked(codes, places, values, number, width, bound, divisor):
    own = codes[~places].tolist()
    need(not own or max(max(own), -min(own)) <= bound, "a code beyond the code bound")
    return values_of(codes, places, values, number, width, bound, divisor)


def whole(data, version, count, number, width, bound, exceptions, divisor):
    """The values of a stream of version 1 or 2."""
    groups = split_groups(data, count) if version == 1 else split_chunks(data, count, number)
    y = np.zeros(count, number)
    for g, group in enumerate(groups):
        here = y[1024 * g:1024 * (g + 1)]
        codes, places, values = read_group(group, len(here), number, divisor)
        exceptions -= int(places.sum())
        here[:] = checked(codes, places, values, number, width, bound, divisor)
    need(exceptions == 0, "the header miscounts the exceptions")
    return y


@np.errstate(all="ignore")
def decode(data, divisor=1):
    """The values of a stream, as an array of its type (float16 and bfloat16: their bits)."""
    data, version, kind, count, width, bound, exceptions = read_header(data)
    number = np.dtype(TYPES[kind])
    if version == 3:
        y = shaped(data, count, number, width, bound, exceptions, divisor)
    else:
        y = whole(data, version, count, number, width, bound, exceptions, divisor)
    return halves(y, kind) if kind in (5, 6) else y
