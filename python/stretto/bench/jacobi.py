"""`stretto bench jacobi`."""

import itertools
import math

from stretto import units
from stretto.bench import formulas, running
from stretto.errors import Failure

SAME = ("halo", "bound", "reduction", "type")  # of rows that differ in ranks and grid alone
KEY = ("ranks", *SAME, "grid")
WIDTHS = {"f32": 4, "f64": 8}


def complete(rows, spans):
    """The model: the fewest ranks' time of a point, and the profile's link for the halo; the penalty against the fewest ranks."""
    base = {}
    for row in rows:
        from_ = base.setdefault(tuple(row[name] for name in SAME), row)
        points, neighbours = math.prod(row["points"]), formulas.directions(row["dims"])
        size = 2 * formulas.faces(row["points"], row["dims"]) * WIDTHS[row["type"]]
        latency, bandwidth = running.link_at(spans, size / (2 * neighbours) if neighbours else 0)
        a_point = from_["compute"] * from_["ranks"] / math.prod(from_["points"])
        row["model_compute"] = a_point * points / row["ranks"]
        row["model_halo"] = formulas.halo_seconds(size, neighbours, latency, bandwidth)
        row["model"] = row["model_compute"] + row["model_halo"]
        row["mlups"] = formulas.mlups(points, row["seconds"])
        row["model_mlups"] = formulas.mlups(points, row["model"])
        row["penalty"] = formulas.penalty(row["ranks"] / from_["ranks"], from_["mlups"], row["mlups"])


def measure(settings, console, halos, bound, reductions, **options):
    """A run for each kind of halo and of reduction."""
    results = []
    for halo, reduction in itertools.product(halos, reductions):
        arguments = running.argv(halo=halo, bound=bound if halo == "bounded" else None, reduction=reduction, **options)
        results.append(running.result("jacobi", settings, arguments, KEY, complete, console))
    joined = results[0]
    for other in results[1:]:
        joined["rows"] += other["rows"]
        joined["comparison"] += other["comparison"]
    return joined


def halos_of(text, bound):
    """Names of the list; `bounded` has a bound, and a bound is for nothing else."""
    halos = list(dict.fromkeys(text.split(",")))
    for halo in halos:
        if halo not in ("blocking", "overlapped", "bounded"):
            raise Failure(f"--halo {halo!r} is none; it takes blocking, overlapped, bounded, or several of them")
    if ("bounded" in halos) != (bound is not None):
        raise Failure("--halo bounded takes --bound, such as 1e-6: the largest error of a value that is exchanged" if bound is None else
                      f"--bound {bound:g} is for --halo bounded, which is not asked for")
    return halos


def reductions_of(text):
    kinds = list(dict.fromkeys(text.split(",")))
    for kind in kinds:
        if kind not in ("blocking", "started", "stretto"):
            raise Failure(f"--reduction {kind!r} is none; it takes blocking, started, stretto, or several of them")
    return kinds


def label(row):
    return f"{row['halo']} {row['bound']:g}" if row["halo"] == "bounded" else row["halo"]


def show(console, result):
    first = result["rows"][0]
    running.show(console, result, f"Jacobi in 3-D, {first['type']}: a sweep", (
        ("ranks", lambda row: row["ranks"]), ("with", lambda row: row["library"]), ("halo", label), ("reduction", lambda row: row["reduction"]),
        ("time (95 %)", running.with_interval), ("compute", lambda row: units.seconds(row["compute"])),
        ("halo time", lambda row: units.seconds(row["halo_time"])), ("reduction time", lambda row: units.seconds(row["reduction_time"])),
        ("model", lambda row: units.seconds(row["model"])), ("grid", lambda row: " x ".join(map(str, row["dims"]))),
        ("points", lambda row: " x ".join(map(str, row["points"]))), ("MLUP/s", lambda row: f"{row['mlups']:.1f}"), ("penalty", lambda row: f"{row['penalty']:.3f}"),
        ("of triad", lambda row: f"{row['of_triad']:.2f}"), ("halo sent", lambda row: units.size(row["sent_bytes"])),
        ("sweeps", lambda row: f"{row['sweeps']}{'' if row['converged'] else ', not converged'}"), ("error", lambda row: f"{row['error']:.3g}")), keys=4)
