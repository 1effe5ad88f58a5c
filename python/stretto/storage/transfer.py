"""`stretto compress`, `decompress` and `inspect`: from files of arrays to containers and back, piece by piece, so that memory stays small."""

from __future__ import annotations

import contextlib
import math
import os
import pathlib

import numpy as np
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from stretto import units
from stretto.api import arrays
from stretto.api.core import _core
from stretto.api.streams import EXACT, Stream, kept_from, marks_of
from stretto.errors import Failure, StreamError, StrettoError, printable
from stretto.machine.tune import new_table
from stretto.storage import container, elements, missing, targets
from stretto.storage.sources import kind_of, opened


@contextlib.contextmanager
def failures(written=None):
    """What goes wrong becomes a Failure: status 1 for damaged files and for the system's errors, else 2. `written`: the file that is made."""
    try:
        yield
    except FileExistsError as error:
        raise Failure(f"{error}; --force replaces it") from None
    except StreamError as error:
        raise Failure(str(error), status=1) from None
    except StrettoError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"{error.filename or written}: {error.strerror or error}", status=1) from None


@contextlib.contextmanager
def progress(console, what, total):
    """A function to call with the bytes that were done. On a terminal they are a bar."""
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(what), total=total)
        yield lambda done: bar.advance(task, done)


class Bounds:
    """Which bound each array has: what its name was given, else, for floating ones that are no coordinates, the one for all."""

    def __init__(self, absolute, relative, exact, named):
        if sum((absolute is not None, relative is not None, exact)) > 1:
            raise Failure("--abs, --rel and --exact exclude each other")
        self.all = (("abs", absolute) if absolute is not None else ("rel", relative)) if absolute is not None or relative is not None else None
        for kind, value in (self.all,) if self.all else ():
            check(f"--{kind}", value)
        self.exact, self.named = exact, dict(map(self._parsed, named))
        asked = [("", self.all), *((f"{name}=", bound) for name, bound in self.named.items())]
        self.remarks = [units.remark_on_relative(f"{'--bound ' + name + 'rel:' if name else '--rel '}{bound[1]:g}", bound[1])
                        for name, bound in asked if bound and bound[0] == "rel" and bound[1] >= 1]

    @staticmethod
    def _parsed(text):
        name, _, bound = text.rpartition("=")
        kind, _, value = bound.partition(":")
        try:
            if name and (bound == "exact" or kind in ("abs", "rel")):
                return name, None if bound == "exact" else (kind, check(f"--bound {text}", float(value)))
        except ValueError:
            pass
        raise Failure(f"--bound {text!r} is none; it takes NAME=abs:0.01, NAME=rel:1e-3 or NAME=exact, and a bound of all arrays is --abs 0.01 or --rel 1e-3")

    def of(self, variable):
        """("abs", value), ("rel", value) or None for an exact array."""
        floating = elements.is_floating(variable.dtype)
        if variable.name in self.named:
            bound = self.named[variable.name]
            if bound and not floating:
                raise Failure(f"{variable.name!r} of {variable.dtype} is lossless; a bound has no meaning")
            return bound
        if not floating or variable.is_coordinate or self.exact:
            return None
        if self.all is None:
            raise Failure(f"{variable.name!r} has values of {variable.dtype}: give --abs or --rel, or --exact to keep their bits")
        return self.all

    def must_name(self, variables):
        unknown = set(self.named) - {one.name for one in variables}
        if unknown:
            raise Failure(f"--bound names {sorted(unknown)[0]!r}, which is none of the arrays: {', '.join(repr(one.name) for one in variables)}")


def check(option, value):
    if not (math.isfinite(value) and value > 0):
        raise Failure(f"{option} is {value:g}; a bound is finite and positive")
    return value


def must_keep(path, output):
    """Failure where writing the output would replace the input: a lossy form, or a file without attributes, in the place of the original."""
    here, there = os.path.realpath(path), os.path.realpath(output)
    if os.path.exists(output) and (os.path.samefile(path, output) or here.startswith(os.path.join(there, ""))):
        what = f"holds {path}, which" if here != there and not os.path.isfile(output) else f"is the input{f' {path},' if str(output) != str(path) else ','} which"
        raise Failure(f"{output} {what} is never replaced; name another file by --output")


