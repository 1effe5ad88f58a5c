#!/usr/bin/env python3
"""Prints the rows of bench_gpu_peer as a table: by field and bound a line each codec, and its means over all of them of a size.

usage: gpu_peer_table.py ROWS.jsonl
GB/s of original data: what the device does, and after the slash the peer's own function. "error": the largest, in bounds.
"beyond": values whose error exceeds the bound, a NaN that became a number among them.
"""

import json
import math
import sys


def read(path):
    for line in open(path, encoding="utf-8"):
        try:
            yield json.loads(line)
        except ValueError:  # a run that ended within a line
            continue


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def call_gbs(row):
    return row["bytes"] / row["us_call"] * 1e-3 if "us_call" in row else None


def cell(rows, take_call):
    gbs = f"{mean([row['gbs'] for row in rows]):.0f}"
    return f"{gbs} / {mean([call_gbs(row) for row in rows]):.0f}" if take_call else gbs


def line(start, ops):
    """`ops`: rows of each operation, the same cases in both."""
    take_call = "us_call" in ops["compress"][0]
    return (start + "".join(f"{cell(ops[op], take_call):>13}" for op in ("compress", "decompress")) +
            f"{mean([row['ratio'] for row in ops['compress']]):>8.2f}")


def main():
    cases, codecs = {}, {}
    for row in read(sys.argv[1]):
        if row.get("bench") != "gpu_peer":
            continue
        codec = f"{row['codec']} {row['mode']}".strip()
        cases.setdefault((row["field"], row["rel"], row["bytes"], codec), {})[row["op"]] = [row]
    cases = {case: ops for case, ops in cases.items() if len(ops) == 2}
    if not cases:
        sys.exit("no codec was timed")
    print(f"{'field':<30}{'bound':>8}{'MB':>6}  {'codec':<15}{'compress':>13}{'decompress':>13}{'ratio':>8}{'error':>13}{'beyond':>10}")
    for (field, rel, size, codec), ops in cases.items():
        error = ops["compress"][0]["max_error_over_bound"]
        print(line(f"{field:<30}{rel:>8g}{size >> 20:>6}  {codec:<15}", ops) +
              (f"{error:>13.7g}" if error is not None else f"{'inf':>13}") + f"{ops['compress'][0]['beyond_bound']:>10}")
        for op, rows in ops.items():
            codecs.setdefault((size, codec), {}).setdefault(op, []).extend(rows)
    for (size, codec), ops in codecs.items():
        print(line(f"{'all, geometric mean':<38}{size >> 20:>6}  {codec:<15}", ops))


if __name__ == "__main__":
    main()
