"""The keywords of collectives: one list for type checkers, for the run time and for the documents."""

import inspect
import os
import pathlib
import re
import subprocess
import sys
import typing

import numpy as np
import pytest

import stretto

try:
    from stretto.api import options
    from stretto.api.core import _core
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTIVES = [name for name in dir(stretto.Comm) if not name.startswith("_") and "how" in getattr(stretto.Comm, name).__annotations__]

# Lines that end in "# refused" are errors for a type checker; all others are right.
PROGRAM = '''
import stretto
from stretto import CallOptions

comm = stretto.init()
how: CallOptions = {"rel": 1e-3, "scope": "contribution"}
out, report = comm.allreduce([1.0], abs=1, payload="fused", timeout=0.5, check=False)
comm.iallreduce([1.0], op="avg", **how).wait()
eps: float = report.eps
comm.barrier(schedule=None)
comm.barrier(bound=1)  # refused
comm.allreduce([1.0], scope="all")  # refused
comm.allreduce([1.0], rel="1e-3")  # refused
comm.allreduce([1.0], op="average")  # refused
comm.igather([1.0], segment=1.5)  # refused
how = {"relative": 1e-3}  # refused
name: str = report.eps  # refused
'''


def test_type_checker_and_run_time_know_the_same_keywords():
    assert tuple(inspect.signature(options._options.__wrapped__).parameters) == options.NAMES
    assert set(typing.get_type_hints(stretto.CallOptions)) == set(options.NAMES)
    assert len(COLLECTIVES) == 32
    for name in COLLECTIVES:
        assert typing.get_type_hints(getattr(stretto.Comm, name))["how"] == options.Unpack[stretto.CallOptions]


def test_words_of_the_type_checker_are_those_of_the_enums():
    for word, enum, more in (("Scope", _core.Scope, ()), ("Payload", _core.Payload, ()), ("Operation", _core.Op, ("avg",))):
        assert sorted(typing.get_args(getattr(options, word))) == sorted([*(one.name for one in enum), *more])


def test_errors_list_every_word_that_is_taken():
    @stretto.threads(1)
    def words(comm, **how):
        with pytest.raises(stretto.StrettoError) as error:
            comm.allreduce(np.ones(4, np.float32), **how)
        return str(error.value)

    assert words(op="average")[0].endswith("difference, avg")
    assert words(schedule="rings")[0].endswith(", native and node")


def test_documents_name_every_keyword():
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    header = (ROOT / "include" / "stretto" / "stretto_options.h").read_text(encoding="utf-8")
    listed = re.search(r"^- Options are those of stretto_options\.h: (.*?)\.\s", page, re.MULTILINE | re.DOTALL)
    assert re.findall(r"`(\w+)`", listed[1]) == list(options.NAMES)
    fields = re.search(r"typedef struct stretto_options \{(.*?)\} stretto_options;", header, re.DOTALL)[1]
    for name in set(options.NAMES) - {"abs", "rel"}:  # which are bound_kind and bound
        assert re.search(rf"\b{name};", fields), name


def test_a_type_checker_accepts_and_refuses_calls_by_their_keywords(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    # Without NumPy's types it takes seconds instead of half a minute.
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(program)],
                          env={**os.environ, "MYPYPATH": str(ROOT / "python")}, capture_output=True, text=True, timeout=200, check=False)
    refused = {int(line) for line in re.findall(r"program\.py:(\d+): error", done.stdout)}
    assert refused == {k for k, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# refused")}, done.stdout + done.stderr


def test_avg_is_the_mean():
    for out, _ in stretto.threads(3)(lambda comm: comm.allreduce(np.full(4, comm.rank, np.float32), op="avg"))():
        assert out.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("call", (
    lambda x: stretto.compress(x, rel=2), lambda x: stretto.threads(1)(lambda comm: comm.allreduce(x, rel=1.5))(),
    lambda x: options.options({"rel": np.float32(1)})))
def test_a_bound_of_the_whole_range_is_warned_of_at_the_call(call):
    with pytest.warns(UserWarning, match=r"rel=[\d.]+ allows errors of [\d.]+ times the whole range of the values; 1e-4 is usual") as told:
        call(np.arange(9, dtype=np.float32))
    assert {one.filename for one in told} == {__file__}


def test_other_bounds_are_not_warned_of(recwarn):
    for how in ({"rel": 0.99}, {"abs": 2}, {}):
        options.options(how)
    assert not recwarn.list
