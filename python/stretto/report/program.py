"""The parts of a page that show a program: what became of its collectives, what was saved, hidden and promised; and measured programs."""

from stretto import units
from stretto.bench import figures
from stretto.bench.running import with_interval
from stretto.pictures import page
from stretto.report import course
from stretto.report.placement import counted

NARROW = "\u00a0"  # keeps a figure and its unit on one line
MOST_ROWS = 200  # of the table of all calls
LARGEST = 1 << 24  # bytes of the last class of sizes that has an end: src/mpi/report/statistics.hpp


def total(run, name):
    return sum(row[name] for row in run["calls"])


def savings(run):
    """(least, most, compared calls) of all rows; None where no call was compared."""
    rows = course.compared(run)
    if not rows:
        return None
    return sum(row["saved_between"][0] for row in rows), sum(row["saved_between"][1] for row in rows), sum(row["calls"] for row in rows)


def between(least, most):
    """"1.5 to 2.3 s": one unit where it is the same."""
    def signed(value):
        return ("−" if value < 0 else "") + units.seconds(abs(value)).replace(" ", NARROW)

    first, second = signed(least), signed(most)
    number, _, unit = first.rpartition(NARROW)
    return f"{number if second.endswith(NARROW + unit) else first}{NARROW}to{NARROW}{second}"


def merit(found):
    """(name, figure) of what a run was."""
    run = found.run
    figures_ = [("collectives of all ranks", f"{total(run, 'calls'):,}"), ("in them, by the slowest rank of each path", units.seconds(total(run, "seconds")))]
    gained = savings(run)
    if gained:
        known = gained[0] > 0 or gained[1] < 0
        figures_.append((f"saved, estimated from {gained[2]:,} calls", between(*gained[:2]) if known else "not known"))
    sent = sum(row["sent_bytes"] for row in run["calls"] if row["sent_bytes"] and "," in row["path"])
    if sent:
        raw = sum(row["raw_bytes"] for row in run["calls"] if row["sent_bytes"] and "," in row["path"])
        figures_.append(("ratio of what travelled compressed", units.digits(raw / sent)))
    flight = total(run, "in_flight_seconds")
    if flight > 0:
        figures_.append(("of nonblocking calls hidden by work", f"{total(run, 'hidden_seconds') / flight:.0%}"))
    return figures_


def places(found):
    """Where the program ran, beside what was examined."""
    ran = [f"{name} ({counted(ranks, 'rank')})" for name, ranks in found.run["hosts"].items()]
    seen = ", ".join(host["name"] for host in found.doctor["hosts"])
    more = f" and {len(ran) - 8} more" if len(ran) > 8 else ""
    return f"The program ran on {', '.join(ran[:8])}{more}. The machine shown below is {seen}: --mpirun and --hosts examine others."


def size_class(row):
    """The sizes of the calls of a row; empty where a file of an older version does not say."""
    if "up_to_bytes" not in row or not row["bytes"]:
        return "–"
    return f"≤ {units.size(row['up_to_bytes'])}" if row["up_to_bytes"] else f"> {units.size(LARGEST)}"


def over_time(run):
    drawn = course.course(run)
    if drawn is None:
        return ""
    left = len({row["operation"] for row in run["calls"]}) - course.LANES
    caption = (f"How many of the {run['ranks']} ranks were inside an operation, on average over {units.seconds(run['stretch_seconds'])}; a lane each, with its own "
               "scale. At the right: paths in the order in which they lie, with their calls.")
    if left > 0:
        caption += f" {counted(left, 'more operation')} in the table alone."
    there = {course.kind(row) for row in run["calls"]}
    marks = page.paragraph(page.joined(*(page.key(ink, name) for kind, (ink, name) in course.KINDS.items() if kind in there)), "soft")
    return page.joined(page.element("h3", "Over time"), marks, page.figure(page.drawn(drawn, "calls over the time of the program", "course"), caption))


def gained(run):
    drawn = course.saved(run)
    if drawn is None:
        return page.joined(page.element("h3", "Time saved"),
                           page.paragraph("No call of the MPI's own was there to compare with. Run the program once more with STRETTO=0, and compare the whole."))
    caption = ("Dots: differences of medians times calls. Lines: the same from the quartiles that lie nearest and farthest. Grey, and empty: calls scatter more "
               "than they gain or lose.")
    least, most, calls = savings(run)
    known = least > 0 or most < 0
    told = (f"All together {between(least, most)} in {calls:,} of {total(run, 'calls'):,} calls." if known else
            f"All together not known: times scatter more than {calls:,} of {total(run, 'calls'):,} calls gain.")
    return page.joined(page.element("h3", "Time saved"), page.paragraph(told),
                       page.figure(page.drawn(drawn, "time saved by path, with intervals", "saved"), caption))


def hidden(run):
    rows = [row for row in run["calls"] if row["in_flight_seconds"] > 0]
    if not rows:
        return ""
    longest = max(row["in_flight_seconds"] for row in rows)
    cells = [[row["operation"], size_class(row), row["path"], f"{row['calls']:,}",
              page.bar(units.seconds(row["in_flight_seconds"]), row["in_flight_seconds"] / longest, course.colour(row)),
              page.bar(f"{row['hidden_seconds'] / row['in_flight_seconds']:.0%}", row["hidden_seconds"] / row["in_flight_seconds"],
                       course.colour(row)),
              units.seconds(row["attended_seconds"]), str(row["split"])] for row in rows]
    columns = ["operation", "size", "path", "calls", "under way, of all ranks", "hidden by the program's work", "in starts and waits", "S"]
    return page.joined(page.element("h3", "Overlap"), page.table(None, columns, cells, words=(0, 1, 2)),
                       page.paragraph("S: the most levels of a tree that the ranks' own cores did.", "soft"))


