#!/usr/bin/env python3
"""Measures what training costs over a network, and what it loses: examples/training over gloo, with torch's hooks, and with stretto.

usage: run_torch.py --json FILE [--part PART]... [--place NAME]... [--case NAME]... [--seeds N] [--steps N] [--size SIZE] [--fresh] [--page FILE] [--plot FILE]

Parts:
  loss           losses by steps, on 4 ranks of this host: no network changes them. It saves gradients for the two next parts.
  communication  time of a step's communication alone, of saved gradients, on hosts made on this machine (tests/hosts), in turns
  steps          whole steps of training on the same hosts, their wait after the last gradient, and bytes on the wire
  error          normalised mean squared error of saved gradients at a rate, beside int8 and fp8 with a scale a block
  page           one HTML page and one picture of the rows that are there

Rows are kept in build/bench/torch/rows.jsonl: a run goes on where an earlier one ended. With --fresh it begins anew.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from places import ROOT, SKIPPED, Hosts, NotPermitted, skip  # noqa: E402

KEPT = ROOT / "build" / "bench" / "torch"
GRADIENTS = KEPT / "gradients"
PROGRAM = ROOT / "bench" / "torch" / "torch_training.py"
PARTS = ("loss", "communication", "steps", "error", "page")
PLACES = {"4 hosts 1gbit": (4, 1), "2 hosts 5gbit": (2, 5)}  # name: hosts of one rank each, Gb/s
RANKS = 4  # for the part loss
LIMIT = 3600  # seconds after which a run counts as hung

LOSS_CASES = ("gloo fp32", "gloo bf16", "PowerSGD 1", "PowerSGD 4", "int8 a tensor", "int8 a row", "stretto bf16", "stretto rms 0.05", "stretto rms 0.2", "stretto rms 1",
              "stretto rms 0.05, feedback", "stretto rms 0.1, feedback", "stretto rms 0.2, feedback", "stretto rms 0.5, feedback", "stretto rms 1, feedback")
DENSE_CASES = ("stretto rms 0.1, feedback, dense", "stretto rms 0.2, feedback, dense", "stretto rms 0.5, feedback, dense")  # the losses are those of fixed streams
ANY_CASES = tuple(f"stretto rms {bound}{form}" for bound in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1)
                  for form in (*(f"{form}{coding}" for form in ("", ", feedback", ", feedback, per parameter") for coding in ("", ", fixed", ", dense")), ", feedback, warmup 50", ", feedback, per parameter, warmup 50"))
COMMUNICATION_CASES = (*LOSS_CASES[:6], "stretto exact", *LOSS_CASES[6:], *DENSE_CASES)
STEPS_CASES = (*LOSS_CASES[:6], "stretto exact", *LOSS_CASES[6:], "FSDP2 gloo", "FSDP2 stretto exact", "FSDP2 stretto rms 0.05", "FSDP2 stretto rms 0.2", "FSDP2 stretto rms 1")
SHOWN = {"communication": (("ms", "ms"), ("cpu", "ms"), ("bytes", "B")), "steps": (("ms", "ms"), ("wait", "ms"), ("bytes", "B")), "error": (("nmse", "1"), ("nmse_mean", "1"), ("bits", "bit"))}


class Rows:
    """The rows that earlier runs and this one measured."""

    def __init__(self, path, fresh):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)

    def all(self):
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines() if line]

    def of(self, part, **fields):
        return [row for row in self.all() if row["part"] == part and all(row.get(name) == value for name, value in fields.items())]


def environment(rank, ranks, address):
    given = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": 0, "MASTER_ADDR": address, "MASTER_PORT": 29511, "OMP_NUM_THREADS": 1,
             "STRETTO_LIBEXEC": f"{os.environ['BUILD']}/python/core", "PYTHONPATH": ROOT / "python"}
    return [f"{name}={value}" for name, value in given.items()]


def launch(commands):
    """Runs a command a rank. The first that fails ends the others."""
    started = [subprocess.Popen(command) for command in commands]
    try:
        for process in started:
            if process.wait(timeout=LIMIT) != 0:
                raise subprocess.CalledProcessError(process.returncode, "torch_training.py")
    finally:
        for process in started:
            process.kill()
            process.wait()


def program(part, rows, settings):
    return [sys.executable, PROGRAM, part, rows.path, json.dumps(settings)]


def on_hosts(hosts, part, rows, settings):
    """The program on a rank of each host. Their network is eth0, where gloo would take the address of the host's name."""
    words = program(part, rows, settings)
    launch([hosts.on_command(rank, ["env", "GLOO_SOCKET_IFNAME=eth0", *environment(rank, hosts.count, hosts.address(0)), *words]) for rank in range(hosts.count)])


