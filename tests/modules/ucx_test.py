#!/usr/bin/env python3
"""Jobs over UCX: ranks that die, that are missing or differ; strangers at their ports; where there is no UCX.

usage: ucx_test.py JOB OTHER_VERSION     a module of another version
"""

import ctypes
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import unittest

import ranks as launcher

JOB = OTHER_VERSION = None
MESSAGES = {"STRETTO_NODE": "0"}  # not the memory of this host


class Jobs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = directory.name

    def start(self, count, *arguments, environment=None, one_has=None):
        started = launcher.start(count, [JOB, *arguments], self.store, {**MESSAGES, **(environment or {})}, one_has, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        for process in started:
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.kill)
        return started

    def one(self, environment, *arguments):
        """Status and output of one process."""
        done = subprocess.run([JOB, *arguments], env={**os.environ, "STRETTO_STORE": f"file://{self.store}", **MESSAGES, **environment},
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_a_job_sums_and_leaves_nothing(self):
        for environment in ({}, {"STRETTO_NODE": "1"}):
            for process in self.start(4, "sum", environment=environment):
                text, _ = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, text)
            self.assertEqual(os.listdir(self.store), [])

    def choice(self, profile):
        """What four ranks tell of a sum, which is the same for all."""
        path = pathlib.Path(self.store).parent / f"{pathlib.Path(self.store).name}.json"
        path.write_text(json.dumps({"version": 1, "name": "measured", **profile}), encoding="utf-8")
        self.addCleanup(path.unlink, missing_ok=True)
        texts = set()
        for process in self.start(4, "choice", environment={"STRETTO_PROFILE": str(path)}):
            text, _ = process.communicate(timeout=60)
            texts.add(text.partition("\n")[2] if process.returncode == 0 else text)
        self.assertEqual(len(texts), 1, texts)
        return texts.pop().strip()

    # Where a message takes long whatever its length, fewest rounds win: those of recursive doubling.
    def test_it_is_chosen_by_times_that_were_measured_over_ucx(self):
        slow, fast = ({"links": {"cache": [{"alpha": alpha, "beta": 1e-8}]}} for alpha in (1, 0))
        self.assertIn("by recursive_doubling, messages of measured,", self.choice({"mpi": "Open MPI 5", **fast, "ucx": slow}))
        chosen = self.choice({"mpi": "Open MPI 5", **slow, "ucx": fast})
        self.assertNotIn("recursive_doubling", chosen)
        self.assertIn("messages of measured", chosen)

    def test_times_that_were_measured_over_an_mpi_are_not_taken(self):
        slow = {"mpi": "Open MPI 5", "links": {"cache": [{"alpha": 1000, "beta": 0}]}}
        chosen = self.choice(slow)
        self.assertIn("messages of built-in", chosen)
        self.assertNotIn("recursive_doubling", chosen)

    def test_a_section_that_cannot_be_read_is_refused_on_all_ranks(self):
        self.assertIn("ucx.links is missing", self.choice({"ucx": {"library": "UCX 1"}}))

    def test_what_was_sent_arrives_though_its_rank_is_done(self):
        for process in self.start(3, "early"):
            text, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, text)

    def test_a_rank_that_dies_ends_the_others_waits_and_is_named(self):
        self.die(3, (1, 0))

    # Hosts of 2, 2 and 1 ranks.
    def test_a_death_ends_waits_in_the_memory_of_all_hosts(self):
        self.die(5, (4, 2), {"STRETTO_NODE": "1", "SCHEDULE": "node", "RANKS_A_HOST": "2"})

    def die(self, ranks, deaths, environment=None):
        for dead in deaths:
            started = self.start(ranks, "die", str(dead), f"survivors-{dead}", environment=environment)
            self.assertEqual(started[dead].wait(timeout=60), -9)
            named = 0
            for rank, process in enumerate(started):
                if rank == dead:
                    continue
                text, _ = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, text)
                self.assertIn("allreduce", text)
                self.assertRegex(text, f"rank {dead} |rank . had failed|rank . gave up")  # by itself, or told by who noticed
                named += re.search(rf"rank {dead} \(process {started[dead].pid}( on {socket.gethostname()})?\) has ended", text) is not None
                self.assertLess(float(re.search(r"after (\S+) s", text)[1]), 10, text)  # of seconds, not of minutes
                self.assertIn("again", text)
                self.assertIn(f"of {ranks - 1}", text)
            self.assertGreater(named, 0)
            self.assertEqual(os.listdir(self.store), [])

    def test_ranks_that_do_not_come_are_named(self):
        started = launcher.start(1, [JOB], self.store, {**MESSAGES, "STRETTO_SIZE": "3", "LIMIT": "0.3"}, stdout=subprocess.PIPE, text=True)
        text, _ = started[0].communicate(timeout=60)
        self.assertEqual(started[0].returncode, 1)
        self.assertIn("timeout: ranks that did not come within 0.3 s: 1, 2", text)

    def test_the_limit_may_be_in_the_environment(self):
        for limits, within in (({"STRETTO_TIMEOUT": "0.4"}, "0.4 s"), ({"STRETTO_TIMEOUT": "200", "LIMIT": "0.3"}, "0.3 s")):
            with self.subTest(limits=limits):
                status, text = self.one({**MESSAGES, "STRETTO_RANK": "0", "STRETTO_SIZE": "2", **limits})
                self.assertEqual(status, 1, text)
                self.assertIn(f"timeout: ranks that did not come within {within}: 1", text)

    def test_bad_input_is_named(self):
        for environment, said in (
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_TIMEOUT": "soon"}, "STRETTO_TIMEOUT is 'soon', no positive number of seconds"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_TIMEOUT": "inf"}, "STRETTO_TIMEOUT is 'inf'"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "0"}, "STRETTO_RANK is 0 and STRETTO_SIZE is 0: ranks count from 0"),
                ({"STRETTO_RANK": "-1", "STRETTO_SIZE": "2"}, "STRETTO_RANK is '-1', which is no number"),
                ({"STRETTO_RANK": "x1", "STRETTO_SIZE": "2"}, "STRETTO_RANK is 'x1', which is no number"),
                ({"STRETTO_RANK": "0"}, "which rank this is, and of how many: start the program by stretto run --carrier ucx, torchrun or srun, or set STRETTO_RANK and"),
                ({"RANK": "0", "SLURM_NTASKS": "1"}, "which rank this is"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_STORE": "tcp://host:1"}, "STRETTO_STORE is 'tcp://host:1'; it takes file:///DIRECTORY"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_STORE": "/tmp/store"}, "STRETTO_STORE is '/tmp/store'; it takes file:///DIRECTORY"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_STORE": "file:///no/such/place"},
                 "STRETTO_STORE: the directory /no/such/place cannot be made: No such file or directory"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_STORE": ""}, "STRETTO_STORE names no store, in which the ranks meet: start the program by stretto run --carrier ucx"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_NAME": "a/b"}, "STRETTO_NAME is 'a/b'"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_MODULES": "/nowhere"}, "/nowhere/libstretto_ucx.so"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "UCX_TLS": "no_such"}, "UCX_TLS=no_such"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_CONNECTIONS": "0"}, "STRETTO_CONNECTIONS is '0'; it takes 1 to 8"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_CONNECTIONS": "9"}, "STRETTO_CONNECTIONS is '9'; it takes 1 to 8"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_CONNECTIONS": "2x"}, "STRETTO_CONNECTIONS is '2x'"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "STRETTO_WAIT": "doze"}, "STRETTO_WAIT is 'doze'; it takes auto, spin or sleep"),
                ({"STRETTO_RANK": "0", "STRETTO_SIZE": "1", "UCX_TCP_PORT_RANGE": "nonsense"}, "UCX_TCP_PORT_RANGE=nonsense")):
            with self.subTest(said=said):
                status, text = self.one(environment)
                self.assertEqual(status, 1, text)
                self.assertIn(said, text)

    def test_a_failed_rank_is_named_on_all_ranks_with_its_error(self):
        modules = tempfile.TemporaryDirectory()
        self.addCleanup(modules.cleanup)
        os.symlink(OTHER_VERSION, os.path.join(modules.name, "libstretto_ucx.so"))
        port = taken_port(self)
        for one_has, said in (
                ({"STRETTO_MODULES": "/nowhere"}, "/nowhere/libstretto_ucx.so"),
                ({"STRETTO_MODULES": modules.name}, f"{modules.name}/libstretto_ucx.so is of stretto 0.0.7"),
                ({"STRETTO_UCX": "/nowhere"}, "no UCX: /nowhere"),
                ({"UCX_TLS": "no_such"}, "UCX_TLS=no_such"),
                ({"UCX_TCP_PORT_RANGE": f"{port}-{port}"}, f"every port of UCX_TCP_PORT_RANGE={port}-{port} is taken"),
                ({"STRETTO_CONNECTIONS": "0"}, "STRETTO_CONNECTIONS is '0'")):
            with self.subTest(said=said):
                started = self.start(3, "sum", one_has=one_has)
                for rank, process in enumerate(started):
                    text, _ = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, 1, text)
                    self.assertIn(said, text)
                    if rank != 1:
                        self.assertIn(f"rank 1 (process {started[1].pid} on {socket.gethostname()}) cannot take part", text)

    def test_where_ucx_has_no_tcp_the_rank_and_the_setting_are_named(self):
        for setting in ({"UCX_TLS": "self"}, {"UCX_NET_DEVICES": "nonsense"}):
            for one_alone in (False, True):
                with self.subTest(setting=setting, one_alone=one_alone):
                    where = {"one_has": setting} if one_alone else {"environment": setting}
                    for rank, process in enumerate(self.start(3, "sum", **where)):
                        text, _ = process.communicate(timeout=60)
                        self.assertEqual(process.returncode, 1, text)
                        self.assertRegex(text, r"UCX has no transport to rank \d \(process \d+ on ")
                        if rank == 1 or not one_alone:
                            self.assertIn("=".join(*setting.items()), text)

    def test_where_ports_are_scarce_ranks_have_fewer_connections(self):
        ports = range(20001, 32000, 2)
        if ucx_version() < (1, 13):  # it takes ports of the system's range alone
            first, last = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
            ports = range(last - 1, first, -2)
        port = next(port for port in ports if is_free(port) and is_free(port + 1))  # one for each rank
        scarce = {"UCX_TCP_PORT_RANGE": f"{port}-{port + 1}", "UCX_NET_DEVICES": "lo", "STRETTO_CONNECTIONS": "8"}
        for process in self.start(2, "sum", environment=scarce):
            text, _ = process.communicate(timeout=60)
            if "tcp/lo - no route to" in text:
                self.skipTest("this UCX reaches nothing over the loopback device alone")
            self.assertEqual(process.returncode, 0, text)

    def test_ranks_of_torchrun_slurm_and_pmi(self):
        for rank, size in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("PMI_RANK", "PMI_SIZE")):
            status, text = self.one({rank: "0", size: "1"})
            self.assertEqual((status, text), (0, "rank 0 of 1\n"))

    def test_strangers_at_the_ports_are_dropped_and_the_job_goes_on(self):
        started = self.start(2, "hold", "4")
        for process in started:
            self.assertRegex(process.stdout.readline(), "rank . of 2")
        ports = listening({process.pid for process in started})
        self.assertNotEqual(ports, [])
        chance = random.Random(7)
        for k in range(1000):
            with socket.socket() as stranger:
                stranger.settimeout(1)
                try:
                    stranger.connect(chance.choice(ports))
                    stranger.sendall(chance.randbytes(chance.choice((1, 8, 64, 4096))) if k % 10 else b"")
                except OSError:  # dropped
                    pass
        for process in started:
            text, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, text)


def ucx_version():
    """Major and minor."""
    numbers = [ctypes.c_uint() for _ in range(3)]
    ctypes.CDLL(os.environ.get("STRETTO_UCX") or "libucp.so.0").ucp_get_version(*map(ctypes.byref, numbers))
    return numbers[0].value, numbers[1].value


def is_free(port):
    with socket.socket() as tries:
        try:
            tries.bind(("", port))
        except OSError:
            return False
    return True


def taken_port(test):
    """A port on which a socket listens until the test ends."""
    taken = socket.socket()
    test.addCleanup(taken.close)
    taken.bind(("", 0))
    taken.listen()
    return taken.getsockname()[1]


def listening(pids):
    """(address, port) of the TCP sockets on which processes listen."""
    inodes = set()
    for pid in pids:
        for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor))
            if match:
                inodes.add(match[1])
    found = []
    for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            address, port = words[1].split(":")
            host = socket.inet_ntoa(bytes.fromhex(address)[::-1])
            found.append(("127.0.0.1" if host == "0.0.0.0" else host, int(port, 16)))
    return found


if __name__ == "__main__":
    launcher.skip_without_ucx()
    JOB, OTHER_VERSION = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
