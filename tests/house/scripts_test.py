#!/usr/bin/env python3
"""Tests of tests/house/check_floors.py, scripts/test, scripts/tests/fuzz, scripts/demo, scripts/bench, scripts/lib/prefix.sh, what skips a benchmark, and bench/table.py, each run as people run it; and of the names of tests and the documents."""

import collections
import os
import pathlib
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(script, *args):
    done = subprocess.run([sys.executable, str(ROOT / script), *args], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout + done.stderr


class Floors(unittest.TestCase):
    def check(self, file, text):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "src").mkdir()
            path = pathlib.Path(root, file if file.startswith(("apps/", "timing/")) else f"src/{file}")
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return run("tests/house/check_floors.py", root)

    def test_an_include_of_the_own_floor_or_of_one_below_is_accepted(self):
        self.assertEqual(self.check("engine/a.cpp", '#include "engine/a.hpp"\n#include "base/status.hpp"\n'
                                    '#include "payload/block.hpp"\n#include <vector>\n'), (0, ""))

    def test_an_include_of_a_floor_above_is_named_with_its_line(self):
        status, text = self.check("codec/a.hpp", '#include <vector>\n#include "engine/run.hpp"\n')
        self.assertEqual(status, 1)
        self.assertIn('src/codec/a.hpp:2: codec includes "engine/run.hpp"', text)

    def test_the_profiling_library_sees_one_header_of_the_api(self):
        self.assertEqual(self.check("mpi/calls/a.cpp", '#include "api/profiling.hpp"\n')[0], 0)
        self.assertEqual(self.check("mpi/calls/a.cpp", '#include "api/communicator.hpp"\n')[0], 1)

    def test_the_ground_floor_may_not_include_mpi(self):
        self.assertEqual(self.check("schedule/a.cpp", "#include <mpi.h>\n")[0], 1)
        self.assertEqual(self.check("carrier/a.cpp", "#include <mpi.h>\n")[0], 0)

    def test_a_program_may_not_include_a_benchmark_but_what_both_share(self):
        status, text = self.check("apps/a.cpp", '#include "timing/rows.hpp"\n#include "bench/data.hpp"\n')
        self.assertEqual((status, text), (1, 'apps/a.cpp:2: apps includes "bench/data.hpp", which is above it\n'))
        self.assertEqual(self.check("timing/a.hpp", '#include "apps/a.hpp"\n')[0], 1)
        self.assertEqual(self.check("apps/sub/a.cpp", '#include "../../bench/data.hpp"\n')[0], 1)
        self.assertEqual(self.check("apps/sub/a.cpp", '#include "../a.hpp"\n')[0], 0)

    def test_an_include_that_leaves_its_directory_by_dots_is_refused(self):
        self.assertEqual(self.check("codec/a.cpp", '#include "../engine/run.hpp"\n')[0], 1)


