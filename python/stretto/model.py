"""`stretto explain`, `choose`, `predict`, `simulate`, `plan`, `profiles`: asks stretto-model, and prints its JSON as tables.

The options are those of stretto-model: they are handed on as they are, and its help is shown, so that they stand in one place.
"""

import json
import re
import subprocess

from stretto import units
from stretto.launch import programs
from stretto.errors import Failure
from stretto.machine.tune import new_table

SHOWN = 8  # rows of a table of candidates, one a schedule and payload, beside the MPI's own; all candidates are in the JSON
WIDE = 8  # numbers of ranks of a table; the same
LONG = 40  # rows of a plan; the same

EXAMPLES = {
    "explain": ("stretto explain allreduce --ranks 1024 --per-node 4 --bytes 1G --bound rel:1e-4 --ratio 8 --machine a100-hdr",
                "stretto explain broadcast -n 64 --bytes 1M --plot broadcast.png"),
    "choose": ("stretto choose allreduce -n 16 --per-node 4 --bytes 64M --bound rel:1e-3 --ratio 10",
               "stretto choose broadcast -n 64 --bytes 1M --machine node17_Open_MPI_5.0.11.json"),
    "predict": ("stretto predict allreduce --schedule ring -n 64 --bytes 64M --bound abs:1e-3 --payload fused --segment 256K",
                "stretto predict allreduce --system hzccl -n 64 --bytes 64M --ratio 8"),
    "simulate": ("stretto simulate weak -n 8,1024,131072 --per-node 4 --bytes 256M --machine a100-100g --plot weak.svg",
                 "stretto simulate strong --bytes 1G --systems mpi,ours",
                 "stretto simulate overlap --cores 64 --plot overlap.svg"),
    "plan": ("stretto plan --cores 64 --work 'compute 20ms, ireduce 2M, repeat 100' --plot plan.svg",
             "stretto plan --cores 16 --from report.json --seconds 12.5"),
    "profiles": ("stretto profiles", "stretto profiles a100-hdr"),
}


