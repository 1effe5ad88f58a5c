"""A rank that ends, or stops, while others call the MPI's own collectives: with a limit they say who, and the program ends.

usage: deaths_test.py LAUNCH MPIRUN LIBRARY PROGRAM C_PROGRAM

Launchers end a program whose rank died. So that rank has a shell for a parent, which the launcher sees living on.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

LAUNCH, MPIRUN, LIBRARY, PROGRAM, C_PROGRAM = sys.argv[1:6]
RANKS, LIMIT = 3, 1
OUTLIVED = (
    'if [ -n "$1" ]; then LD_PRELOAD="$1" "$2" "$3" "$4"; else "$2" "$3" "$4"; fi; ended=$?; '
    '[ "$3" = unfinished ] || [ "$3" = stopped ] || [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || sleep 30; exit $ended'
)
HANG = 60  # seconds; far longer than the limit, the start of an MPI, and the life of a stopped rank
scratch = tempfile.TemporaryDirectory()
NATIVE = pathlib.Path(scratch.name, "native")
NATIVE.write_text("* native\n")


def run(how, calls, library=LIBRARY, program=PROGRAM, well=False, **variables):
    """What the ranks print; the program must end by itself, and not well unless `well`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    command = [LAUNCH, MPIRUN, str(RANKS), "sh", "-c", OUTLIVED, "sh", library, program, how, str(calls)]
    with subprocess.Popen(command, env=clean | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True) as started:
        try:
            printed, _ = started.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            started.terminate()  # the launcher ends its ranks, unless one of them is stopped: that one may keep the pipe open
            try:
                printed, _ = started.communicate(timeout=10)
            except subprocess.TimeoutExpired as error:
                started.kill()
                printed = error.stdout
            raise AssertionError(f"{command} hangs: {printed}") from None
    assert (started.returncode == 0) == well, printed
    assert ("came back" in printed) == well, printed
    return printed


def expect(printed, *patterns):
    for pattern in patterns:
        assert re.search(pattern, printed), (pattern, printed)


def limit(**more):
    return {"STRETTO_TIMEOUT": str(LIMIT)} | more


ENDED = r"rank [02] of 3 has been inside the MPI, in allreduce, for more than 1 s: rank 1 \(process \d+\) has ended;"
UNKNOWN = r"in {}, for more than 1 s: a rank is late, has ended, or calls another collective;"


def a_rank_killed_beside_the_native_collective_is_named():
    expect(run("killed", 80, **limit(STRETTO_RULES=str(NATIVE))), ENDED)


def a_rank_that_ended_in_peace_is_named_too():
    expect(run("ended", 80, **limit(STRETTO_RULES=str(NATIVE))), ENDED)


def a_rank_that_is_stopped_is_late():
    expect(run("stopped", 80, **limit(STRETTO_RULES=str(NATIVE))), UNKNOWN.format("allreduce"))


def the_first_calls_of_a_communicator_have_the_limit():
    expect(run("killed", 1, **limit()), UNKNOWN.format("allreduce"))


def a_rank_that_ends_before_the_communicator_is_made_holds_nobody():
    expect(run("ended", 64, **limit()), UNKNOWN.format("stretto_comm_create"))


def the_c_interface_has_its_own_timeout():
    expect(run("killed", 20, library="", program=C_PROGRAM), ENDED)


def the_c_interface_makes_communicators_within_the_variable():
    expect(run("ended", 0, library="", program=C_PROGRAM, **limit()), UNKNOWN.format("stretto_comm_create"))


CORE = {"STRETTO_COMM_CORES": str(min(os.sched_getaffinity(0)))}


def a_rank_killed_while_a_communication_core_has_its_buffers_is_named():
    expect(run("started", 80, **limit(**CORE)), r"iallreduce on communicator 'MPI_COMM_WORLD': rank 1 \(process \d+\) has ended;")


def a_program_may_end_with_calls_in_flight():
    expect(run("unfinished", 80, well=True, **limit(**CORE)), *(f"rank {rank} came back" for rank in range(RANKS)))


if __name__ == "__main__":
    for test in (
        a_rank_killed_beside_the_native_collective_is_named,
        a_rank_that_ended_in_peace_is_named_too,
        a_rank_that_is_stopped_is_late,
        the_first_calls_of_a_communicator_have_the_limit,
        a_rank_that_ends_before_the_communicator_is_made_holds_nobody,
        the_c_interface_has_its_own_timeout,
        the_c_interface_makes_communicators_within_the_variable,
        a_rank_killed_while_a_communication_core_has_its_buffers_is_named,
        a_program_may_end_with_calls_in_flight,
    ):
        test()
        print("ok", test.__name__)
