#!/usr/bin/env python3
"""Prints the innermost loops of a kernel's machine code: instructions, and those that move data or wait.

usage: instructions.py KERNEL.cubin [--nvdisasm NVDISASM]

The file is what `nvcc -cubin` makes (registers.py says with which flags); nvdisasm comes with CUDA, or from PyPI as
nvidia-cuda-nvdisasm. A branch that data rarely take is counted as if it were taken: read such loops in nvdisasm's listing.
"""

import argparse
import collections
import re
import subprocess

LABEL = re.compile(r"(\.L\w+):")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,6})\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*?);")
TARGET = re.compile(r"`\((\.L\w+)\)")
MOVES = re.compile(r"(LD|ST|ATOM|RED|SHFL|VOTE|BAR|MUFU|MEMBAR|F2F|F2I|I2F|D[AFMS])")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubin")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    arguments = parser.parse_args()
    text = subprocess.run([arguments.nvdisasm, "-c", arguments.cubin], check=True, capture_output=True, text=True).stdout
    code, labels, loops = [], {}, []
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(code)
        elif found := INSTRUCTION.match(line):
            code.append(found.groups())
            target = TARGET.search(found[3]) if found[2].startswith("BRA") else None
            if target and target[1] in labels:
                loops.append((labels[target[1]], len(code)))
    print(f"{len(code)} instructions")
    for begin, end in loops:
        if any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops):
            continue
        mix = collections.Counter(name for _, name, _ in code[begin:end] if MOVES.match(name))
        print(f"{code[begin][0]}: {end - begin:5}  " + "  ".join(f"{name} {n}" for name, n in mix.most_common()))


if __name__ == "__main__":
    main()
