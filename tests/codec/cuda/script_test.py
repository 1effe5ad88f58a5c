#!/usr/bin/env python3
"""Tests of scripts/gpu with a driver and programs that only pretend: what it does where there is no GPU, and that no step keeps the
next from running.

usage: script_test.py C-COMPILER
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DRIVER = """
int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuDeviceGetCount(int *count) { *count = DEVICES; return 0; }
"""
NCCL = "int ncclGetVersion(int *version) { *version = VERSION; return 0; }"
ROW = '{"op": "compress", "field": "f", "rel": 0.01, "bytes": 4096, "us": 1, "gbs": 4, "of_copy": 0.5, "ratio": 10.5}'
PEER_ROW = ('{"bench": "gpu_peer", "op": "%s", "codec": "%s", "mode": "%s", "field": "f", "rel": 0.01, "bytes": 268435456, "us": 500, '
            '"gbs": 536.9, %s"ratio": 7.5, "beyond_bound": 3, "nan_lost": 0, "max_error_over_bound": 1.25}')
COMPILER = "cc"


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        (self.at / "build/cuda").mkdir(parents=True)
        (self.at / "bin").mkdir()

    def driver(self, devices):
        source = self.at / "driver.c"
        source.write_text(DRIVER)
        subprocess.run([COMPILER, "-shared", "-fPIC", f"-DDEVICES={devices}", str(source), "-o", str(self.at / "libcuda.so.1")],
                       check=True)

    def library(self, name, version):
        file = self.at / name
        subprocess.run([COMPILER, "-shared", "-fPIC", f"-DVERSION={version}", "-x", "c", "-", "-o", str(file)], input=NCCL, text=True, check=True)
        return str(file)

    def program(self, name, text):
        file = self.at / name
        file.write_text("#!/bin/sh\n" + text + "\n")
        file.chmod(0o755)

    def run_script(self, what, **more):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.at), GPU_BUILD=str(self.at / "build"), GPU_OUT=str(self.at / "out"),
                           PATH=f"{self.at / 'bin'}:{os.environ['PATH']}") | more
        done = subprocess.run([str(ROOT / "scripts/gpu"), what], env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_without_a_device_it_ends_at_once_and_says_why(self):
        self.driver(0)
        for what in ("test", "bench", "all"):
            status, text = self.run_script(what)
            self.assertEqual(status, 1)
            self.assertIn("no GPU: the driver sees no device. Nothing was built or run", text)
            self.assertFalse((self.at / "out").exists())

    def test_a_word_that_it_does_not_know_is_refused(self):
        status, text = self.run_script("tset")
        self.assertEqual(status, 1)
        self.assertIn("not 'tset'", text)

    def test_a_step_that_fails_is_named_at_the_end_and_the_others_run(self):
        self.driver(1)
        self.program("build/cuda/gpu_check", 'echo "check $*"; case "$*" in *"--values 20000000"*) exit 3 ;; esac')
        self.program("build/cuda/gpu_collectives", "true")
        self.program("build/cuda/bench_gpu", f"echo '{ROW}'")
        self.program("bin/compute-sanitizer", 'echo "sanitizer $2"; case $2 in racecheck) exit 1 ;; esac')
        self.program("bin/ncu", "exit 1")  # may lack the permission to count
        status, text = self.run_script("all")
        self.assertEqual(status, 1)
        self.assertIn("failed: exactness-short racecheck; see", text)
        for name in ("device", "exactness-short", "collectives", "bench", "profile", "memcheck", "racecheck", "synccheck", "exactness-long"):
            self.assertTrue((self.at / "out" / f"{name}.log").exists(), name)
        self.assertIn("4 / 0.50", (self.at / "out/bench.txt").read_text())

    def test_all_that_goes_well_is_no_error(self):
        self.driver(1)
        self.program("build/cuda/gpu_check", "true")
        self.program("build/cuda/gpu_collectives", "true")
        self.program("build/cuda/bench_gpu", f"echo '{ROW}'")
        self.program("bin/compute-sanitizer", "true")
        self.program("bin/ncu", "true")
        for what in ("test", "bench", "all"):
            status, text = self.run_script(what)
            self.assertEqual(status, 0, text)

    def test_a_peer_is_timed_only_where_its_sources_are_given(self):
        self.driver(1)
        self.program("build/cuda/gpu_check", "true")
        self.program("build/cuda/bench_gpu", f"echo '{ROW}'")
        rows = [PEER_ROW % (op, *codec) for codec in (("stretto", "", ""), ("cuSZp", "plain", '"us_call": 1000, '))
                for op in ("compress", "decompress")]
        self.program("build/cuda/bench_gpu_peer", "\n".join(f"echo '{row}'" for row in rows))
        status, text = self.run_script("bench")
        self.assertEqual(status, 0, text)
        self.assertFalse((self.at / "out/peer.jsonl").exists())
        status, text = self.run_script("bench", PEER_CUSZP="/there")
        self.assertEqual(status, 0, text)
        self.assertEqual((self.at / "out/peer.jsonl").read_text(), "\n".join(rows) + "\n")
        lines = [line.split() for line in (self.at / "out/peer.txt").read_text().splitlines()[1:]]
        self.assertEqual(lines[0], ["f", "0.01", "256", "stretto", "537", "537", "7.50", "1.25", "3"])
        self.assertEqual(lines[1], "f 0.01 256 cuSZp plain 537 / 268 537 / 268 7.50 1.25 3".split())
        self.assertEqual(lines[3], "all, geometric mean 256 cuSZp plain 537 / 268 537 / 268 7.50".split())

    def test_a_peer_that_is_not_there_ends_it_before_anything_is_built(self):
        status, text = self.run_script("build", GPU_BUILD="", PEER_CUSZP="/nowhere")
        self.assertEqual(status, 1)
        self.assertIn("PEER_CUSZP=/nowhere has no src/cuSZp_kernels_1D_f32.cu", text)
        status, text = self.run_script("build", GPU_BUILD="", PEER_NVCOMP="/nowhere")
        self.assertEqual(status, 1)
        self.assertIn("PEER_NVCOMP=/nowhere has no include/nvcomp/native/bitcomp.h", text)
        self.assertFalse((self.at / "out").exists())

    def test_ranks_of_an_mpi_share_the_gpu_where_there_is_one(self):
        self.driver(1)
        (self.at / "build/tests/device").mkdir(parents=True)
        self.program("bin/pretended-mpirun", 'case $1 in --version) echo HYDRA ;; *) echo "ranks $2"; shift 2; exec "$@" ;; esac')
        self.program("build/cuda/gpu_check", "true")
        self.program("build/cuda/gpu_collectives", "true")
        self.program("build/tests/device/device_mpi_ranks", 'echo "plugin $STRETTO_CUDA_PLUGIN $NCCL_MULTI_RANK_GPU_ENABLE $STRETTO_DEVICE_CARRIER"')
        self.program("bin/compute-sanitizer", 'while [ "${1##*/}" != device_mpi_ranks ] && [ $# -gt 1 ]; do shift; done; case $1 in */device_mpi_ranks) exec "$1" ;; esac')
        status, text = self.run_script("test", MPIRUN="pretended-mpirun", STRETTO_NCCL=self.library("of_today.so", 23002))
        self.assertEqual(status, 0, text)
        plugin = f"plugin {self.at}/build/cuda/libstretto_cuda.so 1"
        for way in ("host", "peer", "nccl"):
            for ranks in (2, 3, 4):
                self.assertEqual((self.at / "out" / f"ranks-{way}-{ranks}.log").read_text(), f"ranks {ranks}\n{plugin} {way}\n")
        self.assertEqual((self.at / "out/ranks-sanitizer-host-2.log").read_text(), f"ranks 2\n{plugin} host\n")
        self.program("build/tests/device/device_mpi_ranks", "exit 1")
        for nccl, why in ((self.library("of_old.so", 22809), "ranks share a GPU from 23000 on"), ("/none", "no NCCL: /none")):
            status, text = self.run_script("test", MPIRUN="pretended-mpirun", STRETTO_NCCL=nccl)
            self.assertEqual(status, 1)
            self.assertIn(why, text)
            self.assertIn("failed: ranks-host-2 ranks-host-3 ranks-host-4 ranks-peer-2 ranks-peer-3 ranks-peer-4 ranks-sanitizer-host-2", text)

    def test_programs_run_under_the_profiling_library(self):
        self.driver(1)
        for folder in ("src/mpi", "tests/mpi"):
            (self.at / "build" / folder).mkdir(parents=True)
        self.program("bin/pretended-mpirun", 'case $1 in --version) echo HYDRA ;; *) echo "ranks $2"; shift 2; exec "$@" ;; esac')
        self.program("build/cuda/gpu_check", "true")
        self.program("build/cuda/gpu_collectives", "true")
        self.program("bin/compute-sanitizer", "true")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", str(self.at / "build/src/mpi/libstretto_mpi.so")], check=True)
        self.program("build/tests/mpi/mpi_device_sums", 'echo "$1 $LD_PRELOAD $STRETTO_BOUND"')
        self.program("build/tests/mpi/mpi_device_started", 'grep -c schedule "$STRETTO_RULES"')
        status, text = self.run_script("test", MPIRUN="pretended-mpirun")
        self.assertEqual(status, 0, text)
        self.assertEqual((self.at / "out/programs-blocking.log").read_text(), f"ranks 3\ngpu {self.at}/build/src/mpi/libstretto_mpi.so abs:1e-3\n")
        self.assertEqual((self.at / "out/programs-started.log").read_text(), "ranks 3\n6\n")

    def test_steps_for_which_no_time_is_left_come_in_the_next_run(self):
        self.driver(1)
        self.program("build/cuda/gpu_check", "true")
        self.program("build/cuda/gpu_collectives", "true")
        self.program("build/cuda/bench_gpu", f"echo '{ROW}'")
        self.program("bin/compute-sanitizer", "true")
        self.program("bin/ncu", "true")
        status, text = self.run_script("all", GPU_SECONDS="12")
        self.assertEqual(status, 3)
        self.assertIn("no time is left for exactness-long", text)
        self.assertIn("left for the next 'make gpu-all', which skips what has passed:", text)
        status, text = self.run_script("all")
        self.assertEqual(status, 0, text)
        status, text = self.run_script("all")
        self.assertEqual(status, 0, text)
        self.assertIn("gpu: collectives has passed before with this build", text)
        self.assertTrue((self.at / "out/exactness-long.log").exists())
        self.program("build/cuda/gpu_collectives", "exit 1")
        status, text = self.run_script("all")
        self.assertEqual(status, 1)
        self.assertIn("failed: collectives; see", text)


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1)
    unittest.main()
