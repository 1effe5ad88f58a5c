"""Starts a program for each number of ranks, with and without the profiling library on request, and gathers its rows."""

import dataclasses
import json
import math
import re
import statistics
from typing import Optional

from rich.cells import cell_len

from stretto import model, units
from stretto.launch import emulate, programs, run as run_
from stretto.machine import measuring
from stretto.errors import Failure
from stretto.machine.tune import new_table

# The launchers' words for "the next rank goes to the next ...".
MAPS = {"openmpi": {"core": ["--map-by", "core"], "socket": ["--map-by", "package"], "host": ["--map-by", "node"]},
        "mpich": {"core": ["-bind-to", "core", "-map-by", "core"], "socket": ["-bind-to", "socket", "-map-by", "socket"], "host": ["-ppn", "1"]}}
ALONE, LIBRARY = "alone", "stretto"
PIECES = ("compute", "halo_time", "reduction_time", "sweep", "triad", "of_triad", "scatter", "add", "gather", "exchange")  # times beside the whole


@dataclasses.dataclass(frozen=True)
class Settings:
    """How programs are started."""

    mpirun: Optional[str] = None
    hosts: Optional[str] = None
    ranks: tuple = (1, 2)  # () with a launcher that says so itself
    by: Optional[str] = None  # a key of MAPS
    turns: int = 0  # with and without the profiling library; 0: without it alone
    cores: Optional[str] = None  # communication cores, where the library or the program uses stretto
    profile: Optional[str] = None  # whose links the model takes
    emulate: Optional[str] = None  # hosts and rate of a network that is made for a run, "4@1gbit"
    grids: tuple = ()  # of processes, "8x3x1", a row each; () leaves them to MPI_Dims_create


def ranks_of(text, mpirun, emulated=None):
    """The numbers of "1,2,4"; if there is no text, one for each emulated host, or none where the launcher's own options say."""
    if text is None:
        return (emulate.parse(emulated)[0],) if emulated else () if mpirun else (1, 2)
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", text) or not all(int(number) for number in text.split(",")):
        raise Failure(f"--ranks {text!r} is no list of numbers of ranks; it takes 1,2,4")
    return tuple(dict.fromkeys(int(number) for number in text.split(",")))


def grids_of(texts):
    """The grids of "8x3x1,4x6", given once or several times."""
    grids = [grid for text in texts or () for grid in text.split(",")]
    for grid in grids:
        if not re.fullmatch(r"[1-9][0-9]*(x[1-9][0-9]*){0,2}", grid):
            raise Failure(f"--grid {grid!r} is no process grid; it takes one to three numbers, such as 8x3x1, or several grids: 8x3x1,4x6x1")
    return tuple(dict.fromkeys(grids))


def processes(grid):
    return math.prod(map(int, grid.split("x")))


def ranks_of_grids(grids, ranks, mpirun, emulated=None):
    """The numbers of ranks of a run: where nothing names them, those that the grids have. Each number has a grid, and each grid a number."""
    if ranks is None and not mpirun and not emulated:
        return tuple(sorted({processes(grid) for grid in grids}))
    numbers = ranks_of(ranks, mpirun, emulated)
    for grid in grids:
        if numbers and processes(grid) not in numbers:
            raise Failure(f"--grid {grid} has {processes(grid)} processes, and there are {' or '.join(map(str, numbers))} ranks")
    for number in numbers:
        if number not in map(processes, grids):
            raise Failure(f"--grid {','.join(grids)} has no grid of {number} processes, and --ranks has {number}")
    return numbers


def shared(settings, ranks):
    """Why times say little, or None: more ranks than cores take turns on them."""
    if settings.hosts or settings.mpirun or not ranks or ranks <= programs.cores():
        return None
    return f"{ranks} ranks share {programs.cores()} cores: they take turns, and times say little about ranks with a core each"


def command(name, settings, ranks, arguments, preload):
    """The command line of one run, and its environment."""
    path = measuring.program_for(settings.mpirun, f"stretto-{name}")
    flavour = programs.mpi_of(path) or programs.flavour(programs.launcher(settings.mpirun, path))
    environment = run_.settings(flavour) if preload else {}
    if settings.cores:
        environment["STRETTO_COMM_CORES"] = settings.cores
    if settings.emulate:
        words = programs.launcher(settings.mpirun, path)
        return emulate.command(settings.emulate, words, ranks, ["env", *(f"{key}={value}" for key, value in environment.items()), path, *arguments]), None
    words, own = programs.command(settings.mpirun, ranks, settings.hosts, [path, *arguments], environment)
    if settings.by:
        if settings.mpirun:
            raise Failure(f"--map {settings.by} is for the launcher that is found; with --mpirun give the launcher its own options")
        if settings.by not in MAPS.get(flavour, {}):
            raise Failure(f"--map {settings.by!r} is none that is known for this launcher; it takes "
                          f"{', '.join(MAPS.get(flavour, {})) or 'nothing: give the launcher by --mpirun, with its own options'}")
        if shared(settings, ranks):
            raise Failure(f"--map {settings.by} gives each rank a place of its own, and {ranks} ranks share {programs.cores()} cores")
        words[1:1] = MAPS[flavour][settings.by]
    return words, own