class Test(unittest.TestCase):
    """scripts/test in a checkout of its own, where setup and build do nothing and ctest says what it is told to."""

    def run_test(self, passes, builds=True, parts="release", skipped="", mpi="auto", skips=False, arch=""):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "scripts/tests").mkdir(parents=True)
            for name in ("test", "common.sh"):
                shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
            (root / "build" / "setup").mkdir(parents=True)
            flavour = "openmpi" if mpi == "auto" else mpi
            (root / "build" / "setup" / (f"none.build.{arch}" if arch else f"{mpi}.test")).write_text(f"MPI_FLAVOUR={flavour}\n")
            for part in ("release", "asan"):
                (root / "build" / f"{part}-{flavour}").mkdir()
            (root / "build" / "setup" / "none.build.aarch64").write_text("MPI_FLAVOUR=none\n")
            for build in ("tsan-none", "release-aarch64"):
                (root / "build" / build).mkdir()
            result = 77 if skips else 0 if passes else 1
            said = "100% tests passed, 0 tests failed out of 7" if passes else "86% tests passed, 1 tests failed out of 7"
            for name, words in (("scripts/setup", "exit 0"), ("scripts/build", f"exit {0 if builds else 1}"), *((f"scripts/tests/test_{part}", f"exit {result}") for part in ("install", "wheel", "torch", "site", "recipes", "deb", "first_hour", "twice")),
                                ("ctest", f"echo '{said}'; echo 'Total Test time (real) =   1.00 sec'; printf '{skipped}'; exit {0 if passes else 8}")):
                (root / name).write_text(f"#!/bin/sh\n{words}\n")
                (root / name).chmod(0o755)
            environment = {**os.environ, "PATH": f"{root}:{os.environ['PATH']}", "TEST_PARTS": parts, "MPI": mpi, "ARCH": arch}
            done = subprocess.run([str(root / "scripts" / "test")], env=environment, capture_output=True, text=True, timeout=30, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_it_succeeds_where_all_tests_do(self):
        status, text = self.run_test(passes=True)
        self.assertEqual(status, 0, text)
        self.assertIn("release, openmpi: 100% tests passed, 0 tests failed out of 7, ", text)

    def test_it_fails_where_one_test_fails_and_says_so(self):
        status, text = self.run_test(passes=False)
        self.assertEqual(status, 1, text)
        self.assertIn("release, openmpi: 86% tests passed, 1 tests failed out of 7", text)
        self.assertIn("\ntests: 6 passed, 1 failed, 0 skipped\n", text)
        self.assertIn("some tests failed", text)

    def test_it_fails_where_the_build_does(self):
        status, text = self.run_test(passes=True, builds=False)
        self.assertEqual(status, 1, text)
        self.assertIn("release: the build failed", text)
        self.assertIn("\ntests: 0 passed, 0 failed, 0 skipped\n", text)

    def test_it_ends_with_the_tests_of_all_parts(self):
        skipped = r"\n\t304 - an.instruction (Skipped)\n\t1338 - mpi_fortran.p3 (Skipped)\n"
        status, text = self.run_test(passes=True, parts="release asan tsan", skipped=skipped)
        self.assertEqual(status, 0, text)
        self.assertEqual(text.splitlines()[-1], "tests: 15 passed, 0 failed, 6 skipped")

    def test_each_part_tells_how_long_it_took(self):
        status, text = self.run_test(passes=True, parts="release asan tsan")
        self.assertEqual(status, 0, text)
        for name in ("release, openmpi", "asan", "tsan"):
            self.assertRegex(text, rf"\n{name}: 100% tests passed, 0 tests failed out of 7, \d+ s with its build\n")

    def test_without_an_mpi_all_parts_are_those_that_start_none(self):
        status, text = self.run_test(passes=True, parts="all", mpi="none")
        self.assertEqual(status, 0, text)
        ran = re.findall(r"^([\w-]+)(?:, none)?: (?:100% tests )?passed", text, re.MULTILINE)
        self.assertEqual(ran, ["release", "long", "wide", "torch", "torch-next", "install", "wheel", "aarch64", "wheel-aarch64", "twice", "site", "recipes", "deb", "first-hour-long", "asan", "asan-long", "corpora", "fuzz", "tsan",
                               "tsan-long"])

    @unittest.skipIf(platform.machine() == "aarch64", "this is no other machine")
    def test_another_machine_has_the_parts_release_and_wheel(self):
        status, text = self.run_test(passes=True, parts="wheel", arch="aarch64")
        self.assertEqual(status, 0, text)
        status, text = self.run_test(passes=True, parts="wheel site", arch="aarch64")
        self.assertEqual(status, 1, text)
        self.assertIn("the part site runs on this machine, and ARCH=aarch64 has the parts release and wheel alone", text)

    def test_a_script_that_needs_what_is_not_there_is_skipped(self):
        status, text = self.run_test(passes=True, parts="deb", skips=True)
        self.assertEqual(status, 0, text)
        self.assertIn("deb, openmpi: skipped", text)
        self.assertIn("\ntests: 0 passed, 0 failed, 1 skipped\n", text)

    def test_a_package_or_a_version_of_torch_that_fails_is_a_failure(self):
        for part in ("install", "wheel", "sdist", "twice", "site", "recipes", "deb", "first-hour", "first-hour-long", "torch-next"):
            self.assertEqual(self.run_test(passes=True, parts=part)[0], 0)
            status, text = self.run_test(passes=False, parts=part)
            self.assertEqual(status, 1, text)
            self.assertIn(f"{part}, openmpi: failed", text)
            self.assertIn("\ntests: 0 passed, 1 failed, 0 skipped\n", text)

    def test_a_part_that_starts_an_mpi_is_refused_without_one(self):
        for part in ("asan-mpi", "other"):
            status, text = self.run_test(passes=True, parts=f"release {part}", mpi="none")
            self.assertEqual(status, 1, text)
            self.assertIn(f"the part {part} starts an MPI, and MPI=none builds without one", text)
            self.assertNotIn("test release", text)

    def test_a_part_that_is_none_is_refused_before_any_runs(self):
        status, text = self.run_test(passes=True, parts="release usan")
        self.assertEqual(status, 1, text)
        self.assertIn("no part 'usan'", text)
        self.assertNotIn("test release", text)


class Fuzz(unittest.TestCase):
    """scripts/tests/fuzz in a checkout of its own, where setup and build do nothing; the targets are these few words of shell, which run for no time."""

    RUNS = """for a; do case $a in -merge*) merge=1 ;; -artifact_prefix=*) left=${a#*=} ;; -*) ;; *) set -- "$@" "$a" ;; esac; shift; done
    if [ "${merge:-}" ]; then cat "$2"/* "$3"/* >"$1/one"; exit; fi
    mkdir -p "$1"; echo found >"$1/found"; echo stat::number_of_executed_units: 5 >&2
    """
    BREAKS = RUNS + "\necho input >${left}crash-1; echo slow >${left}slow-unit-1; exit 77"

    def fuzz(self, programs, hours="0.001", former=()):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "scripts/tests").mkdir(parents=True)
            for name in ("tests/fuzz", "common.sh"):
                shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
            (root / "build/setup").mkdir(parents=True)
            (root / "build/setup/auto.test").write_text("MPI_FLAVOUR=openmpi FUZZ_CXX=clang++\n")
            (root / "build/asan-openmpi/tests/fuzz").mkdir(parents=True)
            scripts = {"scripts/setup": "", "scripts/build": "echo built",
                       **{f"build/asan-openmpi/tests/fuzz/fuzz_{name}": words for name, words in programs.items()}}
            for name, words in scripts.items():
                (root / name).write_text(f"#!/bin/sh\n{words}\n")
                (root / name).chmod(0o755)
            for name in programs:
                (root / "tests/fuzz/corpus" / name).mkdir(parents=True)
                (root / "tests/fuzz/corpus" / name / "seed").write_text("seed")
            for name in former:
                (root / name).parent.mkdir(parents=True)
                (root / name).write_text("")
                os.utime(root / name, (0, 0))
            environment = {**os.environ, "MPI": "auto", "HOURS": hours, "FUZZ_CORPUS": f"{root}/kept", "JOBS": "2"}
            done = subprocess.run([str(root / "scripts/tests/fuzz")], env=environment, capture_output=True, text=True, timeout=30, check=False)
            kept = sorted(str(file.relative_to(root)) for file in (root / "kept").rglob("*") if file.is_file())
            return done.returncode, done.stdout.replace(directory, "ROOT") + done.stderr, kept

    def test_each_target_has_a_turn_and_its_inputs_are_kept_merged(self):
        status, text, kept = self.fuzz({"a": self.RUNS, "b": self.RUNS, "c": self.RUNS}, former=("build/fuzz/findings/a/crash-0",))
        self.assertEqual(status, 0, text)
        self.assertIn("fuzz 3 targets on 2 cores: 2 turns of 1 s", text)  # of 3.6 s
        rows = [line.split() for line in text.splitlines()]
        for row in (["a", "10", "1", "1", "0"], ["b", "5", "1", "1", "0"], ["c", "5", "1", "1", "0"]):
            self.assertIn(row, rows, text)
        self.assertEqual(kept, ["kept/a/one", "kept/b/one", "kept/c/one"])

    def test_a_finding_is_named_and_is_a_failure(self):
        status, text, kept = self.fuzz({"a": self.RUNS, "b": self.BREAKS})
        self.assertEqual(status, 1, text)
        rows = [line.split() for line in text.splitlines()]
        self.assertIn(["b", "5", "1", "1", "1"], rows, text)
        self.assertIn("  ROOT/build/asan-openmpi/tests/fuzz/fuzz_b ROOT/build/fuzz/findings/b/crash-1\n", text)
        self.assertNotIn("slow-unit", text)
        self.assertEqual(kept, ["kept/a/one", "kept/b/one"])

    def test_a_target_that_does_not_run_is_a_failure(self):
        status, text, _ = self.fuzz({"a": "exit 1"})
        self.assertEqual(status, 1, text)
        self.assertIn("it did not run", text)

    def test_hours_that_are_none_are_refused_before_anything_is_built(self):
        for hours in ("", "0", "much", "1e3", "0.0001", "-1", "."):
            status, text, _ = self.fuzz({"a": self.RUNS}, hours)
            self.assertEqual(status, 1, text)
            self.assertIn(f"HOURS=n says how long to fuzz, such as HOURS=8 or HOURS=0.5; not '{hours}'", text)
            self.assertNotIn("built", text)


