#!/usr/bin/env python3
"""Prints the rows of bench_gpu as tables: by field at one size, then by field and size; a column an operation.

usage: gpu_table.py ROWS.jsonl
A cell: GB/s of original data / fraction of the copy bandwidth, for the bytes that the operation must move.
"""

import json
import sys

OPERATIONS = ["compress", "decompress", "mean", "add", "add_values", "quantise", "add_codes", "min", "to_dense", "to_fixed", "range"]


def size(n):
    for unit in ("B", "KB", "MB"):
        if n < 1024:
            return f"{n} {unit}"
        n //= 1024
    return f"{n} GB"


def main():
    rows = []
    for line in open(sys.argv[1], encoding="utf-8"):
        try:
            rows.append(json.loads(line))
        except ValueError:  # a run that ended within a line
            continue
    cases = {}
    for row in rows:
        if row.get("op") in OPERATIONS:
            cases.setdefault((row["field"], row["rel"], row["bytes"], row["ratio"]), {})[row["op"]] = row
        else:
            print("  ".join(f"{key} {value}" for key, value in row.items()))
    if not cases:
        sys.exit("no operation was timed")
    print(f"{'field':<28}{'bound':>7}{'size':>8}{'ratio':>7}" + "".join(f"{op:>15}" for op in OPERATIONS))
    for (field, rel, n, ratio), ops in cases.items():
        cells = (f"{ops[op]['gbs']:.0f} / {ops[op]['of_copy']:.2f}" if op in ops else "-" for op in OPERATIONS)
        print(f"{field:<28}{rel:>7g}{size(n):>8}{ratio:>7.1f}" + "".join(f"{cell:>15}" for cell in cells))


if __name__ == "__main__":
    main()
