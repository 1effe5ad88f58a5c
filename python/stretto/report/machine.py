"""The parts of a page that show a machine: who sits where, what is between ranks, what a message takes, and what is chosen when."""

from stretto import model, units
from stretto.machine import pingpong
from stretto.machine.doctor import WAYS
from stretto.machine.measuring import Measurement
from stretto.pictures import page, plots
from stretto.report import placement
from stretto.report.placement import counted

import numpy as np

ANSWERS = {"mapped": "loads and stores", "copyable": "one copy by the kernel", "staged": "two copies"}
DISTANCES = {"cache": "one cache", "socket": "one socket", "node": "one host", "network": "between hosts"}
TALLEST = 64 << 20  # bytes, the longest message of a line that is only computed
NEXT = {"doctor": "The machine could not be examined", "model": "The model did not answer"}


def where(found):
    """Hosts and the ranks on them."""
    figures, note = placement.hosts(found.doctor) if found.doctor else ([], "")
    figures += filter(None, [placement.hwloc_figure()])
    return page.section("Where ranks are", page.element("div", page.joined(*figures), class_="side-by-side"), note, name="placement") if figures else ""


def between(found):
    """What stretto uses between ranks, why, and what could be better."""
    report = found.doctor
    if not report:
        return ""
    rows = [[host["name"], WAYS.get(way["access"], way["access"]), ANSWERS[way["answer"]] if way["usable"] else "–", "yes" if way["usable"] else "no",
             way["reason"]] for host in report["hosts"] for way in host["ways"] if way["usable"] or way["access"] != "process"]
    rows += [[host["name"], "messages", "–", "yes", host["segment_reason"]] for host in report["hosts"] if not host["segment"]]
    ways = page.table("Ways to another rank's memory; the first that serves is used", ["host", "way", "gives", "serves", "why"], rows, words=(0, 1, 2, 3),
                      long=(4,))
    modules = page.table("Modules: what moves bytes between processes", ["module", "used", "why"],
                         [[one["name"], "yes" if one["used"] else "no", one["reason"]] for one in report["modules"] if one["reason"]], words=(0, 1), long=(2,))
    advice = ""
    if report.get("advice"):
        items = [page.element("li", page.joined(f"{one['host']}: " if one["host"] and len(report["hosts"]) > 1 else "",
                                                f"{one['what']}. ", page.element("span", one["how"], class_="soft"), by="")) for one in report["advice"]]
        advice = page.joined(page.element("h3", "What could be better"), page.element("ul", page.joined(*items)))
    return page.section("Ways between ranks", placement.matrix(report), ways, advice, modules, name="ways")


def observed(found):
    """A figure a placement of a ping-pong, and the lines that fit it."""
    measurement = Measurement()
    measurement.machine, measurement.regimes = found.pingpong["machine"], found.pingpong["regime"]
    series = pingpong.analyse(found.pingpong["rows"])
    placements = list(dict.fromkeys(one.placement for one in series))
    figures, rows = [], []
    for number, name in enumerate(placements):
        mine = [one for one in series if one.placement == name]
        drawn = plots.pingpong_figure(measurement, mine)
        figures.append(page.figure(page.drawn(drawn, f"times and bandwidths of messages, {name}", f"pingpong{number}"), pingpong.cache_note(mine).strip()))
        for one in mine:
            for piece, label in [(one.line, "one line"), *((piece, f"from {units.size(piece.start)}") for piece in one.ranges)]:
                rows.append([name, pingpong.BUFFERS[one.buffers], label, units.seconds(piece.alpha), units.rate(piece.bandwidth)])
    table = page.table("T = T_l + N/B, by least squares", ["placement", "buffers", "range", "latency T_l", "bandwidth B"], rows, words=(0, 1, 2))
    return [page.element("div", page.joined(*figures), class_="side-by-side"), table]


