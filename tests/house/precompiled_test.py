#!/usr/bin/env python3
"""Every file has the level of optimisation of the headers that were precompiled for it; GCC 14 does not take them otherwise. usage:
precompiled_test.py compile_commands.json; skipped where no headers are precompiled"""

import json
import pathlib
import re
import sys

commands = pathlib.Path(sys.argv[1])
levels = {}  # of each precompiled header: the levels of its own compilation and of those that take it
for entry in json.loads(commands.read_text(encoding="utf-8")) if commands.exists() else ():
    for header in re.findall(r"-include (\S+/cmake_pch\.hxx)", entry["command"]):
        level = re.findall(r" (-O\w*)", entry["command"])[-1:]
        levels.setdefault(header, {}).setdefault(" ".join(level), []).append(entry["file"])
if not levels:
    print("no headers are precompiled in this build")
    sys.exit(77)
failed = {header: {level: files[:3] for level, files in by_level.items()} for header, by_level in levels.items() if len(by_level) > 1}
print(f"{len(levels)} headers of {sum(len(files) for by_level in levels.values() for files in by_level.values())} files")
sys.exit(json.dumps(failed, indent=2) if failed else 0)
