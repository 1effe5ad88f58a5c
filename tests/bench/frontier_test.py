#!/usr/bin/env python3
"""What bench/python/run_frontier.py concludes, and the grids on which it puts values for other coders."""

import pathlib
import sys
import unittest
import unittest.mock

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/python"))

import frontier_coders as coders  # noqa: E402
import run_frontier as frontier  # noqa: E402


def row(coder, part, value, smaller):
    return {"case": "c", "field": "f", "rel": 1e-3, "coder": coder, "part": part, "value": value, "smaller": smaller, "error": 1.0}


def rows(**coder):
    return [row(name.replace("_", " "), part, value, smaller) for name, (smaller, *values) in coder.items()
            for part, value in zip(("compress", "decompress"), values)]


class Grid(unittest.TestCase):
    def test_rounded_values_are_within_the_bound_at_a_large_offset(self):
        for dtype in (np.float32, np.float64):
            x = (280 + np.random.default_rng(1).standard_normal(20000)).astype(dtype)
            for eps in (1e-2, 1e-3):
                step, out = coders.step_of(x, eps), np.empty_like(x)
                codes = coders.rounder(x, step, np.int32)()
                for values in (coders.multiplied(codes, step, out), coders.rounder(x, step, x.dtype)()):
                    self.assertLessEqual(np.abs(values.astype(np.float64) - x).max(), eps)

    def test_missing_values_get_the_value_before_them(self):
        x = np.array([[np.nan, 1, 1e20], [2, np.nan, 3]], np.float32)
        self.assertEqual(frontier.in_place(x).tolist(), [[1, 1, 1], [2, 2, 3]])

    def test_shapes_merge_the_first_axes_alone(self):
        self.assertEqual(frontier.shapes(np.empty((2, 3, 4, 5))), [(2, 3, 4, 5), (6, 4, 5), (24, 5), (120,)])
        self.assertEqual(frontier.shapes(np.empty(7)), [(7,)])


class Measured(unittest.TestCase):
    def test_a_missing_package_is_named_and_the_others_are_measured(self):
        x, missing = np.linspace(0, 1, 5000, dtype=np.float32), {}
        some = {**coders.OURS, "zfp": coders.zfp}
        with unittest.mock.patch.object(frontier, "CODERS", some), unittest.mock.patch.dict(sys.modules, {"zfpy": None}):
            found = list(frontier.measure("line", x, 1e-3, 1, missing))
        self.assertEqual(missing, {"zfp": "no package zfpy"})
        self.assertEqual([one["coder"] for one in found], ["stretto fixed"] * 2 + ["stretto dense"] * 2 + ["stretto shaped"] * 2)
        self.assertTrue(all(0.5 < one["error"] <= 1 and one["smaller"] > 4 and one["value"] > 0 for one in found), found)


class Verdict(unittest.TestCase):
    def test_a_slow_peer_of_a_higher_ratio_is_within_the_aim(self):
        self.assertEqual(list(frontier.verdict(rows(stretto_dense=(20, 4, 5), SZ3=(30, 0.3, 0.4), zfp=(10, 2, 2)))), [])

    def test_a_faster_peer_of_a_higher_ratio_is_named(self):
        self.assertEqual([line.split(":")[0] for line in frontier.verdict(rows(stretto_dense=(20, 4, 5), SZ3=(30, 0.3, 0.6)))],
                         ["geometric mean, 0.001, decompress", "f, 0.001, decompress"])


if __name__ == "__main__":
    unittest.main()