def error_at_most(row):
    return "no bound" if row["promised_error"] is None else f"{row['promised_error']:.3g}"


def promised(run):
    """Bounds and ratios of calls that travelled compressed."""
    rows = [row for row in run["calls"] if course.kind(row) == "compressed"]
    if not rows:
        return ""
    ratios = [row["raw_bytes"] / row["sent_bytes"] if row["sent_bytes"] else 0 for row in rows]
    cells = [[row["operation"], size_class(row), row["path"], row["why"], f"{row['calls']:,}", error_at_most(row),
              units.size(row["raw_bytes"]) if row["raw_bytes"] else "–", units.size(row["sent_bytes"]) if row["sent_bytes"] else "–",
              page.bar(units.digits(ratio), ratio / max(ratios), course.colour(row)) if ratio else "–"] for row, ratio in zip(rows, ratios)]
    left = [row["ignored"] for row in run["calls"] if row.get("ignored")]
    note = ""
    if left:
        most = max(left, key=lambda one: one["values"])
        note = page.paragraph(f"In {sum(one['calls'] for one in left):,} calls fill values were left out of the range of the bound, at most {most['values']:,} in a call: "
                              f"the range is {most['range'][0]:.6g} to {most['range'][1]:.6g}, with them {most['range_with_them'][0]:.6g} to "
                              f"{most['range_with_them'][1]:.6g}.")
    return page.joined(page.element("h3", "Bounds and ratios"),
                       page.table(None, ["operation", "size", "path", "why", "calls", "error at most", "raw", "sent", "ratio"], cells, words=(0, 1, 2), long=(3,)), note)


def all_calls(run):
    rows = sorted(run["calls"], key=lambda row: -row["seconds"])
    longest = max((row["seconds"] for row in rows), default=0) or 1
    cells = []
    for row in rows[:MOST_ROWS]:
        predicted = row["predicted_seconds"] / row["predicted_mpi_seconds"] if row["predicted_mpi_seconds"] > 0 else 0
        cells.append([row["operation"], size_class(row), page.key(course.colour(row), row["path"]), row["why"], f"{row['calls']:,}", units.size(row["bytes"]),
                      page.bar(units.seconds(row["seconds"]), row["seconds"] / longest, course.colour(row)), f"{predicted:.2f}" if predicted else "–"])
    more = page.paragraph(f"{counted(len(rows) - MOST_ROWS, 'more row')} in the file.", "soft") if len(rows) > MOST_ROWS else ""
    return page.joined(page.element("h3", "All calls"),
                       page.table(None, ["operation", "size", "path", "why", "calls", "bytes", "slowest rank", "predicted"], cells, words=(0, 1, 2), long=(3,)), more,
                       page.paragraph("predicted: the model's time over its time of the MPI's own collective.", "soft"))


def collectives(found):
    """The section of a run."""
    run = found.run
    if not run:
        return ""
    if not run["calls"]:
        return page.section("The program", page.paragraph(f"No collective was called by {counted(run['ranks'], 'rank')}."), name="program")
    return page.section("What became of the collectives", over_time(run), gained(run), hidden(run), promised(run), all_calls(run), name="program")


def comparison(result):
    rows = result.get("comparison")
    if not rows:
        return ""
    key = [name for name in rows[0] if name not in ("alone", "stretto", "ratio", "ratio_low", "ratio_high", "turns")]
    cells = [[*(row[name] for name in key), units.seconds(row["alone"]), units.seconds(row["stretto"]), units.digits(row["ratio"]),
              f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}"] for row in rows]
    return page.table(f"The same program with and without stretto, {rows[0]['turns']} turns", [*key, "alone", "with stretto", "gain", "95 %"], cells)


def measured(found):
    """The section of measured programs."""
    pieces = []
    for number, result in enumerate(found.programs):
        name, machine = result["program"], result["machine"]
        drawn = page.drawn(figures.DRAW[name](result), f"{name}: measurement and model", f"program{number}")
        keys = [key for key in ("ranks", "library", "variant", "form", "halo", "dimensions", "phase") if key in result["rows"][0]]
        grid = ["grid"] if result["rows"][0].get("dims") else []
        table = page.table(None, [*keys, *grid, "time, with its interval", "model"],
                           [[*(row[key] for key in keys), *([" x ".join(map(str, row["dims"]))] if grid else []), with_interval(row),
                             units.seconds(row["model"]) if row.get("model") else "–"] for row in result["rows"]])
        told = f"On {machine['host']}, {machine['library']}; the model's links: {result['link']['distance']} of the profile {result['link']['profile']}."
        pieces += [page.element("h3", f"stretto bench {name}"), page.paragraph(told, "soft"), page.figure(drawn), table, comparison(result)]
    return page.section("Measured programs", *pieces, name="programs") if pieces else ""
