#!/usr/bin/env python3
"""Runs the stacking program as a user does, on ranks of this machine. Needs STACKING, MPIRUN, LAUNCH and STRETTO_DATA_DIR; WIDE=1 adds ranks."""

import array
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import matplotlib.image

from stacking_run import CODE_SPACE, MARMOUSI, MARMOUSI_SHAPE, SEA_SURFACE, SEA_SURFACE_SHAPE, hashes, rows_of, run, write_images

WIDE = bool(os.environ.get("WIDE"))


class Program(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.here = pathlib.Path(directory.name)
        self.runs = 0

    def stack(self, ranks, *arguments):
        """A run that must succeed; its rows."""
        self.runs += 1
        rows = self.here / f"{self.runs}.jsonl"
        done = run(ranks, "--repeat", 1, "--out", self.here / "out", "--json", rows, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return rows_of(rows)

    def refused(self, *arguments, ranks=3):
        """A run that must fail, and soon, with all ranks ending by themselves; what it said."""
        done = run(ranks, "--repeat", 1, "--out", self.here / "out", *arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertNotIn("abort", done.stderr.lower())
        said = [line for line in done.stderr.splitlines() if line.startswith("stacking: ")]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertNotIn("migrating", done.stderr)
        return said[0]


class Reproducible(Program):
    def same_for_all_ranks(self, *arguments, ranks, wide=()):
        seen = {}
        for p in ranks + wide * WIDE:
            seen[p] = hashes(self.stack(p, "--payloads", "homomorphic,fused", *arguments))
        self.assertEqual(len(set.union(*seen.values())), 1, seen)

    def test_one_hash_for_all_ranks_schedules_and_payloads_in_code_space(self):
        file = self.here / "images.f32"
        write_images(file, 11, 24, 37)
        self.same_for_all_ranks("--images", file, "--shape", "11,24,37", ranks=(1, 2, 5), wide=(3, 4, 7))

    def test_one_hash_where_some_ranks_have_no_image(self):
        file = self.here / "images.f32"
        write_images(file, 2, 9, 31)
        self.same_for_all_ranks("--images", file, "--shape", "2,9,31", ranks=(1, 2, 5))

    def test_one_hash_for_double_precision(self):
        file = self.here / "images.f64"
        write_images(file, 5, 12, 50, "d")
        self.same_for_all_ranks("--images", file, "--shape", "5,12,50", "--type", "f64", ranks=(1, 3), wide=(4,))

    def test_one_hash_where_values_are_missing_or_huge(self):
        def spoil(values):
            for i in range(0, len(values), 7):
                values[i] = 1e20
            for i in range(3, len(values), 101):
                values[i] = math.nan
        file = self.here / "images.f32"
        write_images(file, 4, 20, 33, spoil=spoil)
        self.same_for_all_ranks("--images", file, "--shape", "4,20,33", "--bound", "abs:1e-3", ranks=(1, 3), wide=(2,))

    def test_one_hash_for_images_that_the_program_migrates(self):
        self.same_for_all_ranks("--shots", 5, "--depth", 64, "--width", 80, ranks=(1, 3), wide=(4,))

    def test_one_hash_for_the_marmousi_images_at_two_bounds(self):
        if not MARMOUSI.exists():
            self.skipTest(f"{MARMOUSI.name} is not there; migrated images are tested in its place")
        for bound in ("rel:1e-3", "rel:1e-4"):
            self.same_for_all_ranks("--images", MARMOUSI, "--shape", MARMOUSI_SHAPE, "--bound", bound, ranks=(1, 5), wide=(4,))


class FillValues(Program):
    """Large finite numbers that stand for missing data."""

    def expect_data(self, file, shape, kind="f"):
        """The stack is within images times 1e-4 of the range of the others, and fill values are exact."""
        images = array.array(kind)
        images.frombytes(file.read_bytes())
        count, height, width = map(int, shape.split(","))
        data = [v for v in images if abs(v) < 1e15]
        eps = 1e-4 * (max(data) - min(data))
        rows = self.stack(3, "--images", file, "--shape", shape, "--payloads", "recompress,fused")
        for row in rows:
            self.assertAlmostEqual(row["eps"], eps, delta=1e-9 * eps)
            self.assertLessEqual(row["worst_error"], row["promised_error"], row)
            self.assertLess(row["worst_error"], 2 * count * eps)
        stack = array.array(kind)
        stack.frombytes((self.here / "out" / "stack.f32").read_bytes())
        pixels = height * width
        for i in range(pixels):
            values = images[i::pixels]
            exact = math.fsum(values)
            if max(map(abs, values)) >= 1e15:
                self.assertEqual(stack[i], array.array(kind, [exact])[0])
            else:
                self.assertLessEqual(abs(stack[i] - exact), 1.0001 * count * eps + 1e-6 * abs(exact))
        page = (self.here / "out" / "stack.html").read_text(encoding="utf-8")
        self.assertIn("1e15 or more, a fill value", page)
        self.assertNotIn("The bound is larger", page)

    def test_are_left_out_of_the_range_and_are_exact(self):
        def spoil(values):
            for i in range(300, len(values), 7):  # the first image has none
                values[i] = 1e20
        file = self.here / "images.f32"
        write_images(file, 5, 12, 25, spoil=spoil)
        self.expect_data(file, "5,12,25")

    def test_of_sea_surface_temperatures_are_land(self):
        if not SEA_SURFACE.exists():
            self.skipTest(f"{SEA_SURFACE.name} is not there")
        self.expect_data(SEA_SURFACE, SEA_SURFACE_SHAPE)

    def test_bounds_too_large_for_the_values_are_noted(self):
        def spoil(values):
            for i in range(0, len(values), 3):
                values[i] = 1e9
        file = self.here / "images.f32"
        write_images(file, 2, 12, 25, spoil=spoil)
        self.stack(2, "--images", file, "--shape", "2,12,25", "--payloads", "fused")
        self.assertIn("The bound is larger", (self.here / "out" / "stack.html").read_text(encoding="utf-8"))


class Outputs(Program):
    def test_sums_that_the_type_cannot_hold_are_infinite_and_that_is_said(self):
        def spoil(values):
            for image, value in enumerate((3e38, 3e38, 1, -3e38)):
                values[image * 400 + 17] = value  # a sum that fits, by way of some that may not
            for image in range(4):
                values[image * 400 + 23] = 3e38
        file = self.here / "images.f32"
        write_images(file, 4, 16, 25, spoil=spoil)
        for bound in ("rel:1e-4", "abs:1e30"):
            rows = self.stack(3, "--images", file, "--shape", "4,16,25", "--bound", bound)
            for row in rows:
                in_code_space = row["case"].split()[1] in CODE_SPACE
                self.assertIn(row["overflowed"], (1,) if in_code_space else (1, 2), row)
                self.assertLessEqual(row["worst_error"], row["promised_error"], row)
        stack = array.array("f")
        stack.frombytes((self.here / "out" / "stack.f32").read_bytes())
        self.assertEqual([i for i, v in enumerate(stack) if not math.isfinite(v)], [23])
        self.assertEqual(stack[23], math.inf)
        self.assertIn("more than f32 holds", (self.here / "out" / "stack.html").read_text(encoding="utf-8"))

    def test_the_stack_is_within_images_times_eps_of_the_sum(self):
        file = self.here / "images.f32"
        values = write_images(file, 6, 16, 25)
        rows = self.stack(4, "--images", file, "--shape", "6,16,25", "--schedules", "ring", "--payloads", "fused")
        stack = array.array("f")
        stack.frombytes((self.here / "out" / "stack.f32").read_bytes())
        self.assertEqual(len(stack), 400)
        worst = 0.0
        for i, got in enumerate(stack):
            exact = math.fsum(values[i::400])
            worst = max(worst, abs(got - exact) - abs(got) * 2.0 ** -24)
        self.assertLessEqual(worst, 6 * rows[-1]["eps"])
        self.assertGreater(rows[-1]["worst_error"], 0.0)
        self.assertLessEqual(rows[-1]["worst_error"], rows[-1]["promised_error"])

    def test_every_payload_and_schedule_has_a_row_that_keeps_its_promise(self):
        file = self.here / "images.f32"
        write_images(file, 5, 16, 25)
        rows = self.stack(3, "--images", file, "--shape", "5,16,25")
        self.assertEqual(rows[0]["case"], "MPI_Allreduce -")
        self.assertEqual(len(rows), 1 + 3 * 5)
        for row in rows:
            self.assertLessEqual(row["worst_error"], row["promised_error"], row)
        for row in rows[1:]:
            self.assertGreater(row["bytes_sent"], 0, row)
            self.assertEqual(row["peer_value"], rows[0]["value"])

    def test_the_description_and_the_error_are_those_of_the_stack(self):
        file = self.here / "images.f32"
        values = write_images(file, 3, 16, 25)
        for name in ("stack.png", "stack.svg"):
            (self.here / "out").mkdir(exist_ok=True)
            (self.here / "out" / name).write_text("of former data", encoding="utf-8")
        rows = self.stack(2, "--images", file, "--shape", "3,16,25", "--schedules", "ring", "--payloads", "raw,fused",
                          "--tile", "4000")
        out = self.here / "out"
        said = json.loads((out / "stack.json").read_text(encoding="utf-8"))
        self.assertEqual({name: said[name] for name in ("stack", "error", "type", "height", "width", "images", "schedule", "payload")},
                         {"stack": "stack.f32", "error": "error.f32", "type": "f32", "height": 16, "width": 25, "images": 3,
                          "schedule": "ring", "payload": "fused"})
        self.assertEqual((said["worst_error"], said["promised_error"]), (rows[-1]["worst_error"], rows[-1]["promised_error"]))
        stack, error = array.array("f"), array.array("f")
        stack.frombytes((out / "stack.f32").read_bytes()[:1600])
        error.frombytes((out / "error.f32").read_bytes())
        self.assertEqual(len(error), 400)
        for i in range(400):
            self.assertAlmostEqual(error[i], stack[i] - math.fsum(values[i::400]), delta=1e-6)
        self.assertAlmostEqual(max(map(abs, error)), said["worst_error"], delta=1e-6)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["error.f32", "stack.f32", "stack.html", "stack.json"])

    def test_the_page_keeps_room_for_the_picture_and_says_what_draws_it(self):
        file = self.here / "images.f32"
        write_images(file, 3, 16, 25)
        self.stack(2, "--images", file, "--shape", "3,16,25", "--schedules", "ring", "--payloads", "raw,fused")
        page = (self.here / "out" / "stack.html").read_text(encoding="utf-8")
        self.assertIn(f"stretto draw {self.here / 'out'}", page.partition("<figure>")[2].partition("</figure>")[0])
        self.assertIn("All promises hold", page)

    def test_tiling_repeats_the_stack(self):
        file = self.here / "images.f32"
        write_images(file, 3, 10, 10)
        self.stack(2, "--images", file, "--shape", "3,10,10", "--tile", "1000", "--schedules", "ring", "--payloads", "fused")
        stack = (self.here / "out" / "stack.f32").read_bytes()
        self.assertEqual(len(stack), 1000)
        self.assertEqual(stack[:400], stack[400:800])

    def test_the_picture_of_the_page_is_what_is_drawn_now(self):
        if not MARMOUSI.is_file():
            self.skipTest(f"{MARMOUSI.name} is not there")
        self.stack(4, "--images", MARMOUSI, "--shape", MARMOUSI_SHAPE, "--schedules", "rabenseifner", "--payloads", "fused")
        root, drawn = pathlib.Path(__file__).resolve().parents[2], self.here / "p.png"
        draw = [sys.executable, "-m", "stretto", "draw", str(self.here / "out"), "--plot", str(drawn)]
        subprocess.run(draw, env={**os.environ, "PYTHONPATH": str(root / "python")}, check=True, capture_output=True, timeout=60)
        pictures = [matplotlib.image.imread(path) for path in (drawn, root / "docs" / "stacking.png")]
        self.assertEqual(pictures[0].shape, pictures[1].shape, "scripts/figures stacking draws it again")
        self.assertLess(abs(pictures[0] - pictures[1]).mean(), 0.01, "scripts/figures stacking draws it again")


class Refusals(Program):
    def test_a_missing_file_is_named(self):
        said = self.refused("--images", self.here / "none.f32", "--shape", "2,3,4")
        self.assertIn("none.f32", said)
        self.assertIn("No such file", said)

    def test_a_short_file_is_told_expected_and_found_bytes(self):
        file = self.here / "short.f32"
        write_images(file, 1, 10, 10)
        said = self.refused("--images", file, "--shape", "2,10,10")
        self.assertIn("400 bytes", said)
        self.assertIn("800 bytes", said)

    def test_a_file_of_another_type_is_told_expected_and_found_bytes(self):
        file = self.here / "images.f32"
        write_images(file, 2, 10, 10)
        said = self.refused("--images", file, "--shape", "2,10,10", "--type", "f64")
        self.assertIn("800 bytes", said)
        self.assertIn("1600 bytes", said)

    def test_a_file_that_is_too_long_for_its_shape_is_refused(self):
        file = self.here / "images.f32"
        write_images(file, 2, 10, 10)
        self.assertIn("400 too many", self.refused("--images", file, "--shape", "1,10,10"))

    def test_a_bound_of_nothing_is_refused(self):
        file = self.here / "zeros.f32"
        file.write_bytes(bytes(2 * 3 * 4 * 4))
        self.assertIn("range of 0", self.refused("--images", file, "--shape", "2,3,4"))

    def test_images_without_finite_values_need_an_absolute_bound(self):
        for value in (math.nan, math.inf):
            file = self.here / "images.f32"
            array.array("f", [value] * 24).tofile(open(file, "wb"))
            said = self.refused("--images", file, "--shape", "2,3,4")
            self.assertIn("rel:1e-4", said)
            self.assertIn("images.f32) is finite", said)
        self.stack(2, "--images", file, "--shape", "2,3,4", "--bound", "abs:1e-3")

    def test_a_stack_that_is_more_than_mpi_takes_is_told_before_the_work(self):
        self.assertIn("--tile 100000000000", self.refused("--tile", "100000000000"))

    def test_files_that_cannot_be_written_are_told_before_the_work(self):
        rows = self.here / "none" / "rows.jsonl"
        self.assertIn(str(rows), self.refused("--json", rows))
        (self.here / "out" / "error.f32").mkdir(parents=True)
        self.assertIn("error.f32", self.refused("--shots", 1))

    def test_what_is_refused_leaves_no_rows_behind(self):
        rows = self.here / "rows.jsonl"
        self.refused("--json", rows, "--schedules", "no_such_schedule")
        self.assertFalse(rows.exists())

    def test_a_schedule_that_nobody_knows_is_told_before_the_work(self):
        self.assertIn("no_such_schedule", self.refused("--schedules", "no_such_schedule"))

    def test_a_directory_that_cannot_be_made_is_told_before_the_work(self):
        (self.here / "out").write_text("in the way", encoding="utf-8")
        self.assertIn("out", self.refused("--shots", 1))

    def test_a_bad_argument_is_told_once(self):
        self.assertIn("rel:nonsense", self.refused("--bound", "rel:nonsense"))


if __name__ == "__main__":
    unittest.main()
