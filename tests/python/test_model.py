"""The commands over stretto-model, with one made up for the purpose: what is handed on, shown, drawn and refused."""

import json
import os
import subprocess
import sys

import pytest

from stretto import plots

QUESTION = {"collective": "allreduce", "bytes": 1 << 30, "element": 4, "root": 0, "compress": True, "ratio": 8.0, "ratio_assumed": True}
HEAD = {"question": QUESTION, "machine": "a100-hdr", "profile": "a100-hdr", "carrier": "mpi", "messages": "a100-hdr", "between_hosts": "", "doubts": [], "source": "made up",
        "ranks": 1024, "per_node": 4}


def way(label, seconds):
    return {"native": label == "native", "label": label, "seconds": seconds}


ANSWERS = {
    "explain": {**HEAD, "candidates": [{**way(label, seconds), "first_of_row": label != "ring fused, 1M"} for label, seconds in (
                    ("ring fused", 0.02), ("ring fused, 1M", 0.021), *((f"spiral{i} raw", 0.03) for i in range(9)), ("native", 0.05))],
                "mpi_seconds": 0.05,
                "sweep": [{"bytes": 8, "best": way("native", 1e-5), "native": 1e-5, "raw": 2e-5, "compressed": 3e-5},
                          {"bytes": 1 << 30, "best": way("ring fused", 0.02), "native": 0.05, "raw": 0.06, "compressed": 0.02}],
                "crossovers": [{"below": 1 << 20, "above": 1 << 21, "from": "native", "to": "ring fused"}]},
    "choose": {**HEAD, "doubts": ["step of 5 ms"], "choice": way("ring fused", 0.02)},
    "predict": {**HEAD, "schedule": "ring", "payload": "raw", "overlap": True, "seconds": 0.06, "wire_bytes": 2e9,
                "work_seconds": 0.01, "walked": 1},
    "simulate": {"study": "weak", "collective": "allreduce", "machine": "a100-hdr", "profile": "STRETTO_PROFILE=a100-hdr", "carrier": "ucx", "messages": "built-in",
                 "between_hosts": "network at 1 Gb/s", "doubts": [], "per_node": 4, "ratio": 9.0, "ratio_assumed": False,
                 "rows": [{"system": system, "ranks": ranks, "bytes": 1048576.0, "seconds": ranks * slower * 1e-6}
                          for ranks in (8, 64) for system, slower in (("mpi", 3), ("ours", 1))]},
    "profiles": [{"name": "a100-hdr", "source": "made up"}],
}


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
    ("profiles", ["a100-hdr", "made up"]),
])
def test_answers_are_shown_as_tables_and_on_request_as_json(answering, name, words):
    shown = answering.succeeds(name)
    for word in words:
        assert word in shown, shown
    assert json.loads(answering.succeeds(name, "--json")) == ANSWERS[name]


def test_a_table_of_ways_has_a_row_a_schedule_and_payload_and_the_mpis_own(answering):
    shown = answering.succeeds("explain")
    assert "ring fused, 1M" not in shown and "spiral6" in shown and "spiral7" not in shown, shown


def test_in_a_pipe_nothing_is_wrapped(answering):
    done = subprocess.run([sys.executable, "-m", "stretto", "explain"], capture_output=True, text=True, timeout=60, check=True,
                          env={name: value for name, value in os.environ.items() if name != "COLUMNS"})
    title = done.stdout.splitlines()[0]
    assert title == "allreduce of 1 GiB, streams at ratio 8 (assumed), on 1024 ranks, 4 a node: a100-hdr"
    assert len(title) > 80


@pytest.mark.parametrize("name", ["explain", "simulate"])
def test_answers_are_drawn(name, tmp_path):
    paths = [tmp_path / "p.png", tmp_path / "p.svg"]
    plots.DRAW[name](ANSWERS[name], paths)
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
