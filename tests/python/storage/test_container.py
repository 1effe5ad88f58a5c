"""Containers: what was written is read, whole and in parts, by the package and by a referee; what is wrong is named; nothing is half written."""

import copy
import errno
import gc
import json
import math
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import container_referee as referee
import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import given, settings, strategies as some  # noqa: E402
from hypothesis.extra import numpy as some_numpy  # noqa: E402

import stretto  # noqa: E402
from synthetic_fields import rough_rows  # noqa: E402

try:
    stretto.compress(np.zeros(1), abs=1)
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

from stretto.storage import container, elements, layout, output  # noqa: E402
from stretto.storage.pieces import pieces  # noqa: E402

LOSSLESS = tuple(np.dtype(name) for name in elements.DTYPES if name != "bfloat16")


def field(*shape, dtype=np.float32):
    return (100 * np.sin(np.arange(math.prod(shape)) / 30)).reshape(shape).astype(dtype)


def bits(dtype, n=3000):
    """Elements of any bits, NaN and -0 among them."""
    some = np.random.default_rng(5).integers(0, 256, n * dtype.itemsize, np.uint8)
    return some % 2 == 1 if dtype == bool else some.view(dtype)


def decompress(stream):
    values = stretto.Stream.from_bytes(stream).decompress()
    return values.view(np.uint16) if values.dtype.name == "bfloat16" else values


def judged(path):
    """What the referee reads."""
    return referee.read(path.read_bytes(), decompress)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.stretto"


@pytest.mark.parametrize("dtype", LOSSLESS, ids=str)
def test_without_a_bound_elements_keep_their_bits(path, dtype):
    x = bits(dtype)
    stretto.save(path, x)
    assert stretto.load(path)["data"].tobytes() == x.tobytes() == judged(path)[1]["data"][0].tobytes()


@pytest.mark.parametrize("name", ("float16", "float32", "float64", "complex64", "complex128"))
def test_elements_keep_a_bound_in_many_chunks(path, name):
    x = field(50, 60, dtype=name)
    with stretto.open(path, "x") as file:
        file.add("x", x, abs=0.01, chunk=x.itemsize * 700)
    with stretto.open(path) as file:
        a, y = file["x"], file["x"].read()
        assert (a.shape, a.dtype, a.eps, a.bound, a.chunks) == (x.shape, x.dtype, 0.01, "abs:0.01", 5)
        assert np.abs(y.astype(complex) - x).max() <= 0.015 + (name == "float16") * 0.04 and np.asarray(a).tobytes() == y.tobytes()
    assert judged(path)[1]["x"][0].tobytes() == y.tobytes()


def test_bfloat16_is_kept(path):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = field(3000, dtype=bfloat16)
    stretto.save(path, {"a": x, "b": x}, abs={"a": 1.0})
    found, seen = stretto.load(path), judged(path)[1]
    assert found["b"].tobytes() == x.tobytes() and found["a"].dtype == bfloat16
    assert np.abs(found["a"].astype(float) - x.astype(float)).max() <= 1.5
    assert all(seen[name][0].tobytes() == found[name].tobytes() for name in "ab")


def test_a_relative_bound_is_of_the_range_of_the_whole_array(path):
    x = field(50, 60)
    x[7, 7], x[8, 8] = 1e20, np.nan
    with stretto.open(path, "x") as file:
        file.add("x", x, rel=1e-3, chunk=4000)
    y = stretto.load(path)["x"]
    assert (np.abs(y - x)[np.isfinite(x)] <= 1e-3 * 200).all() and y[7, 7] == x[7, 7] and np.isnan(y[8, 8])


def test_indices_are_those_of_numpy(path):
    x = field(13, 5, 7)
    with stretto.open(path, "x") as file:
        file.add("x", x, chunk=4 * 50)
        for key in (3, -1, slice(None), slice(2, 5), slice(9, 2), slice(None, None, 3), slice(None, None, -2), (4, 1), (slice(3, 8), ..., 2), (..., 1), (),
                    None, [1, 5], np.arange(13) % 2 == 0, (slice(0, 3), slice(None), None)):
            assert np.array_equal(file["x"][key], x[key])
        assert len(file["x"]) == 13
        with pytest.raises(IndexError, match="index 13 is out of 13"):
            file["x"][13]


def test_a_part_reads_its_chunks_alone(path):
    x = field(40, 100)
    with stretto.open(path, "x") as file:
        file.add("x", x, abs=1e-3, chunk=4 * 100 * 4)
    content = bytearray(path.read_bytes())
    with stretto.open(path) as file:
        offset, length, *_ = file["x"]._entry.chunks[5]
    content[offset:offset + length] = bytes(length)
    path.write_bytes(content)
    with stretto.open(path) as file:
        assert np.abs(file["x"][:20] - x[:20]).max() <= 1e-3 and np.abs(file["x"][24:] - x[24:]).max() <= 1e-3
        for part in (slice(19, 21), slice(23, 24)):
            with pytest.raises(stretto.StreamError, match=r"x\.stretto: chunk 5 of 'x'"):
                file["x"][part]


