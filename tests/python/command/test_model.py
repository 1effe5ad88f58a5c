"""The commands over stretto-model, with one made up for the purpose: what is handed on, shown, drawn and refused."""

import json
import os
import subprocess
import sys

import pytest

from stretto.pictures import plots

QUESTION = {"collective": "allreduce", "bytes": 1 << 30, "element": 4, "root": 0, "compress": True, "ratio": 8.0, "ratio_assumed": True}
HEAD = {"question": QUESTION, "machine": "a100-hdr", "profile": "a100-hdr", "carrier": "mpi", "messages": "a100-hdr", "between_hosts": "", "doubts": [], "source": "made up",
        "ranks": 1024, "per_node": 4}


def way(label, seconds):
    return {"native": label == "native", "label": label, "seconds": seconds}


ANSWERS = {
    "explain": {**HEAD, "candidates": [{**way(label, seconds), "first_of_row": label != "ring fused, 1M"} for label, seconds in (
                    ("ring fused", 0.02), ("ring fused, 1M", 0.021), *((f"spiral{i} raw", 0.03) for i in range(9)), ("native", 0.05))],
                "mpi_seconds": 0.05, "taken": "ring fused",
                "sweep": [{"bytes": 8, "taken": "native", "best": way("native", 1e-5), "native": 1e-5, "raw": 2e-5, "compressed": 3e-5},
                          {"bytes": 1 << 30, "taken": "ring fused", "best": way("ring fused", 0.02), "native": 0.05, "raw": 0.06, "compressed": 0.02}],
                "crossovers": [{"below": 1 << 20, "above": 1 << 21, "from": "native", "to": "ring fused"}]},
    "choose": {**HEAD, "doubts": ["step of 5 ms"], "choice": way("ring fused", 0.02)},
    "predict": {**HEAD, "schedule": "ring", "payload": "raw", "overlap": True, "seconds": 0.06, "wire_bytes": 2e9,
                "work_seconds": 0.01, "walked": 1},
    "simulate": {"study": "weak", "collective": "allreduce", "machine": "a100-hdr", "profile": "STRETTO_PROFILE=a100-hdr", "carrier": "ucx", "messages": "built-in",
                 "between_hosts": "network at 1 Gb/s", "doubts": [], "per_node": 4, "ratio": 9.0, "ratio_assumed": False,
                 "rows": [{"system": system, "ranks": ranks, "bytes": 1048576.0, "seconds": ranks * slower * 1e-6}
                          for ranks in (8, 64) for system, slower in (("mpi", 3), ("ours", 1))]},
    "plan": {**HEAD, "cores": 64, "splits": [0, 1],
             "work": {"compute": 0.02, "other": 0.0, "repeat": 100, "calls": [{"operation": "ireduce", "bytes": 2.0 * (1 << 20), "calls": 1.0}],
                      "assumed": ["calls are alike"]},
             "rows": [{"ranks": 62, "comm_cores": 2, "compute": 2.0, "blocking": 2.4, "overlapped": [2.5, 2.1], "best": 1, "seconds": 2.1},
                      {"ranks": 64, "comm_cores": 0, "compute": 1.9, "blocking": 2.3, "overlapped": [], "best": None, "seconds": 2.3}]},
    "profiles": [{"name": "a100-hdr", "source": "made up"}],
}
ANSWERS["plan"] |= {"best": ANSWERS["plan"]["rows"][0], "blocking": ANSWERS["plan"]["rows"][1]}
OVERLAP = {"study": "overlap", "cores": 64, "edges": "alike",
           "rows": [{"ranks": n, "comm_cores": 64 - n, "blocking": 14.0, "overlapped": [10.0, 9.5], "best": 1, "closed": [10.0, 9.0],
                     "closed_best": n - 51} for n in (51, 52)]}


@pytest.fixture
def answering(stretto):
    """A stretto-model that writes its arguments to a file and answers from ANSWERS."""
    for name, answer in ANSWERS.items():
        (stretto.home / name).write_text(json.dumps(answer), encoding="utf-8")
    stretto.executable("bin/stretto-model", f'echo "$*" >"{stretto.home}/asked"\ncat "{stretto.home}/$1"\n')
    stretto.set("STRETTO_LIBEXEC", stretto.home / "bin")
    return stretto


def asked(stretto):
    return (stretto.home / "asked").read_text(encoding="utf-8").strip()


def test_options_are_handed_on_as_they_are(answering):
    words = "allreduce --ranks 1024 --per-node 4 --bytes 1G --bound rel:1e-4 --ratio 8 --machine a100-hdr --no-native"
    answering.succeeds("explain", *words.split(), "--plot", "p.svg")
    assert asked(answering) == f"explain {words} --json"


