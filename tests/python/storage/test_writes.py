"""Results that are written over former ones: where the disk is full, the former content stays, and nothing else is left."""

import errno
import os
import stat
import threading

import pytest

from stretto import files
from stretto.errors import Failure
from stretto.machine import pingpong, profile
from stretto.pictures import plots
from stretto.report import make


def picture(path):
    plots.save(plots.plt.figure(), [path])


WRITERS = {"page.html": lambda path: make.write(None, path), "fits.csv": lambda path: pingpong.save_csv([], path), "machine.json": lambda path: profile.write({}, path),
           "plot.png": picture, "plot.svg": picture, "plot.pdf": picture, "text": lambda path: files.write(path, "new")}


@pytest.fixture(params=WRITERS)
def case(request, tmp_path, monkeypatch):
    """A writer of a result, and the file that it writes."""
    monkeypatch.setattr(make, "page_of", lambda found: "a page")
    return WRITERS[request.param], tmp_path / request.param


def test_the_former_result_stays_where_the_disk_is_full(case, monkeypatch):
    write, path = case
    path.write_text("former", encoding="utf-8")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((Failure, OSError), match="No space left"):
        write(path)
    assert path.read_text(encoding="utf-8") == "former" and os.listdir(path.parent) == [path.name]


def test_the_new_result_has_the_mode_of_the_former(case):
    write, path = case
    path.write_text("former", encoding="utf-8")
    path.chmod(0o640)
    write(path)
    assert path.read_bytes() != b"former" and stat.S_IMODE(path.stat().st_mode) == 0o640 and os.listdir(path.parent) == [path.name]


def test_a_link_stays_a_link(case):
    write, path = case
    aside = path.with_suffix(f".aside{path.suffix}")
    aside.write_text("former", encoding="utf-8")
    path.symlink_to(aside)
    write(path)
    assert path.is_symlink() and aside.read_bytes() != b"former"


def test_pipes_take_what_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    files.write(tmp_path / "pipe", "text")
    reader.join(30)
    assert found == [b"text"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
