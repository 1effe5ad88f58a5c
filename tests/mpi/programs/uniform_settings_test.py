"""Ranks that were set differently say so and go on, all of them, by the MPI alone: no wait, no crash, the program's own output.

usage: alike_test.py LAUNCH MPIRUN LIBRARY PROGRAM PROGRAM_WITHOUT_MEMORY
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM, WITHOUT_MEMORY = sys.argv[1:6]
RANKS = 3
REMOVED_AT_EXIT = tempfile.TemporaryDirectory()
SCRATCH = pathlib.Path(REMOVED_AT_EXIT.name)
ON_ONE_RANK = (
    'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = "$1" ]; then export "$2"; elif [ -n "$3" ]; then export "$3"; fi; '
    'export LD_PRELOAD="$4"; exec "$5"'
)


def run(on_one="A=1", on_others="", rank=2, library=LIBRARY):
    """The variable `on_one` on one rank, `on_others` on the others."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    command = [LAUNCH, MPIRUN, str(RANKS), "sh", "-c", ON_ONE_RANK, "sh", str(rank), on_one, on_others, library, PROGRAM]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, errors="replace", timeout=60)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done


def told(done):
    return [line for line in done.stderr.splitlines() if line.startswith("stretto:")]


def rules(name, text):
    file = SCRATCH / name
    file.write_text(text)
    return file


def each_setting_that_differs_is_named_and_the_program_goes_on():
    alone = run(library="").stdout
    ring = rules("ring", "allreduce schedule:ring\n")
    cases = {
        "STRETTO=0": "STRETTO is '0' on rank 2 and not set on rank 0",
        "STRETTO_BOUND=rel:1e-4": "STRETTO_BOUND is 'rel:1e-4' on rank 2 and not set on rank 0",
        "STRETTO_IGNORE_ABOVE=inf": "STRETTO_IGNORE_ABOVE is 'inf' on rank 2 and not set on rank 0",
        f"STRETTO_RULES={ring}": f"STRETTO_RULES is '{ring}' on rank 2 and not set on rank 0",
    }
    for setting, difference in cases.items():
        done = run(setting)
        assert done.stdout == alone, (setting, done.stdout)
        assert told(done) == [f"stretto: {difference}; all ranks go on without stretto"], (setting, done.stderr)


def values_that_differ_are_both_named():
    done = run("STRETTO_BOUND=rel:1e-4", "STRETTO_BOUND=abs:2", rank=1)
    assert "STRETTO_BOUND is 'rel:1e-4' on rank 1 and 'abs:2' on rank 0;" in done.stderr, done.stderr
    one, other = rules("one", "allreduce native\n"), rules("other", "allreduce off\n")
    done = run(f"STRETTO_RULES={one}", f"STRETTO_RULES={other}", rank=0)
    assert f"STRETTO_RULES is '{other}' on rank 1 and '{one}' on rank 0;" in done.stderr, done.stderr


def a_report_on_one_rank_is_of_all_and_says_so():
    alone = run(library="").stdout
    for rank in (0, 2):
        file = SCRATCH / f"report{rank}.json"
        done = run(f"STRETTO_REPORT={file}", rank=rank)
        other = f"not set on rank 1 and '{file}' on rank 0" if rank == 0 else f"'{file}' on rank 2 and not set on rank 0"
        assert done.stdout == alone and f"STRETTO_REPORT is {other};" in done.stderr, done.stderr
        data = json.loads(file.read_text())
        assert {(row["path"], row["why"]) for row in data["calls"]} == {("MPI", "ranks that are set differently")}, data
        assert sum(row["calls"] for row in data["calls"]) == 24 * RANKS, data


def other_words_for_the_same_are_no_difference():
    same = rules("same", "allreduce native\n"), rules("again", "allreduce native\n")
    for one, others in (
        ("STRETTO_BOUND=rel:1e-4", "STRETTO_BOUND=rel:0.0001"),
        ("STRETTO=1", "STRETTO="),
        ("STRETTO_TIMEOUT=30", "STRETTO_TIMEOUT=40"),
        (f"STRETTO_RULES={same[0]}", f"STRETTO_RULES={same[1]}"),
    ):
        assert told(run(one, others)) == [], (one, others)


def what_is_no_text_is_told_as_it_can_be():
    one, other = SCRATCH / "bytes", SCRATCH / "others"
    one.write_bytes(b"allreduce native # \xff\n")
    other.write_bytes(b"allreduce native # \xfe\n")
    assert told(run(f"STRETTO_RULES={one}", f"STRETTO_RULES={other}")) == [
        f"stretto: STRETTO_RULES is '{one}' on rank 2 and '{other}' on rank 0; all ranks go on without stretto"
    ]
    done = run(b"STRETTO_RULES=\xff", f"STRETTO_RULES={one}")
    assert len(told(done)) == 1 and r"is '\xff' on rank 2 and" in told(done)[0], done.stderr


def a_rank_without_memory_keeps_nobody_waiting():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    seen = set()
    for at_end, requests in ((0, (0, 1, 2, 4, 8, 12)), (1, (0, 3, 9))):
        for rank in (0, 2):
            for first in requests:
                settings = [f"WITHOUT={rank}", f"FROM={first}", f"AT_END={at_end}", "STRETTO_REPORT=1", f"LD_PRELOAD={LIBRARY}"]
                command = [LAUNCH, MPIRUN, str(RANKS), "env", *settings, WITHOUT_MEMORY]
                done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60)
                assert done.returncode == 0 and done.stdout.count(f"sum {RANKS}\n") == RANKS, (command, done.stdout, done.stderr)
                seen.update(told(done))
    assert "stretto: rank 2 had no memory for its settings; all ranks go on without stretto" in seen, seen


def a_rank_without_memory_for_a_started_call_makes_it_no_other_one():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    core = max(os.sched_getaffinity(0))
    for form, first in itertools.product((1, 2), range(4)):  # nonblocking, persistent
        settings = ["WITHOUT=1", f"FROM={first}", f"STARTS={form}", f"STRETTO_COMM_CORES={core}", "STRETTO_TIMEOUT=30"]
        command = [LAUNCH, MPIRUN, str(RANKS), "env", *settings, f"LD_PRELOAD={LIBRARY}", WITHOUT_MEMORY]
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        ended = "call 0 failed" in done.stdout
        assert not ended or done.stdout.count("failed") == 3 * RANKS, (command, done.stdout, done.stderr)
        assert ended or first > 0, (command, done.stdout, done.stderr)


if __name__ == "__main__":
    for test in (
        each_setting_that_differs_is_named_and_the_program_goes_on,
        values_that_differ_are_both_named,
        a_report_on_one_rank_is_of_all_and_says_so,
        other_words_for_the_same_are_no_difference,
        what_is_no_text_is_told_as_it_can_be,
        a_rank_without_memory_keeps_nobody_waiting,
        a_rank_without_memory_for_a_started_call_makes_it_no_other_one,
    ):
        test()
        print("ok", test.__name__)
