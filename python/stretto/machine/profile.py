"""Machine profiles (docs/command.md): made from a measurement, merged with a former one, written and read."""

import datetime
import json
import math
import pathlib

from stretto import files
from stretto.machine import fit, quality
from stretto.errors import Failure

VERSION = 1
CODECS = ("f32", "f64", "dense_f32", "dense_f64")
DISTANCES = ("cache", "socket", "node", "network")
MESSAGES = ("ranks", "hosts", "links", "short_calls", "full_duplex", "nics", "step", "agreement")  # what depends on the carrier
COLLECTIVES = {"natives": "native", "node": "node"}  # the part of the measurement, by key of the profile
SHORT_CALL = 16 << 10  # bytes, as of the library
SHAPED = 1.25  # a message in a row takes so many times half a round trip: a port's burst passed the latter
LINK = 0.1  # of a message's time between hosts, at least, is the link's
DUPLEX = 1.5  # both ways at once within this much of one way: full duplex


def rounded(value, digits=4):
    """Figures are not known to more digits than that."""
    return float(f"{value:.{digits - 1}e}")


def core_times(rows, cores):
    """Seconds a message and a byte of a core at either end, from the row of the probe (`cores`): half of the time of a message at most."""
    if not cores:
        return 0.0, 0.0
    each = min(cores[0]["message"], *(row["seconds"] / 2 for row in rows))
    longest = max(rows, key=lambda row: row["bytes"])
    return each, min(cores[0]["byte"], longest["seconds"] / 2 / max(longest["bytes"], 1))


def link(rows, distance, streams=(), cores=()):
    """Ranges of one kind of link: half a round trip, or the time of a message in a row of them (`streams`) where that is longer. Inside a host
    the processor copies. Between hosts the cores' own times (`cores`) are left out of a round trip, which waits for them; in a row they overlap."""
    in_a_row = {row["bytes"]: row["seconds"] for row in streams}
    each, byte = core_times(rows, cores)
    points = sorted((row["bytes"], max(row["seconds"] - 2 * (each + row["bytes"] * byte), LINK * row["seconds"], in_a_row.get(row["bytes"], 0)))
                    for row in rows)
    lines = fit.segmented(*zip(*points))
    ranges = []
    for piece in lines:
        span = {"from": int(piece.start), "alpha": rounded(piece.alpha), "beta": rounded(piece.beta)}
        if distance != "network":
            span["cpu"] = span["beta"]
        elif cores:
            span |= {"cpu": rounded(byte), "cpu_message": rounded(each)}
        ranges.append(span)
    return ranges


def links(measurement):
    """By distance; where two placements have the same, the one that is not two threads of a core."""
    found = {}
    for distance in DISTANCES:
        rows = [row for row in measurement.of("links", distance=distance) if "buffers" in row]
        streams = measurement.of("links", distance=distance, what="stream")
        cores = measurement.of("links", distance=distance, what="cores")
        for placement in dict.fromkeys(row["placement"] for row in rows):
            if placement != "core" or distance not in found:
                found[distance] = link([row for row in rows if row["placement"] == placement], distance, streams, cores)
    return found


def short_calls(measurement):
    """Ranges between hosts by half round trips alone, where a shaped port passes short ones in its burst; else None. The MPI's own short calls
    were measured with pauses, so in bursts, too."""
    streams = measurement.of("links", distance="network", what="stream")
    rows = [row for row in measurement.of("links", distance="network") if "buffers" in row and row["bytes"] <= SHORT_CALL]
    alone = {row["bytes"]: row["seconds"] for row in rows}
    shaped = [row for row in streams if row["seconds"] > SHAPED * alone.get(row["bytes"], math.inf)]
    if len(shaped) < 2:  # one may be a disturbance
        return None
    return link(rows, "network", cores=measurement.of("links", distance="network", what="cores"))


def codec(measurement, kind):
    """Costs by ratio, of all cores at work where that was measured."""
    rows = measurement.of("codec", type=kind)
    busy = max((row["busy"] for row in rows), default=1)
    rows = [row for row in rows if row["busy"] == busy]
    costs = []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == data]
        points = {}
        for row in mine:
            points.setdefault(row["operation"], []).append((row["bytes"], row["seconds"]))
        call, slopes = fit.common_constant(points)
        ratio = max(mine, key=lambda row: row["bytes"])["ratio"]
        costs.append({"ratio": rounded(ratio), "call": rounded(call), **{name: rounded(slopes[name]) for name in slopes}})
    costs.sort(key=lambda cost: cost["ratio"])
    return [cost for i, cost in enumerate(costs) if i == 0 or cost["ratio"] > costs[i - 1]["ratio"]]


def collectives(measurement, part):
    machine, found = measurement.machine, {}
    for row in measurement.of(part):
        found.setdefault(row["collective"], []).append([row["bytes"], rounded(row["seconds"])])
    return [{"collective": name, "ranks": machine["ranks"], "hosts": machine["hosts"], "points": sorted(points)}
            for name, points in found.items()]


def switch(rows, upwards):
    """The length that parts two protocols with the least loss over all that was measured: the last that the shorter's serves, or upwards the
    first that the longer's does (twice the longest measured: none)."""
    rows = sorted(rows, key=lambda row: row["bytes"])
    served = min(range(len(rows) + 1), key=lambda k: sum(math.log(row["shorter"]) for row in rows[:k])
                 + sum(math.log(row["longer"]) for row in rows[k:]))
    if upwards:
        return rows[served]["bytes"] if served < len(rows) else 2 * rows[-1]["bytes"]
    return rows[served - 1]["bytes"] if served else 0


