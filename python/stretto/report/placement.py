"""Pictures of where ranks are: hosts with their hardware threads, hwloc's picture of this one, and what ranks have between them."""

import platform
import re
import shutil
import subprocess

from stretto.machine.doctor import WAYS
from stretto.pictures import page, plots

CELL, GAP, WIDE = 46, 6, 12  # pixels of a hardware thread, between two, and how many stand in a row
PILL = 20  # pixels of a rank's mark
MOST_HOSTS, MOST_CORES, MOST_RANKS = 12, 512, 64  # that are drawn one by one
COLOURS = {"process": plots.COLOURS[0], "arena": plots.COLOURS[0], "xpmem": plots.COLOURS[2], "kernel": plots.COLOURS[4], "staged": plots.COLOURS[3],
           "messages": plots.COLOURS[5], "none": "#ffffff"}
NAMES = {**WAYS, "messages": "messages of the MPI or of UCX"}
HWLOC = ("lstopo-no-graphics", "lstopo")


def rectangle(x, y, width, height, fill, stroke="#c3c9d2", round_=4):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round_}" fill="{fill}" stroke="{stroke}"/>'


def word(x, y, text, size=11, fill="#5b6270", anchor="start", weight="400"):
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}">{page.text(text)}</text>'


def pill(x, y, label, colour):
    """A rank: its number in a box of a colour."""
    return [rectangle(x, y, CELL - 11, PILL + 2, f"{colour}38", colour), word(x + (CELL - 11) / 2, y + 15.5, label, 12, "#1c2026", "middle", "600")]


def svg(width, height, parts):
    return (f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="system-ui, \'DejaVu Sans\', sans-serif">'
            f"{''.join(parts)}</svg>")


def colour_of(rank, caches):
    """One a cache, as the ranks that share one exchange the fastest."""
    return plots.COLOURS[:6][caches.index(rank["cache"]) % 6]


