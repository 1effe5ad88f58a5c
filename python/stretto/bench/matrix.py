"""`stretto bench matrix`."""

import math

from stretto import units
from stretto.bench import formulas, running

KEY = ("ranks", "dimensions", "grid")
WIDTH = 8


def complete(rows, spans):
    """The model: the fewest ranks' addition, and the root's messages; of an exchange, its volume and its time."""
    base = {}
    for row in rows:
        from_ = base.setdefault(row["dimensions"], row)
        ranks, size = row["ranks"], math.prod(row["points"]) * WIDTH
        add = from_["add"] * from_["ranks"] / math.prod(from_["points"])  # of a value
        row["model"] = add * math.prod(row["points"]) / ranks + formulas.matrix_seconds(size, ranks, *running.link_at(spans, size / ranks))
        neighbours = formulas.directions(row["dims"])
        row["model_exchange_bytes"] = WIDTH * formulas.faces(row["points"], row["dims"])
        a_message = row["model_exchange_bytes"] / neighbours if neighbours else 0
        row["model_exchange"] = formulas.halo_seconds(2 * row["model_exchange_bytes"], neighbours, *running.link_at(spans, a_message))


def measure(settings, console, points, weak, repeats):
    return running.result("matrix", settings, running.argv(points=points, weak=weak, repeats=repeats), KEY, complete, console)


def show(console, result):
    running.show(console, result, "Sum of two matrices: scattered, added, gathered", (
        ("ranks", lambda row: row["ranks"]), ("with", lambda row: row["library"]), ("grid", lambda row: " x ".join(map(str, row["dims"]))),
        ("points", lambda row: " x ".join(map(str, row["points"]))),
        ("time (95 %)", running.with_interval), ("model", lambda row: units.seconds(row["model"])),
        ("scatter", lambda row: units.seconds(row["scatter"])), ("add", lambda row: units.seconds(row["add"])),
        ("gather", lambda row: units.seconds(row["gather"])), ("exchange", lambda row: units.seconds(row["exchange"])),
        ("exchange, model", lambda row: units.seconds(row["model_exchange"])), ("sends", lambda row: units.size(row["exchange_bytes"])),
        ("sends, model", lambda row: units.size(row["model_exchange_bytes"]))), keys=3)
