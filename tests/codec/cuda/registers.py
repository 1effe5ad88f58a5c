#!/usr/bin/env python3
"""Reads off the compiler's report that kernels keep all in registers: no stack in local memory, no spills.

usage: registers.py --nvcc NVCC [--architecture 90] [--type float|double|both] [--all]

Compiles compress, decompress, add and add_values (with --all every kernel) to machine code and prints a line for each;
exits 1 if one has a stack or spills, or is missing. Needs no GPU.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
KERNELS = ROOT / "src/codec/cuda/kernels"
FOUR = ["compress", "decompress", "add", "add_values"]
FLAGS = ["-std=c++20", "-O3", "-fmad=false", "--expt-relaxed-constexpr", f"-I{ROOT / 'src'}"]
ENTRY = re.compile(
    r"Compiling entry function '(?P<name>\S+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers.*?(?P<shared>\d+) bytes smem",
    re.S,
)
OPERATION = re.compile(r"kernelI(?P<type>[fd])NS1_\d+(?P<op>[A-Z][A-Za-z]+)I")


def report(arguments, source):
    """The kernels of a source: (operation, type, registers, shared memory, stack, spill stores, spill loads)."""
    with tempfile.TemporaryDirectory() as folder:
        code = f"arch=compute_{arguments.architecture},code=sm_{arguments.architecture}"
        command = [arguments.nvcc, *FLAGS, "-gencode", code,
                   "-Xptxas", "-v", "-cubin", str(KERNELS / f"{source}.cu"), "-o", f"{folder}/out.cubin"]
        if arguments.type != "both":
            # One type alone compiles in half the time: the other's instantiations are left out of a copy.
            text = (KERNELS / f"{source}.cu").read_text()
            other = "double" if arguments.type == "float" else "float"
            kept = "".join(l for l in text.splitlines(True) if not re.match(rf"template int \w+<{other}>", l))
            copy = pathlib.Path(folder, f"{source}.cu")
            copy.write_text(kept)
            command[command.index(str(KERNELS / f"{source}.cu"))] = str(copy)
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"nvcc failed on {source}.cu:\n{done.stderr}")
    rows = []
    for m in ENTRY.finditer(done.stderr):
        name = OPERATION.search(m["name"])
        kind = {"f": "float", "d": "double"}[name["type"]]
        rows.append((name["op"], kind, *(int(m[k]) for k in ("registers", "shared", "stack", "stores", "loads"))))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--architecture", default="90")
    parser.add_argument("--type", choices=["float", "double", "both"], default="both")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    sources = FOUR + (["select", "values"] if arguments.all else [])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [row for rows in pool.map(lambda s: report(arguments, s), sources) for row in rows]
    wrong = 0
    print(f"{'kernel':<12}{'type':<8}{'registers':>10}{'shared':>8}{'stack':>7}{'spills':>8}   sm_{arguments.architecture}")
    for op, kind, registers, shared, stack, stores, loads in found:
        wrong += stack + stores + loads > 0
        print(f"{op:<12}{kind:<8}{registers:>10}{shared:>8}{stack:>7}{stores + loads:>8}")
    expected = len(FOUR) * (2 if arguments.type == "both" else 1)
    if sum(row[0] in ("Compress", "Decompress", "AddStreams", "AddValues") for row in found) != expected:
        sys.exit(f"{expected} kernels were expected in the report")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