class Demo(unittest.TestCase):
    """scripts/demo in a checkout of its own, where setup and build do nothing; the program and the Python are these few words of shell."""

    WRITES = 'while [ "$1" != --out ]; do shift; done; mkdir -p "$2"; echo {} >"$2/stack.json"; echo stacked'

    def demo(self, *arguments, program=WRITES, status=0, matplotlib=True, draws=0, hosts=None):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for folder in ("scripts", "build/setup", "build/release-openmpi/apps/stacking"):
                (root / folder).mkdir(parents=True)
            for name in ("demo", "common.sh"):
                shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
            (root / "build/setup/auto.build").write_text(f"MPI_FLAVOUR=openmpi MPIRUN=none PYTHON={root}/python3\n")
            for name, words in (("scripts/setup", ""), ("scripts/build", ""), ("scripts/launch", 'shift 2; exec "$@"'),
                                ("build/release-openmpi/apps/stacking/stacking", f"{program}\nexit {status}"),
                                ("python3", f'[ "$1" = -c ] && exit {0 if matplotlib else 1}\n[ "$1" = tests/hosts/hosts.py ] && shift && echo "hosts $*" | '
                                 f'sed "s:{root}/::g" && {{ [ {hosts} != 0 ] || {{ mkdir -p build/demo/hosts && echo {{}} >build/demo/hosts/stack.json; }}; }} && exit {hosts}\necho "python $*"; exit {draws}')):
                (root / name).write_text(f"#!/bin/sh\n{words}\n")
                (root / name).chmod(0o755)
            if hosts is not None:
                (root / "tests/hosts").mkdir(parents=True)
                (root / "tests/hosts/hosts.py").touch()
            done = subprocess.run([str(root / "scripts" / "demo"), *arguments], env={**os.environ, "MPI": "auto"}, capture_output=True,
                                  text=True, timeout=30, check=False)
            note, *lines = done.stdout.splitlines()
            if "--help" in arguments:
                lines.insert(0, note)
            else:
                self.assertRegex(note, "^== on one host, where compression costs more time than it saves")
            return done.returncode, lines + done.stderr.splitlines()

    def test_what_was_stacked_is_drawn_where_it_was_written(self):
        self.assertEqual(self.demo(), (0, ["stacked", "python -m stretto draw build/demo", "== to look at: build/demo/stack.html"]))
        self.assertEqual(self.demo("--out", "a b", "--repeat", "1"), (0, ["stacked", "python -m stretto draw a b", "== to look at: a b/stack.html"]))

    def test_the_demo_runs_between_emulated_hosts_where_permitted(self):
        for hosts, ends in ((0, 0), (77, 0), (3, 3)):
            status, lines = self.demo("--repeat", "1", hosts=hosts)
            self.assertEqual(status, ends)
            ran = ["stacked", "python -m stretto draw build/demo", "hosts run --hosts 4 --rate 1gbit --mpirun none -- "
                   "build/release-openmpi/apps/stacking/stacking --out build/demo/hosts --repeat 1"]
            drawn = ["python -m stretto draw build/demo/hosts", "== to look at: build/demo/stack.html build/demo/hosts/stack.html"]
            self.assertEqual(lines[:2] + lines[3:], ran + (drawn if hosts == 0 else ["== to look at: build/demo/stack.html"]))

    def test_without_matplotlib_the_demo_succeeds_with_one_line(self):
        status, lines = self.demo(matplotlib=False)
        self.assertEqual((status, lines[0], len(lines)), (0, "stacked", 3))
        self.assertRegex(lines[1], "^no picture: .* has no matplotlib .*stretto draw build/demo")

    def test_help_and_refusals_leave_nothing_to_draw(self):
        self.assertEqual(self.demo("--help", program="echo helped"), (0, ["helped"]))
        self.assertEqual(self.demo(program="echo refused", status=2), (2, ["refused"]))

    def test_broken_promises_are_drawn_and_fail_as_drawing_errors_do(self):
        drawn = ["stacked", "python -m stretto draw build/demo", "== to look at: build/demo/stack.html"]
        self.assertEqual(self.demo(status=1), (1, drawn))
        self.assertEqual(self.demo(draws=3), (1, drawn))


