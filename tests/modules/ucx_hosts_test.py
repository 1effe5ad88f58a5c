#!/usr/bin/env python3
"""Jobs over UCX on several hosts of this machine: conformance of the carrier and of the collectives, also through the
memory of each host, and a rank that dies on another host.

usage: ucx_hosts_test.py JOB CARRIER FORMS     status 77 where the machine does not permit several hosts
"""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hosts"))

import ranks as launcher  # noqa: E402
from hosts import SKIP, Hosts, NotPermitted  # noqa: E402

PLACES = (0, 0, 1, 1, 2)  # the host of each rank
UNEVEN = (0, 1, 1, 2, 2, 2)
BY_TURNS = (0, 1, 2, 1, 2, 2)
PROGRAMS = {}


class SeveralHosts(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = directory.name

    def start(self, program, *arguments, places=PLACES, before=()):
        """The processes, by rank. `before`: words that run the program."""
        started = []
        for rank, host in enumerate(places):
            mine = {"STRETTO_STORE": f"file://{self.store}", "STRETTO_RANK": rank, "STRETTO_SIZE": len(places)}
            variables = [f"{name}={value}" for name, value in mine.items()]
            command = HOSTS.on_command(host, ["env", *variables, *before, PROGRAMS[program], *arguments])
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.kill)
            started.append(process)
        return started

    def ends_well(self, started):
        for process in started:
            text, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, text)
        self.assertEqual(os.listdir(self.store), [])

    def test_the_carrier_keeps_its_contract(self):
        self.ends_well(self.start("carrier", places=(0, 1, 2)))

    def test_collectives_are_right_on_hosts_of_one_and_two_ranks(self):
        self.ends_well(self.start("forms"))

    def predicted(self, *settings):
        """The milliseconds that every rank expects of a sum of 400 KB on three hosts."""
        started = self.start("job", "choice", places=(0, 1, 2), before=("env", *settings))
        found = set()
        for process in started:
            text, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, text)
            found.add(text.splitlines()[-1])
        self.assertEqual(len(found), 1, found)
        return float(re.search(r"predicted (\S+) ms", found.pop())[1])

    def test_predictions_follow_the_network_where_no_profile_is_named(self):
        nowhere = f"XDG_CONFIG_HOME={self.store}/none"
        named = self.predicted(nowhere, "STRETTO_PROFILE=built-in")
        looked = self.predicted(nowhere)
        self.assertLess(named, 2)  # 25 Gb/s
        self.assertGreater(looked, 3 * named)  # 1 Gb/s, of which a burst may pass faster

    def test_a_dead_rank_of_another_host_ends_waits_and_is_named(self):
        dead = len(PLACES) - 1
        started = self.start("job", "die", str(dead))
        text, _ = started[dead].communicate(timeout=120)
        self.assertNotEqual(started[dead].returncode, 0, text)
        named = 0
        for process in started[:dead]:
            text, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, text)
            self.assertIn("allreduce", text)
            self.assertRegex(text, f"rank {dead} |rank . had failed|rank . gave up")  # by itself, or told by who noticed
            named += bool(re.search(rf"rank {dead} \(process \d+ on {HOSTS.names[PLACES[dead]]}\) has ended", text))
            after = float(re.search(r"after (\S+) s", text)[1])
            print(f"noticed after {after} s at most", flush=True)
            self.assertLess(after, 10, text)  # of seconds, not of minutes
        self.assertGreater(named, 0)

    def test_collectives_through_each_hosts_memory_wherever_ranks_are(self):
        for places in (UNEVEN, BY_TURNS):
            with self.subTest(places=places):
                self.ends_well(self.start("job", "each", places=places, before=("env", "SCHEDULE=node")))

    def test_a_death_ends_collectives_through_the_memory_of_each_host(self):
        # Alone on its host; one of two; a rank that sends nothing between hosts.
        for dead, vectors in itertools.product((0, 1, 5), ("long", "short")):
            with self.subTest(dead=dead, vectors=vectors), tempfile.TemporaryDirectory() as self.store:
                started = self.start("job", vectors, str(dead), places=UNEVEN, before=("env", "SCHEDULE=node"))
                started[dead].communicate(timeout=120)
                for rank, process in enumerate(started):
                    if rank == dead:
                        continue
                    text, _ = process.communicate(timeout=120)
                    self.assertEqual(process.returncode, 0, text)
                    self.assertRegex(text, f"rank {dead} |rank . had failed|rank . gave up")
                    self.assertLess(float(re.search(r"after (\S+) s", text)[1]), 10, text)

    def test_host_names_need_not_resolve(self):
        renamed = ["unshare", "--uts", "sh", "-c", 'hostname nowhere.invalid && exec "$@"', "sh"]
        self.ends_well(self.start("job", "sum", before=renamed))


if __name__ == "__main__":
    launcher.skip_without_ucx()
    PROGRAMS.update(job=sys.argv.pop(1), carrier=sys.argv.pop(1), forms=sys.argv.pop(1))
    try:
        with Hosts(3, rate="1gbit", slots=2) as HOSTS:
            unittest.main()
    except NotPermitted as reason:
        print(f"skipped: this machine does not permit several hosts: {reason}")
        sys.exit(SKIP)