@pytest.mark.parametrize(("name", "words"), [
    ("explain", ["allreduce of 1 GiB, streams at ratio 8 (assumed), on 1024 ranks, 4 a node: a100-hdr", "9 of 11, from 12 ways", "× the MPI's", "ring fused",
                 "20 ms", "0.40", "native, the MPI's own", "1.00", "1 MiB and 2 MiB"]),
    ("choose", ["4 a node: a100-hdr, DOUBTED: step of 5 ms", "ring fused, 20 ms predicted"]),
    ("predict", ["ring, raw", "60 ms", "1.863 GiB", "allreduce of 1 GiB, on 1024 ranks"]),
    ("simulate", ["weak scaling on a100-hdr (STRETTO_PROFILE=a100-hdr), over ucx, messages of built-in: nobody measured them over ucx, "
                  "network at 1 Gb/s, 4 a node, streams at ratio 9: 1 MiB", "ours", "8 µs", "192 µs"]),
    ("plan", ["64 cores of a100-hdr: 20 ms of work when every core has a rank, ireduce of 2 MiB; 100 iterations", "Assumed: calls are alike.",
              "62 ranks and 2 communication cores, S=1: 2.1 s; 64 ranks and blocking collectives: 2.3 s"]),
    ("profiles", ["a100-hdr", "made up"]),
])
def test_answers_are_shown_as_tables_and_on_request_as_json(answering, name, words):
    shown = answering.succeeds(name)
    for word in words:
        assert word in shown, shown
    assert json.loads(answering.succeeds(name, "--json")) == ANSWERS[name]


def test_the_table_has_a_row_per_schedule_and_payload_and_the_mpi(answering):
    shown = answering.succeeds("explain")
    assert "ring fused, 1M" not in shown and "spiral6" in shown and "spiral7" not in shown, shown


def test_in_a_pipe_nothing_is_wrapped(answering):
    done = subprocess.run([sys.executable, "-m", "stretto", "explain"], capture_output=True, text=True, timeout=60, check=True,
                          env={name: value for name, value in os.environ.items() if name != "COLUMNS"})
    title = done.stdout.splitlines()[0]
    assert title == "allreduce of 1 GiB, streams at ratio 8 (assumed), on 1024 ranks, 4 a node: a100-hdr"
    assert len(title) > 80


def test_an_overlap_is_shown_in_transfers(answering):
    (answering.home / "simulate").write_text(json.dumps(OVERLAP), encoding="utf-8")
    shown = answering.succeeds("simulate", "overlap")
    for word in ("on 64 cores, in transfers of an edge", "closed form", "S=1", "14.00", "9.50"):
        assert word in shown, shown


def test_an_overlap_is_drawn_with_the_marks_of_the_closed_form():
    with plots.style():
        _, axes = plots.plt.subplots()
        plots.overlap_lines(axes, OVERLAP)
    assert [text.get_text() for text in axes.texts] == ["S = 1 from 52"]
    assert [list(line.get_xdata()) for line in axes.lines if line.get_linestyle() == ":"] == [[52, 52]]


def test_a_long_plan_is_shown_in_part_and_with_its_best(answering):
    row, last = ANSWERS["plan"]["rows"]
    plan = {**ANSWERS["plan"], "rows": [{**row, "ranks": n, "seconds": 2.2} for n in range(1000, 1200)] + [row, last]}
    (answering.home / "plan").write_text(json.dumps(plan), encoding="utf-8")
    lines = answering.succeeds("plan").splitlines()
    assert 30 < len(lines) < 60
    assert any(line.split()[:1] == ["62"] for line in lines), lines


@pytest.mark.parametrize(("name", "answer"), [*((name, ANSWERS[name]) for name in ("explain", "simulate", "plan")), ("simulate", OVERLAP)])
def test_answers_are_drawn(name, answer, tmp_path):
    paths = [tmp_path / "p.png", tmp_path / "p.svg"]
    plots.DRAW[name](answer, paths)
    assert paths[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "</svg>" in paths[1].read_text(encoding="utf-8")


def test_a_refusal_is_repeated_in_our_name(stretto):
    stretto.executable("bin/stretto-model", "echo \"stretto-model: 'allreduc' is no collective\" >&2\nexit 2\n")
    stretto.set("STRETTO_LIBEXEC", stretto.home / "bin")
    assert stretto.refused("explain", "allreduc") == "stretto: 'allreduc' is no collective\n"


def test_help_is_the_models_with_our_name_and_examples(stretto):
    stretto.executable("bin/stretto-model", 'echo "what it does"; echo "Usage: $0 $1 [OPTIONS] collective"; echo "  --ranks INT"; echo; '
                       'echo "examples:"; echo "  stretto-model x"\n')
    stretto.set("STRETTO_LIBEXEC", stretto.home / "bin")
    for name in ANSWERS:
        shown = stretto.succeeds(name, "--help")
        assert f"Usage: stretto {name} [OPTIONS] collective" in shown
        assert "--ranks INT" in shown
        assert f"stretto {name}" in shown.partition("Examples:")[2]
        assert "stretto-model" not in shown
        assert ("--plot" in shown) is (name in plots.DRAW)