def test_streams_come_out_and_go_in(path):
    x = field(40, 100)
    total = stretto.sum([stretto.compress(x, abs=1e-3, checksum=False)] * 3)
    with stretto.open(path, "x") as file:
        file.add("x", x, abs=1e-3, chunk=1000)
        file.add("total", total)
        file.add("whole", stretto.compress(np.arange(5)))
        for first, last in ((0, 40), (3, 17), (5, 5)):
            assert np.array_equal(file["x"].stream(first, last).decompress(), file["x"][first:last])
    with stretto.open(path) as file:
        assert (file["total"].contributions, file["total"].promised_error) == (3, total.promised_error)
        assert np.array_equal(file["total"].stream().decompress(), total.decompress())
    assert np.array_equal(judged(path)[1]["total"][0], total.decompress()) and np.array_equal(judged(path)[1]["whole"][0], np.arange(5))


def test_attributes_and_axes_come_back(path):
    told = {"units": "K", "scale": np.float32(0.5), "missing": math.nan, "range": np.array([1, 2], np.int16),
            "none": np.empty((0, 2), np.float32), "list": ["a", 1, None], "deep": {"a": [True]}}
    with stretto.open(path, "x") as file:
        file.attributes["title"] = "Größe"
        file.add("t", field(3, 4), attributes=told, axes=("time", "place"))
    with stretto.open(path) as file:
        found = file["t"].attributes
        assert file.attributes == {"title": "Größe"} and file["t"].axes == ("time", "place")
        assert {key: found[key] for key in ("units", "list", "deep")} == {key: told[key] for key in ("units", "list", "deep")}
        assert found["scale"] == 0.5 and found["scale"].dtype == np.float32 and np.isnan(found["missing"]) and found["range"].dtype == np.int16
        assert found["none"].shape == (0, 2) and found["none"].dtype == np.float32
    seen, arrays = judged(path)
    assert seen == {"title": "Größe"} and arrays["t"][1]["range"].tolist() == [1, 2] and arrays["t"][2] == ["time", "place"]


@pytest.mark.parametrize("shape", ((), (0,), (3, 0, 2), (1,), (1, 1, 1)))
def test_shapes_without_many_elements(path, shape):
    x = np.full(shape, 2.5)
    stretto.save(path, {"a": x, "b": x}, abs={"b": 0.1})
    found = stretto.load(path)
    assert found["a"].shape == found["b"].shape == shape and np.array_equal(found["a"], x) and (np.abs(found["b"] - x) <= 0.1).all()
    assert judged(path)[1]["b"][0].shape == shape


def test_a_relative_bound_of_an_empty_array_stays_relative(path):
    x = 1e-6 * field(20, 3)
    with stretto.open(path, "x") as file:
        file.add("w", x[:0], rel=1e-3).append(x)
        for empty in (x[:0], x):
            with pytest.raises(stretto.BoundError, match="given twice"):
                file.add("v", empty, abs=1, rel=1e-3)
    assert np.array_equal(stretto.load(path)["w"], x)


def test_rows_are_appended(path):
    x = field(30, 8, 9)
    with stretto.open(path, "a") as file:
        made = file.create("x", (8, 9), np.float32, abs=0.01)
        made.append(x[:7])
    for first in (7, 12):
        with stretto.open(path, "a") as file:
            file["x"].append(x[first:first + 5])
            file.attributes["rows"] = len(file["x"])
    with stretto.open(path) as file:
        assert file["x"].shape == (17, 8, 9) and file.attributes == {"rows": 17} and file["x"].chunks == 3
        assert np.abs(file["x"].read() - x[:17]).max() <= 0.01
    assert judged(path)[1]["x"][0].shape == (17, 8, 9)


def test_an_addition_that_ends_anywhere_leaves_the_former_content(path):
    x = field(100, 10)
    stretto.save(path, x, abs=0.01)
    before = path.read_bytes()
    with stretto.open(path, "a") as file:
        file["data"].append(x)
    after = path.read_bytes()
    assert after[40:len(before)] == before[40:]  # the old content is unchanged, except for the header
    for end in range(len(before), len(after) + 1):
        path.write_bytes(before + after[len(before):end])
        with stretto.open(path) as file:
            assert len(file["data"]) == 100
    with stretto.open(path, "a") as file:  # overwrites the leftover
        file["data"].append(x[:1])
    assert len(stretto.load(path)["data"]) == 101 and path.stat().st_size < len(after)


def test_an_addition_that_fails_leaves_the_former_content(path):
    stretto.save(path, field(100, 10), abs=0.01)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), stretto.open(path, "a") as file:
        file["data"].append(field(5, 10))
        file.add("more", field(5))
        1 / 0  # noqa: B018
    assert path.read_bytes() == before


def test_a_commit_is_seen_at_once_and_stays_where_what_follows_fails(path):
    x = field(100, 10)
    stretto.save(path, x)
    with pytest.raises(ZeroDivisionError), stretto.open(path, "a") as file:
        file["data"].append(x)
        assert len(stretto.load(path)["data"]) == 100
        file.commit()
        assert np.array_equal(stretto.load(path)["data"], np.concatenate((x, x)))
        file["data"].append(x)
        1 / 0  # noqa: B018
    assert len(stretto.load(path)["data"]) == 200 and len(judged(path)[1]["data"][0]) == 200


