"""`stretto compare`: how far the arrays of two files are apart, in two passes over pieces of both."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pathlib

import numpy as np

from stretto.errors import Failure
from stretto.machine.tune import new_table
from stretto.ratio import FILL
from stretto.storage.sources import RAW, magic_of, opened
from stretto.storage.transfer import failures, plain, progress

LAGS = 10
WINDOW = 7  # elements of a side of SSIM's windows
BINS = 101


@dataclasses.dataclass
class Figures:
    """How far two arrays of one shape are apart. Errors are other - original, of elements that are finite in both; of complex ones of each part.

    Fill values, those of 1e15 and more in the original and marks of missing data that one of the files names, count in the largest error alone.
    """

    name: str
    shape: tuple
    dtype: str
    compared: int = 0  # finite in both, and no fill values
    differing: int = 0  # not finite in one of them, or in both and not alike
    largest: float = 0.0
    where: tuple | None = None  # index of the largest error
    original: float | None = None  # the elements there
    other: float | None = None
    mean: float = 0.0  # of the error
    rmse: float = 0.0
    span: float = 0.0  # max - min of the original
    psnr: float | None = None  # dB, of span over rmse; None where both are equal
    ssim: float | None = None  # mean over windows of 7 x 7 of the last two axes; None where there are none, or no range
    autocorrelation: list = dataclasses.field(default_factory=list)  # of the error at lags 1 to 10 in C order; empty where it is constant
    ratio: float | None = None  # bytes of the elements over those in the other file
    promised: float | None = None  # the other's bound
    histogram: list = dataclasses.field(default_factory=list)  # of the error, over [-largest, largest]
    seen: tuple | None = None  # for the picture: the same part of both
    part: str = ""  # which


def compare(console, first, second, names=(), shape=None, dtype=None, pictured=False, all_pictured=False):
    """Figures of each array that both files have, or of those that are named. Two files of one array each are compared whatever their names are."""
    with failures(first), contextlib.ExitStack() as stack:
        a, b = (stack.enter_context(opened(path, *told)) for path, told in _of_raw((first, second), shape, dtype))
        pairs = list(_pairs(a, b, names))
        with progress(console, f"comparing {len(pairs)} array{'s' * (len(pairs) > 1)}", 2 * sum(one.nbytes for one, _ in pairs)) as tell:
            found = [_compared(one, other, tell) for one, other in pairs]
            for which, (one, other) in enumerate(pairs if all_pictured else pairs[:1] if pictured else ()):
                found[which].seen, found[which].part = _pictured(one, other)
        for source in (a, b):
            source.must_be_unchanged()
    return found


def _of_raw(paths, shape, dtype):
    """(path, (shape, dtype)) of each file: --shape and --dtype are of those that say nothing of their own, of which there is one."""
    raw = [_is_raw(path) for path in paths]
    if (shape is not None or dtype is not None) and not any(raw):
        raise Failure(f"{' and '.join(map(str, paths))} say their own shapes and dtypes; --shape and --dtype are for files of nothing but values")
    return [(path, (shape, dtype) if one else (None, None)) for path, one in zip(paths, raw)]


def _is_raw(path):
    if pathlib.Path(path).is_dir():
        return False
    try:
        with open(path, "rb") as file:
            return pathlib.Path(path).suffix in RAW or magic_of(file.read(8)) is None
    except OSError:  # which opening it will name
        return True


def _pairs(a, b, names):
    if not names and len(a.variables) == len(b.variables) == 1:
        names = [(next(iter(a.variables)), next(iter(b.variables)))]
    else:
        names = [(name, name) for name in names or [name for name in a.variables if name in b.variables]]
    if not names:
        raise Failure(f"{a.path} and {b.path} have no array of one name: {', '.join(map(repr, a.variables))}; {', '.join(map(repr, b.variables))}")
    for of_a, of_b in names:
        one, other = a.chosen([of_a])[0], b.chosen([of_b])[0]
        if one.shape != other.shape and (one.size != other.size or len(other.shape) != 1):  # a bare stream has no shape
            raise Failure(f"{of_a!r} has shape {one.shape} in {a.path} and {other.shape} in {b.path}")
        if (one.dtype.kind == "c") != (other.dtype.kind == "c"):
            raise Failure(f"{of_a!r} has dtype {one.dtype} in {a.path} and {other.dtype} in {b.path}")
        yield one, other


def _parts(variable):
    """Numbers of an element."""
    return 2 if variable.dtype.kind == "c" else 1


def _numbers(values):
    """As float64, complex ones as pairs. Integers of 64 bits keep theirs."""
    if values.dtype.kind == "c":
        values = values.view(values.real.dtype)
    return values.astype(np.longdouble if values.dtype.kind in "iu" and values.itemsize == 8 else np.float64)


def _like(one, other, box):
    if other.shape == one.shape:
        return other.read(box)
    first = sum(part.start * math.prod(one.shape[axis + 1:]) for axis, part in enumerate(box))
    count = math.prod([part.stop - part.start for part in box] + list(one.shape[len(box):]))
    return other.read((slice(first, first + count),))


def _is_data(one, other, x):
    """Where numbers of `one` are data: neither marks of missing data that one of the files names, nor of 1e15 and more."""
    named = np.asarray([*one.marks, *other.marks], np.float64)
    with np.errstate(all="ignore"):
        marks = named.astype(np.empty(0, one.dtype).real.dtype).astype(x.dtype)
    if one.dtype.kind in "biu":
        marks = marks[marks == named]  # no integer equals another mark
    return (np.abs(x) < FILL) & ~np.isin(x, marks)


def _both(one, other, tell):
    """(box, original, other, where both are finite, where they are data besides) of each piece."""
    for box in one.boxes():
        x, y = _numbers(one.read(box)), _numbers(_like(one, other, box))
        there = np.isfinite(x) & np.isfinite(y)
        yield box, x, y, there, there & _is_data(one, other, x)
        tell(x.size // _parts(one) * one.dtype.itemsize)


@np.errstate(all="ignore")
def _compared(one, other, tell):
    found = Figures(one.name, one.shape, one.dtype.name, ratio=one.nbytes / other.stored if other.stored else None, promised=other.promised)
    _first_pass(one, other, found, tell)
    _second_pass(one, other, found, tell)
    return found


def _first_pass(one, other, found, tell):
    """The largest error, the range, mean and square of the error."""
    low, high, total, squares, at = math.inf, -math.inf, 0.0, 0.0, 0
    for _, x, y, there, data in _both(one, other, tell):
        found.differing += int((~there & (x != y) & ~(np.isnan(x) & np.isnan(y))).sum())
        error = np.where(there, y - x, 0)
        worst = int(np.argmax(np.abs(error)))
        if abs(error[worst]) > found.largest:
            found.largest, found.original, found.other = float(abs(error[worst])), float(x[worst]), float(y[worst])
            found.where = tuple(int(i) for i in np.unravel_index((at + worst) // _parts(one), one.shape)) if one.shape else ()
        at += x.size
        if data.any():
            found.compared += int(data.sum())
            low, high = min(low, float(x[data].min())), max(high, float(x[data].max()))
            total, squares = total + float(error[data].sum()), squares + float(error[data] @ error[data])
    if found.compared:
        found.mean, found.rmse, found.span = total / found.compared, math.sqrt(squares / found.compared), high - low
        if 0 < found.rmse < math.inf and found.span > 0:
            found.psnr = 20 * math.log10(found.span / found.rmse)


def _second_pass(one, other, found, tell):
    """What needs the range and the mean: SSIM, autocorrelation, histogram."""
    tail, products, variance = np.zeros(0), np.zeros(LAGS), 0.0
    windows, similar = 0, 0.0
    counts = np.zeros(BINS, np.int64)
    for box, x, y, _, data in _both(one, other, tell):
        error = y - x
        if 0 < found.largest < math.inf:
            counts += np.histogram(error[data].astype(np.float64), BINS, (-found.largest, found.largest))[0]
        centred = np.where(data, error - found.mean, 0).astype(np.float64)
        joined = np.concatenate((tail, centred))
        variance += float(centred @ centred)
        for lag in range(1, LAGS + 1):  # pairs whose second element is of this piece
            begin = max(len(tail) - lag, 0)
            if len(joined) > begin + lag:
                products[lag - 1] += joined[begin:len(joined) - lag] @ joined[begin + lag:]
        tail = joined[-LAGS:]
        if one.dtype.kind != "c" and found.span > 0:
            n, value = _ssim(x, y, data, _image_shape(one.shape, box), found.span)
            windows, similar = windows + n, similar + value
    found.histogram = counts.tolist()
    found.autocorrelation = (products / variance).tolist() if 0 < variance < math.inf else []
    found.ssim = similar / windows if windows and math.isfinite(similar) else None


def _image_shape(shape, box):
    """(rows, columns) of the images in a piece, which are of the last two axes; None where it has parts of rows alone."""
    if len(shape) < 2 or len(box) == len(shape):
        return None
    return shape[-2:] if len(box) < len(shape) - 1 else (box[-1].stop - box[-1].start, shape[-1])


def _ssim(x, y, there, image, span):
    """How many windows of finite elements there are in a piece, and the sum of SSIM over them."""
    if image is None or min(image) < WINDOW:
        return 0, 0.0
    whole = _windows(there.reshape(-1, *image).astype(np.float64)) > 1 - 0.5 / WINDOW**2
    middle = np.float64(x[there].mean() if there.any() else 0)
    x, y = (np.where(there, one - middle, 0.0).reshape(-1, *image) for one in (x, y))
    mean_x, mean_y = _windows(x), _windows(y)
    var_x, var_y, both = _windows(x * x) - mean_x**2, _windows(y * y) - mean_y**2, _windows(x * y) - mean_x * mean_y
    mean_x, mean_y = mean_x + middle, mean_y + middle
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    value = (2 * mean_x * mean_y + c1) * (2 * both + c2) / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))
    return int(whole.sum()), float(value[whole].sum())


def _windows(images):
    """Means over the windows of each image."""
    for axis in (1, 2):
        n = images.shape[axis] - WINDOW + 1
        images = sum(images[(slice(None),) * axis + (slice(i, i + n),)] for i in range(WINDOW))
    return images / WINDOW**2


def _pictured(one, other):
    """The middle image of both, or of a row its middle; and which it is."""
    if one.dtype.kind == "c" or not one.size:
        return None, ""
    shape = one.shape
    if len(shape) < 2:
        n = shape[0] if shape else 1
        begin = max((n - 400) // 2, 0)
        box, image = ((slice(begin, min(begin + 400, n)),), (-1,)) if shape else ((), (-1,))
        text = f"[{begin}:{min(begin + 400, n)}]" if shape else ""
    else:
        places = [n // 2 for n in shape[:-2]]
        rows, columns = min(shape[-2], 4096), shape[-1]
        first = (shape[-2] - rows) // 2
        box, image = (*(slice(i, i + 1) for i in places), slice(first, first + rows)), (rows, columns)
        text = f"[{', '.join([*map(str, places), ':' if rows == shape[-2] else f'{first}:{first + rows}', ':'])}]"
    x, y = (_numbers(values).reshape(image) for values in (one.read(box), _like(one, other, box)))
    x[~_is_data(one, other, x)] = np.nan
    return (x, y), text


def as_json(found):
    """Without infinities, which JSON has not: they are null."""
    return [{name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in vars(one).items()
             if name not in ("seen", "part", "histogram")}
            | {"shape": list(one.shape), "where": None if one.where is None else list(one.where),
               "histogram": {"from": -one.largest, "to": one.largest, "counts": one.histogram} if math.isfinite(one.largest) else None} for one in found]


def rows(one):
    """(word, figure) of each line that people read."""
    yield "elements", f"{'x'.join(map(str, one.shape)) or 'one number'} {one.dtype}"
    if one.differing:
        yield "not finite in one alone", str(one.differing)
    yield "largest error", f"{one.largest:.4g}" + (f" of the promised {one.promised:.4g}" if one.promised else "")
    if one.where is not None:
        yield "where", f"[{', '.join(map(str, one.where))}]: {one.original:.9g}, {one.other:.9g}"
    yield "mean error", f"{one.mean:.3g}"
    yield "RMSE", f"{one.rmse:.4g}"
    yield "range", f"{one.span:.6g}"
    yield "PSNR", "equal" if not one.largest else "-" if one.psnr is None else f"{one.psnr:.2f} dB"
    yield "SSIM", "-" if one.ssim is None else f"{one.ssim:.7f}"
    yield "ratio", "-" if one.ratio is None else f"{one.ratio:.2f}"
    yield "autocorrelation, lags 1 to 3", ", ".join(f"{value:.3f}" for value in one.autocorrelation[:3]) or "-"


def show(console, found):
    for one in found:
        table = new_table(plain(one.name), "figure", "value")
        for word, text in rows(one):
            table.add_row(word, plain(text))
        console.print(table)
