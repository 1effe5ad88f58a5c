#!/usr/bin/env python3
"""Tests of stretto-model, run as people run it. STRETTO_MODEL names the program."""

import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["STRETTO_MODEL"]


def run(*args, **variables):
    """Without profiles of the user's, unless `variables` name some."""
    surroundings = {name: value for name, value in os.environ.items() if name != "STRETTO_PROFILE"}
    surroundings.update({"XDG_CONFIG_HOME": "/nonexistent", **variables})
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=120, env=surroundings)
    return done.returncode, done.stdout, done.stderr


def result(*args, **variables):
    status, out, err = run(*args, "--json", **variables)
    if status != 0:
        raise AssertionError(err)
    return json.loads(out)


class Errors(unittest.TestCase):
    def refused(self, word, *args):
        status, out, err = run(*args)
        self.assertEqual(status, 2, args)
        self.assertIn(word, err)
        self.assertEqual(out, "")

    def test_impossible_topologies_are_named(self):
        self.refused("0 ranks on each node", "explain", "allreduce", "-n", 4, "--per-node", 0)
        self.refused("8 ranks on each node are more than the 4", "explain", "allreduce", "-n", 4, "--per-node", 8)
        self.refused("0 ranks", "choose", "allreduce", "-n", 0)
        self.refused("131073 ranks", "choose", "allreduce", "-n", 131073)

    def test_rules_are_read_as_the_profiling_library_reads_them(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "rules"
            file.write_text("# all\nallreduce 1M.. rel:1e-5 schedule:ring\n* off\n", encoding="utf-8")
            self.assertEqual(run("rules", file), (0, "2 rules\n", ""))
            file.write_text("* off\nallreduce schedule:spiral\n", encoding="utf-8")
            self.refused(f"{file}, line 2: 'spiral' is no schedule; there are ring, rabenseifner, ", "rules", file)
            file.write_text("allreduce rel:-1\n", encoding="utf-8")
            self.refused(f"{file}, line 1: 'rel:-1' is no bound: '-1' is not finite and positive", "rules", file)
        self.refused("no-such-file", "rules", "no-such-file")

    def test_profile_is_another_name_of_machine(self):
        question = ("explain", "allreduce", "-n", 4, "--bytes", "1M")
        self.assertEqual(result(*question, "--profile", "a100-hdr"), result(*question, "--machine", "a100-hdr"))
        self.refused("machine 'nope' is neither a file", *question, "--profile", "nope")

    def test_sizes_bounds_and_ratios_are_named(self):
        self.refused("--rate '1gbit' is no number: of the network in Gb/s", "explain", "allreduce", "--rate", "1gbit")
        self.refused("--ranks 'four' is no number: ranks", "choose", "allreduce", "-n", "four")
        self.refused("collective is missing: allreduce, broadcast (or bcast)", "explain")
        self.refused("study is missing: weak", "simulate")
        self.refused("'1X' is no size", "explain", "allreduce", "--bytes", "1X")
        self.refused("'-5' is no size", "explain", "allreduce", "--bytes=-5")
        self.refused("bound '1e-4'", "explain", "allreduce", "--bound", "1e-4")
        self.refused("rel:0", "explain", "allreduce", "--bound", "rel:0")
        self.refused("ratio 0.5", "explain", "allreduce", "--ratio", 0.5)

    def test_names_that_are_none_are_given_with_those_there_are(self):
        self.refused("hdr", "choose", "allreduce", "--machine", "deep-thought")
        self.refused("allgather", "choose", "allscatter")
        for command in ("predict", "choose"):
            self.refused("'carousel'; it has ring, ", command, "allreduce", "--schedule", "carousel")
        self.refused("growth -1", "predict", "allreduce", "--system", "hzccl", "--growth=-1")
        self.refused("homcomp-f", "predict", "allreduce", "--system", "zip")
        self.refused("root 9", "choose", "broadcast", "-n", 4, "--root", 9)
        self.refused("homomorphic", "predict", "allreduce", "--payload", "brown paper")
        halves = ("choose", "allreduce", "--payload", "bfloat16")
        for words, more in (("keeps no bound", ("--bound", "rel:1e-4")), ("takes f32, not f64", ("--type", "f64")), ("no payload bfloat16", ("--device",))):
            self.refused(words, *halves, *more)

    def test_lanes_that_do_not_fit_together_are_named(self):
        tree = ("predict", "reduce", "--schedule", "binomial", "-n", 4)
        self.refused("-1 communication cores", *tree, "--comm-cores=-1")
        self.refused("a split of 31 levels", *tree, "--comm-cores", 1, "--split", 31)
        self.refused("need --comm-cores", *tree, "--split", 1)
        self.refused("need --comm-cores", *tree, "--work", "1ms")
        self.refused("'1 hour' is no time", *tree, "--comm-cores", 1, "--work", "1 hour")
        self.refused("--no-overlap leaves", *tree, "--comm-cores", 1, "--no-overlap")
        self.refused("reduce rabenseifner is no tree that splits", "predict", "reduce", "--schedule", "rabenseifner", "-n", 4,
                     "--comm-cores", 1, "--split", 1)

    def test_a_ratio_without_streams_is_refused(self):
        for command in (("explain", "allreduce"), ("choose", "allreduce"), ("predict", "allreduce", "--schedule", "ring")):
            self.refused("ratio 9 is that of streams, which need a bound", *command, "--ratio", 9)

    def test_networks_that_are_none_or_do_not_fit_are_named(self):
        for network in ("mesh", "torus", "torus:", "torus:4x", "torus:4x0", "torus:x4", "torus:4y4"):
            self.refused(f"network '{network}' is neither flat nor a torus", "choose", "allreduce", "-n", 16, "--network", network)
        self.refused("a torus of 4x4x4 has 64 places, and there are 16 hosts", "choose", "allreduce", "-n", 16, "--network", "torus:4x4x4")

    def test_what_is_too_much_to_walk_is_refused_with_its_numbers(self):
        for command in (("broadcast", "--schedule", "scatter_allgather"), ("alltoall", "--schedule", "bruck")):
            self.refused("16384 ranks: 16384 of them to walk, about ", "predict", *command, "-n", 16384)

    def test_split_trees_that_are_none_are_named(self):
        self.refused("edges 'twice' are neither alike nor double", "simulate", "overlap", "--edges", "twice")
        self.refused("-1 levels; from 0 to 30", "simulate", "overlap", "--levels=-1")
        self.refused("1 cores; from 2 to 4096", "simulate", "overlap", "--cores", 1)
        self.refused("64 ranks on 64 cores leave none to communicate", "simulate", "overlap", "--cores", 64, "-n", 64)

    def test_a_plan_names_the_word_that_it_cannot_read(self):
        for work, word in (("ireduce 2M", "'ireduce 2M' has no compute"), ("compute 20ms", "'compute 20ms' has no collective"),
                           ("compute 20, ireduce 2M", "'20' is no time"), ("compute 0s, ireduce 2M", "'0s' is no time"),
                           ("compute 20ms, ialltoall 2M", "'ialltoall' is none of 'compute TIME'"),
                           ("compute 20ms, ireduce", "'ireduce' is none of 'compute TIME'"), ("compute 20ms,, ireduce 2M", "'' is none of"),
                           ("compute 20ms, ireduce 2Q", "'2Q' is no size"), ("compute 20ms, ireduce 2M, repeat 1.5", "repeat '1.5' is no number"),
                           ("compute 2ms, ireduce 2M, compute 3ms", "compute stands twice"), ("compute 20ms, reduce 2M", "reduce blocks")):
            self.refused(word, "plan", "--cores", 64, "--work", work)
        work = ("--work", "compute 20ms, ireduce 2M")
        self.refused("2 cores; from 3", "plan", "--cores", 2, *work)
        self.refused("65 ranks on 64 cores", "plan", "--cores", 64, "-n", 65, *work)
        self.refused("one of --work", "plan", "--cores", 64)
        self.refused("5 seconds are those of a run", "plan", "--cores", 64, "--seconds", 5, *work)

    def test_a_plan_names_the_report_that_it_cannot_read(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "report.json")
            question = ("plan", "--cores", 8, "--from", path)
            self.refused(f"report {path}: no such file", *question, "--seconds", 1)
            self.refused(f"report {path}: no such file", *question)
            row = {"operation": "reduce", "calls": 4, "bytes": 4096, "seconds": 2}
            for text, word in (("x", "it is not what"), ('{"ranks": 2}', "it is not what"), ('{"ranks": 0, "calls": []}', "0 ranks"),
                               ('{"ranks": 2, "calls": []}', "has no reduce"), ('{"ranks": 2, "calls": [3]}', "a row has no operation"),
                               (json.dumps({"ranks": 2, "calls": [{**row, "bytes": -1}]}), "'bytes' of a row"),
                               (json.dumps({"ranks": 2, "calls": [row]}), "1 s of the whole run are no more than the 2 s")):
                path.write_text(text)
                self.refused(word, *question, "--seconds", 1)
            self.refused("--seconds says how long the whole run took", *question)

    def test_a_profile_of_another_version_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "old.json")
            path.write_text('{"version": 0}')
            self.refused("old.json: the profile has version 0", "choose", "allreduce", "--machine", path)


