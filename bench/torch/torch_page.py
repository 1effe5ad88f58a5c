"""The page and the picture of run_torch.py: what a step's communication takes, and what training and gradients lose by it."""

import collections
import statistics

from stretto import files
from stretto.pictures import page, plots

PUBLISHED = ((5.0, 0.0012), (5.0, 0.0022))  # DynamiQ: bits per value, normalised mean squared error
FAMILY = (("stretto", 1), ("FSDP2 stretto", 1), ("PowerSGD", 2), ("int8", 3))  # first words of a name, and its colour


def colour_of(name):
    return next((plots.COLOURS[colour] for words, colour in FAMILY if name.startswith(words)), plots.COLOURS[0])


def of(rows, part):
    return [row for row in rows if row["part"] == part]


def of_one_course(rows):
    """The rows, of those of the part loss only the model and number of steps that most have: others have other losses."""
    courses = collections.Counter((row["size"], row["steps"]) for row in of(rows, "loss"))
    chosen = courses.most_common(1)
    return [row for row in rows if row["part"] != "loss" or (row["size"], row["steps"]) == chosen[0][0]]


def finals(rows):
    """name: validation losses after the last step, one a seed."""
    found = {}
    for row in of(rows, "loss"):
        if row["step"] == row["steps"]:
            found.setdefault(row["name"], []).append(row["validation"])
    return found


def summary(rows, place):
    """Two panels with a line a method: milliseconds of a step's communication, and the loss at the end."""
    times, losses = {row["name"]: row for row in of(rows, "communication") if row["place"] == place}, finals(rows)
    names = sorted(times, key=lambda name: -times[name]["ms"])
    figure, (left, right) = plots.plt.subplots(1, 2, figsize=(8, 0.3 * len(names) + 1.2), sharey=True, layout="constrained")
    left.barh(names, [times[name]["ms"] for name in names], color=[colour_of(name) for name in names], height=0.65)
    for at, name in enumerate(names):
        left.text(times[name]["ms"], at, f" {times[name]['ms']:.0f}", va="center", fontsize=7)
    left.set_xlabel("ms: communication of a step")
    left.set_title(f"{place}: {times[names[0]]['values'] * 4 / 1e6:.0f} MB of gradients", fontsize=9)
    base = losses.get("gloo fp32")
    if base:
        right.axvspan(min(base), max(base), color=plots.GREY, alpha=0.25, lw=0)
    for at, name in enumerate(names):
        if name in losses:
            mine = losses[name]
            right.plot([min(mine), max(mine)], [at, at], color=colour_of(name), lw=1)
            right.plot(mine, [at] * len(mine), "o", ms=3, color=colour_of(name))
    right.set_xlabel("validation loss at the end, nats a byte")
    right.set_title("a point a seed; grey: fp32's spread", fontsize=9)
    right.locator_params(axis="x", nbins=4)
    return figure