def test_a_file_that_is_forgotten_keeps_nothing(path, tmp_path):
    file = stretto.open(path, "x")
    file.add("x", field(5))
    del file
    gc.collect()  # a file and its arrays know each other
    assert list(tmp_path.iterdir()) == []
    stretto.save(path, field(5))
    before = path.read_bytes()
    file = stretto.open(path, "a")
    file.add("x", field(5))
    if os.fork() == 0:  # the child's copy has no say
        del file
        gc.collect()
        os._exit(0)
    os.wait()
    file.close()
    assert list(stretto.load(path)) == ["data", "x"] and path.read_bytes() != before


def test_a_reader_keeps_what_it_opened(path):
    x = field(100, 10)
    stretto.save(path, x)
    with stretto.open(path) as reader:
        with stretto.open(path, "a") as file:
            file["data"].append(x)
        assert np.array_equal(reader["data"].read(), x)
        stretto.save(path, x[:5], overwrite=True)
        assert np.array_equal(reader["data"].read(), x)


def test_a_file_is_true_while_it_is_open(path):
    for mode in ("w", "a", "r"):
        with stretto.open(path, mode) as file:
            assert file and len(file) == 0
        assert not file


def test_a_second_writer_is_refused(path):
    stretto.save(path, field(10))
    with stretto.open(path, "a"), pytest.raises(stretto.ArgumentError, match="open elsewhere, for writing"):
        stretto.open(path, "a")


@pytest.mark.parametrize("there", (True, False))
@pytest.mark.parametrize("second", "wax")
@pytest.mark.parametrize("first", "wax")
def test_a_second_writer_is_refused_when_it_opens_the_file(path, tmp_path, first, second, there):
    if there:
        if "x" in (first, second):
            return
        stretto.save(path, field(10))
    os.symlink(path, tmp_path / "link")
    said = stretto.ArgumentError if second != "x" or not there else FileExistsError
    with stretto.open(path, first) as file:
        file.add("mine", field(20))
        for name in (path, *([tmp_path / "link"] if there or second != "a" else [])):  # "a" does not follow a link to nothing
            with pytest.raises(said, match="open elsewhere, for writing"):
                stretto.open(name, second)
        program = f"import stretto\ntry: stretto.open('x.stretto', '{second}')\nexcept stretto.ArgumentError as error: print(error)"
        assert "open elsewhere, for writing" in subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True).stdout
    assert np.array_equal(stretto.load(path)["mine"], field(20)) and sorted(os.listdir(tmp_path)) == ["link", "x.stretto"]
    with stretto.open(path, "a") as file:  # no lock is left
        del file


@pytest.mark.parametrize("mode", "wa")
def test_a_forked_child_keeps_no_lock_of_its_parent(path, mode):
    with stretto.open(path, mode) as file:
        file.add("x", field(10))
        hold, release = os.pipe()
        child = os.fork()
        if not child:
            os.close(release)
            os.read(hold, 1)
            os._exit(0)
    try:
        with stretto.open(path, "a") as file:
            file.add("y", field(10))
        stretto.save(path, field(10), overwrite=True)
    finally:
        os.close(hold), os.close(release)
        os.waitpid(child, 0)


