#!/usr/bin/env python3
"""bench-device on the emulated device: every row of the literature runs, has the host's bits, and goes on where it was; the page and the
profile that it makes; and what it says where there is no GPU.

usage: device_test.py STRETTO-MODEL
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import run_device  # noqa: E402

SYSTEMS = {"CPRP2P", "C-Coll", "gZCCL", "hZCCL", "ghZCCL", "HomComp", "HomComp ahead", "HomComp_F"}
PAYLOADS = {"HomComp": ("fused", "when_met"), "HomComp ahead": ("fused", "ahead"), "HomComp_F": ("fused", ""), "hZCCL": ("homomorphic", ""), "ArGM": ("mixed", "")}
MODEL = "stretto-model"


class Device(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)

    def run_device(self, *arguments, **environment):
        done = subprocess.run([sys.executable, str(ROOT / "bench/run_device.py"), "--json", str(self.at / "all.jsonl"), "--out", str(self.at / "out"),
                               *arguments], capture_output=True, text=True, timeout=120, env=dict(os.environ, **environment))
        return done.returncode, done.stdout + done.stderr

    def test_all_rows_have_the_hosts_bits_and_an_interrupted_run_goes_on(self):
        profile = self.at / "profile.json"
        small = ["--emulated", "--ranks", "4", "--gbps", "0,0.002", "--costs", "16384", "--profile", str(profile)]
        status, text = self.run_device(*small, "--bytes", "4096")
        self.assertEqual(status, 0, text)
        (kept,) = (self.at / "out").glob("*.jsonl")
        first = kept.read_text()
        measured = [json.loads(line) for line in (self.at / "all.jsonl").read_text().splitlines()]
        rows = {row["row"]: row for row in measured if row["gbps"] == 0}
        slow = {row["row"]: row for row in measured if row["gbps"] > 0}
        self.assertEqual(set(rows) - {"MPI", "native"}, set(slow))
        for row in slow.values():  # bench_device refuses rows that are faster than their links
            self.assertGreater(row["wire_ms"], 0)
        self.assertLessEqual(SYSTEMS | {"raw", "MPI", "ours", "chosen"}, set(rows))
        for name in SYSTEMS | {"raw", "ours"} | ({"ArGM"} & set(rows)):
            self.assertTrue(rows[name]["compared"], name)
            self.assertGreater(rows[name]["codec_ms"] if name != "raw" else 1, 0, name)
            self.assertLessEqual(rows[name]["codec_ms"] + rows[name]["wait_ms"], 2 * rows[name]["value"] + 1, name)
        for name, payload in PAYLOADS.items():
            if name in rows:
                self.assertEqual((rows[name]["payload"], rows[name]["codes"]), payload)

        status, text = self.run_device(*small, "--bytes", "4096,8192", "--rows", "HomComp_F,raw")
        self.assertEqual(status, 0, text)
        second = kept.read_text()
        self.assertTrue(second.startswith(first))  # nothing was measured twice
        self.assertNotIn('"bytes":4096', second[len(first):].replace(" ", ""))
        self.assertIn('"bytes":8192', second[len(first):].replace(" ", ""))

        page = next((self.at / "out").glob("*.html")).read_text()
        for words in ("HomComp ahead", "Times are those of the emulated device", "Where the time went", "8 KiB"):
            self.assertIn(words, page)
        read = json.loads(subprocess.run([MODEL, "profiles", str(profile), "--json"], capture_output=True, text=True, check=True).stdout)
        self.assertEqual(read["name"], "emulated")
        self.assertIn("times of the emulation", read["device"]["source"])
        for figure in ("launch", "look"):
            self.assertGreater(read["device"][figure], 0)
        self.assertGreater(read["device"]["codec"]["f32"][0]["fused"], 0)

    def test_ranks_that_share_a_device_are_threads(self):
        small = ["--emulated", "--ranks", "3", "--gbps", "0,0.01", "--bytes", "4096", "--costs", "0"]
        status, text = self.run_device(*small, STRETTO_EMULATED_DEVICES="1")
        self.assertEqual(status, 0, text)
        measured = [json.loads(line) for line in (self.at / "all.jsonl").read_text().splitlines()]
        self.assertEqual({(row["ranks"], row["threads"]) for row in measured}, {(3, True)})
        rows = {row["row"]: row for row in measured}
        self.assertLessEqual(SYSTEMS, set(rows))
        self.assertTrue(all(rows[name]["compared"] for name in SYSTEMS))
        self.assertNotIn("MPI", rows)

    def test_the_rows_of_nccl_give_its_figures(self):
        def rows(*points):
            return [{"case": "x", "row": "native", "gbps": 0, "ranks": 4, "bytes": n, "value": ms} for n, ms in points]

        step, byte = 3e-6, 5e-12
        seconds = {n: 6 * step + 1.5 * n * byte for n in (1 << 20, 1 << 26, 1 << 30)}
        measured = run_device.nccl_of(rows(*((n, s * 1e3) for n, s in seconds.items())))
        self.assertAlmostEqual(measured["step"] / step, 1, 6)
        self.assertAlmostEqual(measured["byte"] / byte, 1, 6)
        costs = {key: 1e-6 for key in ("launch", "look", "staging", "copy", "combine", "call", "compress", "decompress", "add", "fused")}
        said = [{"case": "costs", "device": "A GPU", "costs": {**costs, "ratio": 8}}, *rows(*((n, s * 1e3) for n, s in seconds.items()))]
        base = json.loads((ROOT / "profiles" / "built-in.json").read_text())
        profile = self.at / "profile.json"
        profile.write_text(json.dumps(run_device.profile_of(said, base)))
        read = json.loads(subprocess.run([MODEL, "profiles", str(profile), "--json"], capture_output=True, text=True, check=True).stdout)
        self.assertAlmostEqual(read["device"]["nccl"]["inside"]["byte"] / byte, 1, 6)
        self.assertNotIn("between", read["device"]["nccl"])
        # None where no NCCL served, one size alone was measured, or the longer vector took no longer.
        for points in ((), ((1 << 20, 1.0),), ((1 << 20, 1.0), (1 << 30, 1.0))):
            self.assertIsNone(run_device.nccl_of(rows(*points)))

    def test_without_a_gpu_one_line_says_so(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU")
        status, text = self.run_device()
        self.assertEqual(status, 77)
        self.assertIn("skipped: no GPU: ", text)
        self.assertIn("ARGS=--emulated", text)
        self.assertEqual(len(text.splitlines()), 1)


if __name__ == "__main__":
    MODEL = sys.argv.pop(1)
    unittest.main()
