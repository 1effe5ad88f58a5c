"""`stretto draw`: the picture of a stack, from what the stacking program (apps/stacking) left in a directory.

stack.json describes the arrays: raw little-endian files of height x width values, row by row, the stack first of what a tiled one repeats.
"""

import dataclasses
import json
import pathlib
import re

import numpy as np

from stretto import files
from stretto.pictures import page, plots
from stretto.errors import Failure

TYPES = {"f32": "<f4", "f64": "<f8"}
PAGE = 1200  # pixels: images are enlarged up to this width or height, and thinned beyond it
LEAST = 96  # pixels of a panel, either way
LEFT, RIGHT, ABOVE, BELOW, NARROWEST = 110, 206, 76, 84, 780  # margins of a panel, and its least width with them but for LEFT
BAR_GAP, BAR_WIDTH = 24, 22
CUT = 0.01  # part of the stack's values beyond the ends of the grey scale
MISSING = "#e9d66b"
STEPS = (1, 2, 2.5, 5, 10)  # between ticks, times a power of ten
FIGURE = re.compile(r"<figure>.*?</figure>", re.DOTALL)


@dataclasses.dataclass
class Stack:
    """`stack` and `error` are height x width arrays of one type; both are NaN where either is not finite, or is no data."""
    stack: np.ndarray
    error: np.ndarray
    about: dict  # stack.json


def array(path, type_, height, width):
    try:
        values = np.fromfile(path, dtype=TYPES[type_], count=height * width)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    if values.size < height * width:
        raise Failure(f"{path}: {values.size} values of {type_}, of the {height * width} that {height} x {width} are")
    return values.reshape(height, width)


def read(directory):
    """The stack that the stacking program left in a directory."""
    path = pathlib.Path(directory) / "stack.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        height, width, type_ = int(about["height"]), int(about["width"]), about["type"]
        if height < 1 or width < 1 or type_ not in TYPES:
            raise ValueError(f"{height} x {width} values of {type_}")
        files = [path.parent / about[name] for name in ("stack", "error")]
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}; the stacking program writes it (make demo)") from None
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path} does not describe a stack: {error}") from None
    stack, error = array(files[0], type_, height, width), array(files[1], "f32", height, width)
    known = np.isfinite(stack) & np.isfinite(error)
    return Stack(np.where(known, stack, np.nan), np.where(known, error, np.nan), about)


