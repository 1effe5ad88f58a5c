#!/usr/bin/env python3
"""Runs the referee.

    referee_test.py ACCEPT REFUSE                 decode all ACCEPT/*.str to exactly ACCEPT/*.bin, and refuse all REFUSE/*.str
    referee_test.py decode STREAM OUT [DIVISOR]   decode STREAM (its mean, with DIVISOR) into the raw values OUT

The exit status is 1, with a message, for a malformed stream or values that differ.
"""

import pathlib
import sys

try:
    from referee import Malformed, decode
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def complaint_about(path):
    """What is wrong with decoding an accepted stream; NAME.meanN.str is decoded with divisor N, and no .bin says that all is zero."""
    divisor = int(path.stem.partition(".mean")[2] or 1)
    wanted = path.with_suffix(".bin")
    try:
        got = decode(path.read_bytes(), divisor).tobytes()
    except Malformed as error:
        return f"refused: {error}"
    return "other values" if got != (wanted.read_bytes() if wanted.exists() else bytes(len(got))) else None


def check_folders(accept, refuse):
    accepted, refused = sorted(pathlib.Path(accept).glob("*.str")), sorted(pathlib.Path(refuse).glob("*.str"))
    wrong = 0 if accepted and refused else 1
    for path in accepted:
        complaint = complaint_about(path)
        if complaint:
            print(f"{path.name}: {complaint}")
            wrong += 1
    for path in refused:
        try:
            decode(path.read_bytes())
            print(f"{path.name}: accepted")
            wrong += 1
        except Malformed as error:
            print(f"{path.name}: refused as it should be: {error}")
    print(f"{len(accepted)} streams to accept, {len(refused)} to refuse, {wrong} wrong")
    return wrong


def decode_file(stream, out, divisor=1):
    try:
        decoded = decode(pathlib.Path(stream).read_bytes(), int(divisor))
    except Malformed as error:
        sys.exit(f"{stream}: {error}")
    pathlib.Path(out).write_bytes(decoded.tobytes())


if __name__ == "__main__":
    if sys.argv[1] == "decode":
        decode_file(*sys.argv[2:])
    else:
        sys.exit(1 if check_folders(*sys.argv[1:]) else 0)
