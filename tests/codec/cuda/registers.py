#!/usr/bin/env python3
"""Reads off the compiler's reports that kernels keep all in registers: no stack in local memory, no spills.

Sums are left out of that: what is rare in them are functions of their own, which need a stack, and a few spills cost
less than a warp fewer (docs/gpu.md).

usage: registers.py DIRECTORY ARCHITECTURE...

DIRECTORY is where a build keeps the plugin's objects, each with its report: cuda after `make gpu`, cuda-test (one
architecture) after `make test`. Prints a line for every kernel, type and architecture; exits 1 if one has a stack or
spills, or is missing. Needs no GPU.
"""

import pathlib
import re
import sys

OPERATIONS = {"Compress": "compress", "Decompress": "decompress", "AddStreams": "add", "AddValues": "add_values",
              "Select": "select", "Quantise": "values", "Range": "values", "ToDense": "dense", "ToFixed": "dense"}
SPILLING = {"AddStreams", "AddValues"}
ENTRY = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\d+)\w*'")
FUNCTION = re.compile(r"Function properties for (\S+)")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers.*?(\d+) bytes smem")
OPERATION = re.compile(r"kernelI(?P<type>[fd])NS1?_(?:5dense)?\d+(?P<op>[A-Z][A-Za-z]+)I")


def read(text, name):
    """A report's rows: {(operation, type, architecture): {registers, shared, stack, spills}}."""
    rows, row, entry, function = {}, None, None, ""
    for line in text.splitlines():
        if found := FUNCTION.search(line):
            function = found[1]
        elif found := ENTRY.search(line):
            entry = found
            kernel = OPERATION.search(entry[1])
            if not kernel:
                sys.exit(f"{name}: the kernel {entry[1]} is not known")
            row = rows.setdefault((kernel["op"], {"f": "float", "d": "double"}[kernel["type"]], int(entry[2])), {})
        elif row is not None and function == entry[1] and (found := STACK.search(line)):
            if "stack" in row:
                sys.exit(f"{name}: two compilers wrote at once; remove the object beside it, and build again")
            row["stack"], row["spills"] = int(found[1]), int(found[2]) + int(found[3])
        elif row is not None and (found := USED.search(line)):
            row["registers"], row["shared"] = int(found[1]), int(found[2])
    for key, row in rows.items():
        if len(row) != 4:
            sys.exit(f"{name}: of {key} only {row} is said")
    return rows


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, architectures = pathlib.Path(sys.argv[1]), [int(a) for a in sys.argv[2:]]
    rows = {}
    for source in sorted(set(OPERATIONS.values())):
        file = folder / f"{source}.o.report"
        if not file.exists():
            sys.exit(f"{file} is missing: building the plugin writes it")
        rows |= read(file.read_text(), file)
    wrong = 0
    print(f"{'kernel':<12}{'type':<8}{'sm':>4}{'registers':>11}{'shared':>8}{'stack':>7}{'spills':>8}")
    for op in OPERATIONS:
        for kind in ("float", "double"):
            for architecture in architectures:
                row = rows.get((op, kind, architecture))
                if row is None:
                    sys.exit(f"{op} for {kind} on sm_{architecture} is missing in the reports")
                wrong += op not in SPILLING and row["stack"] + row["spills"] > 0
                print(f"{op:<12}{kind:<8}{architecture:>4}{row['registers']:>11}{row['shared']:>8}{row['stack']:>7}{row['spills']:>8}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
