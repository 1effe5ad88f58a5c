"""`stretto bench amr`."""

from stretto import units
from stretto.bench import formulas, running
from stretto.errors import Failure
from stretto.machine.tune import new_table

KEY = ("ranks", "phase")
SUMS = {"step": ("stencil", "ghosts", "change", "marks", "rebuild", "balance", "sums"), "refinement": ("marks", "rebuild", "balance"),
        "collectives": ("change", "marks", "balance", "sums")}  # rows that are sums of others
SHOWN = 6  # refinements whose blocks are shown


def complete(rows, spans):
    """The model: the fewest ranks' work by blocks of the fullest rank, and messages and collectives by the profile's link."""
    base, runs = {}, {}
    for row in rows:
        from_ = base.setdefault(row["phase"], row)
        row["model"] = modelled(row, from_, spans)
        runs.setdefault((row["ranks"], row["library"]), {})[row["phase"]] = row
    for phases in runs.values():
        for name, row in phases.items():
            if name in SUMS:
                row["model"] = sum(phases[one]["model"] for one in SUMS[name] if one in phases)
            row["share"] = row["seconds"] / phases["step"]["seconds"]


def modelled(row, base, spans):
    """Of a phase that is no sum. `calls` are messages of a rank to its neighbours, or collectives."""
    calls, ranks = row["calls"], row["ranks"]
    latency, bandwidth = running.link_at(spans, row["bytes"] / calls if calls else 0)
    work = row["largest_share"] / base["largest_share"]
    if row["phase"] == "ghosts":
        copies = base["seconds"] - formulas.halo_seconds(2 * base["bytes"], base["calls"], latency, bandwidth)
        return work * max(copies, 0) + formulas.halo_seconds(2 * row["bytes"], calls, latency, bandwidth)
    if row["phase"] == "balance":
        return formulas.alltoallv_seconds(ranks, calls, row["bytes"], latency, bandwidth)
    if calls:
        return calls * formulas.reduction_seconds(ranks, formulas.message(row["bytes"] / calls, latency, bandwidth))
    return work * base["seconds"]


def measure(settings, console, **options):
    if options["cells"] % 2:
        raise Failure(f"--cells {options['cells']} is odd, and a block is cut in halves")
    if options["steps"] % options["every"]:
        raise Failure(f"--steps {options['steps']} is no multiple of the {options['every']} steps between refinements, --every")
    made = running.result("amr", settings, running.argv(**options), KEY, complete, console)
    meshes = [row.pop("mesh") for row in made["rows"] if "mesh" in row]
    made["mesh"] = meshes[0]
    made["same_mesh"] = all(one[name] == meshes[0][name] for one in meshes for name in ("blocks", "change", "checksum"))
    return made


def show(console, result):
    first = result["rows"][0]
    running.show(console, result, f"Adaptive mesh, blocks of {first['cells']}³ cells of {first['variables']} variables: a step", (
        ("ranks", lambda row: row["ranks"]), ("with", lambda row: row["library"]), ("phase", lambda row: row["phase"]),
        ("time (95 %)", running.with_interval), ("share", lambda row: f"{row['share']:.1%}"), ("model", lambda row: units.seconds(row["model"])),
        ("calls", lambda row: f"{row['calls']:.2f}"), ("bytes", lambda row: units.size(row["bytes"])),
        ("most blocks", lambda row: f"{row['largest_share']:.1f}")), keys=3)
    show_blocks(console, result["mesh"])
    if len({(row["ranks"], row["library"]) for row in result["rows"]}) > 1:
        console.print(f"The blocks and values of all runs are {'the same bit for bit' if result['same_mesh'] else 'not the same'}", highlight=False)


def show_blocks(console, mesh):
    blocks = mesh["blocks"]
    table = new_table("Blocks by level", "step", *(str(level) for level in range(len(blocks[0]))), "all")
    for at in range(0, len(blocks), -(-len(blocks) // SHOWN)):
        table.add_row(str(at * mesh["every"]), *map(str, blocks[at]), str(sum(blocks[at])))
    console.print(table)