def compress(console, path, output, bounds, names=(), shape=None, dtype=None, ignore_above=None, force=False, threads=1, marks=(),
             no_marks=False, coding=None):
    """Writes the container; {name: what became of it}, and what was left out.

    marks: of missing data, beside those that the file names. no_marks: there are none, whatever the file says.
    """
    if coding not in (None, "fixed", "dense", "shaped"):
        raise Failure(f"--coding is {coding!r}; it takes fixed, dense or shaped")
    if no_marks and marks:
        raise Failure("--mark and --no-marks exclude each other")
    for remark in bounds.remarks:
        console.print(remark, markup=False, highlight=False, soft_wrap=True)
    with failures(output), opened(path, shape, dtype) as source:
        must_keep(path, output)
        variables = source.chosen(names)
        bounds.must_name(variables)
        asked = {one.name: bounds.of(one) for one in variables}
        kept = {name: kept_from(None if not found or found[0] == "abs" else found[1], ignore_above) for name, found in asked.items()}
        for one in variables:
            one.marks = [] if no_marks or asked[one.name] is None else marks_of([*one.marks, *marks])
            if asked[one.name] and not one.marks and not no_marks:
                missing.need_no_suspect(console, repr(one.name), missing.sampled(one), kept[one.name])
        total = sum(one.nbytes * (2 if asked[one.name] and asked[one.name][0] == "rel" else 1) for one in variables)
        with progress(console, f"compressing {source.path.name}", total) as tell, container.File(output, "w" if force else "x") as file:
            file.attributes.update(source.attributes)
            for one in variables:
                eps = eps_of(one, asked[one.name], ignore_above, threads, tell)
                made = file._begin(one.name, one.dtype, one.shape, eps, ":".join(map(str, asked[one.name])) if asked[one.name] else None, one.attributes,
                                   one.axes, marks=one.marks, origin=one.origin)
                made._coding = coding or ("shaped" if eps else "fixed")
                made._kept_from = kept[one.name]
                for box in one.boxes():
                    values = one.read(box)
                    made._put(values, threads, (*(part.stop - part.start for part in box), *one.shape[len(box):]))
                    tell(values.nbytes)
                made._settle()
                if one.marks:
                    compare_masks(one, made)
            source.must_be_unchanged()
            return described(file), source.left_out


def compare_masks(variable, made):
    """Failure where missing data are not the same in a variable and in its compressed form."""
    at = 0
    for box in variable.boxes():
        before = variable.read(box)
        after = made._read_flat(at, at + before.size, np.empty(before.size, made.dtype))
        missing.same_masks(variable.name, before, after, variable.marks)
        at += before.size


def eps_of(variable, asked, ignore_above, threads, tell):
    """The absolute bound; of a relative one the range is that of all pieces."""
    if asked is None or asked[0] == "abs":
        return asked and asked[1]
    low, high = math.inf, -math.inf
    kind = arrays.type_of(variable.dtype)[0]
    for box in variable.boxes():
        values = variable.read(box)
        lo, hi, _ = _core.value_range(kind, arrays.buffer(values), ignore_above or 0.0, threads, variable.marks)
        if lo <= hi:
            low, high = min(low, lo), max(high, hi)
        tell(values.nbytes)
    return max(asked[1] * (high / 2 - low / 2) * 2, EXACT) if high > low else EXACT


