#!/usr/bin/env python3
"""Stacking on several hosts gives the hash of stacking in one process. Skips (77) where the machine does not permit hosts."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))

from hosts import SKIP, Hosts, NotPermitted  # noqa: E402
from stacking_run import LIMIT, MARMOUSI, MARMOUSI_SHAPE, MPIRUN, STACKING, hashes, rows_of, run, write_images  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as directory:
        here = pathlib.Path(directory)
        if MARMOUSI.exists():
            images, shape = MARMOUSI, MARMOUSI_SHAPE
        else:
            images, shape = here / "images.f32", "12,60,90"
            write_images(images, 12, 60, 90)
        arguments = ["--images", images, "--shape", shape, "--repeat", 1, "--payloads", "homomorphic,fused"]

        alone = run(1, *arguments, "--out", here / "alone", "--json", here / "alone.jsonl")
        assert alone.returncode == 0, alone.stdout + alone.stderr
        try:
            with Hosts(4, rate="1gbit") as hosts:
                argv = [STACKING, *map(str, arguments), "--out", here / "hosts", "--json", here / "hosts.jsonl"]
                done = hosts.launch(MPIRUN, 4, argv, capture_output=True, text=True, timeout=LIMIT)
        except NotPermitted as reason:
            print(f"skipped: this machine does not permit several hosts: {reason}")
            return SKIP
        print(done.stdout, done.stderr)
        assert done.returncode == 0, done.returncode
        expected, seen = hashes(rows_of(here / "alone.jsonl")), hashes(rows_of(here / "hosts.jsonl"))
        assert len(expected) == 1 and seen == expected, f"alone {expected}, on four hosts {seen}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