def run(arguments):
    """What stretto-model prints for these arguments; its refusal is a Failure."""
    done = subprocess.run([programs.program("stretto-model"), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or f"stretto-model ended with status {done.returncode} and said nothing"
        raise Failure(said.replace("stretto-model: ", "").partition("\nRun with --help")[0])
    return done.stdout


def help_of(name):
    """The help of one of its commands, as help of ours."""
    text = run([name, "--help"]).partition("\nexamples:")[0].rstrip()
    text = re.sub(r"^(Usage: ).*?(\[OPTIONS\])", rf"\1stretto {name} \2", text, flags=re.MULTILINE)
    if name in ("explain", "simulate", "plan"):
        text += "\n  --plot FILE           draw a figure: .png, .svg or .pdf; may be given\n                        several times"
    return text + "\n\nExamples:\n" + "".join(f"  {example}\n" for example in EXAMPLES[name])


def ask(name, arguments):
    return json.loads(run([name, *arguments, "--json"]))


def machine(result):
    """The profile's name, and where it was found unless that says the same; what messages go over, and whose times they have."""
    text = result["machine"] if result["profile"] == result["machine"] else f"{result['machine']} ({result['profile']})"
    if result["carrier"] != "mpi":
        text += f", over {result['carrier']}"
    if result["messages"] != result["machine"]:
        text += f", messages of {result['messages']}: nobody measured them over {result['carrier']}"
    if result["between_hosts"]:
        text += f", {result['between_hosts']}"
    if result["doubts"]:
        text += f", DOUBTED: {result['doubts'][0]}"
    return text


def ratio_of(question):
    """"streams at ratio 8", and whether anybody said so."""
    return f"streams at ratio {question['ratio']:.4g}{' (assumed)' if question['ratio_assumed'] else ''}"


def subject(result, sized=True):
    """"allreduce of 1 GiB, streams at ratio 8, on 1024 ranks, 4 a node: a100-hdr"."""
    question = result["question"]
    size = f" of {units.size(question['bytes'])}" if sized else ""
    streams = ", " + ratio_of(question) if question["compress"] and result.get("payload") != "raw" else ""
    return f"{question['collective']}{size}{streams}, on {result['ranks']} ranks, {result['per_node']} a node: {machine(result)}"


def show_explain(console, result):
    console.print(f"[bold]{subject(result)}[/]")
    candidates = result["candidates"]
    rows = [one for one in candidates if one["first_of_row"]]
    shown = [one for i, one in enumerate(rows) if i < SHOWN or one["label"] == "native"]
    unit = result["mpi_seconds"]
    table = new_table(f"The best of each schedule and payload: {len(shown)} of {len(rows)}, from {len(candidates)} ways", "way", "predicted",
                      "× the MPI's" if unit else "× the best")
    for one in shown:
        label = one["label"] + (", the MPI's own" if one["label"] == "native" else "")
        table.add_row(label, units.seconds(one["seconds"]), f"{one['seconds'] / (unit or candidates[0]['seconds']):.2f}")
    console.print(table)
    console.print(f"The library takes [bold]{result['taken']}[/].")
    if result["crossovers"]:
        table = new_table("How the choice changes with the size", "between", "from", "to")
        for column in table.columns[1:]:
            column.justify, column.overflow, column.no_wrap = "left", "fold", False
        for one in result["crossovers"]:
            table.add_row(f"{units.size(one['below'])} and {units.size(one['above'])}", one["from"], one["to"])
        console.print(table)
    else:
        console.print("The choice is the same at every size.")


def show_choose(console, result):
    console.print(f"{subject(result)}\n[bold]{result['choice']['label']}[/], {units.seconds(result['choice']['seconds'])} predicted")


def show_predict(console, result):
    what = result.get("system") or f"{result['schedule']}, {result['payload']}"
    table = new_table(f"{subject(result)}; {what}", "what", "figure")
    table.add_row("time", units.seconds(result["seconds"]))
    table.add_row("a rank's bytes on the wire, at most", units.size(result["wire_bytes"]))
    table.add_row("a rank's work, at most", units.seconds(result["work_seconds"]))
    console.print(table)


def show_overlap(console, result):
    rows = result["rows"]
    table = new_table(f"A split tree and work on {result['cores']} cores, in transfers of an edge", "ranks", "comm cores", "no overlap",
                      *(f"S={split}" for split in range(len(rows[0]["overlapped"]))), "closed form")
    for row in rows:
        times = [f"[bold]{t:.2f}[/]" if split == row["best"] else f"{t:.2f}" for split, t in enumerate(row["overlapped"])]
        table.add_row(str(row["ranks"]), str(row["comm_cores"]), f"{row['blocking']:.2f}", *times, f"S={row['closed_best']}")
    console.print(table)
    console.print("S: levels from the leaves that run before the work. Bold: the best S. On the right that of the closed form, whose levels follow one another.")


def show_simulate(console, result):
    if result["study"] == "overlap":
        show_overlap(console, result)
        return
    rows = result["rows"]
    ranks = list(dict.fromkeys(row["ranks"] for row in rows))
    ranks = ranks[:: -(-len(ranks) // WIDE)]
    for size in dict.fromkeys(row["bytes"] for row in rows):
        table = new_table(f"{result['collective']}, {result['study']} scaling on {machine(result)}, {result['per_node']} a node, "
                          f"{ratio_of(result)}: {units.size(size)}", "system \\ ranks", *map(str, ranks))
        times = {(row["system"], row["ranks"]): row["seconds"] for row in rows if row["bytes"] == size}
        best = {n: min(seconds for (_, m), seconds in times.items() if m == n) for n in ranks if n in {m for _, m in times}}
        for system in dict.fromkeys(name for name, _ in times):
            figures = [times.get((system, n)) for n in ranks]
            table.add_row(system, *("-" if t is None else f"[bold]{units.seconds(t)}[/]" if t == best[n] else units.seconds(t)
                                    for n, t in zip(ranks, figures)))
        console.print(table)
    console.print("Bold: the fastest on so many ranks.")


def work_of(result):
    """"20 ms of work when every core has a rank, ireduce of 2 MiB; 100 iterations"."""
    work = result["work"]
    calls = [f"{call['operation']} of {units.size(call['bytes'])}" + (f" ({call['calls']:.6g} times)" if call["calls"] != 1 else "")
             for call in work["calls"]]
    often = f"; {work['repeat']} iterations" if work["repeat"] != 1 else ""
    return f"{units.seconds(work['compute'])} of work when every core has a rank, {', '.join(calls)}{often}"


def show_plan(console, result):
    best, blocking, splits = result["best"], result["blocking"], result["splits"]
    console.print(f"{result['cores']} cores of {machine(result)}: {work_of(result)}")
    for assumed in result["work"]["assumed"]:
        console.print(f"Assumed: {assumed}.")
    step = -(-len(result["rows"]) // LONG)
    rows = [row for i, row in enumerate(result["rows"]) if i % step == 0 or row == best]
    table = new_table("Time of the program", "ranks", "comm cores", "work", "no overlap", *(f"S={split}" for split in splits))
    for row in rows:
        times = [units.seconds(row["overlapped"][split]) if row["overlapped"] else "-" for split in splits]
        if row["overlapped"]:
            at = splits.index(row["best"])
            times[at] = f"[bold]{times[at]}[/]"
        table.add_row(str(row["ranks"]), str(row["comm_cores"]), units.seconds(row["compute"]), units.seconds(row["blocking"]), *times)
    console.print(table)
    console.print("S: levels from the leaves that run on the ranks' cores, outside of the work. Bold: the best S.")
    split = f", S={best['best']}" if best["overlapped"] else ""
    cores = "core" if best["comm_cores"] == 1 else "cores"
    console.print(f"[bold]{best['ranks']} ranks and {best['comm_cores']} communication {cores}{split}[/]: {units.seconds(best['seconds'])}; "
                  f"{blocking['ranks']} ranks and blocking collectives: {units.seconds(blocking['seconds'])}")


def show_profiles(console, result):
    if isinstance(result, dict):
        console.print_json(json.dumps(result))
        return
    table = new_table("Profiles that are shipped", "name", "source")
    table.columns[1].justify, table.columns[1].no_wrap = "left", False
    for one in result:
        table.add_row(one["name"], one["source"])
    console.print(table)


SHOW = {"explain": show_explain, "choose": show_choose, "predict": show_predict, "simulate": show_simulate,
        "plan": show_plan, "profiles": show_profiles}
