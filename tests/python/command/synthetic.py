"""Events of a stretto-measure that never ran: a machine whose figures are known."""

import json

MACHINE = {"event": "machine", "version": 1, "host": "made-up", "carrier": "mpi", "library": "Open MPI 5.0.11", "profile": "unused.json", "ranks": 4,
           "hosts": 2, "cores": 8, "cache": 32 << 20}
SIZES = [0] + [2**k for k in range(25)]


def message(distance, size):
    """Seconds: two protocol ranges, a network ten times slower."""
    slower = 10 if distance == "network" else 1
    return slower * (3e-7 + size * 4e-10 if size < 4096 else 2e-6 + size * 2e-10)


def pingpong_rows():
    rows = []
    for buffers, gain in (("reused", 4), ("rotated", 1)):
        for size in SIZES:
            seconds = message("cache", size) / (gain if 4096 <= size < MACHINE["cache"] / 8 else 1)
            rows.append({"event": "row", "part": "pingpong", "placement": "cache", "distance": "cache", "buffers": buffers,
                         "bytes": size, "seconds": seconds, "mean": seconds, "least": seconds, "samples": 9})
    return rows


def events():
    """Of all that `stretto tune` asks for."""
    made = [MACHINE, {"event": "regime", "when": "before", "regime": "near", "round_trip": 1.3e-7},
            *({"event": "share", "after": part, "share": 0.99} for part in ("", "links", "codec", "local", "engine", "native", "device"))]
    row = {"event": "row", "part": "links"}
    for distance in ("cache", "network"):
        made += [{**row, "placement": distance, "distance": distance, "buffers": "rotated", "bytes": size,
                  "seconds": message(distance, size)} for size in SIZES]
        made.append({**row, "placement": distance, "distance": distance, "what": "duplex", "bytes": 1 << 20, "one_way": 1e-4,
                     "both_ways": 1.1e-4})
    made += [{**row, "placement": "network", "distance": "network", "what": "stream", "bytes": size, "seconds": 1e-9 * size, "samples": 3}
             for size in SIZES if 256 <= size <= 1 << 18]
    made.append({**row, "placement": "network", "distance": "network", "what": "cores", "byte": 1e-10, "message": 2e-7})
    made.append({**row, "what": "concurrent", "bytes": 1 << 21, "pairs": 2, "alone": 1e-3, "together": 1.9e-3})
    for kind in ("f32", "f64", "dense_f32", "dense_f64"):
        for data, ratio, slope in (("walk 1e-04", 9.0, 1e-10), ("normal 1e-03", 3.0, 2e-10)):
            for factor, operation in enumerate(("compress", "decompress", "add", "fused"), 1):
                made += [{"event": "row", "part": "codec", "type": kind, "data": data, "ratio": ratio, "operation": operation,
                          "bytes": size, "busy": busy, "seconds": 5e-7 + busy * factor * slope * size}
                         for size in (4096, 65536, 1 << 20) for busy in (1, 2)]
    made += [{"event": "row", "part": "local", "operation": operation, "bytes": 1 << 18, "busy": busy, "seconds": seconds * busy}
             for operation, seconds in (("gamma", 2e-5), ("copy", 1e-5)) for busy in (1, 2)]
    made += [{"event": "row", "part": "engine", "operation": "step", "seconds": 5e-7},
             {"event": "row", "part": "engine", "operation": "agreement", "seconds": 3e-6}]
    made += [{"event": "row", "part": "native", "collective": "allreduce", "bytes": size, "seconds": 1e-6 + size * 1e-9}
             for size in (1024, 8)]
    made += [{"event": "row", "part": "native", "collective": "barrier", "bytes": 0, "seconds": 1e-6},
             {"event": "row", "part": "device", "device": "none", "reason": "no libcuda.so.1"},
             {"event": "regime", "when": "after", "regime": "far", "round_trip": 4.6e-7}, {"event": "end", "seconds": 12.5}]
    return made


def lines():
    return "".join(json.dumps(event) + "\n" for event in events())
