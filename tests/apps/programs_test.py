#!/usr/bin/env python3
"""Tests of the programs of apps/programs on several numbers of ranks. PROGRAMS names their directory; MPIRUN, LAUNCH."""

import json
import math
import os
import re
import subprocess
import unittest


def run(name, ranks, *args):
    command = [os.environ["LAUNCH"], os.environ["MPIRUN"], str(ranks), os.path.join(os.environ["PROGRAMS"], f"stretto-{name}"), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def rows(name, ranks, *args):
    """The rows that a program printed; it must have come to its end."""
    status, out, err = run(name, ranks, *args)
    if status != 0:
        raise AssertionError(err)
    events = [json.loads(line) for line in out.splitlines()]
    if events[-1]["event"] != "end" or events[0]["ranks"] != ranks or not re.fullmatch(r"\w[^:]* \d[.\w]*", events[0]["library"]):
        raise AssertionError(out)
    return [event for event in events if event["event"] == "row"]


class Programs(unittest.TestCase):
    def refused(self, words, name, ranks, *args):
        status, out, err = run(name, ranks, *args)
        self.assertNotEqual(status, 0, (name, args))
        self.assertIn(words, err)
        self.assertNotIn('"row"', out)


class Ring(Programs):
    VARIANTS = ["blocking", "sendrecv", "nonblocking", "persistent", "neighbourhood"]

    def test_every_message_comes_home_whether_ranks_are_even_or_odd(self):
        for ranks in (2, 3, 4):
            found = rows("ring", ranks, "--bytes", 80000, "--repeats", 1)
            self.assertEqual([row["variant"] for row in found], self.VARIANTS)
            for row in found:
                self.assertEqual((row["messages"], row["megabytes"]), (2 * ranks**2, 2 * ranks**2 * 0.08))

    def test_what_is_no_ring_is_refused(self):
        self.refused("1 rank is no ring", "ring", 1)
        self.refused("a message of 12 bytes is no multiple of 8", "ring", 2, "--bytes", 12)


class Jacobi(Programs):
    POINTS = (13, 7, 10)  # which nothing divides
    SWEEPS = 40

    def solved(self, ranks, *args, sweeps=SWEEPS):
        (row,) = rows("jacobi", ranks, "--points", ",".join(map(str, self.POINTS)), "--sweeps", sweeps, *args)
        return row

    def error_after(self, sweeps):
        """Of the wave that the source is: each sweep takes the error of its own equations to the same part."""
        angles = [math.pi / (n + 1) for n in self.POINTS]
        eigenvalue = 6 - 2 * sum(map(math.cos, angles))
        height = sum(angle**2 for angle in angles) / eigenvalue * (1 - (1 - eigenvalue / 6) ** sweeps)
        top = math.prod(max(math.sin(angle * i) for i in range(1, n + 1)) for angle, n in zip(angles, self.POINTS))
        return abs(height - 1) * top

    def test_every_grid_has_the_bits_of_one_rank_and_the_analytic_error(self):
        alone = self.solved(1, "--halo", "blocking")
        self.assertAlmostEqual(alone["error"], self.error_after(self.SWEEPS), delta=1e-12)
        for ranks, dimensions, halo, dims in ((2, 3, "overlapped", [2, 1, 1]), (3, 1, "blocking", [3, 1, 1]), (4, 2, "overlapped", [2, 2, 1]),
                                              (5, 1, "overlapped", [5, 1, 1]), (8, 3, "blocking", [2, 2, 2]), (9, 2, "overlapped", [3, 3, 1])):
            row = self.solved(ranks, "--dimensions", dimensions, "--halo", halo)
            self.assertEqual(row["dims"], dims)
            self.assertEqual((row["checksum"], row["change"]), (alone["checksum"], alone["change"]), (ranks, halo))

    def test_it_converges_at_the_same_sweep_whoever_reduces(self):
        until = ("--tolerance", 1e-6, "--check", 5)
        alone = self.solved(1, *until, sweeps=2000)
        self.assertTrue(alone["converged"])
        self.assertEqual(self.solved(3, *until, sweeps=2000)["sweeps"], alone["sweeps"])
        for kind in ("started", "stretto"):  # known a sweep later
            row = self.solved(2, *until, "--reduction", kind, sweeps=2000)
            self.assertEqual((row["converged"], row["sweeps"]), (True, alone["sweeps"] + 1), kind)

    def test_bounded_halos_are_shorter_and_near_the_exact_solution(self):
        exact, bounded = (rows("jacobi", 2, "--side", 24, "--sweeps", 3000, "--tolerance", 1e-7, "--type", type_, "--halo", *halo)[0]
                          for type_, halo in (("f64", ["overlapped"]), ("f64", ["bounded", "--bound", "1e-5"])))
        self.assertTrue(exact["converged"] and bounded["converged"])
        self.assertLess(bounded["sent_bytes"], exact["sent_bytes"] / 2)
        # The layer on each side has at most the bound as error, and shifts the whole by at most the mean over its
        # sweeps.
        self.assertLess(abs(bounded["error"] - exact["error"]), 24 * 1e-5)

    def test_impossible_grids_and_bounds_are_refused(self):
        self.refused("3 x 1 x 1 processes cannot cut 2 x 9 x 9 points: 3 processes are more than 2 planes", "jacobi", 3, "--points", "2,9,9",
                     "--dimensions", 1)
        self.refused("--side: Value 0 not in range", "jacobi", 2, "--side", 0)
        self.refused("takes 382.6 GB on a host that has", "jacobi", 2, "--side", 2514)  # three fields of 8 bytes a point, with their layers
        self.refused("--bound 0 is not positive", "jacobi", 2, "--side", 8, "--halo", "bounded")


class ConjugateGradients(Programs):
    FORMS = ("blocking", "pipelined", "reproducible")

    def test_every_form_finds_the_solution_on_planes_that_do_not_divide(self):
        for form, stencil, ranks in zip(self.FORMS, (5, 27, 27), (2, 3, 2)):
            (row,) = rows("cg", ranks, "--side", 11, "--stencil", stencil, "--form", form, "--tolerance", 1e-10, "--steps", 200)
            self.assertTrue(row["converged"], form)
            self.assertLess(row["error"], 1e-8, form)

    def test_reproducible_residuals_have_equal_bits_on_any_rank_count(self):
        found = [rows("cg", ranks, "--side", 19, "--form", "reproducible", "--steps", 30)[0]["residuals"] for ranks in (1, 2, 5, 8)]
        self.assertEqual(len(found[0]), 31)
        for residuals in found:
            self.assertEqual(residuals, found[0])

    def test_with_weak_scaling_each_rank_has_the_planes_that_one_rank_has(self):
        for stencil, ranks in ((5, 3), (27, 2)):
            (row,) = rows("cg", ranks, "--side", 9, "--stencil", stencil, "--weak", "--tolerance", 1e-10, "--steps", 300)
            self.assertTrue(row["converged"])
            self.assertLess(row["error"], 1e-8)
            self.assertEqual((row["side"], row["planes"], row["plane_bytes"]), (9, 9 * ranks, 8 * 9 ** (1 if stencil == 5 else 2)))

    def test_more_ranks_than_planes_are_refused(self):
        self.refused("3 ranks are more than 2 planes", "cg", 3, "--side", 2)


class AdaptiveMesh(Programs):
    MOVING = ("--roots", 2, "--levels", 3, "--cells", 4, "--variables", 3, "--steps", 60, "--every", 4, "--speed", 0.03)

    def mesh(self, ranks, *args):
        """Of a run, which itself checks that its blocks fill the cube, neighbours differ by a level, and sums stay."""
        found = {row["phase"]: row for row in rows("amr", ranks, *args)}
        self.assertEqual(set(found) - {"balance"}, {"step", "refinement", "collectives", "stencil", "ghosts", "change", "marks", "rebuild", "sums"})
        return found["step"]["mesh"]

    def test_blocks_and_values_have_equal_bits_on_any_rank_count(self):
        alone = self.mesh(1, *self.MOVING)
        self.assertEqual(len(alone["blocks"]), 16)
        self.assertGreater(len(set(map(tuple, alone["blocks"]))), 8)  # they refine and coarsen
        for blocks in alone["blocks"]:
            self.assertEqual(sum(n * 8 ** (3 - level) for level, n in enumerate(blocks)), 2**3 * 8**3)
        for ranks in (2, 3, 5, 7):
            mesh = self.mesh(ranks, *self.MOVING)
            self.assertEqual({**mesh, "sums": None}, {**alone, "sums": None}, ranks)
            for one, other in zip(mesh["sums"], alone["sums"]):
                self.assertAlmostEqual(one, other, delta=1e-12)

    def test_a_wave_on_equal_blocks_decays_as_the_stencil_says(self):
        for ranks, roots, cells, steps in ((1, 3, 4, 10), (2, 1, 6, 5), (3, 3, 2, 15)):
            mesh = self.mesh(ranks, "--roots", roots, "--levels", 0, "--cells", cells, "--variables", 1, "--steps", steps)
            side = roots * cells
            factor = (1 + 6 * math.cos(math.pi / side)) / 7
            top = 0.5 * math.cos(math.pi / 2 / side) ** 3
            self.assertAlmostEqual(mesh["change"], top * (1 - factor) * factor ** (steps - 1), delta=1e-13)
            self.assertAlmostEqual(mesh["sums"][0], 1, delta=1e-13)

    def test_ranks_without_blocks_and_spheres_that_cut_none_are_no_fault(self):
        few = ("--roots", 1, "--levels", 1, "--cells", 2, "--radius", 2, "--steps", 5)
        self.assertEqual(self.mesh(1, *few), self.mesh(3, *few))
        self.assertEqual(self.mesh(3, *few)["blocks"], [[1, 0], [1, 0]])
        within = self.mesh(2, "--roots", 3, "--levels", 2, "--cells", 2, "--radius", 0.001, "--speed", 1, "--steps", 40)  # far in one step
        self.assertTrue(all(blocks[2] >= 8 for blocks in within["blocks"]), within["blocks"])
        grown = ("--roots", 1, "--levels", 3, "--cells", 2, "--radius", 0.7, "--steps", 10)  # from fewer blocks than ranks
        self.assertEqual(self.mesh(5, *grown)["checksum"], self.mesh(1, *grown)["checksum"])

    def test_sizes_that_cannot_be_are_refused(self):
        self.refused("--cells 7 is odd", "amr", 2, "--cells", 7)
        self.refused("--steps 7 is no multiple of the 5 steps", "amr", 2, "--steps", 7)
        self.refused("--roots 1024 and --levels 11 give 2097152 of the finest blocks", "amr", 2, "--roots", 1024, "--levels", 11)
        self.refused("of 1 variables needs counts of 16106127360", "amr", 2, "--roots", 1024, "--cells", 2, "--variables", 1)
        self.refused("a mesh of 134217728 blocks of 2^3 cells of 1 variables takes", "amr", 2, "--roots", 512, "--cells", 2, "--variables", 1)
        self.refused("--radius and --speed cannot be nan", "amr", 2, "--radius", "nan")
        self.refused("--levels", "amr", 2, "--levels", 17)


class Matrix(Programs):
    def test_sums_are_right_and_exchanges_have_the_volume_of_faces(self):
        """The program checks every value of the sum."""
        for ranks, points in ((5, (7, 6, 5)), (4, (9, 5))):
            found = rows("matrix", ranks, "--points", ",".join(map(str, points)), "--repeats", 1)
            self.assertEqual([row["dimensions"] for row in found], list(range(1, len(points) + 1)))
        cube = rows("matrix", 8, "--points", "8,8,8", "--repeats", 1)
        self.assertEqual([row["exchange_bytes"] for row in cube], [2 * 8 * 64, 2 * 8 * (2 * 8 + 4 * 8), 6 * 8 * 16])  # 8 x 1 x 1, 4 x 2 x 1, 2 x 2 x 2

    def test_with_weak_scaling_each_block_is_of_the_size_given(self):
        found = rows("matrix", 6, "--points", "5,4,3", "--weak", "--repeats", 1)
        self.assertEqual([row["dims"] for row in found], [[6, 1, 1], [3, 2, 1], [3, 2, 1]])
        for row in found:
            self.assertEqual(row["points"], [n * p for n, p in zip((5, 4, 3), row["dims"])])

    def test_grids_that_cannot_be_are_refused(self):
        self.refused("4 processes are more than 3 planes", "matrix", 4, "--points", "3,50")


if __name__ == "__main__":
    unittest.main()
