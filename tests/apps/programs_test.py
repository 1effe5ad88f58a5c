#!/usr/bin/env python3
"""Tests of the programs of apps/programs on several numbers of ranks. PROGRAMS names their directory; MPIRUN, LAUNCH."""

import json
import os
import subprocess
import unittest


def run(name, ranks, *args):
    command = [os.environ["LAUNCH"], os.environ["MPIRUN"], str(ranks), os.path.join(os.environ["PROGRAMS"], f"stretto-{name}"), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def rows(name, ranks, *args):
    """The rows that a program printed; it must have come to its end."""
    status, out, err = run(name, ranks, *args)
    if status != 0:
        raise AssertionError(err)
    events = [json.loads(line) for line in out.splitlines()]
    if events[-1]["event"] != "end" or events[0]["ranks"] != ranks:
        raise AssertionError(out)
    return [event for event in events if event["event"] == "row"]


class Programs(unittest.TestCase):
    def refused(self, words, name, ranks, *args):
        status, out, err = run(name, ranks, *args)
        self.assertNotEqual(status, 0, (name, args))
        self.assertIn(words, err)
        self.assertNotIn('"row"', out)


class Ring(Programs):
    VARIANTS = ["blocking", "sendrecv", "nonblocking", "persistent", "neighbourhood"]

    def test_every_message_comes_home_whether_ranks_are_even_or_odd(self):
        for ranks in (2, 3, 4):
            found = rows("ring", ranks, "--bytes", 80000, "--repeats", 1)
            self.assertEqual([row["variant"] for row in found], self.VARIANTS)
            for row in found:
                self.assertEqual((row["messages"], row["megabytes"]), (2 * ranks**2, 2 * ranks**2 * 0.08))

    def test_what_is_no_ring_is_refused(self):
        self.refused("1 rank is no ring", "ring", 1)
        self.refused("a message of 12 bytes is no multiple of 8", "ring", 2, "--bytes", 12)


if __name__ == "__main__":
    unittest.main()
