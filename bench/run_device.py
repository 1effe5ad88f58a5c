#!/usr/bin/env python3
"""Runs bench_device on a GPU of this machine, which its ranks share, and makes a page of the rows.

usage: run_device.py --json FILE [--emulated] [--ranks N] [--sharing WAY] [--fresh] [--out DIR] [--profile FILE [--base FILE]] [ARG of bench_device...]
Where ranks outnumber GPUs, WAY says how they share one:
  mps      ranks of the MPI under CUDA's Multi-Process Service, which this script starts and ends (default, where there is one)
  threads  of one process, without the rows that need processes: ArGM, which tells hosts apart, and the MPI's own allreduce (else the default)
  turns    ranks of the MPI that take turns on the GPU, milliseconds each: times say little
Rows are kept in DIR (build/bench/device) by device and ranks: the same command goes on where an earlier one ended, and --fresh begins anew.
--emulated takes the emulated device: small vectors, whose times are those of the emulation. --profile writes what the device's work was
measured to cost into a copy of a profile (--base: built-in). Without a GPU and without --emulated nothing is measured (status 77). Needs
BUILD, MPIRUN and MPI_FLAVOUR in the environment.
"""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from places import ROOT, SKIPPED, launch, skip

sys.path.insert(0, str(ROOT / "python"))

EMULATED = "emulated"
SMALL = {"--bytes": "16384,65536", "--gbps": "0,1", "--costs": "65536", "--repeat": "1", "--bound": "1e-3"}
SECONDS = 480
MARGIN = 100  # seconds beyond --seconds after which the current part counts as hung


