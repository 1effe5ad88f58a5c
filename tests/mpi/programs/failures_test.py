"""What is told of calls that fail: on which communicator, and once on each of its ranks.

usage: failures_test.py LAUNCH MPIRUN LIBRARY PROGRAM NODE_RULES
"""

import collections
import os
import subprocess
import sys

LAUNCH, MPIRUN, LIBRARY, PROGRAM, NODE_RULES = sys.argv[1:]


def told(ranks, argument, **environment):
    """Lines of stretto's, and how often each came."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO")}
    settings = [f"{name}={value}" for name, value in environment.items()]
    command = [LAUNCH, MPIRUN, str(ranks), "env", f"LD_PRELOAD={LIBRARY}", *settings, PROGRAM, argument]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return collections.Counter(line for line in done.stderr.splitlines() if line.startswith("stretto:"))


def each_communicator_is_told_apart_by_its_maker_and_its_ranks():
    why = "recvbuf is NULL with 1 elements (invalid_argument)"
    expected = collections.Counter({f"stretto: allreduce on communicator 'ocean': {why}": 3})
    makers = "Comm_dup Comm_create Comm_create_group Cart_create Cart_sub Dist_graph_create Dist_graph_create_adjacent Comm_dup_with_info"
    ranks_of = {f"MPI_{name}": "0, 1, 2" for name in [*makers.split(), "Comm_split_type"]}
    ranks_of |= {"MPI_Comm_split": "0, 2", "MPI_Graph_create": "0, 1", "MPI_Intercomm_merge": "0, 2, 1", "the MPI": "0, 1, 2"}
    for maker, ranks in ranks_of.items():
        n = ranks.count(",") + 1
        where = f"a communicator without a name, made by {maker}, of the world's ranks {ranks} ({n} ranks)"
        expected[f"stretto: allreduce on {where}: {why}"] = n
    lines = told(3, "every", STRETTO_RULES=NODE_RULES)  # each has its own of stretto at once, though it is freed soon
    assert lines == expected, (lines - expected, expected - lines)


def of_many_ranks_the_first_are_named():
    lines = told(9, "one")
    assert len(lines) == 1 and "of the world's ranks 0, 1, 2 ... (9 ranks): " in next(iter(lines)), lines


def a_difference_is_told_once_on_each_rank():
    lines = told(3, "differently", STRETTO_RULES=NODE_RULES, STRETTO_TIMEOUT="30")
    assert sum(lines.values()) == 3 and all("made by MPI_Comm_dup" in line for line in lines), lines
    assert all("ranks call differently" in line for line in lines), lines


if __name__ == "__main__":
    for test in (
        each_communicator_is_told_apart_by_its_maker_and_its_ranks,
        of_many_ranks_the_first_are_named,
        a_difference_is_told_once_on_each_rank,
    ):
        test()
        print("ok", test.__name__)
