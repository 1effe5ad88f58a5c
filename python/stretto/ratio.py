"""`stretto ratio`: what a bound does to data and to time: compression ratio, errors, speed of the codec, and the predicted time of a sum."""

import dataclasses
import math
import pathlib
import re
import sys
import time

import numpy as np

from stretto import model, units
from stretto.errors import Failure, StrettoError
from stretto.machine.tune import new_table
from stretto.storage import commands

TYPES = {"f32": np.float32, "f64": np.float64, "float32": np.float32, "float64": np.float64}
CODINGS = ("fixed", "dense", "shaped")
FILL = 1e15  # values of this magnitude are often marks of missing data, and count in no range (options.ignore_above)
LEAST = 0.05  # seconds that the codec is timed for


@dataclasses.dataclass
class Row:
    """One bound: its eps, what it left of the data, and the codec's bytes a second on one core."""

    bound: str
    eps: float
    ratio: float
    ratios: dict  # by coding
    ratio_in_sum: float  # of each rank's part of a sum within the bound, which has an equal share of the bound
    dense_in_sum: float  # the same of dense streams
    largest: float
    rms: float
    psnr: float
    compress: float
    decompress: float
    decoded: np.ndarray


def synthetic():
    """A field as many are: two waves, a front and 1 % of noise, the same each time."""
    y, x = np.mgrid[0:1024, 0:1024] / 1024
    noise = np.random.default_rng(7).standard_normal(x.shape)
    field = np.sin(9 * x + 4 * y * y) + 0.4 * np.cos(31 * y - 12 * x * y) + np.tanh(40 * (x + 0.3 * np.sin(5 * y) - 0.6)) + 0.01 * noise
    return field.astype(np.float32)


def shape_of(path, count, given):
    """As `given` ("301x941"), as the file's name ends (velocity_301x941.f64), or one row."""
    text = given or (re.search(r"_(\d+(?:x\d+)+)\.\w+$", path.name) or [None, None])[1]
    if text is None:
        return (count,)
    if not re.fullmatch(r"\d+(x\d+)*", text):
        raise Failure(f"--shape {text!r} is no shape; it takes numbers as in 301x941")
    shape = tuple(map(int, text.split("x")))
    if math.prod(shape) != count:
        raise Failure(f"shape {text} has {math.prod(shape)} values, and {path} has {count}")
    return shape


def of_variables(path, array=None):
    """The named array of a file that says its own arrays, or the largest floating one that is no coordinate; and its marks."""
    sources = commands.needed("storage.sources")
    with sources.opened(path) as source:
        floating = [one for one in source.chosen([array] if array else ()) if one.dtype in (np.float32, np.float64)]
        if array and not floating:
            raise Failure(f"{array!r} of {path} is of {source.variables[array].dtype}; float32 and float64 have ratios here")
        found = [one for one in floating if array or not one.is_coordinate]
        if not found:
            held = ", ".join(f"{name} of {one.dtype}" for name, one in source.variables.items())
            raise Failure(f"{path} holds no array of float32 or float64: {held or 'no array'}")
        largest = max(found, key=lambda one: one.nbytes)
        name = path.name if len(source.variables) == 1 else f"{path.name}, array {largest.name!r}"
        return largest.read().reshape(largest.shape), largest.marks, name


def of_values(path, kind, shape):
    """The array of a file of nothing but values."""
    size = np.dtype(TYPES[kind]).itemsize
    try:
        if path.stat().st_size % size:
            raise Failure(f"{path} has {path.stat().st_size} bytes, no multiple of the {size} of {kind}; name the type by --type")
        values = np.fromfile(path, TYPES[kind])
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror or error}") from None
    return values.reshape(shape_of(path, values.size, shape))


def read(path, type_=None, shape=None, array=None):
    """An array of float32 or float64, the marks of missing data that the file names, and what the array is called.

    The array is `array`, or the largest variable, of a file that says its own arrays, or a file of values in this machine's order of bytes. The latter is
    taken for such a file by its name (.f32, .f64), or where type or shape are given.
    """
    sources = commands.needed("storage.sources")
    path = pathlib.Path(path)
    kind = type_ or {".f64": "f64"}.get(path.suffix, "f32")
    if kind not in TYPES:
        raise Failure(f"--type {type_!r} is none of f32, f64")
    is_raw = sources.kind_of(path, shape, type_) == "raw" and (path.suffix in (".f32", ".f64") or bool(type_ or shape))
    if is_raw and array:
        raise Failure(f"{path} is a file of nothing but values, and has no array {array!r}")
    values, marks, name = (of_values(path, kind, shape), [], path.name) if is_raw else of_variables(path, array)
    if values.size == 0:
        raise Failure(f"{path} holds no value")
    return np.ascontiguousarray(values), marks, name


class Codec:
    """The codec of the extension, on one core, as `import stretto` offers it."""

    def __init__(self, coding="fixed"):
        self.arrays, streams = commands.needed("api.arrays"), commands.needed("api.streams")
        self.core = self.arrays._core
        self.coding = getattr(self.core.Coding, "dense" if coding == "shaped" else coding)
        self.extents = streams.extents if coding == "shaped" else lambda shape: []

    def compress(self, values, eps, marks=()):
        """The stream, and seconds of a call."""
        return timed(lambda: self.compressed(values, eps, marks))

    def compressed(self, values, eps, marks=()):
        kind, _ = self.arrays.type_of(values.dtype)
        try:
            return self.core.compress(kind, self.arrays.buffer(values), eps, False, 1, list(marks), coding=self.coding, shape=self.extents(values.shape))
        except StrettoError as error:
            raise Failure(str(error)) from None

    def decompress(self, stream, like):
        """The values, and seconds of a call."""
        values = np.empty_like(like)
        _, seconds = timed(lambda: self.core.decompress(stream, self.arrays.buffer(values), 1, 1))
        return values, seconds