@pytest.mark.parametrize("end", (lambda file: file.close(), lambda file: file.__exit__(None, None, None)))
@pytest.mark.parametrize("mode", "wa")
def test_a_forked_child_that_closes_the_file_leaves_it_to_its_parent(path, tmp_path, mode, end):
    stretto.save(path, field(10))
    file = stretto.open(path, mode)
    file.add("x", field(10))
    there = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    child = os.fork()
    if not child:
        status = 1
        try:
            for use in (lambda: file.add("y", field(3)), lambda: file["x"].append(field(3)), file.commit):
                with pytest.raises(stretto.ArgumentError, match="before this process was forked"):
                    use()
            end(file)
            names = [os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")]
            status = 0 if not file and not any(name.startswith(os.path.realpath(tmp_path)) for name in names) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == there
    for second in "wa":
        with pytest.raises(stretto.ArgumentError, match="open elsewhere, for writing"):
            stretto.open(path, second)
    file.close()
    assert list(stretto.load(path)) == (["x"] if mode == "w" else ["data", "x"]) and os.listdir(tmp_path) == ["x.stretto"]


def test_the_file_that_is_locked_is_the_one_that_is_replaced(path, tmp_path, monkeypatch):
    stretto.save(path, field(10))
    lock = output.lock

    def late(descriptor, name):
        monkeypatch.undo()
        stretto.save(path, field(20), overwrite=True)
        lock(descriptor, name)

    monkeypatch.setattr(output, "lock", late)
    with stretto.open(path, "w") as file:
        file.add("x", field(5))
        with pytest.raises(stretto.ArgumentError, match="open elsewhere, for writing"):
            stretto.open(path, "a")
    assert list(stretto.load(path)) == ["x"] and os.listdir(tmp_path) == ["x.stretto"]


@pytest.mark.parametrize(("mode", "module"), (("a", container), ("w", output)))
def test_a_file_that_is_another_each_time_is_named(path, tmp_path, monkeypatch, mode, module):
    stretto.save(path, field(10))
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(module, "is_at", lambda *_: False)
    with pytest.raises(stretto.ArgumentError, match=r"x\.stretto is replaced again and again"):
        stretto.open(path, mode)
    monkeypatch.undo()
    assert len(os.listdir("/proc/self/fd")) == len(before) and os.listdir(tmp_path) == ["x.stretto"]
    with stretto.open(path, "a") as file:  # no lock is left
        del file


@pytest.mark.parametrize("mode", "wx")
def test_parts_of_another_user_are_asked_for_their_lock(path, tmp_path, monkeypatch, mode):
    parts, opened = tmp_path / ".x.stretto.part", os.open
    first = stretto.open(path, mode)
    first.add("x", field(5))

    def another_user(name, flags, *more, **options):
        if os.fspath(name) == os.fspath(parts) and flags & os.O_RDWR and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return opened(name, flags, *more, **options)

    monkeypatch.setattr(os, "open", another_user)
    with pytest.raises(stretto.ArgumentError, match="open elsewhere, for writing"):
        stretto.open(path, mode)
    first.close()
    assert list(stretto.load(path)) == ["x"] and os.listdir(tmp_path) == ["x.stretto"]
    parts.write_text("left by another user")
    stretto.save(path, field(5), overwrite=True)
    assert list(stretto.load(path)) == ["data"] and parts.read_text() == "left by another user"


def test_parts_of_a_killed_program_are_replaced(path, tmp_path):
    program = "import stretto, os, signal\nf = stretto.open('x.stretto', 'w')\nf.add('x', range(5))\nos.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path).returncode == -9
    assert os.listdir(tmp_path) == [".x.stretto.part"]
    with stretto.open(path, "x") as file:
        file.add("mine", field(5))
    assert os.listdir(tmp_path) == ["x.stretto"] and list(stretto.load(path)) == ["mine"]
    os.symlink(tmp_path / "elsewhere", tmp_path / ".x.stretto.part")  # which is no leftover, and stays
    stretto.save(path, field(5), overwrite=True)
    assert sorted(os.listdir(tmp_path)) == [".x.stretto.part", "x.stretto"]


def test_an_interrupted_writer_leaves_the_parts_of_another(path, tmp_path, monkeypatch):
    file = stretto.open(path, "x")
    file.add("x", field(5))

    def interrupted(_):
        monkeypatch.undo()
        (tmp_path / ".x.stretto.part").write_text("another's")
        raise KeyboardInterrupt

    monkeypatch.setattr(type(file._output), "_sync_directory", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file.close()
    assert (tmp_path / ".x.stretto.part").read_text() == "another's" and list(stretto.load(path)) == ["x"]


def test_a_new_file_appears_whole_or_not_at_all(path, tmp_path):
    with pytest.raises(ZeroDivisionError), stretto.open(path, "w") as file:
        file.add("x", field(5000))
        assert not path.exists()
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []
    stretto.save(path, field(5))
    with pytest.raises(FileExistsError, match="is there already"):
        stretto.open(path, "x")
    with pytest.raises(FileExistsError):
        stretto.save(path, field(7))
    with pytest.raises(FileExistsError, match="came meanwhile"), stretto.open(tmp_path / "y", "x"):
        (tmp_path / "y").write_text("another")
    assert (tmp_path / "y").read_text() == "another" and sorted(os.listdir(tmp_path)) == ["x.stretto", "y"]
    program = "import stretto, os, signal\nf = stretto.open('x.stretto', 'w')\nf.add('x', range(5))\nos.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path).returncode == -9
    assert len(stretto.load(path)["data"]) == 5


def test_what_a_killed_program_left_blocks_nothing(path):
    left = path.with_name(f".x.stretto.{os.getpid()}.part")
    left.write_bytes(b"left")
    stretto.save(path, field(5))
    assert len(stretto.load(path)["data"]) == 5 and left.read_bytes() == b"left"


@pytest.mark.parametrize("mode", (0o400, 0o600, 0o666))
def test_a_file_that_is_replaced_keeps_who_may_read_it(path, mode):
    stretto.save(path, field(5))
    path.chmod(mode)
    with stretto.open(path, "w") as file:
        assert os.fstat(file._descriptor).st_mode & 0o077 & ~mode == 0  # from the first byte on
    assert path.stat().st_mode & 0o777 == mode


def test_a_new_file_and_its_name_reach_the_disk(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((os.readlink(f"/proc/self/fd/{descriptor}"), path.exists())))
    stretto.save(path, field(5))
    assert synced[0][0].endswith(".part") and synced[1:] == [(str(path.parent), True)]


def small(path):
    with stretto.open(path, "w") as file:
        file.attributes["title"] = "small"
        file.add("x", field(40, 2), abs=0.1, attributes={"units": "m"}, chunk=200)
        file.add("n", np.arange(7, dtype=np.uint8))
        file.add("none", np.empty((0, 3)))
    return path.read_bytes()


def everything(path):
    with stretto.open(path) as file:
        return {name: file[name].read().tobytes() for name in file}


def test_a_file_that_is_cut_anywhere_is_a_stream_error(path):
    content = small(path)
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(stretto.StreamError, match=r"x\.stretto: "):
            everything(path)
        with pytest.raises((referee.Malformed, ValueError)):
            judged(path)


def test_every_wrong_byte_is_a_stream_error(path):
    content = small(path)
    for at in range(len(content)):
        for flip in (1, 128, 255):
            path.write_bytes(content[:at] + bytes([content[at] ^ flip]) + content[at + 1:])
            with pytest.raises(stretto.StreamError, match=r"x\.stretto: "):
                everything(path)


def test_what_is_no_container_is_named(path):
    for content, said in ((b"", "0 bytes are less than a header"), (b"CDF\x01" + bytes(100), "does not begin as a .stretto file does"),
                          (bytes(stretto.compress(np.zeros(9), abs=1)), "does not begin as a .stretto file does")):
        path.write_bytes(content)
        with pytest.raises(stretto.StreamError, match=said):
            stretto.open(path)
    with pytest.raises(FileNotFoundError):
        stretto.open(path.parent / "none")
    for mode in "ra":
        with pytest.raises(IsADirectoryError, match=re.escape(str(path.parent))):
            stretto.open(path.parent, mode)


def written(path, index, version=1, content=None):
    """A container with this index behind one stream of 10 float32, or other content, and a header that fits it."""
    stream = content or bytes(stretto.compress(field(10), abs=0.5))
    index = (index % {"stream": f"[40,{len(stream)},10,{int.from_bytes(stream[36:40], 'little')}]"}).encode()
    front = struct.pack("<8sIIQQI", layout.MAGIC, version, zlib.crc32(index), 40 + len(stream), len(index), 0)
    path.write_bytes(front + struct.pack("<I", zlib.crc32(front)) + stream + index)


GOOD = '{"name":"x","dtype":"float32","shape":[10],"eps":0.5,"chunks":[%(stream)s]}'


@pytest.mark.parametrize(("index", "said"), [
    ('{"arrays":[' + GOOD + "," + GOOD + "]}", "two arrays have one name"),
    ('{"arrays":[' + GOOD.replace("0.5", "0.25") + "]}", "the stream is not the one of the index"),
    ('{"arrays":[' + GOOD.replace('"eps":0.5,', "") + "]}", "the stream is not the one of the index"),
    ('{"arrays":[' + GOOD.replace("float32", "int32") + "]}", "eps is 0.5"),
    ('{"arrays":[' + GOOD.replace("float32", "float64") + "]}", "the stream is not the one of the index"),
    ('{"arrays":[' + GOOD.replace("float32", "object") + "]}", "dtype 'object' is none of"),
    ('{"arrays":[' + GOOD.replace("[10]", "[11]") + "]}", r"chunks hold 10 elements of shape \(11,\)"),
    ('{"arrays":[' + GOOD.replace("[10]", "[-10]") + "]}", r"a shape  is \[-10\]"),
    ('{"arrays":[' + GOOD.replace("[10]", "[1e1]") + "]}", r"a shape  is \[10.0\]"),
    ('{"arrays":[' + GOOD.replace("0.5", "NaN") + "]}", "has the number NaN"),
    ('{"arrays":[' + GOOD.replace("0.5", "-1.0") + "]}", "eps is -1.0"),
    ('{"arrays":[' + GOOD.replace('"x"', '""') + "]}", "name is ''"),
    ('{"arrays":[' + GOOD.replace("%(stream)s", "[40,9999,10,0]") + "]}", "does not lie before the index"),
    ('{"arrays":[' + GOOD.replace("%(stream)s", "[40,64,99999999,0]").replace("[10]", "[99999999]") + "]}", "has 99999999 elements"),
    ('{"arrays":[' + GOOD.replace("%(stream)s", "[40]") + "]}", r"a chunk is \[40\]"),
    ('{"arrays":[' + GOOD.replace('"eps"', '"contributions":2,"eps"') + "]}", "the stream is not the one of the index"),
    ('{"arrays":7}', "arrays are no list"), ("[]", "the index is no object"), ("{", "no JSON of a container"), ('{"arrays":[{}]}', "no JSON of a container"),
    ("[" * 100000, "no JSON of a container"), ('{"arrays":[],"attributes":{"a":{"dtype":"float32","shape":[2],"hex":"00"}}}', "not the bytes of its shape"),
])
def test_an_index_that_lies_is_a_stream_error(path, index, said):
    written(path, index)
    with pytest.raises(stretto.StreamError, match=said):
        everything(path)


def test_containers_of_other_versions_are_named(path):
    written(path, '{"arrays":[' + GOOD + "]}")
    assert len(everything(path)["x"]) == 40
    written(path, '{"arrays":[' + GOOD + "]}", version=2)
    with pytest.raises(stretto.StreamError, match="it is of version 2; this release reads version 1"):
        stretto.open(path)


def test_a_file_that_changes_while_it_is_read_is_a_stream_error(path):
    x = field(100, 10)
    stretto.save(path, x, abs=0.01)
    with stretto.open(path) as file:
        os.truncate(path, 200)
        with pytest.raises(stretto.StreamError, match="chunk 0 of 'data'.* truncated"):
            file["data"].read()
    stretto.save(path, x, abs=0.01, overwrite=True)
    with stretto.open(path) as file:
        other = path.with_name("other")
        stretto.save(other, x + 1, abs=0.01)  # another stream, whole in itself
        with open(path, "r+b") as target:
            target.write(other.read_bytes())
        with pytest.raises(stretto.StreamError):
            file["data"].read()


@pytest.mark.parametrize(("arrays", "bound", "kind", "said"), [
    ({"x": np.array([None])}, {}, TypeError, "dtype object is not served"),
    ({"x": np.zeros(3, ">f4")}, {"abs": 1}, TypeError, "'>f4' is of the other byte order"),
    ({"x": np.zeros(3, "M8[s]")}, {}, TypeError, "is not served"),
    ({"x": np.zeros(3, "U3")}, {}, TypeError, "is not served"),
    ({"x": field(3)}, {"abs": math.nan}, stretto.BoundError, "abs is nan"),
    ({"x": field(3)}, {"abs": 1, "rel": 1}, stretto.BoundError, "given twice"),
    ({"x": field(3)}, {"abs": {"y": 1}}, stretto.ArgumentError, "abs has a bound for 'y'"),
    ({"": field(3)}, {}, stretto.ArgumentError, "name is ''"),
    ({3: field(3)}, {}, TypeError, "name is 3"),
    ({"\ud800": field(3)}, {}, stretto.ArgumentError, "no text that UTF-8 holds"),
    ({"x": np.arange(3)}, {"abs": {"x": 1}}, stretto.BoundError, "int64 is lossless"),
    ({"x": stretto.compress(field(3), abs=1)}, {"rel": {"x": 1}}, stretto.BoundError, "a Stream, which has its bound"),
])
def test_what_cannot_be_kept_is_refused_and_leaves_no_file(path, tmp_path, arrays, bound, kind, said):
    with pytest.raises(kind, match=said):
        stretto.save(path, arrays, **bound)
    assert list(tmp_path.iterdir()) == []


def test_wrong_uses_are_named(path):
    stretto.save(path, {"x": field(5, 2), "one": np.float32(1), "sum": stretto.sum([stretto.compress(field(4), abs=1)] * 2), "flags": np.ones(3, bool)})
    with stretto.open(path) as file:
        for kind, said, use in (
            (stretto.ArgumentError, "open for reading", lambda: file.add("y", field(3))), (KeyError, "'y'; .* has 'x', 'one'", lambda: file["y"]),
            (stretto.ArgumentError, "rows 3 to 9 of 'x', which has 5", lambda: file["x"].read(3, 9)),
            (stretto.ArgumentError, r"out has dtype float64", lambda: file["x"].read(out=np.empty((5, 2)))),
            (stretto.UnsupportedError, "for which there is no Stream", lambda: file["flags"].stream()),
            (TypeError, "no length", lambda: len(file["one"])),
        ):
            with pytest.raises(kind, match=said):
                use()
    with pytest.raises(stretto.ArgumentError, match="is closed"):
        file["x"]
    assert list(stretto.load(path, "one")) == list(stretto.load(path, ["one"])) == ["one"]
    with stretto.open(path, "a") as file:
        for kind, said, use in (
            (stretto.ArgumentError, "has an array 'x' already", lambda: file.add("x", field(3))),
            (stretto.IncompatibleError, r"rows of float32 \(3,\) are appended to 'x'", lambda: file["x"].append(field(3))),
            (stretto.ArgumentError, "is one number", lambda: file["one"].append(field(3))),
            (stretto.UnsupportedError, "is a sum of 2 arrays", lambda: file["sum"].append(field(3))),
            (stretto.BoundError, "int8 is lossless", lambda: file.create("i", (), np.int8, abs=1)),
            (stretto.BoundError, "the bound of 'i' is -1", lambda: file.create("i", (), np.float32, abs=-1)),
            (TypeError, "the attribute 'a' is a set", lambda: file.add("y", field(3), attributes={"a": set()})),
            (stretto.ArgumentError, "axes of 'y'", lambda: file.add("y", field(3), axes=("a", "b"))),
            (stretto.ArgumentError, "in an array's name is no text that UTF-8 holds", lambda: file.add("\udc80", field(3))),
            (stretto.ArgumentError, "in axes of 'y' is no text that UTF-8 holds", lambda: file.add("y", field(3), axes=("\udc80",))),
            (stretto.ArgumentError, "in the attribute 'a' is no text", lambda: file.add("y", field(3), attributes={"a": ["\udc80"]})),
            (stretto.ArgumentError, "in the attribute 'a' is no text", lambda: file.add("y", field(3), attributes={"a": {"\udc80": 1}})),
        ):
            with pytest.raises(kind, match=said):
                use()
    with pytest.raises(stretto.ArgumentError, match="mode is 'q'"):
        stretto.open(path, "q")


def test_pieces_cover_an_array_in_order_and_are_small():
    for shape in ((), (1,), (7,), (3, 4, 5), (1, 1, 100), (5, 0), (2, 1, 3, 4)):
        x = np.arange(math.prod(shape)).reshape(shape)
        for most in (1, 3, 10, 1000):
            found = [x[index].reshape(-1) for index in pieces(shape, most)]
            assert np.array_equal(np.concatenate(found) if found else np.empty(0), x.reshape(-1))
            assert all(len(piece) <= most for piece in found)


def test_the_lines_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (pathlib.Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    section, known = page[page.index("\n## Files"):page.index("\n## Collectives")], {}
    needed = {"h5py": "h5py", "zarr": "zarr"}
    found = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(found) == 3
    for lines in found:
        for word, module in needed.items():
            if f"import {word}" in lines:
                pytest.importorskip(module)
        exec(lines, known)  # noqa: S102
    assert np.abs(known["y"] - known["x"]).max() <= 2e-4 and np.array_equal(known["part"], known["y"][120:140, ::2])
    assert np.abs(known["z"] - known["x"][120:140]).max() <= 1e-3 and np.abs(known["a"][:] - known["x"]).max() <= 1e-3


def variants(told):
    """An index with one of its values replaced, or a key left out, in every place of it."""
    strange = (None, True, -1, 0, 1, 7, 2**31, 2**63 - 1, 2**64, 10**400, 0.5, -0.0, 1e308, "", "x", "float64", "\0", [], [1], [[]], {}, {"dtype": 1}, [10**18] * 4)
    if isinstance(told, (dict, list)):
        for key in list(told) if isinstance(told, dict) else range(len(told)):
            before = told[key]
            for value in strange:
                told[key] = value
                yield
            told[key] = before
            yield from variants(before)
            if isinstance(told, dict):
                del told[key]
                yield
                told[key] = before


def test_strange_indices_are_read_or_stream_errors(path):
    stream = bytes(stretto.compress(field(10), abs=0.5))
    whole = bytes(stretto.compress(np.arange(20, dtype=np.int32)))
    chunks = [[at, len(one), n, int.from_bytes(one[36:40], "little")] for at, one, n in ((40, stream, 10), (40 + len(stream), whole, 20))]
    told = {"arrays": [{"name": "x", "dtype": "float32", "shape": [2, 5], "eps": 0.5, "bound": "abs:0.5", "axes": ["a", "b"], "contributions": 1,
                        "attributes": {"a": {"dtype": "int16", "shape": [2], "hex": "01000200"}, "b": [1, {"c": 2}]}, "chunks": chunks[:1]},
                       {"name": "n", "dtype": "uint8", "shape": [20], "chunks": chunks[1:]}], "attributes": {"t": "u"}}
    read = refused = 0
    for _ in variants(told):
        written(path, json.dumps(told).replace("%", "%%"), content=stream + whole)
        try:
            everything(path)
            read += 1
        except stretto.StreamError:
            refused += 1
    assert read > 50 and refused > 500


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(some.data())
def test_any_array_in_any_chunks_is_read_in_any_part(data):
    dtype = data.draw(some.sampled_from(LOSSLESS))
    x = data.draw(some_numpy.arrays(dtype, some_numpy.array_shapes(min_dims=0, max_dims=3, max_side=7, min_side=0)))
    x = data.draw(some.sampled_from((x, x.T, x[::-1], x[::2]) if x.ndim else (x,)))
    with tempfile.TemporaryDirectory() as here:
        path = pathlib.Path(here, "x.stretto")
        with stretto.open(path, "x") as file:
            file.add("x", x, chunk=data.draw(some.integers(1, 300)))
        with stretto.open(path) as file:
            assert file["x"].read().tobytes() == x.tobytes() == judged(path)[1]["x"][0].tobytes()
            if x.ndim:
                part = data.draw(some.slices(len(x)) | (some.integers(-len(x), len(x) - 1) if len(x) else some.nothing()))
                assert file["x"][part].tobytes() == x[part].tobytes()


def opened_twice(tmp_path):
    x = np.arange(600, dtype=np.float32).reshape(60, 10)
    stretto.save(tmp_path / "x.stretto", {"a": x}, abs=1e-3)
    return x, stretto.open(tmp_path / "x.stretto")


@pytest.mark.parametrize("twin", (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))))
def test_copies_of_files_and_arrays_own_their_descriptors(tmp_path, twin):
    x, file = opened_twice(tmp_path)
    other, array = twin(file), twin(file["a"])
    del other
    gc.collect()
    assert np.abs(file["a"][:] - x).max() <= 1e-3
    file.close()
    with open(tmp_path / "x.stretto", "rb") as third:  # has the number that the closed one had
        assert np.abs(array[:] - x).max() <= 1e-3
        del array
        gc.collect()
        assert third.read(4)


def test_an_array_is_read_by_a_spawned_process_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.arange(600, dtype=np.float32).reshape(60, 10)
    stretto.save("x.stretto", {"a": x}, abs=1e-3)
    content = pickle.dumps(stretto.open("x.stretto")["a"])
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[59, 9])"
    done = subprocess.run([sys.executable, "-c", program], input=content, cwd="/", capture_output=True, check=True)
    assert abs(float(done.stdout) - 599) <= 1e-3