def courses(rows, place=None):
    """Validation loss against steps, or, with a place, against seconds there: steps times the median of a step."""
    figure, axes = plots.plt.subplots(figsize=(8, 4.5), layout="constrained")
    seconds = {row["name"]: row["ms"] / 1e3 for row in of(rows, "steps") if row["place"] == place}
    names = [name for name in dict.fromkeys(row["name"] for row in of(rows, "loss")) if place is None or name in seconds]
    for number, name in enumerate(names):
        at = {}
        for row in of(rows, "loss"):
            if row["name"] == name:
                at.setdefault(row["step"], []).append(row["validation"])
        x = [step * (seconds[name] if place else 1) for step in at]
        axes.plot(x, [statistics.mean(values) for values in at.values()], plots.DASHES[number // len(plots.COLOURS)], color=plots.COLOURS[number % len(plots.COLOURS)], lw=1.2, label=name)
        axes.fill_between(x, [min(values) for values in at.values()], [max(values) for values in at.values()], color=plots.COLOURS[number % len(plots.COLOURS)], alpha=0.1, lw=0)
    axes.set_xlabel(f"seconds on {place}" if place else "steps")
    axes.set_ylabel("validation loss, nats a byte")
    axes.legend(fontsize=7, ncols=2)
    return figure


def errors(rows, source):
    """Normalised mean squared error against bits a value."""
    figure, axes = plots.plt.subplots(figsize=(6, 4), layout="constrained")
    mine = [row for row in of(rows, "error") if row["place"] == source]
    ours = [row for row in mine if row["name"].startswith("stretto")]
    axes.plot([row["bits"] for row in ours], [row["nmse"] for row in ours], "o-", color=plots.COLOURS[1], lw=1.2, ms=3, label="stretto, a bound by the root mean square")
    for number, row in enumerate(row for row in mine if row not in ours):
        axes.plot(row["bits"], row["nmse"], "s", ms=5, color=plots.COLOURS[2 + number], label=row["name"])
    axes.plot(*zip(*PUBLISHED), "_-", color=plots.BLACK, lw=1, ms=8, label="DynamiQ, as published")
    axes.set_yscale("log")
    axes.set_xlabel("bits a value")
    axes.set_ylabel("normalised mean squared error of a rank")
    axes.legend(fontsize=7)
    return figure


def times_table(rows, part, place):
    mine = [row for row in of(rows, part) if row["place"] == place]
    base = next((row for row in mine if row["name"] == "gloo fp32"), None)
    most = max(row["ms"] for row in mine)
    lines = []
    for row in sorted(mine, key=lambda row: row["ms"]):
        wait = f"{row['wait']:.0f}" if row.get("wait") is not None else "-"
        cells = [row["name"], page.bar(f"{row['ms']:.0f}", row["ms"] / most, colour_of(row["name"])), f"{base['ms'] / row['ms']:.2f}" if base else "-", f"{row['bytes'] / 1e6:.2f}"]
        lines.append([*cells, wait] if part == "steps" else [*cells, f"{row['fastest']:.0f} to {row['slowest']:.0f}"])
    last = "wait, ms" if part == "steps" else "of turns, ms"
    return page.table(f"{place}: medians of {mine[0]['turns']}", ["method", "ms", "times as fast as fp32", "MB a host sent", last], lines)


def write(rows, html, png):
    """Writes the page, and the picture where communication was measured."""
    rows = of_one_course(rows)
    with plots.style():
        pieces = [page.element("h1", "Training over a network: time, and what is lost")]
        places = sorted({row["place"] for row in of(rows, "communication")}, reverse=True)  # most hosts first
        for at, place in enumerate(places):
            figure = summary(rows, place)
            if at == 0:
                plots.save(figure, [png])
                figure = summary(rows, place)
            drawn = page.figure(page.drawn(figure, f"communication of a step, {place}", f"summary{at}"))
            pieces.append(page.section(f"Communication of a step: {place}", drawn, times_table(rows, "communication", place), name=f"communication{at}"))
        for at, place in enumerate(dict.fromkeys(row["place"] for row in of(rows, "steps"))):
            pieces.append(page.section(f"Whole steps: {place}", times_table(rows, "steps", place), name=f"steps{at}"))
        if of(rows, "loss"):
            first = of(rows, "loss")[0]
            table = [[name, f"{statistics.mean(values):.4f}", f"{min(values):.4f} to {max(values):.4f}", len(values)] for name, values in finals(rows).items()]
            pieces.append(page.section(f"Loss: model {first['size']}, {first['ranks']} ranks, {first['steps']} steps", page.figure(page.drawn(courses(rows), "loss by steps", "courses")),
                                       page.table("Validation loss after the last step", ["method", "mean", "spread", "seeds"], table), name="loss"))
            for at, place in enumerate(dict.fromkeys(row["place"] for row in of(rows, "steps"))):
                pieces.append(page.figure(page.drawn(courses(rows, place), f"loss by time, {place}", f"time{at}"), f"Steps of the loss runs at the time that a step of the 10 M model takes on {place}."))
        for at, source in enumerate(dict.fromkeys(row["place"] for row in of(rows, "error"))):
            table = [[row["name"], f"{row['bits']:.2f}", f"{row['nmse']:.2e}", f"{row['nmse_mean']:.2e}"] for row in of(rows, "error") if row["place"] == source]
            pieces.append(page.section(f"What gradients lose: {source}", page.figure(page.drawn(errors(rows, source), "error by bits", f"error{at}")),
                                       page.table("", ["method", "bits a value", "error of a rank", "error of the mean"], table), name=f"error{at}"))
    files.write(html, page.document("Training over a network", *pieces).encode())
    print(f"page: {html}; picture: {png}", flush=True)