def device_name():
    """The first GPU's name by the driver, how many there are, and None; or why there is none, as the last."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return None, 0, f"no driver: {error}"
    count, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None, 0, "the driver sees no device"
    driver.cuDeviceGetName(name, 255, 0)
    return name.value.decode() or "a GPU", count.value, None


def mps_control():
    """The program that starts CUDA's Multi-Process Service; None: there is none."""
    return shutil.which("nvidia-cuda-mps-control", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/nvidia/bin"]))


class NoService(Exception):
    """The Multi-Process Service does not start."""


@contextlib.contextmanager
def mps():
    """The environment of programs whose kernels run on one GPU at the same time."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        environment = {"CUDA_MPS_PIPE_DIRECTORY": place, "CUDA_MPS_LOG_DIRECTORY": place}

        def control(*words, **options):
            return subprocess.run([mps_control(), *words], env={**os.environ, **environment}, timeout=20, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False, **options).returncode

        if control("-d"):
            raise NoService
        try:
            yield environment
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                control(input="quit\n", text=True)


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()] if path.exists() else []


def nccl_of(rows):
    """Seconds of a step and of a byte of NCCL's ring on this host, from its own allreduce of the shortest and the longest vector; None: unknown."""
    points = sorted((row["bytes"], row["value"] / 1e3, row["ranks"]) for row in rows if row.get("row") == "native" and row["gbps"] == 0)
    if len(points) < 2:
        return None
    (small, first, ranks), (large, last, _) = points[0], points[-1]
    steps, share = 2 * (ranks - 1), 2 * (ranks - 1) / ranks
    byte = (last - first) / ((large - small) * share)
    return {"step": max(0, first - byte * share * small) / steps, "byte": byte} if byte > 0 else None


def profile_of(rows, base):
    """A profile with the measured costs of the device; `base` has the rest."""
    (row,) = [row for row in rows if row["case"] == "costs"]
    costs, name = row["costs"], row["device"]
    said = ("times of the emulation, of no use for a GPU" if name == EMULATED else f"measured by bench-device on {name}, float32 alone, ratio {costs['ratio']:.3g}")
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    codec = {"ratio": max(1, costs["ratio"]), **{key: costs[key] for key in ("call", "compress", "decompress", "add", "fused")}}
    device = {"name": name, "source": said, **{key: costs[key] for key in ("launch", "staging", "look", "combine", "copy")}, "codec": {"f32": [codec]}}
    if nccl := nccl_of(rows):
        device["nccl"] = {"inside": nccl}
    return {**base, "name": slug, "source": f"{base.get('source', '')}; device: {said}", "device": device}


def run(options, arguments, name, plugin, sharing, environment):
    """The exit status of bench_device, and the file that keeps its rows."""
    threads = sharing == "threads"
    rows = options.out / f"{re.sub('[^A-Za-z0-9]+', '-', name)}-{options.ranks}{f'-{sharing}' if sharing else ''}.jsonl"
    if options.fresh:
        rows.unlink(missing_ok=True)
    kind = ["--threads", options.ranks] if threads else ["--hosts", "2"] if options.ranks >= 4 and options.ranks % 2 == 0 else []
    small = [word for pair in SMALL.items() if options.emulated and pair[0] not in arguments for word in pair]
    # NCCL's kernels wait for one another on the GPU, so ranks that share one send their messages by peer access. NCCL
    # sees the simulated hosts as one.
    carrier = os.environ.get("STRETTO_DEVICE_CARRIER") or ("peer" if sharing else "")
    # Threads share this process's cores, so it is not bound.
    launcher = [ROOT / "scripts" / "launch", os.environ["MPIRUN"], 1] if threads else launch(options.ranks)
    argv = [*launcher, "env", f"STRETTO_CUDA_PLUGIN={plugin}", "NCCL_MULTI_RANK_GPU_ENABLE=1", "NCCL_HOSTID=one",
            pathlib.Path(os.environ["BUILD"]) / "bench" / "bench_device", "--json", rows, "--device", name, "--carrier", carrier,
            "--seconds", options.seconds, *kind, *small, *arguments]
    try:
        return subprocess.run([str(word) for word in argv], env={**os.environ, **environment}, timeout=options.seconds + MARGIN, check=False).returncode, rows
    except subprocess.TimeoutExpired:
        print(f"bench_device: ended after {options.seconds + MARGIN:g} s", file=sys.stderr)
        return 1, rows


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a limit has passed: end the started processes
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--sharing", choices=["mps", "threads", "turns"])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench" / "device")
    parser.add_argument("--profile", type=pathlib.Path)
    parser.add_argument("--base", type=pathlib.Path, default=ROOT / "profiles" / "built-in.json")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options, arguments = parser.parse_known_args()

    build = pathlib.Path(os.environ["BUILD"])
    emulated = int(os.environ.get("STRETTO_EMULATED_DEVICES", options.ranks))
    name, devices, missing = (EMULATED, emulated, None) if options.emulated else device_name()
    plugin = build / ("tests/device/libstretto_cuda_emulated.so" if options.emulated else "cuda/libstretto_cuda.so")
    if missing:
        skip(f"no GPU: {missing}. ARGS=--emulated runs the same on the emulated device")
        return SKIPPED
    if not plugin.exists():
        skip(f"there is no {plugin}: " + ("ninja stretto_cuda_emulated" if options.emulated else "make gpu") + " builds it")
        return SKIPPED

    options.out.mkdir(parents=True, exist_ok=True)
    sharing = None if devices >= options.ranks else options.sharing or ("mps" if mps_control() and not options.emulated else "threads")
    try:
        with mps() if sharing == "mps" else contextlib.nullcontext({}) as environment:
            status, rows = run(options, arguments, name, plugin, sharing, environment)
    except NoService:
        if options.sharing:
            sys.exit("bench_device: CUDA's Multi-Process Service does not start here; --sharing threads does without it")
        status, rows = run(options, arguments, name, plugin, "threads", {})
    found = rows_of(rows)
    timed = [row for row in found if "row" in row]
    with open(options.json, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in timed)
    if timed:
        from device.page import page as page_of  # noqa: PLC0415  it needs matplotlib
        page = options.out / rows.with_suffix(".html").name
        page.write_text(page_of(found), encoding="utf-8")
        print(f"{len(timed)} rows in {rows}; {page}")
    if options.profile and any(row["case"] == "costs" for row in found):
        base = json.loads(options.base.read_text(encoding="utf-8"))
        options.profile.write_text(json.dumps(profile_of(found, base), indent=2) + "\n", encoding="utf-8")
        print(f"profile: {options.profile}")
    return status


if __name__ == "__main__":
    sys.exit(main())
