"""Whether a measurement can be believed (docs/command.md): what the ranks had of their cores, and figures that no undisturbed machine shows."""

from stretto import units

SHARE = 0.9  # of its core that each rank must have had before and after a part
FALL = 3  # times that a short call may take of a longer one's time
SCATTER = 5  # times that the median may be of the least sample
SHORT = 20e-6  # seconds; below it one interrupt falls or scatters as much
GROUP = {"f32": 4096, "f64": 8192, "dense_f32": 4096, "dense_f64": 8192}  # bytes of a codec's group; a shorter one is the scalar code's (docs/codec.md), slower than several whole ones
STEP = 1e-4  # seconds that a step of the engine may take beside its bytes

GROUPS = {"links": ("placement", "buffers", "what"), "codec": ("type", "data", "operation", "busy"), "native": ("collective",), "node": ("collective",)}


def falling(rows, keys):
    """Of rows that differ in nothing but their bytes, those that take far longer than the next longer one."""
    groups = {}
    for row in rows:
        if "bytes" in row and "seconds" in row:
            groups.setdefault(tuple(row[key] for key in keys if key in row), []).append(row)
    for name, mine in groups.items():
        mine.sort(key=lambda row: row["bytes"])
        for row, longer in zip(mine, mine[1:]):
            if row["seconds"] > SHORT and row["seconds"] > FALL * longer["seconds"]:
                yield (f"{' '.join(map(str, name))} of {units.size(row['bytes'])} took {units.seconds(row['seconds'])}, "
                       f"of {units.size(longer['bytes'])} {units.seconds(longer['seconds'])}")


def scattering(rows, keys):
    for row in rows:
        if row.get("seconds", 0) > SHORT and row["seconds"] > SCATTER * row.get("least", row["seconds"]):
            yield (f"{' '.join(str(row[key]) for key in keys if key in row)} of {units.size(row['bytes'])} took {units.seconds(row['least'])} "
                   f"to {units.seconds(row['seconds'])} and more")


def doubts(measurement):
    """What is implausible, by part. Ranks that share cores wait for each other as they would for other programs: of them only the share is judged."""
    found = {}
    for part in measurement.rows:
        share = measurement.shares.get(part, 1)
        texts = [f"the ranks had {share:.0%} of their cores"] if share < SHARE else []
        if not measurement.crowded():
            keys = GROUPS.get(part, ())
            if keys:
                rows = [row for row in measurement.of(part) if part != "codec" or row.get("bytes", 0) >= GROUP.get(row.get("type"), 0)]
                # Between hosts the least sample may be one that a shaped port, or a cloud, let pass at full speed.
                between = part == "native" and measurement.machine["hosts"] > 1
                inside = [row for row in rows if not between and row.get("distance") != "network"]
                texts += [*falling(rows, keys), *scattering(inside, keys)]
            texts += [f"a step of the engine took {units.seconds(row['seconds'])}"
                      for row in measurement.of("engine", operation="step") if part == "engine" and row["seconds"] > STEP]
        if texts:
            found[part] = texts
    return found


def lines(found):
    """One a doubt, with its part."""
    return [f"{part}: {text}" for part, texts in found.items() for text in texts]