def switches(measurement):
    """Of ranks of one node; nothing where it was not measured. Lengths that took no time beside the rewriting of their values tell nothing."""
    rows = [row for row in measurement.of("switches") if row["shorter"] > 0 and row["longer"] > 0]
    found = {name: switch([row for row in rows if row["switch"] == name], upwards=name == "kernel")
             for name in dict.fromkeys(row["switch"] for row in rows)}
    return [{"ranks": measurement.machine["ranks"], **found}] if found else []


def busiest(rows):
    """Seconds a byte, of all cores at work where that was measured."""
    row = max(rows, key=lambda row: row["busy"])
    return rounded(row["seconds"] / row["bytes"])


def messages(measurement):
    """What depends on the carrier, of the one that was measured."""
    machine = measurement.machine
    found = {"ranks": machine["ranks"], "hosts": machine["hosts"], "links": links(measurement)}
    if (short := short_calls(measurement)) is not None:
        found["short_calls"] = short
    duplex = measurement.of("links", what="duplex")
    if duplex:
        found["full_duplex"] = duplex[-1]["both_ways"] < DUPLEX * duplex[-1]["one_way"]  # of the farthest
    for row in measurement.of("links", what="concurrent"):
        # Rounded down but for a quarter: what shares a card is slower than it, seldom faster.
        found["nics"] = min(max(int(row["pairs"] * row["alone"] / row["together"] + 0.25), 1), row["pairs"])
    for key in ("step", "agreement"):
        found[key] = rounded(measurement.of("engine", operation=key)[0]["seconds"])
    return found


def from_measurement(measurement):
    machine = measurement.machine
    if machine["version"] != VERSION:
        raise Failure(f"stretto-measure measures for profiles of version {machine['version']}, this command writes version {VERSION}; "
                      "they are of different releases")
    day = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    profile = {
        "version": VERSION,
        "name": machine["host"],
        "source": f"stretto tune, {day}: {measurement.where()}, cores {measurement.regime()}",
        "cores": machine["cores"],
    }
    if measurement.over_ucx():
        profile["ucx"] = {"library": machine["library"], **messages(measurement)}
    else:
        profile.update({"mpi": machine["library"], **messages(measurement)})
    for key in ("gamma", "copy"):
        profile[key] = busiest(measurement.of("local", operation=key))
    profile["codec"] = {kind: codec(measurement, kind) for kind in CODECS}
    for key, part in COLLECTIVES.items():
        profile[key] = collectives(measurement, part)
    profile["switches"] = switches(measurement)
    for row in measurement.of("device"):
        if "launch" in row and "to_device" in row:
            profile["device"] = {"launch": rounded(row["launch"]), "staging": rounded((row["to_device"] + row["to_host"]) / 2)}
    profile["quality"] = {"share": rounded(min(measurement.shares.values(), default=1)), "repeated": measurement.repeated,
                          "doubts": quality.lines(quality.doubts(measurement))}
    profile["regime"] = {when: event["round_trip"] for when, event in measurement.regimes.items()}  # a note: no key of the format
    return profile


def merge_messages(old, new):
    """`new`, with links of other distances, and cards, that only `old` knows."""
    links_of_both = {**old.get("links", {}), **new["links"]}
    merged = {**new, "links": {name: links_of_both[name] for name in DISTANCES if name in links_of_both}}
    if "nics" in old and "nics" not in new:
        merged["nics"] = old["nics"]
    if "short_calls" in old and "network" not in new["links"]:
        merged["short_calls"] = old["short_calls"]
    return merged


def merge(old, new):
    """`new`, with what only `old` knows: links of other distances, collectives and switches on other numbers of ranks or hosts, and what
    was measured over the other carrier."""
    if "ucx" in new:
        merged = {**new, "ucx": merge_messages(old.get("ucx", {}), new["ucx"]), **{key: old[key] for key in ("mpi", *MESSAGES) if key in old}}
    else:
        merged = {**merge_messages(old, new), **{key: old[key] for key in ("ucx",) if key in old}}
    for key in COLLECTIVES:
        known = {(entry["collective"], entry["ranks"], entry["hosts"]) for entry in new[key]}
        merged[key] = new[key] + [entry for entry in old.get(key, [])
                                  if (entry["collective"], entry["ranks"], entry["hosts"]) not in known]
    known = {entry["ranks"] for entry in new["switches"]}
    merged["switches"] = new["switches"] + [entry for entry in old.get("switches", []) if entry["ranks"] not in known]
    if "device" in old and "device" not in new:
        merged["device"] = old["device"]
    return merged


def without_twins(pairs, path):
    """One object of JSON; a key that stands twice in it is refused, as the library does."""
    found = {}
    for key, value in pairs:
        if key in found:
            raise Failure(f"profile {path}: {key} stands twice in one object")
        found[key] = value
    return found


def read(path):
    """The profile in a file; a Failure says what is wrong with it."""
    try:
        profile = json.loads(files.read(path, "profile").decode("utf-8"), object_pairs_hook=lambda pairs: without_twins(pairs, path))
    except (ValueError, RecursionError) as error:
        raise Failure(f"profile {path} is not JSON: {error}") from None
    version = profile.get("version") if isinstance(profile, dict) else None
    if version != VERSION:
        raise Failure(f"profile {path} is of version {version}, this stretto reads version {VERSION}; measure again (stretto tune), "
                      "or use the release that wrote it")
    return profile


def write(profile, path):
    """Whole or not at all."""
    path = pathlib.Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, json.dumps(profile, indent=1) + "\n")
    except OSError as error:
        raise Failure(f"cannot write the profile {path}: {error.strerror}") from None