def test_an_array_that_changed_after_it_was_pickled_is_refused(tmp_path):
    x, file = opened_twice(tmp_path)
    content = pickle.dumps(file["a"])
    stretto.save(tmp_path / "x.stretto", {"a": x + 1}, abs=1e-3, overwrite=True)
    with pytest.raises(stretto.StreamError, match="'a' was changed or removed"):
        pickle.loads(content)


def test_a_file_that_is_written_or_closed_has_no_copies(tmp_path):
    _, file = opened_twice(tmp_path)
    array = file["a"]
    file.close()
    with stretto.open(tmp_path / "new.stretto", "x") as new:
        made = new.add("b", np.ones(3))
        for one in (file, array, new, made):
            with pytest.raises(stretto.ArgumentError, match="is closed|open for writing"):
                copy.copy(one)
        with pytest.raises(TypeError, match="descriptor has one owner"):
            copy.copy(new._output)


def test_codings_differ_in_bytes_alone(path):
    x = field(40, 3000) + np.random.default_rng(5).standard_normal((40, 3000)).astype(np.float32)
    stored, found = {}, {}
    for coding in (None, "dense", "fixed"):
        stretto.save(path, {"x": x, "n": np.arange(5)}, abs={"x": 0.05}, coding=coding, overwrite=True)
        with stretto.open(path) as file:
            stored[coding], found[coding] = file["x"].nbytes, file["x"].read()
            assert file["x"].coding == (coding or "dense") and file["n"].coding == (coding or "fixed")
        assert np.array_equal(judged(path)[1]["x"][0], found[coding])
    assert np.array_equal(found["dense"], found["fixed"])
    assert stored[None] == stored["dense"] < stored["fixed"]