def check_emulated(settings):
    """That --emulate is a network, and that nothing else says where ranks go."""
    emulate.parse(settings.emulate)
    for value, option in ((settings.hosts, "--hosts"), (settings.by, "--map")):
        if value:
            raise Failure(f"--emulate makes the hosts and places the ranks, and {option} says {value}; give one of them")


def rows_of(name, settings, arguments, console):
    """A row for each that the program printed: with ranks, and whose collectives ("library"). Returns them and the last machine."""
    rows, machine = [], {}
    for ranks in settings.ranks or (None,):
        warning = shared(settings, ranks)
        grids = [grid for grid in settings.grids if ranks in (None, processes(grid))]
        words_of_grids = ["--grid", ",".join(grids)] if grids else []
        if warning:
            console.print(f"warning: {warning}", markup=False, highlight=False)
        for turn in range(max(settings.turns, 1)):
            kinds = (ALONE, LIBRARY) if turn % 2 == 0 else (LIBRARY, ALONE)
            for kind in kinds if settings.turns else (ALONE,):
                words, own = command(name, settings, ranks, [*arguments, *words_of_grids], kind == LIBRARY)
                measurement = measuring.run(words, console, ranks, own)
                machine = measurement.machine
                fixed = {"ranks": machine["ranks"], "hosts": machine["hosts"], "library": kind, "turn": turn, "shared_cores": bool(warning)}
                rows += [{**fixed, **{key: value for key, value in row.items() if key not in ("event", "part")}} for row in measurement.of(name)]
    for row in rows:
        if "dims" in row:
            row["grid"] = "x".join(map(str, row["dims"]))
    return rows, machine


def interval(values):
    """The median, and the order statistics that hold the true one with 95 %, or the extremes of few."""
    ordered = sorted(values)
    below = max(0, math.floor(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered))))
    return statistics.median(ordered), ordered[below], ordered[-1 - below]


def merged(rows, key):
    """One row for each key, whose times are the median of its turns, with an interval where there are several."""
    found = {}
    for row in rows:
        found.setdefault((row["library"], *(row[name] for name in key)), []).append(row)
    result = []
    for same in found.values():
        first = {name: value for name, value in same[0].items() if name != "turn"}
        if len(same) > 1:
            first["seconds"], first["low"], first["high"] = interval([row["seconds"] for row in same])
            first["samples"] = sum(row["samples"] for row in same)
            first.update({name: statistics.median(row[name] for row in same) for name in PIECES if name in first})
        result.append(first)
    return result


def comparison(rows, key):
    """Time alone over time with the library, turn by turn, for each key."""
    by = {}
    for row in rows:
        by.setdefault(tuple(row[name] for name in key), {}).setdefault(row["turn"], {})[row["library"]] = row["seconds"]
    result = []
    for values, turns in by.items():
        median, low, high = interval([turn[ALONE] / turn[LIBRARY] for turn in turns.values()])
        result.append({**dict(zip(key, values)), "alone": statistics.median(turn[ALONE] for turn in turns.values()),
                       "stretto": statistics.median(turn[LIBRARY] for turn in turns.values()),
                       "ratio": median, "ratio_low": low, "ratio_high": high, "turns": len(turns)})
    return result


def links(settings, ranks, hosts):
    """The profile's links that ranks of this job use: between hosts the network; else the closest that was measured. With its name."""
    if settings.emulate and not settings.profile:
        made = emulate.profile_of(emulate.parse(settings.emulate)[2])
        name, profile = made["name"], made
    elif settings.profile:
        name, profile = settings.profile, None
    else:
        profile = None
        name = model.ask("explain", ["allreduce", "-n", str(max(ranks, 2)), "--bytes", "8"])["profile"]
    profile = profile or model.ask("profiles", [name])
    found = profile["links"]
    order = ("network", "node", "socket", "cache") if hosts > 1 else ("cache", "socket", "node", "network")
    distance = next((one for one in order if one in found), None)
    if distance is None:
        raise Failure(f"the profile {name} has no links; stretto tune measures them")
    return profile["name"], distance, found[distance]


