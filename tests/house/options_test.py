#!/usr/bin/env python3
"""What the options STRETTO_MPI and STRETTO_UCX make of what is there, and what a project gets that has stretto as a part. usage: options_test.py CMAKE"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"
NO_MPI = "-DMPI_C_COMPILER=/bin/false"  # where CMake finds none
PYTHON = f"-DPython3_EXECUTABLE={sys.executable}"  # CMake takes as long to look for one as for all else


class Options(unittest.TestCase):
    def configured(self, *options):
        with tempfile.TemporaryDirectory() as build:
            done = subprocess.run([CMAKE, "-S", ROOT, "-B", build, "-DSTRETTO_TESTS=OFF", "-DSTRETTO_BENCH=OFF", PYTHON, *options], capture_output=True, text=True,
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


PARTS = {
    "add_subdirectory": f'add_subdirectory("{ROOT}" stretto)',
    "FetchContent": f'include(FetchContent)\nFetchContent_Declare(stretto SOURCE_DIR "{ROOT}")\nFetchContent_MakeAvailable(stretto)',
}
CONSUMER = """cmake_minimum_required(VERSION 3.22)
project(consumer C CXX)
%s
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE stretto::stretto)
function(show directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  message(STATUS "targets: ${targets}")
  get_property(tests DIRECTORY ${directory} PROPERTY TESTS)
  message(STATUS "tests: ${tests}")
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(one IN LISTS below)
    show(${one})
  endforeach()
endfunction()
show(${CMAKE_CURRENT_SOURCE_DIR})
"""


class PartOfAnotherProject(unittest.TestCase):
    def test_it_gets_the_libraries_and_its_own_files_keep_their_flags(self):
        for name, text in PARTS.items():
            with tempfile.TemporaryDirectory() as directory:
                pathlib.Path(directory, "CMakeLists.txt").write_text(CONSUMER % text, encoding="utf-8")
                pathlib.Path(directory, "main.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
                done = subprocess.run([CMAKE, "-S", directory, "-B", f"{directory}/b", NO_MPI, PYTHON, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                commands = {one["file"]: one["command"] for one in json.loads(pathlib.Path(directory, "b/compile_commands.json").read_text(encoding="utf-8"))}
                cache = pathlib.Path(directory, "b/CMakeCache.txt").read_text(encoding="utf-8")
            targets = {one for line in re.findall("targets: (.*)", done.stdout) for one in line.split(";") if one}
            self.assertIn("stretto", targets, name)
            self.assertEqual({one for one in targets if not one.startswith("stretto")}, {"consumer"}, name)
            self.assertFalse({one for one in targets if one.endswith("_test")}, name)
            self.assertNotIn("stretto-model", targets, name)
            self.assertEqual(set(re.findall("tests: *(.*)", done.stdout)), {""}, name)
            self.assertNotRegex(commands[f"{directory}/main.c"], r" -(O|W|std|f|D)", name)
            self.assertIn(" -O3 ", commands[f"{ROOT}/src/codec/driver.cpp"], name)
            self.assertIn("CMAKE_BUILD_TYPE:STRING=\n", cache, name)


if __name__ == "__main__":
    unittest.main()