def timed(work):
    """What a call returns, and the least seconds of several, the first of which is not counted."""
    result = work()
    found, end = [], time.perf_counter() + LEAST
    while len(found) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return result, min(found)


def extent(values, marks=()):
    """The range that a relative bound is a part of."""
    counted = values[(np.abs(values) < FILL) & ~np.isin(values, np.asarray(marks, values.dtype))]  # NaN and infinities are not
    if counted.size == 0:
        raise Failure("no value is finite, so there is no range")
    return float(counted.max()) - float(counted.min())


def bounds(text, kind):
    for word in text.split(","):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise Failure(f"--{kind} {word!r} is no positive number; it takes 1e-3, or several with commas")
        if kind == "rel" and number >= 1:
            print(units.remark_on_relative(f"--rel {word}", number), file=sys.stderr)
        yield f"{kind}:{word}", number


def measure(values, rel, abs_, ranks, marks=(), coding="fixed"):
    span, codec = extent(values, marks), Codec(coding)
    asked = [(name, number * span) for name, number in bounds(rel, "rel")] if rel else []
    asked += bounds(abs_, "abs") if abs_ else []
    finite = np.isfinite(values)
    rows = []
    for name, eps in asked:
        if eps == 0:
            raise Failure(f"{name} of a range of 0 is 0: all values are alike")
        stream, compressing = codec.compress(values, eps, marks)
        decoded, decompressing = codec.decompress(stream, values)
        error = decoded[finite].astype(np.float64) - values[finite].astype(np.float64)
        rms = float(np.sqrt(np.mean(error * error)))
        psnr = 20 * math.log10(span / rms) if rms > 0 else math.inf
        ratios = {one: values.nbytes / len(stream if one == coding else Codec(one).compressed(values, eps, marks)) for one in CODINGS}
        of_part = [values.nbytes / len(Codec(one).compressed(values, eps / ranks, marks)) for one in ("fixed", "dense")]
        rows.append(Row(name, eps, values.nbytes / len(stream), ratios, *of_part, float(np.abs(error).max()), rms, psnr, values.nbytes / compressing,
                        values.nbytes / decompressing, decoded))
    return rows


def times(rows, values, ranks, rate, dense=True):
    """Predicted seconds of a sum of such arrays: within each bound and by the MPI, here and between as many hosts. dense: dense streams may travel, too."""
    found = {}
    for place, options in (("here", ["--per-node", str(ranks)]), ("hosts", ["--rate", f"{rate:g}"])):
        for row in rows:
            answer = model.ask("explain", ["allreduce", "-n", str(ranks), "--bytes", str(values.nbytes), "--type", "f64" if values.itemsize == 8 else "f32",
                                           "--bound", row.bound, "--ratio", f"{max(row.ratio_in_sum, 1):.4g}",
                                           *(["--dense-ratio", f"{max(row.dense_in_sum, 1):.4g}"] if dense else []), *options])
            first = answer["candidates"][0]
            coding = "raw" if first["native"] or first["payload"] == "raw" else "dense" if first.get("coding") == "dense" else "fixed"
            found[place, row.bound] = {"seconds": first["seconds"], "mpi": answer["mpi_seconds"], "way": first["label"], "coding": coding,
                                       "ratio": {"raw": 1.0, "dense": row.dense_in_sum, "fixed": row.ratio_in_sum}[coding], "profile": answer["machine"]}
    return found


def as_json(name, values, rows, predicted, ranks, rate, marks=(), coding="fixed"):
    return {"data": name, "coding": coding, "shape": list(values.shape), "type": str(values.dtype), "range": extent(values, marks), "ranks": ranks, "gigabits": rate,
            "bounds": [{**{key: value for key, value in vars(row).items() if key != "decoded"}, "psnr": row.psnr if math.isfinite(row.psnr) else None,
                        "here": predicted["here", row.bound], "between_hosts": predicted["hosts", row.bound]} for row in rows]}


def show(console, name, values, rows, predicted, ranks, rate, marks=(), coding="fixed"):
    console.print(f"[bold]{name}[/]: {'x'.join(map(str, values.shape))} {values.dtype}, {units.size(values.nbytes)}, range {extent(values, marks):.4g}",
                  highlight=False)
    table = new_table(f"Ratio by coding, and errors of {coding} streams", "bound", *CODINGS, "largest error", "RMS error", "PSNR")
    for row in rows:
        table.add_row(row.bound, *(units.digits(row.ratios[one]) for one in CODINGS), f"{row.largest:.3g}", f"{row.rms:.3g}", "exact" if row.psnr == math.inf else f"{row.psnr:.1f} dB")
    console.print(table)
    table = new_table("The codec on one core, of raw bytes", "bound", "compress", "decompress")
    for row in rows:
        table.add_row(row.bound, units.rate(row.compress), units.rate(row.decompress))
    console.print(table)
    table = new_table(f"Predicted: the sum of {ranks} such arrays, and times the MPI's", "bound", "on this host", "×", "coding, ratio", f"{ranks} hosts, {rate:g} Gb/s", "×", "coding, ratio")
    for row in rows:
        cells = []
        for place in ("here", "hosts"):
            one = predicted[place, row.bound]
            cells += [units.seconds(one["seconds"]), f"{one['seconds'] / one['mpi']:.2f}", "raw" if one["coding"] == "raw" else f"{one['coding']}, {units.digits(one['ratio'])}"]
        table.add_row(row.bound, *cells)
    console.print(table)
    console.print(f"The sum is within the bound: each array has 1/{ranks} of it, and the ratio of that in the coding named (docs/semantics.md).", highlight=False)