def decompress(console, path, output, names=(), force=False, threads=1):
    """Writes the arrays. (Where, {what was left out: why})."""
    with failures(output or path), opened(path) as source:
        if source.kind not in ("container", "stream"):
            raise Failure(f"{path} is no .stretto file")
        variables = source.chosen(names)
        output = pathlib.Path(output or pathlib.Path(path).with_suffix(".npy" if len(variables) == 1 else ".npz"))
        targets.must_be_written(output, variables)
        if len(variables) > 1 and output.suffix not in targets.SEVERAL:
            raise Failure(f"{output} holds one array, and {path} has {len(variables)}; name one by --array, or write {', '.join(targets.SEVERAL)}")
        must_keep(path, output)
        total = sum(one.nbytes for one in variables)
        with progress(console, f"decompressing {source.path.name}", total) as tell, targets.new_output(output, force) as made:
            writer = targets.writer(made, output.suffix, source.attributes, variables)
            try:
                for one in variables:
                    writer.start(one.name, one)
                    for box in one.boxes():
                        values = one.read(box)
                        writer.put(box, values)
                        tell(values.nbytes)
                writer.finish()
            finally:
                writer.close()
        left_out = dict(writer.left_out)
        if output.suffix in targets.RAW_VALUES:
            shape = "x".join(map(str, variables[0].shape))
            left_out["shape, dtype and all else but the values"] = f"which{f' --shape {shape}' * bool(shape)} --dtype {elements.name_of(variables[0].dtype)} reads again"
        if output.suffix in (".npy", ".npz") and (source.attributes or any(one.attributes or one.axes for one in variables)):
            left_out["attributes and dimensions"] = "which .nc, .h5 and .zarr keep"
        return output, left_out


def described(file):
    """What a container holds, as JSON."""
    return {name: {"dtype": elements.name_of(one.dtype), "shape": list(one.shape), "bound": one.bound, "eps": one.eps, "contributions": one.contributions,
                   "promised_error": one.promised_error, "largest_error": one.largest_error, "bytes": one.size * one.dtype.itemsize, "stored": one.nbytes,
                   "chunks": one.chunks,
                   "coding": one.coding, "ratio": one.ratio if one.nbytes else None} for name, one in file.items()}


def inspect(console, path, every_byte=False):
    """What a container or a stream holds. `every_byte`: every code is decoded."""
    with failures(path):
        path = pathlib.Path(path)
        kind = kind_of(path)
        if kind == "stream":
            one = Stream.from_bytes(path.read_bytes())
            return {"file": str(path), "kind": kind, "bytes": path.stat().st_size, "attributes": {}, "arrays": {path.stem: {
                "dtype": one.dtype.name, "shape": list(one.shape), "bound": None, "eps": one.eps, "contributions": one.contributions,
                "promised_error": one.promised_error, "largest_error": None if elements.is_rounded(one.dtype) and one.eps else one.promised_error,
                "bytes": one.size * one.dtype.itemsize, "stored": one.nbytes, "chunks": 1, "coding": one.coding,
                "ratio": one.ratio}}}
        if kind != "container":
            raise Failure(f"{path} is no .stretto file and no stream")
        with container.open(path) as file:
            if every_byte:
                with progress(console, f"checking {path.name}", sum(one.nbytes for one in file.values())) as tell:
                    for one in file.values():
                        one.check()
                        tell(one.nbytes)
            from stretto.storage.layout import told_attributes  # noqa: PLC0415

            found = described(file)
            for name, one in file.items():
                found[name].update(attributes=told_attributes(one.attributes), axes=one.axes)
            return {"file": str(path), "kind": kind, "bytes": file.nbytes, "attributes": told_attributes(file.attributes), "arrays": found}


def plain(text):
    """A text of somebody's file as a cell of a table."""
    return escape(printable(text))


def largest_error(one):
    """The cell of a table of `described`."""
    return f"{one['promised_error']:.3g}, rounded to {one['dtype']}" if one["largest_error"] is None else f"{one['largest_error']:.3g}"


def show(console, title, found):
    """A table of `described`."""
    table = new_table(plain(title), "array", "dtype", "shape", "bound", "largest error", "coding", "bytes", "ratio")
    for name, one in found.items():
        lossless = not one["eps"]
        table.add_row(plain(name), one["dtype"], "x".join(map(str, one["shape"])) or "one number", "exact" if lossless else plain(one["bound"] or f"abs:{one['eps']:g}"),
                      largest_error(one), one["coding"], units.size(one["stored"]), "" if one["ratio"] is None else f"{one['ratio']:.2f}")
    console.print(table)
