#!/usr/bin/env python3
"""Checks that includes go downward only: a file of src/ includes headers of its own floor and of the floors it may use, and
programs include nothing of the folders that use them.

usage: check_floors.py [ROOT]    prints each include that climbs, as FILE:LINE, and exits 1 when there is one.
"""

import os
import pathlib
import re
import sys

# The floors that each floor may include. Each also includes itself, and `base` is below all.
USES = {
    "base": set(),
    "codec": set(),
    "schedule": set(),
    "topology": set(),
    "carrier": set(),
    "payload": {"codec"},
    "device": {"payload", "codec"},
    "node": {"topology", "carrier", "schedule", "payload", "codec"},
    "model": {"schedule", "topology", "payload", "codec"},
    "engine": {"schedule", "device", "payload", "carrier", "codec"},
    "call": {"schedule", "payload", "codec"},
    "select": {"call", "model", "schedule", "topology", "payload", "codec"},
    "backend": {"select", "call", "engine", "device", "node", "schedule", "payload", "carrier", "codec"},
    "api": {"backend", "select", "call", "engine", "device", "node", "model", "schedule", "payload", "carrier", "codec", "topology"},
    "modules": {"backend", "call", "carrier", "node", "payload", "schedule"},
    "mpi": {"modules", "api", "backend", "call", "carrier"},
}
# Above src/: the folders of which a folder's files include nothing.
ABOVE = {"src": {"timing", "apps", "bench", "tests"}, "timing": {"apps", "bench", "tests"}, "apps": {"bench", "tests"}, "bench": {"tests"}}
FACES = {("mpi", "api"): "api/profiling.hpp"}  # the one header that a floor sees of another
PUBLIC = {"call", "select", "backend", "api", "modules", "mpi"}  # know the contract
GROUND = {"codec", "schedule", "topology"}  # know nothing of MPI
SOURCES = {".cpp", ".hpp", ".c", ".h", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<open>["<])(?P<path>[^">]+)[">]')


def climbing(root):
    """Yields (file, line number, what is wrong)."""
    src = root / "src"
    for file in sorted(src.rglob("*")):
        if file.suffix not in SOURCES:
            continue
        floor = file.relative_to(src).parts[0]
        if floor not in USES:
            yield file, 1, f"src/{floor} is no floor that check_floors.py knows"
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            path = match["path"]
            if floor in GROUND and path == "mpi.h":
                yield file, number, f"{floor} knows nothing of MPI"
            if match["open"] == "<":
                continue
            if ".." in path.split("/"):
                yield file, number, f'"{path}" is relative; name it from src/'
            target = path.split("/")[0]
            if target == "stretto" and floor not in PUBLIC:
                yield file, number, f'{floor} includes the public "{path}"'
            if target in USES and target not in USES[floor] | {floor, "base"}:
                yield file, number, f'{floor} includes "{path}", which is not below it'
            if FACES.get((floor, target), path) != path:
                yield file, number, f'{floor} includes "{path}", and may include "{FACES[floor, target]}" alone'


def folder_of(path, file, root):
    """The top folder of an included path, which may climb by dots from its file."""
    if ".." in path.split("/"):
        path = os.path.relpath(os.path.normpath(file.parent / path), root)
    return path.split("/")[0]


def from_above(root):
    """Yields (file, line number, what is wrong)."""
    for room, above in ABOVE.items():
        for file in sorted(f for f in (root / room).rglob("*") if f.suffix in SOURCES):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if match and folder_of(match["path"], file, root) in above:
                    yield file, number, f'{room} includes "{match["path"]}", which is above it'


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    if not (root / "src").is_dir():
        sys.exit(f"{root} has no src/")
    found = [*climbing(root), *from_above(root)]
    for file, number, what in found:
        print(f"{file.relative_to(root)}:{number}: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
