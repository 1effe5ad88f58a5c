#!/usr/bin/env python3
"""Several hosts on one machine, for tests and benchmarks of MPI programs that cross a network.

    with Hosts(4, rate="1gbit") as hosts:
        hosts.launch("mpirun", 4, ["./program", "argument"], check=True)

Each host has its own network, host name, /etc/hosts, /dev/shm, System V IPC and TMPDIR; hosts are joined by a bridge, and
both directions of each port are shaped to `rate` (tc tbf). With `flow`, a host also limits each TCP connection, as clouds
do (tc htb, a class for each hash of the two ports). MPI runs between them over TCP only.

All of it lives in a *world*: one mount, network and process namespace whose first process ends when the pipe to its owner
closes. So however the owner ends, killed included, the kernel ends every process of the world and takes its networks and
mounts away; nothing has names outside, so instances run side by side, and nothing is left to clean up. Without root the
world gets a user namespace of its own.

From the shell:  hosts.py run --hosts 4 --rate 1gbit -- ./program argument
Where the machine does not permit namespaces: a line that says why, and status 77.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys

SKIP = 77  # what ctest takes for a skipped test
RSH = pathlib.Path(__file__).resolve().with_name("rsh")
SHARED = "/run/hosts"  # seen by all hosts of a world: hosts, hostfile, hostfile.hydra, hostfile.turns, pids, rsh
TMPDIR = "/run/tmp"  # a host's own

# Port buffers. A burst of 128 KiB takes one full-size segment of TCP offload; much more inflates short exchanges (the
# bucket refills while the other side talks), much less costs throughput.
BURST = 131072
QUEUE = "4mb"
CLASSES = 1021  # of connections: two share one by chance, once in as many pairs
# Classic BPF: class 2:(1 + (source port + destination port) / 2 mod CLASSES); the kernel gives connections ports two apart.
CLASSIFY = f"8,40 0 0 34,7 0 0 0,40 0 0 36,12 0 0 0,116 0 0 1,148 0 0 {CLASSES},4 0 0 {(2 << 16) + 1},22 0 0 0"
RATE = re.compile(r"(?!0+(\.0*)?[a-z])[0-9]+(\.[0-9]+)?(bit|[kmgt]i?bit|bps|[kmgt]i?bps)", re.IGNORECASE)


class NotPermitted(Exception):
    """The machine does not let us make hosts; the message says what was refused."""


def _tool(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise NotPermitted(f"there is no `{name}` on the PATH")
    return path


class Hosts:
    """`count` hosts of `slots` ranks each, or of slots[i] on host i, ports shaped to `rate` in tc's words ("1gbit"), or not shaped when None; of a shaped port, each
    TCP connection to `flow`, if given."""

    def __init__(self, count, rate=None, slots=1, mtu=1500, burst=BURST, flow=None):
        each = [slots] * count if isinstance(slots, int) else list(slots)
        if count < 1 or count > 200 or min(each) < 1:
            raise ValueError(f"{count} hosts of {slots} slots: it takes 1 to 200 hosts of at least one slot")
        if len(each) != count:
            raise ValueError(f"{count} hosts, and slots of {len(each)}: {slots}")
        for given in (rate, flow):
            if given is not None and not RATE.fullmatch(given):
                raise ValueError(f"rate {given!r} is none that tc knows: a number and kbit, mbit or gbit, as in 1gbit")
        if flow and not rate:
            raise ValueError(f"connections at {flow} on ports that have no rate")
        self.count, self.rate, self.slots, self.mtu, self.burst, self.flow = count, rate, each, mtu, burst, flow
        self.names = [f"node{i}" for i in range(count)]
        self._world = None  # the process that holds the pipe's other end
        self._pid = 0  # the world's first process, as we see it
        self._holders = []  # a process in each host, as the world numbers it
        self._entered = []  # the same processes, as children of ours

    def __enter__(self):
        try:
            self._make_world()
            self._make_switch()
            for i in range(self.count):
                self._make_host(i)
            self._write_tables()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the world and waits until it is gone. May be called again."""
        if self._world is not None:
            self._world.stdin.close()
            self._world.stdout.close()
            for process in [*self._entered, self._world]:
                process.wait()
            self._world = None

    # -- commands -----------------------------------------------------------------------------------------------------

    def on(self, host, argv, **options):
        """Runs argv on a host, in our working directory; options and result are those of subprocess.run."""
        return subprocess.run(self.on_command(host, argv), **options)

    def on_command(self, host, argv):
        enter = ["nsenter", "--target", str(self._holders[host]), "--net", "--uts", "--ipc", "--mount", "--"]
        run = ["sh", "-c", 'cd "$0" && exec "$@"', os.getcwd(), "env", f"TMPDIR={TMPDIR}", *map(str, argv)]
        return self._inside(enter + run)

    def launch(self, mpirun, ranks, argv, **options):
        """Runs an MPI program on `ranks` ranks, hosts filled in order; options and result are those of subprocess.run."""
        return subprocess.run(self.launch_command(mpirun, ranks, argv), **options)

    def launch_command(self, mpirun, ranks, argv, by_node=False):
        """The command that launches from the first host, for Open MPI or MPICH. `by_node`: ranks go to the hosts by turns."""
        if ranks > sum(self.slots):
            same = len(set(self.slots)) == 1
            raise ValueError(f"{ranks} ranks do not fit on {self.count} hosts of {self.slots[0] if same else self.slots} slots")
        found = shutil.which(str(mpirun))
        if found is None:
            where = "" if os.path.dirname(str(mpirun)) else " on the PATH"
            raise FileNotFoundError(f"no launcher of MPI programs `{mpirun}`{where}; name one with --mpirun or $MPIRUN")
        mpirun = os.path.abspath(found)
        # Neither MPI knows that the hosts share cores, so Open MPI is told to yield while waiting, and MPICH, with more
        # ranks than cores, to sleep. With a core per rank it is as fast without.
        asked = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False)
        version = asked.stdout + asked.stderr
        if "HYDRA" in version:
            environment = ["FI_PROVIDER=tcp", "FI_TCP_IFACE=eth0", "MPICH_CH4_NETMOD=ofi"]
            if ranks > len(os.sched_getaffinity(0)):
                environment += ["MPIR_CVAR_CH4_PROGRESS_THROTTLE=true", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1"]
            command = [mpirun, "-launcher", "ssh", "-launcher-exec", f"{SHARED}/rsh", "-iface", "eth0",
                       "-f", f"{SHARED}/hostfile.{'turns' if by_node else 'hydra'}", "-n", ranks]
        elif any(name in version for name in ("(Open MPI)", "(OpenRTE)", "schizo-ompi")):  # orterun of Open MPI 4; Ubuntu 26.04, without the text
            environment = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
            if "(Open MPI) 4" in version or "(OpenRTE) 4" in version:
                remote = ["--mca", "plm_rsh_agent", f"{SHARED}/rsh", "--mca", "oob_tcp_if_include", "eth0"]
                shared = "vader"
            else:
                remote = ["--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", f"{SHARED}/rsh", "--prtemca", "prte_if_include", "eth0"]
                shared = "sm"
            btl = "tcp,self" if max(self.slots) == 1 else f"tcp,self,{shared}"
            command = [mpirun, *remote, "--hostfile", f"{SHARED}/hostfile{'.turns' if by_node else ''}",
                       "--map-by", "seq" if by_node else "slot", "--bind-to", "none",
                       "--mca", "pml", "ob1", "--mca", "btl", btl,
                       "--mca", "btl_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle", "1", "-n", ranks]
        else:
            raise RuntimeError(f"{mpirun} is neither Open MPI nor MPICH: {version.strip()[:80]!r}")
        return self.on_command(0, ["env", *environment, *command, *argv])

    # -- the making of it ---------------------------------------------------------------------------------------------

    def _make_world(self):
        for name in ("ip", "tc", "mount", "nsenter", "unshare"):
            _tool(name)
        unshare = [_tool("unshare"), "--mount", "--net", "--pid", "--fork", "--kill-child"]
        if os.geteuid() != 0:
            unshare += ["--user", "--map-root-user"]
        # The shell prints its process id in /proc before a new /proc is mounted over it, and ends with the pipe.
        first = ("read -r pid rest </proc/self/stat && mount -t proc proc /proc && mount -t tmpfs -o mode=755 run /run && "
                 f"mkdir {SHARED} {TMPDIR} && echo $pid && exec cat >/dev/null")
        # A session of its own, so that a Ctrl-C reaches the owner and the MPI launcher before the world ends.
        self._world = subprocess.Popen([*unshare, "sh", "-c", first], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, start_new_session=True)
        answer = self._world.stdout.readline().strip()
        if not answer:
            raise NotPermitted(self._world.stderr.read().strip() or "unshare gave no namespaces")
        self._world.stderr.close()
        self._pid = int(answer)

    def _make_switch(self):
        """The bridge, and a trial port: what a kernel or a container may refuse is refused here."""
        trial = ["ip link add br0 type bridge", "ip link add try0 type veth peer name try1",
                 f"tc qdisc add dev try0 root tbf rate {self.rate or '1gbit'} burst {self.burst}b limit {QUEUE}",
                 "ip link del try0"]
        for command in trial:
            done = subprocess.run(self._inside(shlex.split(command)), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise NotPermitted(f"`{command}`: {(done.stderr or done.stdout).strip()}")
        self._do(f"ip link set br0 mtu {self.mtu} up")

    def _make_host(self, i):
        name, port = self.names[i], f"port{i}"
        prepare = (f"hostname {name} && mount -t tmpfs shm /dev/shm && mount -t tmpfs tmp {TMPDIR} && "
                   f"touch {SHARED}/hosts && mount --bind {SHARED}/hosts /etc/hosts && "
                   "echo reno >/proc/sys/net/ipv4/tcp_congestion_control && echo $$ && exec sleep infinity >&- 2>&-")
        holder = subprocess.Popen(self._inside(["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", prepare]),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  start_new_session=True)
        self._entered.append(holder)
        answer = holder.stdout.readline().strip()
        if not answer:
            raise RuntimeError(f"cannot make {name}: {holder.stderr.read().strip()}")
        holder.stdout.close()
        holder.stderr.close()
        self._holders.append(int(answer))
        self._do(f"ip link add {port} type veth peer name eth0 netns {answer}")
        self._do(f"ip link set {port} master br0 mtu {self.mtu} up")
        for command in ("ip link set lo up", f"ip link set eth0 mtu {self.mtu} up",
                        f"ip addr add {self.address(i)}/24 dev eth0"):
            self._do(command, i)
        if self.rate:
            shape = f"root handle 1: tbf rate {self.rate} burst {self.burst}b limit {QUEUE}"
            self._do(f"tc qdisc add dev {port} {shape}")
            self._do(f"tc qdisc add dev eth0 {shape}", i)
        if self.flow:
            self._limit_connections(i)

    def _limit_connections(self, i):
        self._do("tc qdisc add dev eth0 parent 1: handle 2: htb", i)
        limit = f"htb rate {self.flow} burst {self.burst}b cburst {self.burst}b quantum 60000"
        classes = "".join(f"class add dev eth0 parent 2: classid 2:{k:x} {limit}\n" for k in range(1, CLASSES + 1))
        self._do("tc -batch -", i, classes)
        self._do(f"tc filter add dev eth0 parent 2: protocol ip bpf bytecode '{CLASSIFY}'", i)

    def address(self, host):
        return f"10.77.0.{host + 1}"

    def _write_tables(self):
        tables = {
            "hosts": ["127.0.0.1 localhost"] + [f"{self.address(i)} {name}" for i, name in enumerate(self.names)],
            "hostfile": [f"{name} slots={slots}" for name, slots in zip(self.names, self.slots)],
            "hostfile.hydra": [f"{name}:{slots}" for name, slots in zip(self.names, self.slots)],
            "hostfile.turns": [name for turn in range(max(self.slots)) for name, slots in zip(self.names, self.slots) if turn < slots],
            "pids": [f"{name} {pid}" for name, pid in zip(self.names, self._holders)],
        }
        for name, lines in tables.items():
            subprocess.run(self._inside(["sh", "-c", f"cat >{SHARED}/{name}"]), input="\n".join(lines) + "\n",
                           text=True, check=True)
        # A copy, since launchers split the path of their agent at spaces, and a checkout's may have one.
        subprocess.run(self._inside(["sh", "-c", f"cat >{SHARED}/rsh && chmod 755 {SHARED}/rsh"]), input=RSH.read_bytes(), check=True)

    def _inside(self, argv):
        """The command that runs argv in the world, outside of every host."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        enter = [_tool("nsenter"), "--target", str(self._pid), *user, "--mount", "--net", "--pid", "--"]
        path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        return [*enter, "env", f"PATH={path}", *map(str, argv)]

    def _do(self, command, host=None, text=None):
        argv = shlex.split(command)
        argv = self._inside(argv) if host is None else self.on_command(host, argv)
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            where = "the switch" if host is None else self.names[host]
            raise RuntimeError(f"`{command}` on {where}: {(done.stderr or done.stdout).strip()}")


def main():
    parser = argparse.ArgumentParser(description="Run an MPI program across several hosts made on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run an MPI program on them")
    run.add_argument("--hosts", type=int, default=4, metavar="N")
    run.add_argument("--rate", default=None, help="of each port, as tc writes it: 1gbit; not shaped when left out")
    run.add_argument("--slots", default="1", metavar="N[,N...]", help="ranks a host (default 1), or of each host: 1,2,3")
    run.add_argument("--ranks", type=int, default=None, metavar="N", help="all ranks (default: every slot)")
    run.add_argument("--by-node", action="store_true", help="ranks go to the hosts by turns")
    run.add_argument("--mpirun", default=os.environ.get("MPIRUN", "mpirun"),
                     help="launcher of Open MPI or MPICH (default $MPIRUN, then mpirun)")
    run.add_argument("program", nargs="+", metavar="PROGRAM", help="program and arguments, after --")
    arguments = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        slots = [int(n) for n in arguments.slots.split(",")]
        with Hosts(arguments.hosts, arguments.rate, slots if len(slots) > 1 else slots[0]) as hosts:
            ranks = arguments.ranks or sum(hosts.slots)
            command = hosts.launch_command(arguments.mpirun, ranks, arguments.program, arguments.by_node)
            status = subprocess.run(command, check=False).returncode
    except NotPermitted as reason:
        print(f"skipped: this machine does not permit several hosts: {reason}")
        return SKIP
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (ValueError, OSError, RuntimeError) as error:
        print(f"hosts.py: {error}", file=sys.stderr)
        return 2
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
