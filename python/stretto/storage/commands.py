"""The commands `stretto compress|decompress|inspect|compare` and their options."""

import importlib
import json
import os
import pathlib
from typing import List, Optional

import typer

from stretto import units
from stretto.errors import Failure, printable

ARRAY = typer.Option(None, "--array", "-a", metavar="NAME", help="Only this array or variable; may be given several times. Without it: all.")
SHAPE = typer.Option(None, "--shape", metavar="AxB", help="Of a file of nothing but values; without it as the name ends: name_301x941.f32.")
DTYPE = typer.Option(None, "--dtype", metavar="TYPE", help="Of such a file: float32, int16, '>f8' (the other byte order), ...")
FORCE = typer.Option(False, "--force", "-f", help="Replace a file that is there.", metavar="")
THREADS = typer.Option(1, "--threads", "-t", min=1, max=256, help="Threads of the codec.")
MARK = typer.Option(None, "--mark", metavar="VALUE", help="A value that marks missing data; may be given several times. It keeps its bits, and no range counts it.")
NO_MARKS = typer.Option(False, "--no-marks", help="No value marks missing data, whatever the file says.", metavar="")
JSON = typer.Option(False, "--json", help="JSON on standard output instead of a table.", metavar="")


def needed(name):
    """A module of this package, loaded when a command runs: NumPy takes a while. Failure where the extension is missing."""
    try:
        return importlib.import_module(f"stretto.{name}")
    except ImportError as error:
        raise Failure(str(error), status=1) from None


