#!/usr/bin/env python3
"""What the options STRETTO_MPI and STRETTO_UCX make of what is there. usage: options_test.py CMAKE"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"
NO_MPI = "-DMPI_C_COMPILER=/bin/false"  # where CMake finds none


class Options(unittest.TestCase):
    def configured(self, *options):
        with tempfile.TemporaryDirectory() as build:
            done = subprocess.run([CMAKE, "-S", ROOT, "-B", build, "-DSTRETTO_TESTS=OFF", "-DSTRETTO_BENCH=OFF", *options], capture_output=True, text=True,
                                  check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def test_an_mpi_is_found_or_left_out_in_one_line(self):
        status, text = self.configured(NO_MPI, "-DSTRETTO_UCX=OFF")
        self.assertEqual(status, 0, text)
        self.assertIn("-- Without an MPI (none is found): no profiling library, ", text)
        self.assertIn("-- Without UCX (STRETTO_UCX=OFF): no module ", text)

    def test_an_mpi_that_must_be_there_is_missed(self):
        status, text = self.configured(NO_MPI, "-DSTRETTO_MPI=ON")
        self.assertNotEqual(status, 0)
        self.assertIn("Could NOT find MPI", text)

    def test_none_is_looked_for_where_none_is_wanted(self):
        status, text = self.configured("-DCMAKE_REQUIRE_FIND_PACKAGE_MPI=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON", "-DSTRETTO_MPI=OFF")
        self.assertEqual(status, 0, text)
        self.assertIn("-- Without an MPI (STRETTO_MPI=OFF): ", text)

    def test_another_value_is_named(self):
        for option in ("STRETTO_MPI", "STRETTO_UCX"):
            status, text = self.configured(f"-D{option}=maybe")
            self.assertNotEqual(status, 0)
            self.assertIn(f"{option} is 'maybe'; it takes AUTO, ON or OFF", text)


if __name__ == "__main__":
    unittest.main()
