"""The report and the switches of the profiling library, on the program calls.c.

usage: report_test.py LAUNCH MPIRUN LIBRARY PROGRAM PROGRAM_WITH_STARTS
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM, STARTS = sys.argv[1:6]
RANKS = 3
REMOVED_AT_EXIT = tempfile.TemporaryDirectory()
SCRATCH = pathlib.Path(REMOVED_AT_EXIT.name)


def run(preload=True, program=PROGRAM, **environment):
    settings = [f"{name}={value}" for name, value in environment.items()]
    if preload:
        settings.append(f"LD_PRELOAD={LIBRARY}")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    command = [LAUNCH, MPIRUN, str(RANKS), "env", *settings, program]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done


def report(**environment):
    """Calls by operation, and by (operation, path, why)."""
    file = SCRATCH / "report.json"
    run(STRETTO_REPORT=file, **environment)
    data = json.loads(file.read_text())
    assert data["ranks"] == RANKS, data
    of_operation, of_way = collections.Counter(), collections.Counter()
    for row in data["calls"]:
        of_operation[row["operation"]] += row["calls"]
        of_way[row["operation"], row["path"], row["why"]] += row["calls"]
    return of_operation, of_way, data


def rules(text):
    file = SCRATCH / "rules"
    file.write_text(text)
    return file


def everything_is_counted():
    of_operation, of_way, data = report()
    assert of_operation == {"allreduce": 22 * RANKS, "scan": RANKS, "ibarrier": RANKS}, of_operation
    assert of_way["ibarrier", "MPI", "nonblocking"] == RANKS, of_way
    assert of_way["allreduce", "MPI", "the first calls of a communicator"] == 6 * RANKS, of_way
    sums = [row for row in data["calls"] if row["operation"] == "allreduce"]
    assert sum(row["bytes"] for row in sums) == RANKS * (17 * 5000 * 8 + 5 * 4), sums
    assert all(row["seconds"] > 0 for row in data["calls"]), data
    assert data["stretch_seconds"] > 0 and all(sum(row["calls_over_time"]) == row["calls"] for row in data["calls"]), data
    # `seconds` is the slowest rank's, the sum is over all ranks.
    assert all(row["seconds"] * (1 - 1e-9) <= sum(row["seconds_over_time"]) <= RANKS * row["seconds"] * (1 + 1e-9) for row in data["calls"]), data


def sums_of_different_sizes_are_different_rows():
    _, _, data = report(STRETTO_RULES=rules("* native\n"))
    sums = [row for row in data["calls"] if row["operation"] == "allreduce" and row["path"] == "native"]
    assert {row["up_to_bytes"] for row in sums} == {1 << 10, 1 << 16}, sums
    for row in sums:
        assert row["bytes"] == row["calls"] * (4 if row["up_to_bytes"] == 1 << 10 else 40000), row
    table = run(STRETTO_REPORT=1).stderr
    assert re.search(r"^allreduce +<=1KiB +\d+ +\d+ B ", table, re.M) and re.search(r"^allreduce +<=64KiB ", table, re.M), table
    assert re.search(r"^ibarrier +- +3 ", table, re.M), table


def the_hosts_of_the_ranks_are_told():
    _, _, data = report()
    assert sum(data["hosts"].values()) == RANKS and len(data["hosts"]) == 1, data["hosts"]
    assert "collectives of 3 ranks on 1 host\n" in run(STRETTO_REPORT=1).stderr


def a_table_is_printed_once_on_standard_error():
    done = run(STRETTO_REPORT=1)
    assert done.stderr.count("stretto: collectives of 3 ranks") == 1, done.stderr
    assert "ibarrier" in done.stderr and "nonblocking" in done.stderr, done.stderr


def output_is_that_of_the_program_alone():
    alone = run(preload=False)
    for environment in ({}, {"STRETTO": "0"}, {"STRETTO_REPORT": "1"}):
        assert run(**environment).stdout == alone.stdout, environment


def switched_off_it_says_and_does_nothing():
    file = SCRATCH / "none.json"
    done = run(STRETTO="0", STRETTO_REPORT=file)
    assert "stretto" not in done.stderr and not file.exists(), done.stderr


def a_bad_value_is_told_once():
    for name, value in (("STRETTO_BOUND", "rel:much"), ("STRETTO_IGNORE_ABOVE", "some"), ("STRETTO_RULES", "/no/such"), ("STRETTO_TIMEOUT", "x")):
        done = run(**{name: value})
        told = [line for line in done.stderr.splitlines() if name in line]
        assert len(told) == 1 and value in told[0], done.stderr


def savings_are_told_against_calls_of_the_mpi():
    # Sums on the world go by ring after those on the ocean were the MPI's own, and of one length.
    _, _, data = report(STRETTO_RULES=rules("allreduce 40000..40000 comm=ocean native\n* 40000.. schedule:ring\n"))
    ring = [row for row in data["calls"] if row["path"] == "ring"]
    assert ring and all(row["saved_seconds"] != 0 for row in ring), data
    assert all(row["saved_between"][0] <= row["saved_seconds"] <= row["saved_between"][1] for row in data["calls"]), data
    assert all(row["saved_seconds"] == 0 for row in data["calls"] if row["path"] in ("MPI", "native")), data


def values_left_out_of_the_range_are_told():
    # Sums of i % 13 + rank on 5000 places, from 10 on.
    left = 384 * (3 + 4 + 5)
    bound = {"STRETTO_BOUND": "rel:1e-3", "STRETTO_IGNORE_ABOVE": "10"}
    _, _, data = report(**bound)
    rows = [row["ignored"] for row in data["calls"] if row["ignored"]]
    assert sum(row["calls"] for row in rows) == 17 * RANKS, data
    assert all(row["values"] == left and row["range"] == [0, 9] and row["range_with_them"] == [0, 14] for row in rows), data
    told = [line for line in run(STRETTO_REPORT=1, **bound).stderr.splitlines() if line.startswith("ignored:")]
    assert len(told) == 1 and f"in {17 * RANKS} of {24 * RANKS} calls" in told[0] and f"at most {left} in a call" in told[0], told
    assert "the range is 0 to 9, with them 0 to 14" in told[0], told
    assert "ignored:" not in run(STRETTO_REPORT=1, STRETTO_BOUND="rel:1e-3").stderr


def errors_are_told_with_all_rounding_too():
    _, _, data = report(STRETTO_RULES=rules("allreduce 40000.. abs:0.5 payload:fused\n"))
    fused = [row for row in data["calls"] if row["path"].endswith("fused")]
    assert fused and all(0.49 < row["promised_error"] < row["error_with_rounding"] < 0.5 + 1e-13 for row in fused), data
    _, _, exact = report()
    assert all(row["error_with_rounding"] == 0 for row in exact["calls"]), exact
    assert " rounded  path: why" in run(STRETTO_REPORT=1).stderr


def a_rule_sends_short_messages_raw_beside_streams():
    # Rabenseifner's allreduce of 40000 bytes on 3 ranks has messages of the whole vector and of its half.
    share = {}
    for raw_below in ("", " raw_below:30K", " raw_below:64K"):
        _, _, data = report(STRETTO_RULES=rules(f"allreduce 8.. abs:0.5 payload:fused schedule:rabenseifner{raw_below}\n"))
        rows = [row for row in data["calls"] if row["path"] == "rabenseifner, fused"]
        assert sum(row["calls"] for row in rows) == 17 * RANKS, data
        share[raw_below] = sum(row["sent_bytes"] for row in rows) / sum(row["raw_bytes"] for row in rows)
        assert all(0 < row["promised_error"] <= 0.5 for row in rows), rows
    none, halves, everything = share.values()
    assert none < halves < everything == 1, share
    # No messages of its own: the call is refused, and the MPI serves it.
    _, ways, _ = report(STRETTO_RULES=rules("allreduce 8.. abs:0.5 schedule:hierarchical_ring raw_below:64K\n"))
    assert any("groups ranks, and raw_below is" in why for _, _, why in ways), ways


def a_rule_names_the_coding_of_streams():
    sent = {}
    for coding, path in (("fixed", "ring, fused"), ("dense", "ring, fused, dense")):
        _, _, data = report(STRETTO_RULES=rules(f"allreduce 8.. coding:{coding} payload:fused schedule:ring\n"), STRETTO_BOUND="abs:0.5")
        rows = [row for row in data["calls"] if row["path"] == path]
        assert sum(row["calls"] for row in rows) == 17 * RANKS, data
        sent[coding] = sum(row["sent_bytes"] for row in rows)
    assert sent["dense"] != sent["fixed"], sent


def rules_choose_by_size_name_and_place():
    # Counts of bytes: the sums of solve() are 40000.
    _, ways, _ = report(STRETTO_RULES=rules("allreduce 40000..40000 comm=ocean off\n* ..4 native\n"))
    assert ways["allreduce", "MPI", "rule of line 1"] == 7 * RANKS, ways
    _, ways, _ = report(STRETTO_RULES=rules("allreduce site=*:solve schedule:ring\n"))
    assert ways["allreduce", "ring", "rule of line 1"] == 17 * RANKS, ways


def a_schedule_of_another_collective_falls_through():
    _, ways, _ = report(STRETTO_RULES=rules("allreduce 5.. schedule:dissemination\n"))
    fallen = {way: calls for way, calls in ways.items() if "dissemination" in way[2]}
    assert sum(fallen.values()) == 17 * RANKS, ways


def what_would_be_without_effect_is_told_at_the_beginning():
    file = rules("allreduce 5.. schedule:spiral\n")
    cases = {
        "STRETTO_RULES": (file, f"STRETTO_RULES: '{file}', line 1: 'spiral' is no schedule; there are ring, ..., node; it counts as not set"),
        "STRETTO": ("off\x1b[2J", r"STRETTO: 'off\x1b[2J' is neither 0, which leaves all to the MPI, nor 1; it counts as not set"),
        "STRETTO_BONUD": ("rel:1e-4", "STRETTO_BONUD is no variable of stretto's, and without effect; is STRETTO_BOUND meant?"),
    }
    for name, (value, told) in cases.items():
        done = run(**{name: value})
        lines = [re.sub("are ring, .*, node;", "are ring, ..., node;", line) for line in done.stderr.splitlines()]
        assert [line for line in lines if line.startswith("stretto:")] == [f"stretto: {told}"], done.stderr
    assert "STRETTO_RULES: '/' is a directory" in run(STRETTO_RULES="/").stderr


def a_report_whose_file_cannot_be_written_is_told_at_once_and_printed():
    said = run(STRETTO_REPORT="/no/such/report").stderr
    assert said.index("STRETTO_REPORT: '/no/such/report' cannot be written as it is now") < said.index("collectives of 3 ranks"), said
    assert "it is on standard error instead" in said, said


def bytes_that_nobody_counted_are_told_from_none():
    _, _, data = report()
    _, _, ring = report(STRETTO_RULES=rules("allreduce 8.. schedule:ring\n"))
    for row in data["calls"] + ring["calls"]:
        known = row["path"].split(",")[0] not in ("MPI", "native", "node")
        for bytes in (row["raw_bytes"], row["sent_bytes"]):
            assert (bytes is not None) == known and bytes != 0, row


def a_report_of_nothing_says_why():
    def said(*program, **environment):
        found = subprocess.run([LAUNCH, MPIRUN, str(RANKS), "env", f"LD_PRELOAD={LIBRARY}", "STRETTO_REPORT=1",
                                *(f"{name}={value}" for name, value in environment.items()), *program],
                               env={name: value for name, value in os.environ.items() if not name.startswith("STRETTO")},
                               capture_output=True, text=True, timeout=120)
        return [line for line in found.stderr.splitlines() if line.startswith(("stretto: no", "stretto: the program ended", "bound:"))]

    (line,) = said("true")
    assert "no MPI call was seen" in line, line
    # a file of an earlier process of the same number, which was killed, is none of this one's
    (line,) = said("sh", "-c", f'touch /tmp/stretto-mpi-seen-$$; exec env LD_PRELOAD="$1" STRETTO_REPORT=1 true', "sh", LIBRARY, LD_PRELOAD="", STRETTO_REPORT="")
    assert "no MPI call was seen" in line, line
    (line,) = said("bash", "-c", "true; true")  # a shell and its children are one program
    assert "no MPI call was seen" in line, line
    assert said("bash", "-c", f"true; '{PROGRAM}'; true") == []
    (line,) = said(PROGRAM, STRETTO_BOUND="abs:1e-3", STRETTO_RULES=rules("* native\n"))
    assert "a bound was given, and nothing travelled compressed" in line and "rule of line 1" in line, line
    (line,) = said(PROGRAM, "sums", STRETTO_BOUND="abs:1e-3")
    assert "the reductions of most bytes (" in line, line
    (line,) = said(PROGRAM, STRETTO_BOUND="abs:1e-3", STRETTO_RULES=rules("allreduce ..1K off\n"))
    assert "used the host's shared memory, which adds exact values" in line, line
    # a hundred barriers outnumber the sums, but a bound is not for them
    (line,) = said(PROGRAM, "barriers", STRETTO_BOUND="abs:1e-3", STRETTO_RULES=rules("barrier off\n* native\n"))
    assert "rule of line 2" in line, line
    assert said(PROGRAM, STRETTO_BOUND="abs:1e-3", STRETTO_RULES=rules("allreduce 8.. payload:fused\n")) == []


def starts_of_persistent_collectives_are_counted():
    if subprocess.run([STARTS], capture_output=True).returncode == 77:
        print("skipped: this MPI has no persistent collectives")
        return
    of_operation, of_way, data = report(program=STARTS)
    one = {operation: calls // RANKS for operation, calls in of_operation.items()}
    assert one == {"allreduce_init": 1, "barrier_init": 1, "allreduce_start": 8, "barrier_start": 3}, of_operation
    assert {(path, why) for _, path, why in of_way} == {("MPI", "persistent")}, of_way
    sums = [row for row in data["calls"] if row["operation"].startswith("allreduce")]
    assert sum(row["bytes"] for row in sums) == RANKS * 8 * 8000 and all(row["seconds"] > 0 for row in sums), sums


def cores_that_cannot_be_had_are_told_and_left():
    for cores, why in (("99999", "core 99999 is not there"), ("0,0", "core 0 is given twice"), ("x", "'x' is no core's number")):
        done = run(STRETTO_COMM_CORES=cores, STRETTO_REPORT=1)
        assert done.stderr.count(why) == 1 and "there are no communication cores" in done.stderr, done.stderr
        assert "ibarrier" in done.stderr and "nonblocking" in done.stderr, done.stderr


def each_way_has_its_reason():
    _, ways, data = report()
    assert all(why for _, _, why in ways), ways
    assert any(why in ("predicted", "assumed") for _, path, why in ways if path != "MPI"), ways
    for row in data["calls"]:
        assert row["why"] not in ("predicted", "assumed") or (row["predicted_seconds"] > 0 and row["predicted_mpi_seconds"] > 0), row
    _, ways, _ = report(STRETTO_BOUND="abs:1e-3")
    assert any(why.startswith("STRETTO_BOUND; ") for _, _, why in ways), ways
    _, ways, _ = report(STRETTO_REPRODUCIBLE="1")
    assert any(why.startswith("STRETTO_REPRODUCIBLE; ") for _, _, why in ways), ways
    _, ways, _ = report(STRETTO_RULES=rules("# one line\nallreduce 8.. rel:1e-3 payload:fused\n"))
    assert any(path.endswith("fused") and why == "rule of line 2" for _, path, why in ways), ways
    _, ways, _ = report(STRETTO_RULES=rules("# one line\nallreduce 8.. rel:1e-3\n"))
    assert any(why.startswith("rule of line 2; ") for _, _, why in ways), ways
    table = run(STRETTO_REPORT=1).stderr
    # Nobody measured this machine for these tests.
    assumed = [line for line in table.splitlines() if "assumed" in line]
    assert all("MPI's time (not measured: stretto tune)" in line for line in assumed), table
    assert re.search(r"saved: (\S+ to \S+ s in|not known, for times scatter more than) \d+ of \d+ calls", run(STRETTO_REPORT=1, STRETTO_RULES=rules(
        "allreduce 40000..40000 comm=ocean native\n* 40000.. schedule:ring\n")).stderr)
    assert "path: why" in table and re.search(r"(node|ring|native|recursive_doubling)[^:]*: \w", table), table


if __name__ == "__main__":
    for test in (
        everything_is_counted,
        sums_of_different_sizes_are_different_rows,
        the_hosts_of_the_ranks_are_told,
        a_table_is_printed_once_on_standard_error,
        output_is_that_of_the_program_alone,
        switched_off_it_says_and_does_nothing,
        a_bad_value_is_told_once,
        savings_are_told_against_calls_of_the_mpi,
        values_left_out_of_the_range_are_told,
        a_rule_sends_short_messages_raw_beside_streams,
        a_rule_names_the_coding_of_streams,
        rules_choose_by_size_name_and_place,
        a_schedule_of_another_collective_falls_through,
        what_would_be_without_effect_is_told_at_the_beginning,
        a_report_whose_file_cannot_be_written_is_told_at_once_and_printed,
        each_way_has_its_reason,
        bytes_that_nobody_counted_are_told_from_none,
        starts_of_persistent_collectives_are_counted,
        cores_that_cannot_be_had_are_told_and_left,
        a_report_of_nothing_says_why,
    ):
        test()
        print("ok", test.__name__)