class Figures(unittest.TestCase):
    def test_a_figure_that_nobody_knows_is_refused_before_any_is_drawn(self):
        done = subprocess.run([str(ROOT / "scripts" / "figures"), "stacking", "no-such"], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no figure no-such; there are: stacking bounds comparison model pingpong measuring frontier hosts", done.stderr)

    def figures(self, *names, images=False):
        """scripts/figures in a checkout of its own, over a Python and a build that do nothing: status, what was drawn, what was said."""
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for folder in ("scripts", "build/setup", "docs"):
                (root / folder).mkdir(parents=True)
            for name in ("figures", "common.sh"):
                shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
            python = root / "python.sh"
            for script in (python, *(root / "scripts" / name for name in ("setup", "build", "demo"))):
                script.write_text('#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" != --plot ] || echo "drawn ${2#docs/}"; shift; done\n')
                script.chmod(0o755)
            (root / "build/setup/auto.build").write_text(f"MPI_FLAVOUR=openmpi MPIRUN=none PYTHON={python}\n")
            if images:
                (root / "marmousi_rtm_12x286x941.f32").write_bytes(b"")
            done = subprocess.run(["bash", str(root / "scripts" / "figures"), *names], env={**os.environ, "MPI": "auto", "STRETTO_DATA_DIR": directory},
                                  capture_output=True, text=True, timeout=30, check=False)
            return done.returncode, re.findall("^drawn (.*)", done.stdout, re.MULTILINE), done.stdout + done.stderr

    def test_missing_images_keep_one_picture_and_draw_the_others(self):
        status, drawn, said = self.figures()
        self.assertEqual((status, drawn), (0, ["bounds.png", "comparison.png"]), said)
        self.assertIn("marmousi_rtm_12x286x941.f32, which docs/stacking.png shows", said)
        self.assertEqual(self.figures(images=True)[:2], (0, ["stacking.png", "bounds.png", "comparison.png"]))
        status, drawn, said = self.figures("stacking")
        self.assertEqual((status, drawn), (1, []))
        self.assertIn("STRETTO_DATA_DIR names its directory", said)


class Bench(unittest.TestCase):
    def test_the_help_of_make_names_every_benchmark(self):
        there = {path.stem.split("_", 1)[1] for pattern in ("bench_*.cpp", "run_*.py") for path in (ROOT / "bench").rglob(pattern)}
        (told,) = re.findall(r"^bench-%: ## run one benchmark: bench-(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual({name.lstrip("-") for name in told.split(", ")}, there)


class BenchRuns(unittest.TestCase):
    """scripts/bench in a checkout of its own, where setup and build do nothing, over benchmarks of these few words of Python."""

    ROW = """open(sys.argv[2], "a").write('{"bench": "b", "case": "c", "metric": "m", "value": 1, "unit": "s"}\\n')"""
    SKIP = "print('skipped: not here'); sys.exit(77)"

    def bench(self, benches, *names):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for folder in ("scripts", "bench/programs", "build/setup", "build/release-openmpi/bench"):
                (root / folder).mkdir(parents=True)
            for name in ("scripts/bench", "scripts/common.sh", "bench/table.py"):
                shutil.copy(ROOT / name, root / name)
            (root / "build/setup/auto.build").write_text(f"MPI_FLAVOUR=openmpi MPIRUN=none PYTHON={sys.executable}\n")
            for name in ("setup", "build"):
                (root / "scripts" / name).write_text("#!/bin/sh\n")
                (root / "scripts" / name).chmod(0o755)
            (root / "bench/programs/bench_none.cpp").write_text("")
            for name, words in benches.items():
                (root / "bench" / f"run_{name}.py").write_text(f"import sys\n{words}\n")
            (root / "build/release-openmpi/bench/names").write_text("".join(f"{name}\n" for name in benches))
            done = subprocess.run([str(root / "scripts" / "bench"), *names], env={**os.environ, "MPI": "auto"}, capture_output=True, text=True,
                                  timeout=30, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_what_is_skipped_is_named_and_the_others_go_on(self):
        status, text = self.bench({"first": self.SKIP, "second": self.ROW, "third": self.SKIP})
        self.assertEqual(status, 0, text)
        self.assertIn("b: 1 rows of", text)
        self.assertEqual(text.splitlines()[-1], "benchmarks: 1 measured; failed: none; skipped: first third")

    def test_the_only_one_that_was_asked_for_may_be_skipped(self):
        status, text = self.bench({"first": self.SKIP, "second": self.ROW}, "first")
        self.assertEqual(status, 0, text)
        self.assertIn("skipped: not here", text)

    def test_one_that_fails_is_named_and_the_others_go_on(self):
        status, text = self.bench({"first": "sys.exit(3)", "second": self.ROW, "third": "sys.exit(0)"})
        self.assertEqual(status, 1, text)
        for words in ("b: 1 rows of", "bench first ended with status 3", "bench third gave no rows"):
            self.assertIn(words, text)
        self.assertIn("\nbenchmarks: 1 measured; failed: first third; skipped: none\n", text)

    def test_rows_that_a_failed_one_left_are_shown(self):
        status, text = self.bench({"first": f"{self.ROW}; sys.exit(3)"})
        self.assertEqual(status, 1, text)
        self.assertIn("b: 1 rows of", text)

    def test_a_name_that_nobody_knows_is_refused_before_any_runs(self):
        status, text = self.bench({"first": self.ROW}, "first", "fourth")
        self.assertEqual(status, 1, text)
        self.assertIn("no benchmark fourth; there are: first none", text)
        self.assertNotIn("rows of", text)


class Skipped(unittest.TestCase):
    """What runs benchmarks on several hosts, where none can be made, and beside a simulator that is not there."""

    def status(self, name, *args):
        with tempfile.TemporaryDirectory() as directory:
            # A profile of this host, which is measured before hosts are made. They need programs that are not on this PATH.
            pathlib.Path(directory, "rows.parts").mkdir()
            pathlib.Path(directory, "rows.parts", "openmpi.base.json").touch()
            environment = {**os.environ, "PATH": directory, "BUILD": directory, "MPIRUN": "mpirun", "MPI_FLAVOUR": "openmpi"}
            done = subprocess.run([sys.executable, str(ROOT / "bench" / f"run_{name}.py"), "--json", f"{directory}/rows.jsonl", *args],
                                  env=environment, capture_output=True, text=True, timeout=30, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_each_says_why_and_ends_with_77(self):
        for name, *args in (("hosts",), ("training", "--place", "4 hosts 1gbit"), ("choose", "--place", "2x1-1g"),
                            ("preload", "--hosts", "2"), ("smpi",)):
            status, text = self.status(name, *args)
            self.assertEqual(status, 77, f"{name}: {text}")
            self.assertTrue(any(line.startswith("skipped: ") for line in text.splitlines()), text)


class Table(unittest.TestCase):
    def table(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "rows.jsonl")
            path.write_text(text)
            return run("bench/table.py", str(path))

    def test_a_row_with_a_peer_shows_both_values_and_the_ratio(self):
        status, text = self.table('{"bench": "hosts", "case": "p=4", "metric": "ms", "value": 75.0, "unit": "ms", '
                                  '"peer": "MPI_Allreduce", "peer_value": 900.0, "ratio": 12.0, "mpi": "x"}\n')
        self.assertEqual(status, 0)
        self.assertEqual(text.splitlines()[1].split(), ["case", "metric", "value", "unit", "peer", "peer's", "ratio", "mpi"])
        self.assertEqual(text.splitlines()[3].split(), ["p=4", "ms", "75.00", "ms", "MPI_Allreduce", "900.0", "12.00", "x"])

    def test_a_line_that_is_no_row_is_refused_with_its_place(self):
        for bad in ("not json", '{"bench": "b"}', "3"):
            status, text = self.table('{"bench":"b","case":"c","metric":"m","value":1,"unit":"u"}\n' + bad + "\n")
            self.assertEqual(status, 1)
            self.assertIn("rows.jsonl:2:", text)

    def test_a_file_without_rows_is_refused(self):
        self.assertEqual(self.table("")[0], 1)


class Sources(unittest.TestCase):
    def test_src_and_apps_read_the_environment_by_secure_getenv(self):
        plain = re.compile(r"(?<!secure_)\bgetenv\s*\(")
        self.assertTrue(plain.search("std::getenv(name)"))
        self.assertFalse(plain.search("secure_getenv(name) fegetenv(&e)"))
        for folder in ("src", "apps"):
            for file in (ROOT / folder).rglob("*.*"):
                self.assertIsNone(plain.search(file.read_text(encoding="utf-8")), f"{file}: secure_getenv is meant")


class Checkout(unittest.TestCase):
    """scripts/common.sh in a checkout of its own, whose path no mpicc takes."""

    def in_checkout(self, directory, script):
        root = pathlib.Path(directory)
        (root / "scripts" / "lib").mkdir(parents=True, exist_ok=True)
        for name in ("common.sh", "clean", "lib/packages.sh"):
            shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
        done = subprocess.run(["bash", "-c", script], cwd=root, env={**os.environ, "XDG_CACHE_HOME": f"{self.scratch}/cache"}, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stdout + done.stderr

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = os.path.realpath(scratch.name)

    def test_one_with_a_space_in_its_path_is_worked_on_through_a_link(self):
        links = []
        for name in ("a checkout", "a second", "with:colon", "a $HOME"):
            status, link = self.in_checkout(f"{self.scratch}/{name}", '. scripts/common.sh; [ "$PWD" = "$ROOT" ]; . "$ROOT/scripts/common.sh"; is_linked_checkout; echo "$ROOT"')
            self.assertEqual(status, 0, link)
            self.assertRegex(link, rf"^{self.scratch}/cache/stretto/stretto-checkout-\d+-\d+$")
            self.assertEqual(os.readlink(link.strip()), f"{self.scratch}/{name}")
            links.append(link)
        self.assertEqual(len(set(links)), len(links))
        _, again = self.in_checkout(f"{self.scratch}/a checkout", '. scripts/common.sh; echo "$ROOT"')
        self.assertEqual(again, links[0])

    def test_one_of_a_usual_path_has_no_link(self):
        for name in ("checkout", "käse_1.0+x@y,z=%~"):
            status, root = self.in_checkout(f"{self.scratch}/{name}", '. scripts/common.sh; is_linked_checkout || echo "$ROOT"')
            self.assertEqual((status, root), (0, f"{self.scratch}/{name}\n"))
        self.assertFalse(os.path.exists(f"{self.scratch}/cache"))

    def test_a_link_that_leads_elsewhere_is_refused(self):
        _, link = self.in_checkout(f"{self.scratch}/a checkout", '. scripts/common.sh; echo "$ROOT"')
        os.remove(link.strip())
        os.symlink(self.scratch, link.strip())
        status, said = self.in_checkout(f"{self.scratch}/a checkout", ". scripts/common.sh")
        self.assertEqual(status, 1)
        self.assertIn(f"{link.strip()} is no link of yours that leads there", said)

    def test_what_clean_leaves_is_the_checkout(self):
        for name in ("a checkout", "checkout"):
            self.in_checkout(f"{self.scratch}/{name}", '. scripts/common.sh; mkdir -p build .venv python/build python/stretto.egg-info; ! is_linked_checkout || mkdir "$ROOT-mpi-openmpi"')
            os.makedirs(f"{self.scratch}/{name}-mpi-openmpi")
            status, said = self.in_checkout(f"{self.scratch}/{name}", "scripts/clean; ls -A . python")
            self.assertEqual((status, said), (0, ".:\npython\nscripts\n\npython:\n"))
        self.assertEqual(os.listdir(f"{self.scratch}/cache/stretto"), [])
        self.assertTrue(os.path.isdir(f"{self.scratch}/checkout-mpi-openmpi"))

    def test_chroots_want_what_makes_them_and_nothing_else(self):
        _, said = self.in_checkout(f"{self.scratch}/checkout", ". scripts/common.sh; . scripts/lib/packages.sh; type() { return 1; }; missing_packages chroot")
        self.assertEqual(said, "mmdebstrap\n")

    def test_apt_is_handed_the_proxy_that_sudo_forgets(self):
        (bin_ := pathlib.Path(self.scratch, "bin")).mkdir()
        for name, words in (("sudo", '[ "$*" = "-n true" ] && exit $SUDO_STATUS; echo "sudo $*" >&2; exit 1'), ("id", "echo 1000"), ("apt-get", "exit 0")):
            (bin_ / name).write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
            (bin_ / name).chmod(0o755)
        script = ('. scripts/common.sh; . scripts/lib/packages.sh; mkdir -p build/setup; missing_packages() { echo cmake; }; unset http_proxy https_proxy no_proxy; '
                  f'PATH="{bin_}:$PATH"; export https_proxy="http://a b:1"; ')
        _, said = self.in_checkout(f"{self.scratch}/checkout", f"{script} export SUDO_STATUS=0; install_packages build")
        self.assertIn("sudo -n env https_proxy=http://a b:1 DEBIAN_FRONTEND=noninteractive apt-get -q ", said)
        _, said = self.in_checkout(f"{self.scratch}/checkout", f"{script} export SUDO_STATUS=1; install_packages build")
        self.assertIn('\n  sudo env https_proxy="$https_proxy" apt-get update && sudo env https_proxy="$https_proxy" apt-get install -y --no-install-recommends cmake', said)
        _, said = self.in_checkout(f"{self.scratch}/checkout", f"{script} unset https_proxy; export SUDO_STATUS=1; install_packages build")
        self.assertIn("\n  sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake", said)

    def test_only_what_there_is_no_right_to_do_skips_a_chroot(self):
        (bin_ := pathlib.Path(self.scratch, "bin")).mkdir()
        (bin_ / "unshare").write_text("#!/bin/sh\nexit $MOUNTS\n", encoding="utf-8")
        (bin_ / "unshare").chmod(0o755)
        setup = pathlib.Path(self.scratch, "checkout", "scripts", "setup")
        setup.parent.mkdir(parents=True)
        setup.write_text("#!/bin/sh\nexit $SETUP\n", encoding="utf-8")
        setup.chmod(0o755)
        script = f'. scripts/common.sh; PATH="{bin_}:$PATH"; use_chroots; echo there'
        for mounts, result, expected in ((0, 0, (0, "there\n")), (0, 77, (77, "skipped: mmdebstrap, which makes the chroot, is not installed\n")), (0, 1, (1, "")),
                                         (1, 1, (77, "skipped: no mounts are permitted here, which a chroot needs\n"))):
            self.assertEqual(self.in_checkout(f"{self.scratch}/checkout", f"export MOUNTS={mounts} SETUP={result}; {script}"), expected)

    def test_a_chroot_without_a_right_to_install_has_a_status(self):
        (bin_ := pathlib.Path(self.scratch, "bin")).mkdir()
        for name, words in (("sudo", 'for last; do :; done; [ "$SUDO_STATUS" = 0 ] && [ "$last" = true ]'), ("id", "echo 1000"), ("apt-get", "exit 0")):
            (bin_ / name).write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
            (bin_ / name).chmod(0o755)
        script = f'. scripts/common.sh; . scripts/lib/packages.sh; mkdir -p build/setup; touch build/setup/apt.log; missing_packages() {{ echo mmdebstrap; }}; PATH="{bin_}:$PATH"; '
        for right, level, expected, said in ((1, "chroot", 77, "no right to install them"), (1, "build", 1, "no right to install them"), (0, "chroot", 1, "apt-get install failed")):
            status, text = self.in_checkout(f"{self.scratch}/checkout", f"{script} export SUDO_STATUS={right}; install_packages {level}")
            self.assertEqual(status, expected, text)
            self.assertIn(said, text)


class SetupOfAWheel(unittest.TestCase):
    """scripts/setup wheel in a checkout of its own, with an Open MPI of the system, and a pip that makes the MPIs it is asked for, or fails."""

    PYTHON = """#!/bin/sh
case $* in
  *"--version"*) exit 0 ;;
  *"pip install"*"--prefix"*) ;;
  *) exit 0 ;;
esac
for prefix; do [ "$last" != --prefix ] || break; last=$prefix; done
mkdir -p "$prefix/bin"
touch "$prefix/bin/mpicc" "$prefix/bin/mpirun"
chmod +x "$prefix"/bin/*
echo asked for an MPI >>"$ASKED"
echo "no matching distribution" >&2
exit $PIP
"""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(os.path.realpath(scratch.name), "checkout")
        (self.root / "scripts" / "lib").mkdir(parents=True)
        for name in ("setup", "common.sh", "requirements.txt", "requirements_test.txt", "requirements_bench.txt", "lib/mpi.sh", "lib/cross.sh"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts" / name)
        (self.root / "python").mkdir()
        shutil.copy(ROOT / "python" / "pyproject.toml", self.root / "python")
        (self.root / "scripts" / "lib" / "packages.sh").write_text("install_packages() { :; }\nfind_fuzzing_clang() { :; }\n", encoding="utf-8")
        for name, words in ((".venv/bin/python", self.PYTHON), (".venv/bin/stretto", ""), ("bin/mpicc", "#!/bin/sh\n"), ("bin/mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 5.0'\n")):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(words, encoding="utf-8")
            (self.root / name).chmod(0o755)

    def set_up(self, pip=0, mpi="auto"):
        """(status, output, how often pip was asked for an MPI)"""
        asked = self.root / "asked"
        asked.write_text("", encoding="utf-8")
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "PIP": str(pip), "ASKED": str(asked), "MPI": mpi, "ARCH": ""}
        done = subprocess.run([str(self.root / "scripts" / "setup"), "wheel"], env=environment, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stdout + done.stderr, len(asked.read_text(encoding="utf-8").splitlines())

    def test_the_other_mpi_comes_once_per_environment(self):
        mpich = self.root / ".venv" / "mpi-mpich"
        status, text, asked = self.set_up()
        self.assertEqual((status, asked), (0, 1), text)
        self.assertTrue((mpich / "bin" / "mpicc").exists())
        self.assertEqual(self.set_up(), (0, "", 0))
        shutil.rmtree(mpich)
        status, text, asked = self.set_up()
        self.assertEqual((status, asked), (0, 1), text)
        self.assertTrue((mpich / "bin" / "mpicc").exists())

    def test_one_that_cannot_be_had_is_left_out_told_and_tried_again(self):
        for _ in range(2):
            status, text, asked = self.set_up(pip=1)
            self.assertEqual((status, asked), (0, 1), text)
            self.assertRegex(text, r"(?m)^== mpich==\S+ cannot be had, and is left out: log in .*/mpich\.log$")
            self.assertNotIn("no matching distribution", text)
            self.assertIn("no matching distribution", (self.root / "build" / "setup" / "mpich.log").read_text(encoding="utf-8"))
            self.assertFalse((self.root / ".venv" / "mpi-mpich").exists())
        status, text, asked = self.set_up()
        self.assertEqual((status, asked), (0, 1), text)
        self.assertNotIn("cannot be had", text)

    def test_an_older_python_is_refused_before_packages_are_asked_for(self):
        shutil.rmtree(self.root / ".venv")
        packages = self.root / "scripts" / "lib" / "packages.sh"
        packages.write_text(packages.read_text(encoding="utf-8").replace("{ :; }", "{ echo packages; exit 1; }", 1), encoding="utf-8")
        python = self.root / "bin" / "python3"
        for old in (True, False):
            python.write_text(f"#!/bin/sh\ncase $1 in --version) echo Python 3.9.2 ;; *) exit {int(old)} ;; esac\n", encoding="utf-8")
            python.chmod(0o755)
            said = "error: Python 3.9.2 is too old; stretto needs Python 3.10 or newer on the PATH\n" if old else "packages\n"
            self.assertEqual(self.set_up(), (1, said, 0))

    def test_without_an_mpi_none_is_wanted(self):
        status, text, asked = self.set_up(pip=1, mpi="none")
        self.assertEqual((status, asked), (0, 0), text)


class Install(unittest.TestCase):
    def test_a_directory_that_is_none_is_refused_before_anything_is_built(self):
        for given, said in (("", "PREFIX=DIR says where to install"), ("here", "PREFIX=here is no absolute directory")):
            done = subprocess.run([str(ROOT / "scripts/install")], env={**os.environ, "PREFIX": given}, capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(said, done.stderr)

    def in_prefix(self, prefix, *words):
        """A function of scripts/lib/prefix.sh on the directory prefix."""
        done = subprocess.run(["bash", "-c", '. scripts/common.sh; . scripts/lib/prefix.sh; "$@"', "scripts/install", *map(str, words)], cwd=ROOT,
                              env={**os.environ, "PREFIX": str(prefix)}, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode, done.stderr

    def made(self, root, *files):
        for file in files:
            path = pathlib.Path(root, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file, encoding="utf-8")

    def everything(self, root):
        return sorted(str(path.relative_to(root)) for path in pathlib.Path(root).rglob("*"))

    def test_what_is_put_is_taken_away_and_the_users_files_stay(self):
        with tempfile.TemporaryDirectory() as root:
            prefix, stage = pathlib.Path(root, "a prefix"), pathlib.Path(root, "stage")
            self.made(prefix, "bin/pip", "include/mine.h", "share/mine/a")
            users = self.everything(prefix)
            ours = ("bin/stretto-model", "include/stretto/stretto.h", "lib/cmake/stretto/a.cmake", "libexec/stretto/stretto-doctor")
            self.made(stage, *ours)
            for _ in range(2):  # an installation may be repeated
                self.assertEqual(self.in_prefix(prefix, "check_prefix"), (0, ""))
                self.assertEqual(self.in_prefix(prefix, "claim", stage), (0, ""))
                self.made(prefix, *ours, "libexec/stretto/python/bin/pip")
                (prefix / "bin/stretto").unlink(missing_ok=True)
                (prefix / "bin/stretto").symlink_to("../libexec/stretto/python/bin/stretto")
            self.made(prefix, "include/stretto/users.h")
            self.assertEqual(self.in_prefix(prefix, "remove_installed"), (0, ""))
            self.assertEqual(self.everything(prefix), sorted([*users, "include/stretto", "include/stretto/users.h"]))
            status, said = self.in_prefix(prefix, "remove_installed")
            self.assertEqual(status, 1)
            self.assertIn("has no list of what make install put there", said)

    def test_a_file_of_the_users_is_named_and_left_alone(self):
        for theirs, step in (("bin/stretto", "check_prefix"), ("libexec/stretto/python", "check_prefix"), ("bin/stretto-model", "claim")):
            with tempfile.TemporaryDirectory() as root:
                prefix, stage = pathlib.Path(root, "prefix"), pathlib.Path(root, "stage")
                self.made(prefix, theirs)
                self.made(stage, "bin/stretto-model")
                before = self.everything(prefix)
                status, said = self.in_prefix(prefix, step, stage)
                self.assertEqual(status, 1)
                self.assertIn(f"{prefix}/{theirs} is there already, and make install did not put it there", said)
                self.assertEqual(self.everything(prefix), before)

    def test_an_installation_by_an_older_version_is_told_apart(self):
        with tempfile.TemporaryDirectory() as prefix:
            self.made(prefix, "pyvenv.cfg", "bin/stretto", "lib/libstretto.so")
            status, said = self.in_prefix(prefix, "check_prefix")
            self.assertEqual(status, 1)
            self.assertIn("an installation by an older version, a Python environment as a whole", said)

    def test_a_list_that_leads_out_of_the_prefix_removes_nothing(self):
        with tempfile.TemporaryDirectory() as root:
            self.made(root, "mine", "prefix/bin/stretto")
            for bad in (f"{root}/mine", "../mine", "bin/../../mine", ".."):
                self.made(root, "prefix/libexec/stretto/installed.txt")
                pathlib.Path(root, "prefix/libexec/stretto/installed.txt").write_text(f"bin/stretto\n{bad}\n", encoding="utf-8")
                before = self.everything(root)
                self.assertEqual(self.in_prefix(f"{root}/prefix", "remove_installed")[0], 1, bad)
                self.assertEqual(self.everything(root), before)

    def test_what_is_installed_is_built_for_it(self):
        """scripts/install builds stretto_installed, to which stretto_install adds."""
        self.assertIn("scripts/build release stretto_installed", (ROOT / "scripts/install").read_text(encoding="utf-8"))
        for folder in ("apps", "cmake", "python", "src"):
            for file in (one for pattern in ("CMakeLists.txt", "*.cmake") for one in (ROOT / folder).rglob(pattern) if one.name != "StrettoOptions.cmake"):
                self.assertNotIn("install(TARGETS", file.read_text(encoding="utf-8"), f"{file}: stretto_install is meant")


class TestOutput(unittest.TestCase):
    LOG = """      Start  1: a
 1/3 Test  #1: a ....   Passed    0.01 sec
 2/3 Test  #2: b ....***Failed    0.01 sec
the reason
 3/3 Test  #3: c ....***Skipped   0.01 sec
no device
66% tests passed, 1 tests failed out of 3
"""

    def test_only_output_of_failed_tests_and_the_summary_are_printed(self):
        text = (ROOT / "scripts/test").read_text(encoding="utf-8")
        function = text[text.index("outputs() {"):].partition("\n}\n")[0] + "\n}\n"
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(self.LOG)
            log.flush()
            shown = subprocess.run(["bash", "-c", f"{function} outputs {log.name}"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown.splitlines(), [" 2/3 Test  #2: b ....***Failed    0.01 sec", "the reason", "66% tests passed, 1 tests failed out of 3"])


class Folders(unittest.TestCase):
    CATALOGUES = {"src/schedule/algorithms", "src/codec/avx512"}  # a file each
    SOURCES = {".c", ".cpp", ".cu", ".cuh", ".f90", ".h", ".hpp", ".py", ".sh"}

    def test_a_folder_holds_at_most_twenty_sources(self):
        count = collections.Counter()
        for top in ("apps", "bench", "examples", "filters", "include", "python", "scripts", "src", "tests"):
            for path in (ROOT / top).rglob("*"):
                if path.is_file() and (path.suffix in self.SOURCES or top == "scripts"):
                    count[str(path.parent.relative_to(ROOT))] += 1
        self.assertGreater(len(count), 80)
        self.assertEqual({folder: n for folder, n in count.items() if n > 20 and folder not in self.CATALOGUES}, {})


class Names(unittest.TestCase):
    def test_a_test_is_called_suite_and_property_in_sixty_characters(self):
        test = re.compile(r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
        sources = [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".cpp", ".cu")]
        names = {".".join(found.groups()) for path in sources for found in test.finditer(path.read_text())}
        self.assertGreater(len(names), 1500)
        wrong = sorted(name for name in names if len(name) > 60 or not re.fullmatch(r"[A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*", name))
        self.assertFalse(wrong, "\n".join(["", *wrong]))


class Documents(unittest.TestCase):
    # All pages but gpu.md, format.md and torch.md.
    USERS = ("README.md", *(f"docs/{name}.md" for name in (
        "start", "command", "mpi", "python", "semantics", "limits", "overlap", "carriers", "glossary", "measurements", "architecture", "algorithms", "codec",
        "model", "node")))

    def test_the_readme_fits_one_screen_and_a_half(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertLessEqual(len(text.splitlines()), 75)
        self.assertLessEqual(len(text.split()), 500)

    def test_the_pages_stay_few_and_short(self):
        pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        self.assertLessEqual(len(pages), 22)
        self.assertLessEqual(sum(len(page.read_text(encoding="utf-8").split()) for page in pages), 45_000)

    def test_users_pages_open_with_a_use_and_have_120_column_lines(self):
        for page in self.USERS:
            text = (ROOT / page).read_text(encoding="utf-8")
            if page.startswith("docs/"):
                self.assertRegex(text, r"\A# [^\n]+\n\nAfter this page you ", page)
            prose = re.sub(r"^```.*?^```|^(\||    )[^\n]*", "", text, flags=re.MULTILINE | re.DOTALL)
            self.assertEqual([line for line in prose.splitlines() if len(line) > 120], [], page)

    def test_the_page_for_beginners_names_every_package_that_setup_wants(self):
        script, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("scripts/lib/packages.sh", "docs/start.md"))
        wanted = {line.split()[0] for part in re.findall(r"<<'LIST'\n(.*?)^LIST$", script, re.MULTILINE | re.DOTALL) for line in part.splitlines()}
        wanted |= set(re.findall(r"\becho \"?(lib[\w-]+|iproute2|hdf5-tools|python3-\w+|clang)\b", script)) - {"libclang-rt"}
        self.assertGreater(len(wanted), 14)
        self.assertEqual({name for name in wanted if f"`{name}`" not in page}, set())
        self.assertIn(f"CMake {re.search(r'VERSION ([0-9.]+)', (ROOT / 'CMakeLists.txt').read_text(encoding='utf-8'))[1]} ", page)

    def test_each_way_to_install_is_gone_by_a_part_of_the_tests(self):
        page, makefile, script, gate = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/start.md", "Makefile", "scripts/test", ".ci/run"))
        table = re.search(r"^\| for \| do \| done from nothing by \|\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)[1]
        every = [set(parts.split()) for parts in re.findall(r'^ .*\bparts="(release [^"]*)"$', script, re.MULTILINE)]
        short = set(re.search(r'TEST_PARTS="([^"]*)"', gate)[1].split())
        self.assertEqual(len(every), 2)
        in_gate = []
        for row in table.splitlines():
            target, arch = re.fullmatch(r"`make (test-[\w-]+)(?: ARCH=(\w+))?`(?:, emulated)?", row.strip("| ").split(" | ")[2]).groups()
            if target == "test-all":
                self.assertIn("interface/part", (ROOT / "tests/api/CMakeLists.txt").read_text(encoding="utf-8"))
                part = "long"
            else:
                part = re.search(rf"^{target}:.*\n\t@TEST_PARTS=(\S+) scripts/test$", makefile, re.MULTILINE)[1] + (f"-{arch}" if arch else "")
            for parts in every:
                self.assertIn(part, parts, row)
            in_gate.append(part in short)
        self.assertEqual(in_gate, [True] * 2 + [False] * (len(in_gate) - 2), "the page says which rows .ci/run does")

    def test_both_packages_of_python_want_the_same(self):
        told = [dict(re.findall(r"^(requires-python|dependencies|hdf5|zarr|numcodecs) = (.*)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
                for name in ("pyproject.toml", "python/pyproject.toml")]
        self.assertEqual(len(told[0]), 5)
        self.assertEqual(*told)

    def test_the_walks_name_known_functions_and_are_short(self):
        page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (\d+) \|$", page[page.index("### Walks of a call"):page.index("## The walk of one block")], re.MULTILINE)
        files = [path for top in ("src", "include", "python") for path in (ROOT / top).rglob("*") if path.suffix in (".cpp", ".hpp", ".h", ".py")]
        known = {name for path in files for name in re.findall(r"(\w+)\(", path.read_text(encoding="utf-8"))}
        most = {"blocking, between hosts": 16, "started, between hosts": 16, "preloaded, its first time": 18, "on a device": 24, "of Python, to the C interface": 12}
        length, seen = {}, set()
        for walk, functions, number in rows:
            names = re.findall(r"`([^`]+)`", functions)
            for name in names:
                last = re.split(r"::|\.", name)[-1]
                self.assertTrue(last in known or last.startswith("MPI_"), name)
            # The walk on a device names where it leaves the blocking one: `run`, `form`, `Agreement::begin`, `Movement::start`.
            length[walk] = len(names) if walk != "on a device" else length["blocking, between hosts"] + len(names) - 5
            self.assertEqual(length[walk], int(number), walk)
            self.assertLessEqual(length[walk], most.get(walk, 18), walk)
            seen.add(walk)
        self.assertLessEqual(set(most), seen)

    def test_the_table_of_floors_is_that_of_the_includes(self):
        uses = runpy.run_path(ROOT / "tests/house/check_floors.py")["USES"]
        table = {}
        for line in (ROOT / "docs/architecture.md").read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 3 and cells[0].strip("`") in uses:
                table[cells[0].strip("`")] = cells[2]
        self.assertEqual(set(table), set(uses))
        for floor, cell in table.items():
            if cell == "all of these":
                listed = set(table) - {"base", "api", "modules", "mpi"}
            else:
                listed = set() if cell == "nothing of ours" else {name.strip() for name in cell.split(",")} - {"base"}
            self.assertEqual(listed, uses[floor], f"floor {floor}")

    def test_what_they_point_to_is_there(self):
        heading = re.compile(r"^#+ (.*)$", re.MULTILINE)
        for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
            for target, _, place in re.findall(r"\]\((?!\w+:)([^)#\s]*)(#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
                file = page.parent / target if target else page
                self.assertTrue(file.exists(), f"{page.name} points to {target}")
                if place:
                    places = [re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in heading.findall(file.read_text(encoding="utf-8"))]
                    self.assertIn(place, places, f"{page.name} points to {target}#{place}")

    def test_files_of_the_checkout_that_they_name_are_there(self):
        path = re.compile(r"(?<![\w/.~-])((?:apps|bench|cmake|docs|examples|filters|include|profiles|python|scripts|src|tests)/[\w./-]+)")
        for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
            named = {name.rstrip("./") for name in path.findall(page.read_text(encoding="utf-8")) if "NAME" not in name}
            self.assertEqual({name for name in named if not (ROOT / name).exists()}, set(), page.name)


if __name__ == "__main__":
    unittest.main()