def lines_figure(links):
    """Time and bandwidth of a message by a profile's lines: no dots, as a profile keeps none."""
    sizes = np.geomspace(8, TALLEST, 300)
    with plots.style():
        figure, (times, rates) = plots.plt.subplots(1, 2, figsize=(7.9, 3.2), layout="constrained")
        for (distance, spans), colour in zip(links.items(), plots.COLOURS):
            which = np.searchsorted([span["from"] for span in spans], sizes, side="right") - 1
            seconds = np.array([spans[i]["alpha"] + n * spans[i]["beta"] for i, n in zip(np.maximum(which, 0), sizes)])
            times.plot(sizes, seconds, lw=1.4, color=colour, label="_")
            rates.plot(sizes, sizes / seconds / 1e9, lw=1.4, color=colour, label=DISTANCES.get(distance, distance))
        plots.time_axis(times, "time of a message")
        rates.set_ylabel("bandwidth, GB/s")
        rates.set_ylim(bottom=0)
        for axes in (times, rates):
            plots.size_axis(axes)
        plots.label_lines(rates, 8)
        return figure


def computed(profile):
    """The lines of a profile."""
    links = profile["links"]
    rows = [[DISTANCES.get(distance, distance), units.size(span["from"]), units.seconds(span["alpha"]), units.per_byte(span["beta"])]
            for distance, spans in links.items() for span in spans]
    table = page.table("Lines of the profile: a message of n bytes takes α + n β", ["link", "from", "α", "1/β"], rows)
    return [page.figure(page.drawn(lines_figure(links), "times and bandwidths of messages by the profile", "links")), table]


def messages(found, profile):
    if found.pingpong:
        pieces = observed(found)
    elif profile and profile.get("links"):
        measured = profile["name"] != "built-in"
        told = page.joined(f"From the profile {profile['name']}: {profile.get('source', 'no source is named')}. ",
                           page.element("code", "stretto bench pingpong --json"),
                           " measures, and this command draws what it wrote.", by="")
        pieces = [page.paragraph(told, None if measured else "note"), *computed(profile)]
    else:
        return ""
    return page.section("What a message takes", *pieces, name="messages")


def choice(answers):
    """Figures of what the model chooses at every size, and the sizes where the choice changes."""
    if not answers:
        return ""
    figures, rows = [], []
    for number, answer in enumerate(answers):
        question = answer["question"]
        what = f"{question['collective']}{', compressed' if question['compress'] else ''}"
        drawn = page.drawn(plots.explain_figure(answer, (5.5, 4)), f"predicted times of {what}", f"choice{number}")
        figures.append(page.figure(drawn))
        rows += [[what, f"{units.size(one['below'])} and {units.size(one['above'])}", one["from"], one["to"]] for one in answer["crossovers"]]
        if not answer["crossovers"]:
            rows.append([what, "–", answer["sweep"][-1]["taken"], "at every size"])
    told = [f"Predicted on {answers[0]['ranks']} ranks, {answers[0]['per_node']} a node, by the profile {model.machine(answers[0])}."]
    if any(answer["question"]["compress"] and answer["question"]["ratio_assumed"] for answer in answers):
        told.append("The ratio of compressed calls is assumed.")
    table = page.table("How the choice changes with the size", ["collective", "between", "from", "to"], rows, words=(0, 1, 2, 3))
    return page.section("What is chosen", page.paragraph(" ".join(told)), page.element("div", page.joined(*figures), class_="side-by-side"), table, name="choice")


def missing(found):
    """What could not be had, and why."""
    said = dict(found.refused)
    return page.joined(*(page.paragraph(f"{NEXT[kind]}: {why}", "note") for kind, why in said.items()))


def merit(found):
    """(name, figure) of what a machine is, in a line each."""
    report = found.doctor
    if not report:
        return []
    ways = list(dict.fromkeys(placement.way_between(report, one, other) for one in report["ranks"] for other in report["ranks"] if one is not other))
    first = min(ways, key=list(placement.NAMES).index) if ways else None
    return [("examined", f"{counted(len(report['ranks']), 'rank')} on {counted(len(report['hosts']), 'host')}"), ("messages by", report["mpi"]),
            ("codec", f"{report['hosts'][0]['codec']['kernels']} kernels"),
            *([("ranks of a host share memory by",
                {"arena": "the arena", "xpmem": "XPMEM", "kernel": "the kernel", "staged": "slots"}.get(first, first))] if first else [])]