def add(app, out, err):
    """Adds the commands to `app`; results go to the console `out`, progress to `err`."""

    def say(text):
        out.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def tell_left_out(found):
        for what, why in found.items():
            err.print(printable(f"left out: {what}, {why}"), markup=False, highlight=False, soft_wrap=True)

    @app.command("compress", epilog="""Examples:

stretto compress velocity.npy --rel 1e-4

stretto compress model_301x941.f64 --abs 0.5 -o model.stretto

stretto compress tas.nc --rel 1e-4 --bound pr=abs:1e-7 --bound orog=exact

stretto compress fields.npz --exact

stretto compress field.bin --shape 512x512x512 --dtype float32 --rel 1e-3""")
    def compress(file: str = typer.Argument(..., help="A .npy, .npz, NetCDF or HDF5 file, a directory of Zarr, or a file of nothing but values."),
                 output: Optional[str] = typer.Option(None, "--output", "-o", metavar="FILE", help="Without it: FILE with .stretto as its suffix."),
                 abs_: Optional[float] = typer.Option(None, "--abs", metavar="X", help="The bound of floating values, in the data's unit."),
                 rel: Optional[float] = typer.Option(None, "--rel", metavar="X", help="The bound as a part of each array's range."),
                 exact: bool = typer.Option(False, "--exact", help="Floating values keep their bits, as integers always do.", metavar=""),
                 bound: Optional[List[str]] = typer.Option(None, "--bound", "-b", metavar="NAME=BOUND",
                                                           help="Of one array: abs:X, rel:X or exact; may be given several times."),
                 array: Optional[List[str]] = ARRAY, shape: Optional[str] = SHAPE, dtype: Optional[str] = DTYPE,
                 ignore_above: Optional[float] = typer.Option(None, "--ignore-above", metavar="VALUE",
                                                              help="Values of this magnitude and more count in no range, as fill values. Without it 1e15."),
                 coding: Optional[str] = typer.Option(None, "--coding", metavar="CODING",
                                                      help="shaped: predicted along several axes, where that saves bytes; dense: predicted along one, two "
                                                           "to five times as fast; fixed: in up to twice the bytes, at memory's speed. Without it shaped within "
                                                           "a bound, else fixed."),
                 mark: Optional[List[float]] = MARK, no_marks: bool = NO_MARKS, force: bool = FORCE, threads: int = THREADS, json_: bool = JSON):
        """Compress the arrays of a file within a bound, into a .stretto file.

        Names, attributes and dimensions are kept. Coordinates of NetCDF and HDF5 are exact unless --bound names them. Missing data keep their bits: the
        values of _FillValue and missing_value, HDF5's and Zarr's fill values, and --mark.
        """
        transfer = needed("storage.transfer")
        target = output or f"{os.path.splitext(file.rstrip('/'))[0]}.stretto"
        made, left_out = transfer.compress(err, file, target, transfer.Bounds(abs_, rel, exact, bound or ()), array or (), shape, dtype, ignore_above,
                                           force, threads, mark or (), no_marks, coding)
        tell_left_out({repr(name): why for name, why in left_out.items()} if not array else {})
        size = pathlib.Path(target).stat().st_size
        if json_:
            print(json.dumps({"file": target, "bytes": size, "arrays": made, "left_out": left_out}, indent=1))
            return
        raw = sum(one["bytes"] for one in made.values())
        transfer.show(out, f"{target}: {units.size(raw)} in {units.size(size)}, ratio {raw / size:.2f}", made)

    @app.command("decompress", epilog="""Examples:

stretto decompress velocity.stretto

stretto decompress tas.stretto -o tas.nc

stretto decompress tas.stretto -o tas.zarr

stretto decompress tas.stretto --array tas -o tas.npy --force""")
    def decompress(file: str = typer.Argument(..., help="A .stretto file."),
                   output: Optional[str] = typer.Option(None, "--output", "-o", metavar="FILE",
                                                        help="A .npy, .npz, .nc, .h5 or .zarr; .raw, .bin, .dat or .f32 for nothing but values. Without it: FILE "
                                                             "with .npy, or .npz for several arrays."),
                   array: Optional[List[str]] = ARRAY, force: bool = FORCE, threads: int = THREADS):
        """Write the arrays of a .stretto file into a file that other programs read."""
        transfer = needed("storage.transfer")
        written, left_out = transfer.decompress(err, file, output, array or (), force, threads)
        tell_left_out(left_out)
        say(str(written))

    @app.command("inspect", epilog="""Examples:

stretto inspect velocity.stretto

stretto inspect velocity.stretto --check --json""")
    def inspect(file: str = typer.Argument(..., help="A .stretto file, or the bytes of a stream."),
                check: bool = typer.Option(False, "--check", help="Decode every chunk: status 1 where one is damaged.", metavar=""), json_: bool = JSON):
        """What a .stretto file holds: arrays, bounds, ratios; with --json attributes, too."""
        transfer = needed("storage.transfer")
        found = transfer.inspect(err, file, check)
        if json_:
            print(json.dumps(found, indent=1))
        else:
            transfer.show(out, f"{file}: {units.size(found['bytes'])}{', every chunk is whole' * check}", found["arrays"])

    @app.command("compare", epilog="""Examples:

stretto compare velocity.npy velocity.stretto

stretto compare tas.nc tas.stretto --array tas --plot tas.png

stretto compare tas.nc tas.stretto --html tas.html --json""")
    def compare(first: str = typer.Argument(..., metavar="ORIGINAL", help="Any file that `compress` reads."),
                second: str = typer.Argument(..., metavar="OTHER", help="The other: such a file, or a .stretto file."),
                array: Optional[List[str]] = ARRAY, shape: Optional[str] = SHAPE, dtype: Optional[str] = DTYPE,
                plot: Optional[List[str]] = typer.Option(None, "--plot", metavar="FILE",
                                                         help="Draw one array: .png, .svg or .pdf; may be given several times."),
                html: Optional[str] = typer.Option(None, "--html", metavar="FILE", help="A page with all figures and pictures, which needs no other file."),
                force: bool = FORCE, json_: bool = JSON):
        """How far two files are apart: the largest error and where it is, RMSE, PSNR, SSIM, ratio, autocorrelation of the error."""
        compare_ = needed("storage.compare")
        if plot or html:
            needed("pictures.plots").check(plot or [])
        for path in [*(plot or ()), *filter(None, [html])]:
            if not force and pathlib.Path(path).exists():
                raise Failure(f"{path} is there already; --force replaces it")
        found = compare_.compare(err, first, second, array or (), shape, dtype, bool(plot), bool(html))
        if plot or html:
            needed("pictures.comparison").draw(found, f"{first} and {second}", plot or [], html)
        if json_:
            print(json.dumps(compare_.as_json(found), indent=1, allow_nan=False))
        else:
            compare_.show(out, found)
