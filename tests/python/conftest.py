"""What the tests share: the command run as a user does, launchers and programs made up for a test."""

import contextlib
import io
import os
import stat
import types

import pytest

os.environ["COLUMNS"] = "200"  # before the consoles are made

from stretto import __main__  # noqa: E402
from stretto.launch import programs  # noqa: E402


class Command:
    """`stretto` in this process, in an environment of its own: nothing of the user's is read or written."""

    def __init__(self, home, monkeypatch):
        self.home, self.monkeypatch = home, monkeypatch
        self.set("HOME", home)
        self.set("XDG_CONFIG_HOME", home / "config")
        monkeypatch.delenv("STRETTO_PROFILE", raising=False)
        for name in ("STRETTO_UCX", *programs.SEGMENTS_OF_TCP):  # what the command sets ends with the test
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)
        for name in programs.ROOT:  # the tests may run as root
            self.set(name, 1)
        monkeypatch.chdir(home)

    def set(self, name, value):
        self.monkeypatch.setenv(name, str(value))

    def run(self, *arguments):
        out, err, status = io.StringIO(), io.StringIO(), 0
        self.monkeypatch.setattr("sys.argv", ["stretto", *map(str, arguments)])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                __main__.main()
            except SystemExit as end:
                status = end.code or 0
        return types.SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=err.getvalue())

    def succeeds(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, *arguments, status=2):
        """What was said; nothing on the standard output. (An exception that nobody caught fails the test.)"""
        done = self.run(*arguments)
        assert done.returncode == status, done.stdout + done.stderr
        assert done.stdout == ""
        return done.stderr

    def executable(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path


@pytest.fixture
def stretto(tmp_path, monkeypatch):
    return Command(tmp_path, monkeypatch)
