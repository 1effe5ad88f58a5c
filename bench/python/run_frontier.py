#!/usr/bin/env python3
"""Measures ratio against speed of stretto's streams and of other coders, on one core, within the same absolute bound, in turns.

usage: run_frontier.py --json FILE [--rel 1e-3,1e-4] [--fields NAME,...] [--rounds N] [--plot FILE.png]

Rows are appended to the JSON file, and the means, the verdict and the picture are of all rows there: fields can be measured one after the other. --rounds 0
measures nothing. Fields are those of STRETTO_DATA_DIR, or computed ones. Missing data (NaN, fill values) have the value before them for all coders, since few
of the others take them. A rate is the median over rounds, in GB/s of values. "smaller" is the bytes of the values over those of the code, and "error" the
largest error over the bound, which is checked. Coders for several dimensions get the shape with the highest ratio: the field's own, or that with its first
axes merged. A package that is missing is named, and left out.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

import numpy as np

from stretto import ratio
from stretto.errors import Failure

try:
    from frontier_coders import CODERS, OURS, PEERS
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

LEAST = 0.005  # seconds of the calls that make one sample
SIDE = 128
FAST = 0.5  # GB/s: the aim is a higher ratio than that of peers which are faster
TIMES = 10  # and this many times the speed of peers with a higher ratio


def computed():
    """name: array of each field that is made up here."""
    rng = np.random.default_rng(3)
    z, y, x = (np.sin(2 * np.pi * np.arange(SIDE) / period) for period in (149, 113, 97))
    strength = np.where(rng.standard_normal((SIDE, SIDE, 1)) > 1, np.exp(4 * rng.standard_normal((SIDE, SIDE, 1))), 0)
    bursts = np.zeros((SIDE, SIDE, SIDE))
    bursts[..., SIDE // 3:SIDE // 2] = strength * np.abs(rng.standard_normal((SIDE, SIDE, SIDE // 2 - SIDE // 3)))
    found = {"front": ratio.synthetic(), "walk": np.cumsum(rng.standard_normal(1 << 20)),
             "sines": z[:, None, None] * y[:, None] * x + 1e-3 * rng.standard_normal((SIDE, SIDE, SIDE)), "bursts": bursts}
    return {f"computed_{name}": values.astype(np.float32) for name, values in found.items()}


def fields():
    folder = pathlib.Path(os.environ.get("STRETTO_DATA_DIR") or "no such directory")
    found = {path.name.rsplit("_", 1)[0]: ratio.read(path)[0] for path in sorted((*folder.glob("*.f32"), *folder.glob("*.f64")))}
    return found or computed()


def in_place(x):
    """x with the value before it where a value is missing, in the order of memory."""
    there = (np.abs(x) < ratio.FILL).reshape(-1)
    if there.all():
        return x
    last = np.maximum.accumulate(np.where(there, np.arange(x.size), np.argmax(there)))
    return x.reshape(-1)[last].reshape(x.shape)


def shapes(x):
    """The shape of x, and those with its first axes merged, down to one."""
    return [x.shape] + [(math.prod(x.shape[:1 - rest]), *x.shape[1 - rest:]) for rest in range(x.ndim - 1, 1, -1)] + [(x.size,)] * (x.ndim > 1)


def best(coder, x, eps):
    """(compress, decompress, bytes, largest error over eps) of the shape with the highest ratio. ValueError where there is none."""
    found = None
    for shape in shapes(x):
        try:
            compress, decompress, size = coder(x.reshape(shape), eps)
            code = compress()
            error = float(np.abs(decompress(code).reshape(-1).astype(np.float64) - x.reshape(-1)).max()) / eps
        except ValueError as reason:
            last = reason
            continue
        if found is None or size(code) < found[2]:
            found = compress, decompress, size(code), error
        if coder in OURS.values():
            break
    if found is None:
        raise ValueError(f"takes no array of these dimensions: {last}")
    return found


def sample(call):
    """What a call returns, and its seconds: the mean of as many calls as take LEAST."""
    calls, begin = 0, time.perf_counter()
    while not calls or time.perf_counter() - begin < LEAST:
        result = call()
        calls += 1
    return result, (time.perf_counter() - begin) / calls


def measure(name, x, rel, rounds, missing):
    """Rows of a field: two for each coder."""
    eps = rel * float(x.max() - x.min())
    made = {}
    for coder, function in CODERS.items():
        try:
            made[coder] = best(function, x, eps)
        except ImportError as error:
            missing.setdefault(coder, f"no package {error.name}")
        except ValueError as error:
            missing.setdefault(f"{coder} on {name}", str(error))
    seconds = {(coder, part): [] for coder in made for part in ("compress", "decompress")}
    for turn in range(rounds):
        for coder in list(made)[::1 if turn % 2 else -1]:
            compress, decompress, *_ = made[coder]
            code, took = sample(compress)
            seconds[coder, "compress"].append(took)
            seconds[coder, "decompress"].append(sample(lambda: decompress(code))[1])
    for (coder, part), took in seconds.items():
        *_, size, error = made[coder]
        yield {"bench": "frontier", "case": f"{name}, within {rel:g}", "metric": f"{part}: {coder}", "value": x.nbytes / statistics.median(took) / 1e9,
               "unit": "GB/s", "smaller": x.nbytes / size, "error": error, "field": name, "rel": rel, "part": part, "coder": coder}


def mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def means(rows):
    """{(rel, coder): (ratio, GB/s of compress, of decompress, largest error)}, geometric means over the fields that every coder here takes."""
    found = {}
    for rel in sorted({row["rel"] for row in rows}, reverse=True):
        ours = [row for row in rows if row["rel"] == rel]
        coders = {row["coder"] for row in ours}
        whole = {field for field in {row["field"] for row in ours} if {row["coder"] for row in ours if row["field"] == field} == coders}
        for coder in filter(coders.__contains__, CODERS):
            of = {part: [row for row in ours if row["coder"] == coder and row["part"] == part and row["field"] in whole] for part in ("compress", "decompress")}
            if whole:
                found[rel, coder] = (mean(row["smaller"] for row in of["compress"]), *(mean(row["value"] for row in of[part]) for part in of),
                                     max(row["error"] for row in of["compress"]))
    return found


def verdict(rows):
    """Lines for the means and each field where a peer with a higher ratio than dense streams has a tenth of their speed, or FAST."""
    cells = {("geometric mean", rel, coder): values[:3] for (rel, coder), values in means(rows).items()}
    for row in rows:
        if row["part"] == "compress":
            (other,) = [o["value"] for o in rows if (o["case"], o["coder"], o["part"]) == (row["case"], row["coder"], "decompress")]
            cells[row["field"], row["rel"], row["coder"]] = row["smaller"], row["value"], other
    for field, rel in dict.fromkeys((field, rel) for field, rel, _ in cells):
        dense = cells[field, rel, "stretto dense"]
        for at, part in ((1, "compress"), (2, "decompress")):
            for peer in PEERS:
                its = cells.get((field, rel, peer))
                if its and its[0] > dense[0] and (dense[at] < TIMES * its[at] or its[at] > FAST):
                    yield f"{field}, {rel:g}, {part}: {peer} has {its[0] / dense[0]:.2f} times the ratio at {its[at]:.2f} GB/s, and dense is " \
                          f"{dense[at] / its[at]:.1f} times as fast"


def draw(rows, path):
    from stretto.pictures import plots  # noqa: PLC0415  it needs matplotlib

    whole, rel = means(rows), max(row["rel"] for row in rows)
    plots.check([path])
    with plots.style():
        figure, axes = plots.plt.subplots(1, 2, figsize=(10, 4.6), sharex=True, sharey=True, layout="constrained")
        for at, (axis, part) in enumerate(zip(axes, ("compress", "decompress"))):
            for number, coder in enumerate(coder for coder in CODERS if (rel, coder) in whole):
                points = [(row["smaller"], row["value"]) for row in rows if (row["rel"], row["part"], row["coder"]) == (rel, part, coder)]
                colour, marker = plots.COLOURS[number % len(plots.COLOURS)], "so^vD<>PX*"[number]
                axis.scatter(*zip(*points), s=12, color=colour, marker=marker, alpha=0.5, linewidths=0)
                axis.scatter(whole[rel, coder][0], whole[rel, coder][1 + at], s=90, color=colour, marker=marker, label=coder, edgecolors="white", zorder=3)
            axis.set(title=part, xlabel="ratio", xscale="log", yscale="log")
            for axle in (axis.xaxis, axis.yaxis):
                axle.set_major_formatter(lambda value, _: f"{value:g}")
        axes[0].set_ylabel("GB/s of values, one core")
        axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
        plots.headline(axes[0], f"Ratio and speed within {rel:g} of the range", "small: a field; large: the geometric mean")
    plots.save(figure, [path])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--rel", default="1e-3,1e-4")
    parser.add_argument("--fields")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plot")
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    there, missing = fields() if given.rounds else {}, {}
    names = given.fields.split(",") if given.fields else list(there)
    for name in names if given.rounds else ():
        if name not in there:
            sys.exit(f"no field {name}; there are: {', '.join(there)}")
        for _, rel in ratio.bounds(given.rel, "rel"):
            found = list(measure(name, in_place(there[name]), rel, given.rounds, missing))
            with open(given.json, "a", encoding="utf-8") as out:
                out.writelines(json.dumps(row) + "\n" for row in found)
            for row in found:
                if row["error"] > 1 and row["part"] == "compress":
                    print(f"over the bound: {row['coder']} on {row['case']}: {row['error']:.6f} of it")
    rows = [json.loads(line) for line in given.json.read_text(encoding="utf-8").splitlines()]
    print(f"{'within':8}{'coder':24}{'ratio':>8}{'compress':>10}{'decompress':>12}{'error':>9}    (geometric means; GB/s; of the bound)")
    for (rel, coder), (smaller, compress, decompress, error) in means(rows).items():
        print(f"{rel:<8g}{coder:24}{smaller:8.1f}{compress:10.2f}{decompress:12.2f}{error:9.4f}")
    for line in verdict(rows):
        print(f"off the aim: {line}")
    for coder, reason in missing.items():
        print(f"left out: {coder}: {reason}")
    if given.plot:
        draw(rows, given.plot)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(str(failure))
