"""`stretto tune`: measures this machine and keeps its profile."""

import pathlib
import sys

from rich import box
from rich.cells import cell_len
from rich.table import Table

from stretto import units
from stretto.machine import measuring, profile, quality
from stretto.errors import Failure

COLLECTIVES = {"natives": "The MPI's own collectives", "node": "Collectives in a node's memory"}  # by key of the profile
AGAIN = 2  # times that a disturbed part is repeated
PARTS = ["links", "codec", "local", "engine", "native", "node", "switches", "device"]


def measure_parts(console, parts, mpirun, hosts, ranks, quick, carrier):
    words = [*parts, *(["--quick"] if quick else [])]
    if carrier == "ucx":
        return measuring.run_over_ucx(console, mpirun, hosts, ranks, [word for word in words if word != "native"])
    return measuring.run(measuring.command(mpirun, hosts, ranks, words), console, ranks)


def measure(console, mpirun=None, hosts=None, ranks=None, quick=False, carrier="mpi", again=AGAIN):
    """All parts; those that cannot be believed, up to `again` times more."""
    if again:
        console.print(f"up to {again + 1} times as long on a busy machine, whose disturbed parts are measured again", highlight=False)
    measurement = measure_parts(console, PARTS, mpirun, hosts, ranks, quick, carrier)
    for _ in range(again):
        found = quality.doubts(measurement)
        if not found:
            break
        console.print(f"disturbed, so measured again: {'; '.join(f'{part} ({texts[0]})' for part, texts in found.items())}", markup=False, highlight=False)
        measurement.replace(measure_parts(console, list(found), mpirun, hosts, ranks, quick, carrier))
    return measurement


def keep(console, measurement, output=None, fresh=False, doubted=False):
    """Writes the profile, with what a former one knew besides unless `fresh`. Returns it and its path. One with figures that cannot be believed
    is refused, or `doubted` written all the same, for those who name it."""
    made = profile.from_measurement(measurement)
    doubts = made["quality"]["doubts"]
    if doubts and not doubted:
        raise Failure("the profile is not saved, for figures are implausible that were measured more than once:\n  " + "\n  ".join(doubts) +
                      "\nEnd other programs and measure again; --doubted saves it for those who name it (STRETTO_PROFILE, --machine)", status=1)
    path = pathlib.Path(output or measurement.machine["profile"])
    if path.exists() and not fresh:
        try:
            former = profile.read(path)
            if former.get("quality", {}).get("doubts"):
                raise Failure(f"profile {path} is doubted: {former['quality']['doubts'][0]}")
            made = profile.merge(former, made)
        except Failure as failure:
            console.print(f"note: replaced, not added to: {failure}", markup=False, highlight=False)
    profile.write(made, path)
    return made, path


def show(console, measurement, made, path):
    console.print(f"[bold]{measurement.machine['host']}[/]: {measurement.where()}, {made['cores']} cores a host; "
                  f"measured in {measurement.seconds:.0f} s", highlight=False)
    messages = made["ucx"] if measurement.over_ucx() else made
    if measurement.repeated:
        console.print(f"measured again, for something disturbed them: {', '.join(measurement.repeated)}", highlight=False)
    for doubt in made["quality"]["doubts"]:
        console.print(f"doubted: {doubt}", markup=False, highlight=False)
    tables = [regime_table(measurement), links_table(messages), codec_table(made), costs_table(made, messages, measurement)]
    if made["switches"]:
        tables.append(switches_table(made))
    tables += [collectives_table(made, key, whose, measurement) for key, whose in COLLECTIVES.items()]
    for table in filter(None, tables):
        console.print(table)
    passed_over = f"; it is doubted, so only STRETTO_PROFILE={path} or --machine takes it" if made["quality"]["doubts"] else ""
    console.print(f"written to {path}{passed_over}", highlight=False, soft_wrap=True)


SWITCHES = {"eager": "reductions in one round up to", "eager_reduce": "reduce in one round up to",
            "kernel": "blocks copied by the kernel from"}


def switches_table(made):
    table = new_table("Where collectives in a node's memory change protocol", "what", *(f"{entry['ranks']} ranks" for entry in made["switches"]))
    for key, what in SWITCHES.items():
        table.add_row(what, *(units.size(entry[key]) if key in entry else "-" for entry in made["switches"]))
    return table


WIDTH = 79  # columns of a terminal that a title may fill; in a pipe it has one line


def new_table(title, first, *others):
    """A table of words, then of figures: lines under the heads on a terminal, blanks alone in a pipe."""
    piped = not sys.stdout.isatty()
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False, box=None if piped else box.SIMPLE_HEAD,
                  min_width=cell_len(title or "") if piped else min(cell_len(title or ""), WIDTH))
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table


def regime_table(measurement):
    table = new_table("Cores, by the round trip of a shared flag", "when", "regime", "round trip")
    for when, event in measurement.regimes.items():
        table.add_row(when, event["regime"], units.seconds(event["round_trip"]) if event["round_trip"] else "-")
    return table


def links_table(messages):
    table = new_table("Links: a message of n bytes takes α + n β", "link", "from", "α", "1/β")
    for distance, ranges in messages["links"].items():
        for i, span in enumerate(ranges):
            table.add_row(distance if i == 0 else "", units.size(span["from"]), units.seconds(span["alpha"]),
                          units.per_byte(span["beta"]))
    return table


def codec_table(made):
    names = ("compress", "decompress", "add", "fused")
    table = new_table("Codec on one core with all at work, of raw bytes", "type", "ratio", "call", *names)
    for kind, costs in made["codec"].items():
        for i, cost in enumerate(costs):
            table.add_row(kind if i == 0 else "", units.digits(cost["ratio"]), units.seconds(cost["call"]),
                          *(units.per_byte(cost[name]) for name in names))
    return table


def costs_table(made, messages, measurement):
    table = new_table("Other costs", "what", "figure")
    table.add_row("raw + raw (γ)", units.per_byte(made["gamma"]))
    table.add_row("copy", units.per_byte(made["copy"]))
    table.add_row("step of the engine", units.seconds(messages["step"]))
    table.add_row("round of the agreement", units.seconds(messages["agreement"]))
    table.add_row("both directions at once", "yes" if messages.get("full_duplex", True) else "no")
    if "nics" in messages:
        table.add_row("ranks of a host at full rate", str(messages["nics"]))
    for row in measurement.of("device"):
        if "launch" in row:
            table.add_row(f"launch on {row['device']}", units.seconds(row["launch"]))
            table.add_row("staging", units.per_byte(made["device"]["staging"]))
        else:
            table.add_row("GPU", f"{row['device']} ({row['reason']})")
    return table


def collectives_table(made, key, whose, measurement):
    """Of the run just made: seconds, at some of the sizes. None: it measured none."""
    if not measurement.of(profile.COLLECTIVES[key]):
        return None
    ranks, hosts = measurement.machine["ranks"], measurement.machine["hosts"]
    mine = [entry for entry in made[key] if (entry["ranks"], entry["hosts"]) == (ranks, hosts)]
    sizes = sorted({n for entry in mine for n, _ in entry["points"] if n > 0})
    wanted = sizes[:: max(1, len(sizes) // 6)]
    table = new_table(f"{whose} on {ranks} ranks, whole vector", "collective", *map(units.size, wanted))
    for entry in mine:
        at = dict(map(tuple, entry["points"]))
        figures = [at.get(n) for n in wanted] if set(at) != {0} else [at[0]]
        table.add_row(entry["collective"], *("-" if figure is None else units.seconds(figure) for figure in figures))
    return table
