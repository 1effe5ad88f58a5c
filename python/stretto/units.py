"""Sizes and times for people, and sizes from people."""

import re

from stretto.errors import Failure

FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_size(text):
    """Bytes of "64M", "1.5GiB", "4096": K, M, G, T are powers of 1024."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if not found:
        raise Failure(f"size {text!r} is no number of bytes; it takes 4096, 64K, 16M, 1G")
    return round(float(found[1]) * FACTORS[found[2]])


def remark_on_relative(given, value):
    """What is said of a relative bound of the whole range and more, which is hardly meant; else None. given: as the user wrote it."""
    return f"{given} allows errors of {value:g} times the whole range of the values; 1e-4 is usual" if value >= 1 else None


def size(bytes_):
    """"64 KiB": powers of 1024, without a fraction where there is none."""
    value, unit = float(bytes_), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"


def seconds(value):
    """"12.3 µs"."""
    if value == 0:
        return "0"
    for factor, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor:
            return f"{digits(value / factor)} {unit}"
    return f"{digits(value * 1e9)} ns"


def rate(bytes_a_second):
    """"12.3 GB/s": powers of 1000, as networks and memories are rated."""
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_a_second >= factor:
            return "no limit" if bytes_a_second == float("inf") else f"{digits(bytes_a_second / factor)} {unit}"
    return f"{digits(bytes_a_second)} B/s"


def per_byte(seconds_a_byte):
    return rate(1 / seconds_a_byte) if seconds_a_byte > 0 else "no limit"


def digits(value):
    """Three significant ones, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