def thinned(values, step):
    """Of each step x step values the one of largest magnitude, so that no outlier vanishes; NaN where one of them is."""
    height, width = (-(-n // step) for n in values.shape)
    blocks = np.zeros((height * step, width * step), values.dtype)
    blocks[: values.shape[0], : values.shape[1]] = values
    blocks = blocks.reshape(height, step, width, step).swapaxes(1, 2).reshape(height, width, step * step)
    strongest = np.argmax(np.where(np.isnan(blocks), np.inf, np.abs(blocks)), axis=2)
    return np.take_along_axis(blocks, strongest[..., None], axis=2)[..., 0]


def enlarged(shape):
    """Pixels of the picture for each value of a thinned image: so many down and across, alike unless a side would be too short to be seen."""
    alike = min(max(PAGE // max(shape), 1), 8)
    return tuple(max(alike, -(-LEAST // n)) for n in shape)


def ends(values, cut):
    """Two values that all others lie between, but for the part `cut`: as far from 0 where values lie on both sides of it, so that 0 is in the
    middle, as in a seismic section. They differ."""
    known = values[np.isfinite(values)]
    if not known.size:
        return -1.0, 1.0
    low, high = map(float, np.quantile(known, (cut / 2, 1 - cut / 2), method="nearest"))
    if low < 0 < high or low == high:
        far = float(np.quantile(np.abs(known), 1 - cut, method="lower")) or 1.0
        return -far, far
    return low, high


def parts(values, low, high):
    """Where values lie between the ends of a scale, from 0 to 1; masked where not known. (Sums near the largest number differ by more.)"""
    far = max(abs(low), abs(high))
    return np.ma.masked_invalid(np.clip((values / far - low / far) / (high / far - low / far), 0, 1))


def colours(name, steps):
    # Few steps: noise in few colours makes a file a third the size.
    return plots.matplotlib.colormaps[name].resampled(steps).with_extremes(bad=MISSING)


def panels(data):
    """(title, unit, values, ends of the scale, colours) of each."""
    about = data.about
    worst, promised = (float("inf") if about[name] is None else about[name] for name in ("worst_error", "promised_error"))
    yield (f"Stack of {about['images']} images, by {about['schedule']} {about['payload']}", "sum", data.stack,
           ends(data.stack, CUT), colours("gray", 65))
    largest = float(np.nanmax(np.abs(data.error), initial=0)) or 1.0
    used = f" ({worst / promised:.0%} of the bound)" if 0 < promised < float("inf") else ""
    yield (f"Its error: at most {worst:.3g}, error bound {promised:.3g}{used}", "error", data.error, (-largest, largest),
           colours("RdBu_r", 17))


def caption(about):
    return (f"Above the stack that {about['schedule']} {about['payload']} gave on every rank; {CUT:.0%} of its "
            "values lie beyond the ends of the grey scale. Below its difference from the sum in double precision; the ends of the scale are "
            "the largest error seen. Yellow: not finite, or marked as missing data.")


def figure(data):
    """The stack over its error. Every value is a rectangle of whole pixels at the style's resolution, where it need not be thinned."""
    step = -(-max(data.stack.shape) // PAGE)
    shape = tuple(-(-n // step) for n in data.stack.shape)
    height, width = (n * scale for n, scale in zip(shape, enlarged(shape)))
    whole_width, each = LEFT + max(width + RIGHT, NARROWEST), ABOVE + height + BELOW
    cell = data.about["cell_km"] or 1
    across, down = ("distance, km", "depth, km") if data.about["cell_km"] else ("column", "row")
    extent = (0, data.stack.shape[1] * cell, data.stack.shape[0] * cell, 0)
    with plots.style():
        dpi = plots.plt.rcParams["figure.dpi"]
        drawn = plots.plt.figure(figsize=(whole_width / dpi, 2 * each / dpi))

        def place(left, top, wide, high):
            axes = drawn.add_axes((left / whole_width, 1 - (top + high) / (2 * each), wide / whole_width, high / (2 * each)))
            axes.grid(False)
            axes.spines[:].set_visible(True)
            return axes

        for top, (title, unit, values, (low, high), colour) in zip((ABOVE, each + ABOVE), panels(data)):
            axes = place(LEFT, top, width, height)
            # The colours are ours, value by value: nothing between the array and the picture may smooth it.
            axes.imshow(colour(parts(thinned(values, step), low, high), bytes=True), extent=extent, aspect="auto", interpolation="none")
            axes.set_title(title, pad=8)
            axes.set(xlabel=across, ylabel=down)
            axes.xaxis.set_major_locator(plots.matplotlib.ticker.MaxNLocator(max(width // 120, 2), steps=STEPS))
            axes.yaxis.set_major_locator(plots.matplotlib.ticker.MaxNLocator(max(height // 50, 2), steps=STEPS))
            bar = place(LEFT + width + BAR_GAP, top, BAR_WIDTH, height)
            bar.imshow(colour(np.linspace(1, 0, height)[:, None], bytes=True), extent=(0, 1, 0, 1), aspect="auto", interpolation="none")
            bar.yaxis.tick_right()
            bar.yaxis.set_label_position("right")
            at = np.linspace(0, 1, 5 if height >= 180 else 3)
            bar.set_xticks([])
            bar.set_yticks(at, [f"{low * (1 - one) + high * one:.4g}" for one in at])
            bar.set_ylabel(unit)
        return drawn


def into_page(directory, about):
    """Puts stack.png into stack.html, which then needs no other file."""
    path = pathlib.Path(directory) / "stack.html"
    try:
        text = path.read_text(encoding="utf-8")
        content = page.figure(page.image((path.parent / "stack.png").read_bytes(), "the stack and its error"), caption(about))
        if not FIGURE.search(text):
            raise Failure(f"{path} has no place for a picture; the stacking program writes it")
        files.write(path, FIGURE.sub(lambda _: content, text, count=1))
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", status=1) from None


def draw(directory, paths):
    """Draws the stack of a directory to `paths`, or to its own stack.png, stack.svg and page. Returns the files."""
    data = read(directory)
    here = pathlib.Path(directory)
    plots.save(figure(data), paths or [here / "stack.png", here / "stack.svg"])
    if not paths:
        into_page(directory, data.about)
    return paths or [here / "stack.png", here / "stack.svg"]
