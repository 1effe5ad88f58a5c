#!/usr/bin/env python3
"""The NCCL that PyPI has (nvidia-nccl-cu13) is the one that src/modules/nccl was written for: every function that the module asks for is
there, and the numbers of nccl.h are its own. Skipped where the wheel is not installed; STRETTO_NCCL_WHEEL is its folder nvidia/nccl.

usage: nccl_wheel_test.py SOURCE
"""

import ctypes
import os
import pathlib
import re
import sys

NAMES = {  # of src/modules/nccl/abi.hpp, as nccl.h has them
    "success": "ncclSuccess", "unhandled_cuda_error": "ncclUnhandledCudaError", "system_error": "ncclSystemError",
    "internal_error": "ncclInternalError", "invalid_argument": "ncclInvalidArgument", "invalid_usage": "ncclInvalidUsage",
    "remote_error": "ncclRemoteError", "in_progress": "ncclInProgress",
    "i8": "ncclInt8", "u8": "ncclUint8", "i32": "ncclInt32", "u32": "ncclUint32", "i64": "ncclInt64", "u64": "ncclUint64",
    "f16": "ncclFloat16", "f32": "ncclFloat32", "f64": "ncclFloat64", "bf16": "ncclBfloat16",
    "sum": "ncclSum", "prod": "ncclProd", "max": "ncclMax", "min": "ncclMin", "avg": "ncclAvg",
}


def wheel():
    given = os.environ.get("STRETTO_NCCL_WHEEL")
    places = [pathlib.Path(given)] if given else [pathlib.Path(p) / "nvidia" / "nccl" for p in sys.path if p]
    return next((p for p in places if (p / "include" / "nccl.h").is_file()), None)


def main():
    source = pathlib.Path(sys.argv[1]) / "src" / "modules" / "nccl"
    at = wheel()
    if at is None:
        print("skipped: the wheel nvidia-nccl-cu13 is not installed")
        return 77
    header = (at / "include" / "nccl.h").read_text(encoding="utf-8")
    own = (source / "abi.hpp").read_text(encoding="utf-8")
    wrong = []
    for name, value in re.findall(r"\b(\w+) = (\d+)[,}\s]", own.split("struct Config")[0]):
        found = re.search(rf"\b{NAMES[name]}\s*=\s*(\d+)", header)
        if not found or found[1] != value:
            wrong.append(f"{NAMES[name]} is {found[1] if found else 'missing'}, and {value} in abi.hpp")
    fields = re.search(r"typedef struct ncclConfig_v\d+ \{(.*?)\} ncclConfig_t", header, re.S)[1]
    if re.findall(r"(\w+);", fields)[:4] != ["size", "magic", "version", "blocking"]:
        wrong.append("ncclConfig_t begins differently")
    if "#define NCCL_API_MAGIC 0xcafebeef" not in header or "#define NCCL_UNIQUE_ID_BYTES 128" not in header:
        wrong.append("the magic number or the length of an id differs")
    functions = re.findall(r'get\("(nccl\w+)"', (source / "library.cpp").read_text(encoding="utf-8"))
    library = ctypes.CDLL(str(next((at / "lib").glob("libnccl.so.2*"))))
    wrong += [f"the library has no {name}" for name in functions if not hasattr(library, name)]
    version = ctypes.c_int()
    library.ncclGetVersion(ctypes.byref(version))
    if not 21400 <= version.value < 30000:
        wrong.append(f"the module refuses version {version.value}")
    print("\n".join(wrong) or f"NCCL {version.value}: {len(functions)} functions and {len(NAMES)} numbers are as expected")
    return 1 if wrong or len(functions) < 18 else 0


sys.exit(main())
