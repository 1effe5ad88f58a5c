"""The page of `make bench-device`: times over sizes at each rate of the links, the fastest row of each size and rate, and where the time went."""

from stretto import units
from stretto.pictures import page as html
from stretto.pictures import plots

EMULATED = "emulated"
BESIDE = ("raw", "MPI", "native")  # baselines of the systems
COLOURS = {"codec": plots.COLOURS[1], "wait": plots.COLOURS[0], "rest": plots.GREY}


def rate_text(gbps):
    return f"{gbps:g} Gb/s" if gbps else "links as they are"


def values(rows, key):
    return sorted({row[key] for row in rows})


def of(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def lines(rows, gbps):
    """Time against bytes, a line a row."""
    with plots.style():
        figure, axes = plots.plt.subplots(figsize=(8, 4.5))
        plots.headline(axes, f"allreduce of {rows[0]['ranks']} ranks, {rate_text(gbps)}")
        names = list(dict.fromkeys(row["row"] for row in of(rows, gbps=gbps)))
        coloured = [name for name in names if name not in BESIDE]
        for name in names:
            points = sorted((row["bytes"], row["value"] * 1e-3) for row in of(rows, gbps=gbps, row=name))
            at = coloured.index(name) if name in coloured else 0
            colour = plots.COLOURS[at % (len(plots.COLOURS) - 2)] if name in coloured else plots.BLACK
            dash = plots.DASHES[at // (len(plots.COLOURS) - 2) % len(plots.DASHES)] if name in coloured else plots.DASHES[BESIDE.index(name)]
            axes.plot(*zip(*points), dash, color=colour, label=name, marker="o", ms=3)
        plots.size_axis(axes, "vector, bytes")
        plots.time_axis(axes, "time")
        plots.label_lines(axes)
    return figure


def fastest(rows):
    """For each size and rate the system with the least time, and how much less than the raw ring's that is."""
    rates = values(rows, "gbps")
    table = []
    for bytes_ in values(rows, "bytes"):
        cells = [units.size(bytes_)]
        for gbps in rates:
            part = of(rows, bytes=bytes_, gbps=gbps)
            raw = [row["value"] for row in part if row["row"] == "raw"]
            best = min(part, key=lambda row: row["value"], default=None)
            gain = f", {raw[0] / best['value']:.2f} times" if best and raw and best["row"] != "raw" else ""
            cells.append(f"{best['row']}{gain}" if best else "-")
        table.append(cells)
    return html.table("The fastest, and the raw ring's time over its", ["vector", *map(rate_text, rates)], table, words=range(len(rates) + 1))


def phases(rows, gbps, bytes_):
    """Where the time of each row went."""
    part = sorted(of(rows, gbps=gbps, bytes=bytes_), key=lambda row: row["value"])
    table = []
    for row in part:
        cells = [row["row"], units.seconds(row["value"] * 1e-3)]
        for name, spent in (("codec", row.get("codec_ms")), ("wait", row.get("wait_ms")), ("rest", rest(row))):
            cells.append("-" if spent is None else html.bar(units.seconds(spent * 1e-3), spent / row["value"] if row["value"] else 0, COLOURS[name]))
        for key in ("wire_ms", "predicted_ms"):
            cells.append(units.seconds(row[key] * 1e-3) if row.get(key) else "-")
        cells.append(f"{row['compression']:.3g}" if "compression" in row else "-")
        cells.append({True: "yes", False: "no"}.get(row.get("compared"), "-"))
        table.append(cells)
    return html.table(f"{units.size(bytes_)}, {rate_text(gbps)}",
                      ["", "time", "codec", "wait", "rest", "wire", "predicted", "compression", "compared"], table, words=(0, 8))


def rest(row):
    if "codec_ms" not in row:
        return None
    return max(0, row["value"] - row["codec_ms"] - row["wait_ms"])


def page(rows):
    """HTML of all rows that bench_device wrote."""
    timed = [row for row in rows if "row" in row]
    device = timed[0]["device"]
    what = ("Times are those of the emulated device: they say that the program works, and nothing of a GPU." if device == EMULATED
            else f"Ranks share one device: {device}.")
    rates, sizes = values(timed, "gbps"), values(timed, "bytes")
    costs = [row["costs"] for row in rows if row["case"] == "costs"]
    pieces = [html.element("h1", f"Collectives of device memory: {device}"), html.paragraph(what),
              html.section("The fastest", fastest(timed), name="fastest")]
    pieces.append(html.section("Times", *(html.figure(html.drawn(lines(timed, gbps), f"time against bytes, {rate_text(gbps)}", f"rate{i}"))
                                          for i, gbps in enumerate(rates)), name="times"))
    explained = ("codec: the device was at work on streams. wait: this rank only waited for messages. rest: copies, raw sums, the host. "
                 "wire: the bytes that it sent, at the link's full rate. Each is of the slowest rank, so that they need not add up.")
    pieces.append(html.section("Where the time went", html.paragraph(explained),
                               *(phases(timed, gbps, bytes_) for bytes_ in sizes for gbps in rates if of(timed, gbps=gbps, bytes=bytes_)), name="phases"))
    if costs:
        table = [[key, f"{value:.4g}"] for key, value in costs[-1].items()]
        pieces.append(html.section("The device's own costs", html.table("seconds, and seconds a byte", ["", "measured"], table), name="costs"))
    return html.document(f"bench-device: {device}", *pieces)