def test_what_is_appended_has_the_coding_of_what_is_there(path):
    x = field(400, 300) + np.random.default_rng(5).standard_normal((400, 300)).astype(np.float32)
    for coding in ("fixed", "dense"):
        with stretto.open(path, "w") as file:
            file.create("x", 300, np.float32, abs=0.05, coding=coding).append(x)
            assert file["x"].coding == coding
        with stretto.open(path, "a") as file:
            file["x"].append(x)
        with stretto.open(path) as file:
            assert file["x"].coding == coding and file["x"].chunks == 2


@pytest.mark.parametrize("dtype", ("float32", "float64", "complex64", "float16", "int32"))
@pytest.mark.parametrize("chunk", (4 << 20, 5000))
def test_shaped_chunks_are_boxes_of_the_array(path, dtype, chunk):
    x = (rough_rows((7, 30, 90)) * 5).astype(dtype)
    with stretto.open(path, "w") as file:
        made = file.add("x", x, chunk=chunk, coding="shaped", **({} if dtype == "int32" else {"abs": 0.25}))
        assert made.coding == "shaped" and made.chunks == (1 if chunk > 5000 else 7 * -(-30 // (5000 // (90 * x.dtype.itemsize))))
        assert chunk == 5000 or made.nbytes < file.add("y", x, coding="dense", **({} if dtype == "int32" else {"abs": 0.25})).nbytes
    with stretto.open(path, "a") as file:
        file["x"].append(x[:2])
        assert file["x"].coding == "shaped"
    with stretto.open(path) as file:
        found = file["x"].read()
        file["x"].check()
        assert np.array_equal(file["x"][2:5, 3], found[2:5, 3])
        with pytest.raises(stretto.UnsupportedError, match="coding='shaped'"):
            file["x"].stream(1, 3)
        with pytest.raises(stretto.UnsupportedError, match="coding='shaped'"):
            file["x"].stream()
    assert np.array_equal(judged(path)[1]["x"][0], found)
    assert np.abs(found.astype(complex) - np.concatenate((x, x[:2]))).max() <= (0 if dtype == "int32" else 0.4)


def test_a_shaped_stream_is_kept_and_found_again(path):
    s = stretto.compress(rough_rows((40, 300)), abs=0.05, coding="shaped")
    with stretto.open(path, "w") as file:
        assert file.add("x", s).coding == s.coding == "shaped"
    with stretto.open(path) as file:
        assert file["x"].stream() == s


def test_a_stream_keeps_its_coding_and_others_are_refused(path):
    s = stretto.compress(field(3000), abs=0.05)
    with stretto.open(path, "w") as file:
        assert file.add("x", s).coding == "fixed"
        with pytest.raises(stretto.ArgumentError, match="a Stream, which is fixed"):
            file.add("y", s, coding="dense")
        with pytest.raises(stretto.ArgumentError, match="coding is 'packed'; it takes fixed, dense, shaped or None"):
            file.add("y", field(30), abs=0.05, coding="packed")
