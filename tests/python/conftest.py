"""What the tests share: the command run as a user does, launchers and measuring programs made up for a test."""

import os
import stat
import subprocess
import sys

import pytest

LIMIT = 200  # seconds until a run is a hang


class Command:
    """`stretto` in an environment of its own: nothing of the user's is read or written."""

    def __init__(self, home):
        self.home = home
        self.environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "COLUMNS": "200"}
        self.environment.pop("STRETTO_PROFILE", None)

    def run(self, *arguments):
        return subprocess.run([sys.executable, "-m", "stretto", *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment, cwd=self.home, timeout=LIMIT, check=False)

    def succeeds(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, *arguments, status=2):
        """What was said; no traceback, nothing on the standard output."""
        done = self.run(*arguments)
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        return done.stderr

    def executable(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path


@pytest.fixture
def stretto(tmp_path):
    return Command(tmp_path)