def link_at(spans, size):
    """λ and B of messages of this size: those of its protocol's range."""
    span = [span for span in spans if span["from"] <= size][-1]
    return span["alpha"], 1 / span["beta"] if span["beta"] else math.inf


def check_profile(name):
    if name is not None:
        run_.check_profile(name)


def read_json(file, program):
    """A result that --json wrote; Failure where the file is none of this program."""
    try:
        with open(file, encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError) as error:
        raise Failure(f"--overlay {file}: {error}") from None
    whose = found.get("program") if isinstance(found, dict) else None
    if whose != program or not found.get("rows"):
        raise Failure(f"--overlay {file} has no run of {program} as --json writes it" + f", but one of {whose}" * (whose not in (None, program)))
    return found


def save_json(result, stream):
    json.dump(result, stream, indent=1)
    stream.write("\n")


def with_interval(row):
    return f"{units.seconds(row['seconds'])} ({units.seconds(row['low'])} to {units.seconds(row['high'])})"


def show(console, result, title, columns, keys):
    """Tables of the rows: (heading, function of a row) each, of which the first `keys` tell rows apart; then the comparison, where there is one."""
    machine = result["machine"]
    console.print(f"[bold]{machine['host']}[/]: {machine['library']}; links: {result['link']['distance']} of the profile "
                  f"{result['link']['profile']}", highlight=False)
    tables(console, title, [(heading, [str(of(row)) for row in result["rows"]]) for heading, of in columns], keys)
    rows = result["comparison"]
    if rows:
        key = [name for name in rows[0] if name not in ("alone", "stretto", "ratio", "ratio_low", "ratio_high", "turns")]
        tables(console, f"The same program with and without stretto, {rows[0]['turns']} turns",
               [*((name, [str(row[name]) for row in rows]) for name in key), ("alone", [units.seconds(row["alone"]) for row in rows]),
                ("with stretto", [units.seconds(row["stretto"]) for row in rows]), ("gain", [f"{row['ratio']:.2f}" for row in rows]),
                ("95 %", [f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}" for row in rows])], len(key))


def tables(console, title, columns, keys):
    """Columns (heading, cells) in one table where they fit; else what is the same in all rows is said once, and further tables repeat the keys."""
    named, same = columns[:keys], []
    if width(columns) > console.width:
        varied = [column for column in columns if len(column[1]) == 1 or len(set(column[1])) > 1] or columns[:1]
        same = [f"{heading} {cells[0]}" for heading, cells in columns if (heading, cells) not in varied]
        named, columns = [column for column in named if column in varied], varied
    rest, first = columns[len(named):], True
    while rest or first:
        taken = next((n for n in range(len(rest), 1, -1) if width([*named, *rest[:n]]) <= console.width), 1)
        table = new_table(title, *(heading for heading, _ in [*named, *rest[:taken]]))
        for cells in zip(*(cells for _, cells in [*named, *rest[:taken]])):
            table.add_row(*cells)
        console.print(table)
        title, rest, first = None, rest[taken:], False
    if same:
        console.print("in all rows: " + ", ".join(same), highlight=False)


def width(columns):
    """Of a table of these, with the three blanks between columns that it has on a terminal."""
    return sum(max(map(cell_len, (heading, *cells))) + 3 for heading, cells in columns)


def result(name, settings, arguments, key, complete, console):
    """Measures. `complete(rows, links)` adds the model to the merged rows of one library, the fewest ranks first."""
    check_profile(settings.profile)
    rows, machine = rows_of(name, settings, arguments, console)
    if not rows:
        raise Failure(f"stretto-{name} reported nothing", status=1)
    profile, distance, spans = links(settings, max(row["ranks"] for row in rows), max(row["hosts"] for row in rows))
    all_ = merged(rows, key)
    for kind in (ALONE, LIBRARY):
        complete(sorted((row for row in all_ if row["library"] == kind), key=lambda row: row["ranks"]), spans)
    return {"program": name, "machine": {name: value for name, value in machine.items() if name != "event"},
            "link": {"profile": profile, "distance": distance}, "rows": all_, "comparison": comparison(rows, key) if settings.turns else []}


def argv(**options):
    """The options of a program: --name value, those that are None left out."""
    return [word for name, value in options.items() if value is not None
            for word in ([f"--{name.replace('_', '-')}"] if value is True else [f"--{name.replace('_', '-')}", str(value)]) if value is not False]