class SplitTrees(unittest.TestCase):
    """Edges of 1 ms where a test needs no more: 1e6 bytes, moved and summed."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.machine = pathlib.Path(cls.directory.name, "machine.json")
        cls.machine.write_text(json.dumps({"version": 1, "name": "one", "cores": 64, "gamma": 4e-10,
                                           "links": {"cache": [{"alpha": 0, "beta": 6e-10}]}}))
        cls.slow = pathlib.Path(cls.directory.name, "slow.json")
        cls.slow.write_text(json.dumps({"version": 1, "cores": 64, "gamma": 3e-10, "links": {"cache": [{"alpha": 2e-6, "beta": 1e-9}]}}))

    @staticmethod
    def begins(rows, best="closed_best"):
        """The smallest number of ranks from which each split is the best."""
        found = {}
        for row in rows:
            found.setdefault(row[best], row["ranks"])
        return found

    def plan(self, work, *more, machine=None):
        return result("plan", "--work", work, "--machine", machine or self.machine, *more)

    def test_the_best_split_is_that_of_the_source(self):
        self.assertEqual(self.begins(result("simulate", "overlap")["rows"]), {0: 32, 1: 52, 2: 58, 3: 62})
        self.assertEqual(self.begins(result("simulate", "overlap", "--cores", 48)["rows"]), {0: 24, 1: 39, 2: 44, 3: 47})

    def test_the_librarys_own_tree_splits_later_than_the_closed_form(self):
        rows = result("simulate", "overlap")["rows"]
        self.assertEqual(self.begins(rows, "best"), {0: 32, 1: 55, 2: 60, 3: 63})  # as in tests/model/lanes_test.cpp
        for row in rows:
            for walked, closed in zip(row["overlapped"], row["closed"]):
                self.assertLessEqual(walked, closed + 1e-9, row)

    def test_an_overlap_is_told_for_the_ranks_that_are_asked_for(self):
        r = result("simulate", "overlap", "--cores", 16, "--edges", "double", "--levels", 4, "-n", "8,15")
        self.assertEqual([row["comm_cores"] for row in r["rows"]], [8, 1])
        self.assertEqual(r["rows"][0]["blocking"], 8 + 1 + 2 + 4)
        self.assertEqual(r["rows"][0]["closed"][:2], [8, 9])
        self.assertEqual(r["rows"][0]["overlapped"], r["rows"][0]["closed"])
        self.assertEqual(r["rows"][1]["overlapped"][3], 1 + 2 + 4 + 7)  # the root has 8 of the 15 blocks
        self.assertEqual(r["rows"][1]["closed"][0], 7 * 1 + 4 * 2 + 2 * 4 + 8)
        self.assertRegex(run("simulate", "overlap", "--cores", 64, "-n", 52)[1], r"\n +52 +12 +13\.385 .*    S=0    S=1\n$")

    def test_a_plan_in_edges_of_one_millisecond_is_the_closed_model(self):
        closed = result("simulate", "overlap", "--cores", 64)["rows"]
        planned = self.plan("compute 6ms, ireduce 1000000, repeat 1000", "--levels", 3)
        self.assertEqual(planned["cores"], 64)
        for one, other in zip(closed, planned["rows"]):
            self.assertEqual((one["ranks"], one["closed_best"], len(one["closed"])), (other["ranks"], other["best"], len(other["overlapped"])))
            self.assertAlmostEqual(one["blocking"], other["blocking"], places=9)
            for time, seconds in zip(one["closed"], other["overlapped"]):
                self.assertAlmostEqual(time, seconds, places=9)
        self.assertEqual((planned["best"]["ranks"], planned["best"]["best"]), (51, 0))
        self.assertAlmostEqual(planned["blocking"]["seconds"], 12)
        self.assertEqual(planned["rows"][-1], planned["blocking"])

    def test_a_collective_of_a_plan_that_blocks_takes_what_predict_says(self):
        for ranks in (2, 7, 8):
            for name in ("reduce", "bcast", "gather", "scatter"):
                predicted = result("predict", name, "--schedule", "binomial", "-n", ranks, "--per-node", ranks, "--bytes", "2M",
                                   "--machine", self.slow, "--no-overlap")["seconds"]
                row = self.plan(f"compute 1ns, i{name} 2M", "-n", ranks, machine=self.slow)["rows"][0]
                self.assertAlmostEqual(row["blocking"] - row["compute"], predicted, places=12)

    def test_a_split_that_is_explained_is_the_sources(self):
        for ranks, split in ((51, 0), (52, 1), (57, 1), (58, 2), (62, 3)):
            question = ("reduce", "-n", ranks, "--per-node", ranks, "--bytes", "2M", "--schedule", "binomial", "--comm-cores", 64 - ranks,
                        "--no-native")
            for c in result("explain", *question)["candidates"]:
                self.assertEqual(c["split"], split, ranks)
            self.assertEqual(result("choose", *question)["choice"]["split"], split)
            self.assertIn(f", S={split}\n", run("explain", *question)[1])
        self.assertNotIn("split", result("choose", "reduce", "-n", 52, "--schedule", "binomial")["choice"])

    def test_a_split_is_predicted_with_its_cores_and_work(self):
        def times(ranks, work):
            return [result("predict", "reduce", "--schedule", "binomial", "-n", ranks, "--per-node", ranks, "--bytes", 1000000, "--machine",
                           self.machine, "--comm-cores", 64 - ranks, "--split", split, "--work", work)["seconds"] for split in range(4)]

        for split, seconds in enumerate(times(32, "12ms")):  # the work hides all that is left
            self.assertAlmostEqual(seconds, 12e-3 + split * 1e-3)
        few = times(62, "6194us")  # two cores for 61 transfers
        self.assertLess(max(few[2:]), min(few[:2]))
        self.assertAlmostEqual(few[3], 9.194e-3)

    def test_planned_allreduce_is_two_trees_and_blocking_hides_nothing(self):
        def seconds(calls):
            return self.plan(f"compute 6ms, {calls}", "-n", 48)["rows"][0]["seconds"]

        self.assertAlmostEqual(seconds("iallreduce 1000000"), seconds("ireduce 1000000, ibcast 1000000"))
        self.assertAlmostEqual(seconds("ireduce 1000, bcast 1000000"), seconds("ireduce 1000") + 6 * 6e-4)

    def test_programs_with_little_overlap_get_no_communication_cores(self):
        planned = self.plan("compute 20ms, ireduce 1000")
        self.assertEqual(planned["best"], planned["blocking"])
        self.assertIn("best: 64 ranks and 0 communication cores: 20.01 ms", run("plan", "--work", "compute 20ms, ireduce 1000", "--machine", self.machine)[1])

    def test_a_plan_of_a_report_takes_the_rest_of_the_run_as_work(self):
        report = pathlib.Path(self.directory.name, "report.json")
        row = {"path": "node", "seconds": 0.25}
        report.write_text(json.dumps({"ranks": 2, "calls": [
            {**row, "operation": "ireduce", "calls": 10, "bytes": 10e6}, {**row, "operation": "ireduce", "calls": 10, "bytes": 10e6},
            {**row, "operation": "gather_start", "calls": 20, "bytes": 200}, {**row, "operation": "alltoall", "calls": 2, "bytes": 8}]}))
        planned = self.plan_of(report)
        self.assertEqual(planned["work"]["calls"], [{"operation": "ireduce", "bytes": 1e6, "calls": 10},
                                                    {"operation": "igather", "bytes": 20, "calls": 10}])
        self.assertEqual((planned["work"]["compute"], planned["work"]["other"]), (2 * 2 / 64, 0.25))
        self.assertEqual(len(planned["work"]["assumed"]), 4)
        report.write_text(report.read_text().replace("ireduce", "reduce").replace("_start", ""))
        self.assertEqual(self.plan_of(report, "--started")["rows"], planned["rows"])

    def plan_of(self, report, *more):
        return result("plan", "--from", report, "--seconds", 3, "--machine", self.machine, *more)


class Answers(unittest.TestCase):
    def test_memory_of_several_hosts_names_what_runs_between_them(self):
        question = ("explain", "allreduce", "-n", 8, "--per-node", 2, "--bytes", "16M", "--rate", 1)
        labels = [c["label"] for c in result(*question)["candidates"]]
        self.assertIn("node, ring raw between hosts, pieces of 1M", labels)
        for collective, label in (("reduce_scatter", "node, ring raw between hosts, pieces of 1M"), ("bcast", "node, chain raw between hosts, pieces of 512K")):
            self.assertIn(label, [c["label"] for c in result("explain", collective, *question[2:])["candidates"]])
        for collective, size in (("reduce_scatter", "2M"), ("bcast", "4M"), ("reduce", "16M"), ("allgather", "16M")):
            shorter = ("explain", collective, "-n", 8, "--per-node", 2, "--bytes", size, "--rate", 1)
            self.assertFalse([c for c in result(*shorter)["candidates"] if c["label"].startswith("node,")], collective)
        for other in (("-n", 4, "--per-node", 1), ("-n", 4, "--per-node", 4)):
            self.assertFalse([c for c in result("explain", "allreduce", *other)["candidates"] if c["label"].startswith("node,")])

    def test_a_payload_goes_by_the_name_that_rules_have_for_it_too(self):
        question = ("predict", "allreduce", "--schedule", "ring", "-n", 8, "--bytes", "1M", "--bound", "rel:1e-4", "--ratio", 8)
        seconds = [result(*question, "--payload", name)["seconds"] for name in ("recompress", "doc", "raw")]
        self.assertEqual(seconds[0], seconds[1])
        self.assertNotEqual(seconds[0], seconds[2])

    def test_bfloat16_halves_bytes_without_a_bound_and_is_never_chosen(self):
        question = ("allreduce", "-n", 4, "--bytes", "16M", "--rate", 1)
        forced = (*question, "--schedule", "ring")
        raw, half = (result("predict", *forced, "--payload", kind) for kind in ("raw", "bfloat16"))
        self.assertEqual((half["payload"], half["wire_bytes"]), ("bfloat16", raw["wire_bytes"] / 2))
        self.assertTrue(0.5 * raw["seconds"] < half["seconds"] < 0.7 * raw["seconds"])
        chosen = result("choose", *question, "--payload", "bfloat16")["choice"]
        self.assertEqual((chosen["payload"], "coding" in chosen), ("bfloat16", False))
        for bound in ((), ("--bound", "rel:1e-4")):
            self.assertNotIn("bfloat16", {c.get("payload") for c in result("explain", *question, *bound)["candidates"]})
        self.assertEqual({c["payload"] for c in result("explain", "allgather", *question[1:], "--payload", "bfloat16")["candidates"]}, {"bfloat16"})
        self.assertIn("bfloat16", {row["system"] for row in result("simulate", "weak", "-n", 8)["rows"]})

    def test_collectives_go_by_the_names_that_mpi_has_for_them_too(self):
        for name, other in (("broadcast", "bcast"), ("reduce_scatter", "reduce_scatter_block")):
            for command in (("explain",), ("choose",), ("predict", "--schedule", {"bcast": "binomial"}.get(other, "ring"))):
                self.assertEqual(result(*command, name, "-n", 8), result(*command, other, "-n", 8))
        rows = result("simulate", "weak", "-n", 8, "--collective", "reduce_scatter_block")
        self.assertEqual(rows["collective"], "reduce_scatter")

    def test_predict_takes_the_cheapest_payload_where_none_is_named(self):
        question = ("predict", "allreduce", "--schedule", "ring", "-n", 8, "--bytes", "128M")
        kinds = {kind: result(*question, "--bound", "rel:1e-4", "--payload", kind) for kind in ("raw", "fused", "homomorphic")}
        best = min(kinds, key=lambda kind: kinds[kind]["seconds"])
        self.assertNotEqual(best, "raw")
        found = result(*question, "--bound", "rel:1e-4")
        self.assertEqual((found["payload"], found["seconds"]), (best, kinds[best]["seconds"]))
        self.assertEqual(result(*question)["payload"], "raw")
        self.assertEqual(result(*question)["seconds"], kinds["raw"]["seconds"])

    def test_short_messages_travel_raw_where_that_is_asked_for(self):
        question = ("allreduce", "-n", 8, "--bytes", "16M", "--bound", "rel:1e-4")
        forced = ("--schedule", "rabenseifner", "--payload", "fused")
        plain, some = (result("predict", *question, *forced, *more) for more in ((), ("--raw-below", "3M")))
        self.assertGreater(some["wire_bytes"], plain["wire_bytes"])
        for command in ("choose", "explain"):
            found = result(command, *question, *forced, "--raw-below", "3M")
            choice = found["choice"] if command == "choose" else found["candidates"][0]
            self.assertEqual(choice["raw_below"], 3 << 20)
        status, out, err = run("predict", "allreduce", "-n", 8, "--schedule", "rabenseifner", "--raw-below", "64K")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("raw below 64K is beside streams, which need a bound", err)
        for words, more in (("not cprp2p", (*forced[:2], "--payload", "cprp2p")), ("has its own rule", ("--system", "hzccl")),
                            ("so --raw-below does not hold there", ("--schedule", "leader"))):
            status, _, err = run("predict", *question, *more, "--raw-below", "64K")
            self.assertEqual((status, words in err), (2, True), err)

    def test_a_ratio_that_is_assumed_is_said_to_be(self):
        question = ("allreduce", "-n", 8, "--bound", "rel:1e-4")
        for command in ("explain", "choose"):
            self.assertTrue(result(command, *question)["question"]["ratio_assumed"])
            self.assertFalse(result(command, *question, "--ratio", 8)["question"]["ratio_assumed"])
            self.assertIn("streams at ratio 8 (assumed)", run(command, *question)[1])
            self.assertIn("streams at ratio 9 on", run(command, *question, "--ratio", 9)[1])
        self.assertIn("streams at ratio 8 (assumed)", run("predict", "allreduce", "--system", "hzccl", "-n", 8)[1])
        self.assertNotIn("streams", run("predict", *question, "--schedule", "ring", "--payload", "raw")[1])
        self.assertIn("streams at ratio 8 (assumed)", run("simulate", "weak", "-n", 8)[1])

    def test_explain_sorts_its_candidates_and_finds_crossovers(self):
        r = result("explain", "allreduce", "-n", 128, "--per-node", 4, "--bytes", "1G", "--bound", "rel:1e-4", "--ratio", 8,
                   "--machine", "a100-hdr")
        seconds = [c["seconds"] for c in r["candidates"]]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreater(len(seconds), 20)
        self.assertTrue(any(c["native"] for c in r["candidates"]))
        self.assertTrue(any(c.get("raw_inside") for c in r["candidates"]))
        self.assertGreaterEqual(len(r["crossovers"]), 1)
        for c in r["crossovers"]:
            self.assertEqual(2 * c["below"], c["above"])
        times = [p["best"]["seconds"] for p in r["sweep"]]
        self.assertGreater(times[-1], times[0])

    def test_explain_shows_the_mpis_time_and_all_schedules_and_payloads(self):
        question = ("explain", "allreduce", "-n", 16, "--per-node", 4, "--bytes", "64M", "--bound", "rel:1e-4", "--rate", 1)
        r = result(*question)
        native = [c for c in r["candidates"] if c["label"] == "native"]
        self.assertEqual([c["seconds"] for c in native], [r["mpi_seconds"]])
        rows = [(c["label"] if c["native"] else (c["schedule"], c["payload"])) for c in r["candidates"] if c["first_of_row"]]
        self.assertEqual(len(rows), len(set(rows)))
        text = run(*question)[1]
        self.assertRegex(text, r"\n +[0-9.]+ m?s +1\.00  native\n")
        self.assertIn("x the MPI's", text)
        self.assertIsNone(result(*question, "--no-native")["mpi_seconds"])
        self.assertIn("x the best", run(*question, "--no-native")[1])

    def test_without_a_bound_nothing_is_compressed(self):
        r = result("explain", "allreduce", "-n", 16, "--bytes", "64M")
        self.assertEqual({c.get("payload", "raw") for c in r["candidates"]}, {"raw"})

    def test_choose_and_explain_name_the_path_that_the_library_takes(self):
        for place in (("-n", 12, "--per-node", 3), ("-n", 2, "--per-node", 2), ("-n", 4, "--per-node", 1, "--rate", 1)):
            for bound in ((), ("--bound", "abs:1e-3")):
                for size in ("8", "768", "64K", "1M", "64M"):
                    question = ("allreduce", *place, "--bytes", size, *bound)
                    self.assertEqual(result("choose", *question)["choice"]["label"], result("explain", *question)["taken"], question)

    def test_one_host_uses_shared_memory_and_the_mpi_for_short_calls(self):
        r = result("explain", "allreduce", "-n", 2, "--per-node", 2, "--bytes", "1M")
        self.assertEqual(r["taken"], "node")
        self.assertIn("node", [c["label"] for c in r["candidates"]])
        self.assertIn("the library takes node\n", run("explain", "allreduce", "-n", 2, "--per-node", 2, "--bytes", "1M")[1])
        short = ("choose", "allreduce", "-n", 4, "--per-node", 1, "--bytes", "768", "--bound", "abs:1e-3")
        self.assertEqual(result(*short)["choice"]["label"], "native")

    def test_predict_without_overlap_is_the_closed_form_of_a_ring(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "machine.json")
            path.write_text(json.dumps({"version": 1, "nics": 0, "gamma": 3e-10,
                                        "links": {"network": [{"alpha": 2e-6, "beta": 1e-9}]}}))
            n, p = 10 * 2**20, 10
            r = result("predict", "allreduce", "--schedule", "ring", "-n", p, "--bytes", "10M", "--machine", path, "--no-overlap")
            share = (p - 1) / p * n
            self.assertAlmostEqual(r["seconds"] / (2 * (p - 1) * 2e-6 + 2 * share * 1e-9 + share * 3e-10), 1, places=9)
            self.assertAlmostEqual(r["wire_bytes"], 2 * share, places=3)

    def test_a_torus_is_named_by_an_option_or_a_profile(self):
        question = ("predict", "allreduce", "--schedule", "recursive_doubling", "-n", 64, "--bytes", "1M")
        flat = result(*question)
        self.assertEqual(flat["network"], "flat")
        torus = result(*question, "--network", "torus:8x8")
        self.assertEqual(torus["network"], "torus:8x8")
        self.assertGreater(torus["seconds"], 1.2 * flat["seconds"])
        self.assertGreater(result(*question, "--network", "torus:64")["seconds"], torus["seconds"])
        self.assertGreater(result(*question, "--network", "torus:8x8", "--hop", "1e-4")["seconds"], torus["seconds"] + 3e-4)
        self.assertIn(", torus:8x8: ", run(*question, "--network", "torus:8x8")[1])
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "machine.json")
            profile = json.loads(run("profiles", "built-in")[1])
            profile["torus"] = {"sides": [8, 8]}
            path.write_text(json.dumps(profile))
            self.assertEqual(result(*question, "--machine", path)["seconds"], torus["seconds"])
            self.assertEqual(result(*question, "--machine", path, "--network", "flat")["seconds"], flat["seconds"])
            self.assertEqual(json.loads(run("profiles", path)[1])["torus"], {"sides": [8, 8], "hop": 4e-7})

    def test_a_profile_without_a_network_reports_the_built_in_one(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "one-host.json")
            path.write_text(json.dumps({"version": 1, "name": "one-host", "mpi": "Open MPI 5", "gamma": 1e-10,
                                        "links": {"cache": [{"alpha": 3e-7, "beta": 1e-10}]}}))
            question = ("explain", "allreduce", "-n", 4, "--bytes", "16M", "--machine", path)
            seconds = [result(*question, "--rate", rate)["candidates"][0]["seconds"] for rate in (0.1, 1, 25)]
            self.assertGreater(seconds[0], 8 * seconds[1])
            self.assertGreater(seconds[1], 8 * seconds[2])
            self.assertIn("network of built-in: nobody measured one, network at 0.1 Gb/s", run(*question, "--rate", 0.1)[1])
            of_memory = 2 * 3 / 4 * 16 * 2**20 * 1e-10
            self.assertGreater(result(*question)["candidates"][0]["seconds"], 2 * of_memory)
            self.assertIn("no network at 1 Gb/s: one host", run(*question, "--per-node", 4, "--rate", 1)[1])

    def test_many_ranks_that_do_not_fold_are_walked(self):
        for schedule, ranks in (("rabenseifner", 12000), ("two_tree", 16384)):
            r = result("predict", "allreduce", "--schedule", schedule, "-n", ranks)
            self.assertEqual(r["walked"], ranks)
            self.assertGreater(r["seconds"], 0)

    def test_simulate_folds_what_it_can_and_gives_a_row_a_system(self):
        r = result("simulate", "weak", "-n", "64,4096", "--per-node", 4, "--bytes", "16M", "--systems",
                   "mpi,hzccl,argm,ours", "--hosts-per-switch", 8, "--oversubscription", 2)
        self.assertEqual(len(r["rows"]), 8)
        for row in r["rows"]:
            self.assertGreater(row["seconds"], 0)
            self.assertEqual(row["walked"], 32)

    def test_the_page_explains_every_system_and_its_commands_answer(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
        explained = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row)}
        systems = {row["system"] for row in result("simulate", "weak", "-n", 8, "--bytes", "16M")["rows"]}
        self.assertEqual(systems - explained, set())
        blocks = "\n".join(re.findall(r"^```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)).replace("\\\n", "")
        commands = re.findall(r"^(?:stretto|stretto-model) ((?:explain|predict|simulate|plan) .*)$", blocks, re.MULTILINE)
        self.assertEqual({command.split()[0] for command in commands}, {"explain", "predict", "simulate", "plan"})
        for command in commands:
            if "WHOLE" not in os.environ:
                command = command.replace("131072", "4096")  # which takes seconds
            status, _, said = run(*shlex.split(command))
            self.assertEqual(status, 0, f"{command}: {said}")

    def test_every_shipped_profile_answers(self):
        for p in result("profiles"):
            self.assertGreater(result("choose", "allreduce", "-n", 8, "--per-node", 2, "--machine", p["name"])["choice"]["seconds"], 0)
            self.assertEqual(result("profiles", p["name"])["name"], p["name"])

    def test_the_machine_is_the_librarys_where_none_is_named(self):
        question = ("choose", "allreduce", "-n", 4)
        self.assertEqual(result(*question)["profile"], "built-in")
        self.assertEqual(result(*question, STRETTO_PROFILE="zen4-2core")["machine"], "zen4-2core")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "stretto", f"{socket.gethostname()}_Some_MPI_1.json")
            path.parent.mkdir()
            path.write_text('{"version": 1, "name": "tuned"}')
            for command in (question, ("explain", "allreduce"), ("predict", "allreduce", "--schedule", "ring"),
                            ("simulate", "weak", "-n", 8, "--systems", "mpi")):
                found = result(*command, XDG_CONFIG_HOME=directory)
                self.assertEqual((found["machine"], found["profile"]), ("tuned", str(path)))
                self.assertIn(f"tuned ({path})", run(*command, XDG_CONFIG_HOME=directory)[1])
            self.assertEqual(result(*question, "--machine", "built-in", XDG_CONFIG_HOME=directory)["profile"], "built-in")

    def test_help_fits_80_columns_and_names_types_and_defaults_in_words(self):
        for command in ("predict", "choose", "explain", "simulate", "profiles"):
            out = run(command, "--help")[1].partition("\nexamples:")[0]
            self.assertEqual([line for line in out.splitlines() if len(line) > 79 and not line.startswith(("Usage", PROGRAM))], [])
            for sign in ("TEXT=", "INT=", "REQUIRED", "{false}", "[]"):
                self.assertNotIn(sign, out)
        self.assertIn("-n, --ranks INT       ranks [default: 2]", run("explain", "--help")[1])

    def test_text_is_for_people(self):
        status, out, _ = run("explain", "allreduce", "-n", 64, "--bytes", "1M")
        self.assertEqual(status, 0)
        self.assertIn("native", out)
        self.assertIn("by size", out)


if __name__ == "__main__":
    unittest.main()
