"""`stretto bench pingpong`: T = T_l + N/B between two ranks, by placement, with and without the cache's help."""

import csv
import dataclasses
import io
import json

import numpy as np

from stretto import files, units
from stretto.machine import fit, measuring
from stretto.errors import Failure
from stretto.machine.tune import new_table

BUFFERS = {"reused": "one unmodified buffer", "rotated": "rotating, rewritten buffers"}
COLUMNS = ("placement", "distance", "buffers", "bytes", "seconds", "mean", "least", "samples", "bandwidth", "line", "line_residual",
           "ranges", "ranges_residual")


@dataclasses.dataclass(frozen=True)
class Series:
    """One placement with one kind of buffers: what was observed, and the fits."""

    placement: str
    distance: str
    buffers: str
    rows: list
    line: fit.Line
    ranges: list

    @property
    def bytes(self):
        return np.array([row["bytes"] for row in self.rows], float)

    @property
    def seconds(self):
        return np.array([row["seconds"] for row in self.rows], float)

    @property
    def peak(self):
        """Bytes a second at the size where they are most, and that size."""
        rates = self.bytes / self.seconds
        best = int(np.argmax(rates))
        return float(rates[best]), int(self.bytes[best])


def analyse(rows):
    """The series of rows of stretto-measure."""
    found = {}
    for row in rows:
        found.setdefault((row["placement"], row["distance"], row["buffers"]), []).append(row)
    series = []
    for (placement, distance, buffers), mine in found.items():
        mine = sorted(mine, key=lambda row: row["bytes"])
        n, t = [row["bytes"] for row in mine], [row["seconds"] for row in mine]
        series.append(Series(placement, distance, buffers, mine, fit.line(n, t), fit.segmented(n, t)))
    return series


def measure(console, mpirun=None, hosts=None, ranks=None, largest=64 << 20, quick=False):
    parts = ["pingpong", "--largest", str(largest), *(["--quick"] if quick else [])]
    return measuring.run(measuring.command(mpirun, hosts, ranks, parts), console, ranks)


def table_rows(series):
    """Every observed size with both fits: what the CSV file holds."""
    for one in series:
        by_line, by_range = fit.predict([one.line], one.bytes), fit.predict(one.ranges, one.bytes)
        for row, straight, ranged in zip(one.rows, by_line, by_range):
            seconds = row["seconds"]
            yield {"placement": one.placement, "distance": one.distance, "buffers": one.buffers, "bytes": row["bytes"],
                   "seconds": seconds, "mean": row["mean"], "least": row["least"], "samples": row["samples"],
                   "bandwidth": row["bytes"] / seconds if seconds else 0.0,
                   "line": float(straight), "line_residual": float((seconds - straight) / seconds),
                   "ranges": float(ranged), "ranges_residual": float((seconds - ranged) / seconds)}


def as_json(measurement, series):
    def fitted(piece):
        return {"from": int(piece.start), "latency": piece.alpha, "bandwidth": None if piece.beta == 0 else piece.bandwidth}

    fits = [{"placement": one.placement, "distance": one.distance, "buffers": one.buffers, "line": fitted(one.line),
             "ranges": [fitted(piece) for piece in one.ranges], "peak": dict(zip(("bandwidth", "bytes"), one.peak)),
             "worst_residual": {"line": worst([one.line], one), "ranges": worst(one.ranges, one)}} for one in series]
    return {"machine": {key: value for key, value in measurement.machine.items() if key != "event"},
            "regime": {when: {key: event[key] for key in ("regime", "round_trip")} for when, event in measurement.regimes.items()},
            "fits": fits, "rows": list(table_rows(series))}


def save_csv(series, path):
    try:
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table_rows(series))
        files.write(path, text.getvalue())
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None


def write_json(measurement, series, stream):
    json.dump(as_json(measurement, series), stream, indent=1)
    stream.write("\n")


def worst(lines, one):
    return float(np.abs(fit.residuals(lines, one.bytes, one.seconds)).max())


def show(console, measurement, series):
    console.print(f"[bold]{measurement.machine['host']}[/]: {measurement.where()}; cores {measurement.regime()}; "
                  f"cache {units.size(measurement.machine['cache'])}", highlight=False)
    for placement in dict.fromkeys(one.placement for one in series):
        mine = [one for one in series if one.placement == placement]
        table = new_table(f"Ping-pong, {placement}: T = T_l + N/B, half of there and back", "buffers", "from", "T_l", "B",
                          "residual (median)", "(worst)")
        for one in mine:
            for i, (name, lines, from_) in enumerate([("one line", [one.line], "all")] +
                                                     [("", one.ranges, units.size(piece.start)) for piece in one.ranges]):
                piece = lines[max(i - 1, 0)]
                inside = of_range(lines, max(i - 1, 0), one)
                left = np.abs(fit.residuals([piece], one.bytes[inside], one.seconds[inside]))
                table.add_row(BUFFERS[one.buffers] if i == 0 else "by range" if i == 1 else "", from_, units.seconds(piece.alpha),
                              units.rate(piece.bandwidth), f"{np.median(left):.1%}", f"{left.max():.1%}")
        console.print(table)
        console.print(cache_note(mine), highlight=False)


def of_range(lines, index, one):
    """Which of the sizes belong to the index-th line."""
    end = lines[index + 1].start if index + 1 < len(lines) else np.inf
    return (one.bytes >= lines[index].start) & (one.bytes < end)


def cache_note(series):
    """What the cache adds: the peak of an unmodified buffer against what rewritten ones reach at the same size."""
    by = {one.buffers: one for one in series}
    if set(by) != set(BUFFERS):
        return ""
    rate, at = by["reused"].peak
    other = float(dict(zip(by["rotated"].bytes, by["rotated"].bytes / by["rotated"].seconds))[at])
    if rate <= other:
        return (f"One unmodified buffer peaks at {units.rate(rate)} ({units.size(at)}), below the {units.rate(other)} of rewritten ones there: "
                "no artefact of the cache, but a sign that something else ran meanwhile; measure again.\n")
    return (f"One unmodified buffer peaks at {units.rate(rate)} ({units.size(at)}); rewritten ones reach {units.rate(other)} there, "
            f"{rate / other:.1f} times less: that much of the peak is the cache's.\n")