def host_picture(host, ranks, name):
    """A host: its hardware threads by number, and on them the ranks bound there; below, ranks that may wander."""
    cores, caches = host["cores"], sorted({rank["cache"] for rank in ranks})
    bound = {}
    for rank in ranks:
        if rank["core"] is not None:
            bound.setdefault(int(re.match(r"\d+", rank["cpus"])[0]), []).append(rank)
    across = min(cores, WIDE)
    parts = []
    for core in range(cores):
        x, y = core % across * (CELL + GAP), core // across * (CELL + GAP)
        here = bound.get(core, [])
        parts += [rectangle(x + 0.5, y + 0.5, CELL, CELL, "#ffffff" if here else "#f5f6f8"), word(x + 5, y + 14, core, 10)]
        if here:
            label = str(here[0]["rank"]) if len(here) == 1 else f"{here[0]['rank']}+{len(here) - 1}"
            parts += pill(x + 6, y + 19, label, colour_of(here[0], caches))
    height = -(-cores // across) * (CELL + GAP)
    loose = [rank for rank in ranks if rank["core"] is None]
    for i, rank in enumerate(loose):
        x, y = i % across * (CELL + GAP), height + 18 + i // across * (PILL + 8)
        parts += pill(x, y, rank["rank"], colour_of(rank, caches))
    if loose:
        parts.append(word(0, height + 10, "bound to no single hardware thread:"))
        height += 18 + -(-len(loose) // across) * (PILL + 8)
    width = max(across * (CELL + GAP), 230 if loose else 0)
    return page.inside(svg(width + 1, height + 1, parts), f"ranks on the hardware threads of {host['name']}", name)


def hosts(report):
    """Figures of the hosts that are drawn, and a sentence of those that are not."""
    shown = [host for host in report["hosts"] if host["cores"] <= MOST_CORES][:MOST_HOSTS]
    figures = []
    for number, host in enumerate(report["hosts"]):
        if host not in shown:
            continue
        ranks = [rank for rank in report["ranks"] if rank["host"] == number]
        caches = len({rank["cache"] for rank in ranks})
        told = "share a cache" if caches == 1 else f"have {caches} caches: ranks of one colour share one"
        caption = (f"{host['name']}: {counted(len(ranks), 'rank')} on {counted(host['cores'], 'hardware thread')}"
                   + (f"; they {told}." if len(ranks) > 1 else "."))
        figures.append(page.figure(host_picture(host, ranks, f"host{number}"), caption))
    left = len(report["hosts"]) - len(shown)
    note = page.paragraph(f"{counted(left, 'more host')} not drawn.", "soft") if left else ""
    return figures, note


def counted(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def hwloc():
    """hwloc's picture of this machine as SVG; None where its program is not there, or fails."""
    path = next(filter(None, map(shutil.which, HWLOC)), None)
    if path is None:
        return None
    try:
        done = subprocess.run([path, "--of", "svg", "--no-io", "--no-legend"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and "<svg" in done.stdout else None


def hwloc_figure():
    """None where there is no hwloc."""
    picture = hwloc()
    if picture is None:
        return None
    here = platform.node()
    drawn = page.inside(picture, f"packages, caches and cores of {here}", "hwloc")
    return page.figure(page.element("div", page.Piece(f'<div class="hwloc">{drawn}</div>'), class_="scroll"),
                       f"hwloc's picture of {here}, where this page was made.")


def way_between(report, one, other):
    """The name of the way from one rank's memory to another's that is used first."""
    if one["host"] != other["host"]:
        return "messages"
    host = report["hosts"][one["host"]]
    if not host["segment"]:
        return "messages"
    return next((way["access"] for way in host["ways"] if way["usable"]), "messages")


def matrix(report):
    """A square of ranks by ranks, coloured by what is used between them; None of one rank, or of too many."""
    ranks = report["ranks"]
    count = len(ranks)
    if not 2 <= count <= MOST_RANKS:
        return None
    cell, edge = max(min(36, 480 // count), 8), 34
    refused = {(report["hosts"][n]["ranks"][pair["from"]], report["hosts"][n]["ranks"][pair["to"]])
               for n, host in enumerate(report["hosts"]) for pair in host["pairs"] if pair["way"] == "kernel"}
    parts, seen = [], []
    for i, one in enumerate(ranks):
        for j, other in enumerate(ranks):
            x, y = edge + j * cell, edge + i * cell
            if i == j:
                continue
            way = way_between(report, one, other)
            if way not in seen:
                seen.append(way)
            parts.append(rectangle(x + 1, y + 1, cell - 2, cell - 2, COLOURS[way], "none", 2))
            if (one["rank"], other["rank"]) in refused:
                parts.append(word(x + cell / 2, y + cell / 2 + 4, "×", min(cell, 16), "#ffffff", "middle", "700"))
        if i % max(1, -(-14 // cell)) == 0:
            at = edge + i * cell + cell / 2
            parts += [word(edge - 6, at + 4, one["rank"], 11, anchor="end"), word(at, edge - 6, one["rank"], 11, anchor="middle")]
    parts.append(word(0, 11, "rank", 11))
    side = edge + count * cell
    for k, way in enumerate(seen):
        parts += [rectangle(side + 16, edge + 22 * k, 12, 12, COLOURS[way], "none", 2), word(side + 34, edge + 22 * k + 10.5, NAMES[way], 12, "#1c2026")]
    if refused:
        parts += [word(side + 16, edge + 22 * len(seen) + 10.5, "×", 14, "#1c2026", weight="700"),
                  word(side + 34, edge + 22 * len(seen) + 10.5, "copies by the kernel are refused", 12, "#1c2026")]
    width, height = side + 290, max(side, edge + 22 * (len(seen) + 1)) + 2
    return page.figure(page.inside(svg(width, height, parts), "what is used between every two ranks", "ways"),
                       "What is used first between two ranks, for memory that allows it.")
