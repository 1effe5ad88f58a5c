#!/usr/bin/env python3
"""Tests of hosts.py. Needs MPIRUN and WHERE (the program of where.cpp); skips as a whole (77) where hosts are not permitted."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from hosts import SKIP, Hosts, NotPermitted

HARNESS = pathlib.Path(__file__).resolve().with_name("hosts.py")
MPIRUN = os.environ["MPIRUN"]
WHERE = os.environ["WHERE"]
LIMIT = 60  # seconds until a launch is a hang


def lines(hosts, ranks, *arguments):
    done = hosts.launch(MPIRUN, ranks, [WHERE, *arguments], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def said(hosts, host, *argv):
    return hosts.on(host, argv, capture_output=True, text=True, check=True, timeout=LIMIT).stdout


def harness(*arguments, **options):
    return subprocess.Popen([sys.executable, str(HARNESS), "run", "--mpirun", MPIRUN, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, **options)


def marked(marker):
    """Command lines of the processes that have the marker among their words."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text(errors="replace").split("\0")
        except OSError:
            continue  # it has ended meanwhile
        if marker in words:
            found.append(words)
    return found


def becomes(condition):
    """Whether the condition comes to hold; the limit is for a test that fails."""
    for _ in range(LIMIT * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


class OneWorld(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosts = Hosts(3, rate="5gbit", slots=2).__enter__()
        cls.addClassCleanup(cls.hosts.close)

    def test_ranks_fill_hosts_in_order_and_share_memory_per_host(self):
        self.assertEqual(lines(self.hosts, 5), [["0", "node0", "2"], ["1", "node0", "2"], ["2", "node1", "2"],
                                                ["3", "node1", "2"], ["4", "node2", "1"]])

    def test_what_ranks_on_different_hosts_exchange_crosses_the_network(self):
        def received():
            link = json.loads(said(self.hosts, 1, "ip", "-json", "-statistics", "link", "show", "eth0"))
            return link[0]["stats64"]["rx"]["bytes"]
        before = received()
        lines(self.hosts, 5, "3000000")
        self.assertGreaterEqual(received() - before, 3000000)

    def test_both_directions_of_a_port_are_shaped_to_the_rate(self):
        for command in (self.hosts.on_command(2, ["tc", "-j", "qdisc", "show", "dev", "eth0"]),
                        self.hosts._inside(["tc", "-j", "qdisc", "show", "dev", "port2"])):
            shape = json.loads(subprocess.check_output(command))[0]
            self.assertEqual((shape["kind"], shape["options"]["rate"]), ("tbf", 5e9 / 8))

    def test_a_host_keeps_its_shared_memory_and_shows_it_to_no_other(self):
        name = f"/dev/shm/stretto-hosts-test-{os.getpid()}"
        said(self.hosts, 0, "touch", name)
        self.assertEqual(self.hosts.on(0, ["test", "-e", name]).returncode, 0)
        self.assertEqual(self.hosts.on(1, ["test", "-e", name]).returncode, 1)
        self.assertFalse(os.path.exists(name))

    def test_hosts_know_one_another_by_name(self):
        for i in range(3):
            self.assertEqual(said(self.hosts, 2, "getent", "hosts", f"node{i}").split()[0], self.hosts.address(i))
        self.assertEqual(said(self.hosts, 1, "hostname").strip(), "node1")

    def test_the_status_of_the_program_is_the_status_of_the_launch(self):
        done = self.hosts.launch(MPIRUN, 3, [WHERE, "0", "7"], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)

    def test_hosts_may_differ_in_slots_and_ranks_may_go_to_them_by_turns(self):
        with Hosts(3, slots=(1, 2, 3)) as uneven:
            for by_node, placed in ((False, "011222"), (True, "012122")):
                done = subprocess.run(uneven.launch_command(MPIRUN, 6, [WHERE], by_node), capture_output=True, text=True, check=True)
                found = sorted(line.split()[:2] for line in done.stdout.splitlines() if "node" in line)
                self.assertEqual(found, [[str(rank), f"node{host}"] for rank, host in enumerate(placed)], done.stdout)
        with self.assertRaisesRegex(ValueError, "3 hosts, and slots of 2"):
            Hosts(3, slots=(1, 2))

    def test_more_ranks_than_slots_are_refused_before_anything_runs(self):
        with self.assertRaisesRegex(ValueError, "7 ranks do not fit on 3 hosts of 2 slots"):
            self.hosts.launch(MPIRUN, 7, [WHERE])


class Arguments(unittest.TestCase):
    def test_a_rate_that_is_none_is_an_error_and_no_skip(self):
        for rate in ("fast", "", "1", "0gbit", "gbit", "1gbit fast"):
            with self.assertRaisesRegex(ValueError, "is none that tc knows"):
                Hosts(2, rate=rate)
        for rate in ("1gbit", "2.5Gbit", "0.5mbit", "100kbit", None):
            Hosts(2, rate=rate)
        running = harness("--rate", "fast", "--", WHERE)
        text, _ = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 2, text)
        self.assertIn("rate 'fast' is none that tc knows", text)


class Connections(unittest.TestCase):
    def test_each_is_in_a_class_of_its_own_that_has_the_given_rate(self):
        send = ("import socket, sys\n"
                "for _ in range(3):\n"
                "    with socket.create_connection((sys.argv[1], 7777)) as s: s.sendall(bytes(100000)); s.shutdown(1); s.recv(1)\n")
        take = ("import socket\n"
                "listening = socket.create_server(('', 7777)); print('ready', flush=True)\n"
                "for _ in range(3):\n"
                "    with listening.accept()[0] as s:\n"
                "        while s.recv(65536): pass\n")
        with Hosts(2, rate="1gbit", flow="250mbit") as hosts:
            taking = subprocess.Popen(hosts.on_command(1, [sys.executable, "-c", take]), stdout=subprocess.PIPE, text=True)
            self.addCleanup(taking.stdout.close)
            self.assertEqual(taking.stdout.readline(), "ready\n")
            hosts.on(0, [sys.executable, "-c", send, hosts.address(1)], check=True, timeout=LIMIT)
            taking.wait(timeout=LIMIT)
            shown = hosts.on(0, ["tc", "-s", "class", "show", "dev", "eth0"], capture_output=True, text=True, check=True).stdout
        sent = [int(bytes_) for bytes_ in re.findall(r"class htb 2:\w+ root .*rate 250Mbit.*\n Sent (\d+) bytes", shown)]
        long = [bytes_ for bytes_ in sent if bytes_ > 100000]
        self.assertEqual(len(sent), 1021)
        self.assertIn(len(long), (2, 3), shown)  # two share a class once in hundreds of times
        self.assertGreater(sum(long), 300000)

    def test_a_rate_without_that_of_the_port_is_refused(self):
        with self.assertRaisesRegex(ValueError, "connections at 1gbit on ports that have no rate"):
            Hosts(2, flow="1gbit")
        with self.assertRaisesRegex(ValueError, "'fast' is none that tc knows"):
            Hosts(2, rate="1gbit", flow="fast")


class SideBySide(unittest.TestCase):
    def test_two_worlds_run_at_the_same_time_independently(self):
        def ranks_and_hosts():
            with Hosts(3, rate="1gbit") as hosts:
                return [lines(hosts, 3, "100000") for _ in range(2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(ranks_and_hosts) for _ in range(2)]
        expected = [["0", "node0", "1"], ["1", "node1", "1"], ["2", "node2", "1"]]
        for future in futures:
            self.assertEqual(future.result(), [expected, expected])


class Ending(unittest.TestCase):
    def end_by(self, number):
        """Starts ranks that would sleep for long, ends the harness by a signal, and returns its status."""
        marker = f"86{os.getpid()}{number}"  # seconds to sleep, and a word to find the ranks by
        running = harness("--hosts", "2", "--", "sleep", marker)
        self.addCleanup(running.kill)
        self.assertTrue(becomes(lambda: [words[0] for words in marked(marker)].count("sleep") == 2), "no two ranks start")
        running.send_signal(number)
        status = running.wait(LIMIT)
        running.stdout.close()
        self.assertTrue(becomes(lambda: not marked(marker)), f"left behind: {marked(marker)}")
        return status

    def test_a_terminated_harness_leaves_nothing_behind(self):
        self.assertEqual(self.end_by(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_an_interrupted_harness_leaves_nothing_behind(self):
        self.assertEqual(self.end_by(signal.SIGINT), 128 + signal.SIGINT)

    def test_a_killed_harness_leaves_nothing_behind(self):
        self.assertEqual(self.end_by(signal.SIGKILL), -signal.SIGKILL)

    def test_a_failure_in_the_block_leaves_nothing_behind(self):
        with self.assertRaises(ZeroDivisionError), Hosts(1) as hosts:
            world = hosts._world
            _ = 1 / 0
        self.assertIsNotNone(world.returncode)

    def test_refused_namespaces_print_the_reason_and_exit_as_a_skip(self):
        deny = ["unshare", "--user", "--map-root-user", "sh", "-c",
                'echo 0 >/proc/sys/user/max_net_namespaces && exec "$0" "$@"', sys.executable, str(HARNESS), "run",
                "--mpirun", MPIRUN, "--", WHERE]
        running = subprocess.Popen(deny, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text, _ = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, SKIP, text)
        self.assertIn("skipped: this machine does not permit several hosts: ", text)


def main():
    try:
        with Hosts(2, rate="1gbit"):
            pass
    except NotPermitted as reason:
        print(f"skipped: this machine does not permit several hosts: {reason}")
        return SKIP
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
