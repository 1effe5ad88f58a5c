"""`stretto bench ring`."""

from stretto import units
from stretto.bench import formulas, running

KEY = ("ranks", "variant")


def complete(rows, spans):
    """The model, and the penalty against the fewest ranks of the same variant."""
    base = {}
    for row in rows:
        ranks, size = row["ranks"], row["bytes"]
        row["rate"] = formulas.ring_rate(ranks, row["seconds"], size)
        row["model"] = formulas.ring_seconds(ranks, size, *running.link_at(spans, size))
        from_ = base.setdefault(row["variant"], row)
        row["penalty"] = formulas.ring_penalty(ranks, row["rate"], from_["ranks"], from_["rate"])


def measure(settings, console, size, repeats):
    return running.result("ring", settings, running.argv(bytes=size, repeats=repeats), KEY, complete, console)


def show(console, result):
    running.show(console, result, f"Ring, messages of {units.size(result['rows'][0]['bytes'])}: 2p² of them", (
        ("ranks", lambda row: row["ranks"]), ("with", lambda row: row["library"]), ("variant", lambda row: row["variant"]),
        ("MB", lambda row: f"{row['megabytes']:g}"), ("time (95 %)", running.with_interval),
        ("model", lambda row: units.seconds(row["model"])), ("MB/s", lambda row: f"{row['rate']:.0f}"),
        ("penalty", lambda row: f"{row['penalty']:.3f}")), keys=3)