def loss(options, rows):
    steps = options.steps
    missing = []
    for seed in range(options.seeds):
        for name in options.case or LOSS_CASES:
            if not rows.of("loss", name=name, seed=seed, size=options.size, step=steps, steps=steps):
                missing.append([name, seed])
    if not missing:
        return
    print(f"loss: {len(missing)} runs of {steps} steps", flush=True)
    settings = {"size": options.size, "steps": steps, "every": max(steps // 10, 1), "save": [steps // 4, steps - 1], "gradients": str(GRADIENTS / options.size), "batch": options.batch, "cases": missing}
    launch([["env", *environment(rank, RANKS, "127.0.0.1"), *map(str, program("loss", rows, settings))] for rank in range(RANKS)])


def over_hosts(part, options, rows, cases, settings):
    """Returns whether hosts are permitted."""
    for place in options.place or PLACES:
        missing = [name for name in options.case or cases if not rows.of(part, name=name, place=place)]
        if not missing:
            continue
        print(f"{part}: {place}", flush=True)
        count, gbps = PLACES[place]
        try:
            with Hosts(count, rate=f"{gbps}gbit") as hosts:
                on_hosts(hosts, part, rows, {"place": place, "names": missing, **settings})
        except NotPermitted as reason:
            skip(reason)
            return False
    return True


def error(rows, gradients):
    if rows.of("error"):
        return
    print("error", flush=True)
    subprocess.run([sys.executable, ROOT / "bench" / "torch" / "gradients.py", "--json", rows.path, gradients], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "STRETTO_LIBEXEC": f"{os.environ['BUILD']}/python/core"})


def table_rows(rows):
    """The rows as bench/table.py reads them."""
    for row in rows.all():
        case = f"{row['part']} {row.get('place', '')} {row['name']}".replace("  ", " ")
        if row["part"] == "loss":
            if row["step"] == row["steps"]:
                yield {"bench": "torch", "case": f"{case} {row['size']} seed {row['seed']}", "metric": "validation", "value": row["validation"], "unit": "nat"}
            continue
        fp32 = next((one for one in rows.of(row["part"], place=row.get("place")) if one["name"] == "gloo fp32"), None)
        for metric, unit in SHOWN[row["part"]]:
            if row.get(metric) is None:
                continue
            peer = {"peer": "gloo fp32", "peer_value": fp32[metric], "ratio": fp32[metric] / row[metric]} if fp32 and fp32.get(metric) and row[metric] else {}
            yield {"bench": "torch", "case": case, "metric": metric, "value": float(row[metric]), "unit": unit, **peer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", required=True)
    parser.add_argument("--part", action="append", choices=PARTS, help="all")
    parser.add_argument("--place", action="append", choices=list(PLACES), help="all")
    parser.add_argument("--case", action="append", choices=tuple(dict.fromkeys((*STEPS_CASES, *ANY_CASES))), help="those of the part")
    parser.add_argument("--seeds", type=int, default=1, help="of the part loss (default 1)")
    parser.add_argument("--steps", type=int, default=100, help="of the part loss (default 100)")
    parser.add_argument("--size", choices=("tiny", "small", "10m"), default="10m", help="of the model (default 10m)")
    parser.add_argument("--batch", type=int, default=2, help="pieces of text a rank and step of the part loss (default 2)")
    parser.add_argument("--turns", type=int, default=7, help="of the part communication, and of each round of the part steps (default 7)")
    parser.add_argument("--rounds", type=int, default=2, help="of the part steps (default 2)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier rows")
    parser.add_argument("--page", type=pathlib.Path, default=KEPT / "torch.html")
    parser.add_argument("--plot", type=pathlib.Path, default=KEPT / "torch.png")
    options = parser.parse_args()
    try:
        import torch  # noqa: F401, PLC0415
    except ImportError:
        skip("there is no torch here (scripts/setup test installs it)")
        return SKIPPED
    rows, parts = Rows(KEPT / "rows.jsonl", options.fresh), options.part or PARTS
    permitted = True
    try:
        if "loss" in parts:
            loss(options, rows)
        gradients = GRADIENTS / options.size
        if not list(gradients.glob("*.pt")) and {"communication", "error"} & set(parts):
            print(f"no saved gradients of the size {options.size}: the part loss saves them", file=sys.stderr)
            return 1
        if "communication" in parts:
            permitted = over_hosts("communication", options, rows, COMMUNICATION_CASES, {"gradients": str(gradients), "turns": options.turns})
        if "steps" in parts and permitted:
            over_hosts("steps", options, rows, STEPS_CASES, {"size": options.size, "turns": options.turns, "rounds": options.rounds})
        if "error" in parts:
            error(rows, gradients)
    except subprocess.SubprocessError as failed:
        print(f"bench torch: {failed}", file=sys.stderr)
        return 1
    if "page" in parts:
        import torch_page  # noqa: PLC0415
        torch_page.write(rows.all(), options.page, options.plot)
    with open(options.json, "a", encoding="utf-8") as writer:
        for row in table_rows(rows):
            writer.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
