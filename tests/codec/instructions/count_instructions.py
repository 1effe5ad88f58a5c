#!/usr/bin/env python3
"""Instructions of the portable kernels on 64-bit Arm beside those for AVX2, counted by emulators: these show no time.

usage: count_instructions.py ARM SYSROOT

ARM is codec_kernel_sections, and STRETTO_NATIVE_SECTIONS the same program built for x86-64; without it the status is 77. A kernel works
on one group of 1,024 values, of dense streams on 16 groups. The status is 1 where one takes more than MOST times AVX2's instructions.
"""

import os
import subprocess
import sys
import tempfile

MOST = 3
PROCESSORS = {"NEON": "neoverse-n1", "SVE": "max,sve256=on", "SVE2": "max,sve128=on,sve256=off,sve512=off"}


def instructions(emulator, processor, program, target):
    """Instructions of each section. The trace has a line for each instruction, and functions by name."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as names:
        traced = subprocess.Popen([*emulator, "-cpu", processor, "-singlestep", "-d", "exec,nochain", program, target], stdout=names, stderr=subprocess.PIPE)
        found = subprocess.run(["grep", "-n", r" section_\(begins\|ends\)$"], stdin=traced.stderr, stdout=subprocess.PIPE, text=True, check=True).stdout
        if traced.wait() != 0:
            sys.exit(f"{program} {target} on {processor}: status {traced.returncode}")
        names.seek(0)
        sections = names.read().split("\n")[:-1]
    # Both functions have some instructions: of section_begins the last counts, of section_ends the first.
    begun, counts = None, []
    for line in found.splitlines():
        number, name = int(line.partition(":")[0]), line.rpartition(" ")[2]
        if name == "section_begins":
            begun = number
        elif begun is not None:
            counts.append(number - begun - 1)
            begun = None
    if not counts or len(counts) != len(sections):
        sys.exit(f"{len(counts)} sections of {len(sections)} are in the trace of {program} {target}")
    return dict(zip(sections, counts))


def main():
    arm, sysroot = sys.argv[1:]
    native = os.environ.get("STRETTO_NATIVE_SECTIONS")
    if not native:
        print("skipped: STRETTO_NATIVE_SECTIONS names no program of x86-64")
        sys.exit(77)
    avx2 = instructions(["qemu-x86_64"], "max", native, "AVX2")
    columns = {name: instructions(["qemu-aarch64", "-L", sysroot], processor, arm, name) for name, processor in PROCESSORS.items()}
    print(f"{'instructions for 1,024 values':30}", f"{'AVX2':>7}", *(f"{name:>14}" for name in columns))
    beyond = []
    for section, count in avx2.items():
        ratios = {name: column[section] / count for name, column in columns.items()}
        print(f"{section:30}", f"{count:7}", *(f"{column[section]:7} ({ratios[name]:.2f})" for name, column in columns.items()))
        beyond += [f"{section} on {name}: {ratio:.2f}" for name, ratio in ratios.items() if ratio > MOST]
    if beyond:
        sys.exit(f"error: more than {MOST} times AVX2's instructions: " + "; ".join(beyond))


if __name__ == "__main__":
    main()
