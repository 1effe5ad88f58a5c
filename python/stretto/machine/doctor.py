"""`stretto doctor`: what stretto uses between the ranks of a job, why, and what would make it faster."""

import json
import subprocess

from stretto import units
from stretto.launch import over_ucx, programs, variables
from stretto.machine import measuring
from stretto.errors import Failure
from stretto.machine.tune import new_table

WAYS = {"process": "one process's own memory", "arena": "the shared arena", "xpmem": "XPMEM", "kernel": "copies by the kernel (CMA)",
        "staged": "staging through shared slots"}
KERNEL_COPIES = "allgather, gather, scatter and alltoall"  # the collectives that have the kernel copy large blocks (docs/node.md)
SHM_LEAST = 64 << 20
WIDEST = 72  # characters of a column of words, also in a pipe


def examine(mpirun=None, hosts=None, ranks=None):
    """The report of stretto-doctor (docs/command.md). Without `ranks`: as many as `mpirun` starts, or two; over UCX as many as `hosts` take."""
    argv, status, out, err = started(mpirun, hosts, ranks)
    reports = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if reports:
        measuring.check_ranks(ranks, [len(report["ranks"]) for report in reports])
        reports[0]["advice"] = advice(reports[0]) + unread_variables()
        return reports[0]
    raise Failure(measuring.complaint(argv, status, err.splitlines(), "examination"), status=1)


def started(mpirun, hosts, ranks):
    """Command line, status, output and error output of stretto-doctor, which a build without an MPI has over UCX."""
    programs.find_ucx()
    path = measuring.program_for(mpirun, "stretto-doctor")
    if not programs.over_mpi(path):
        return over_ucx.capture(mpirun, ranks or (None if mpirun or hosts else 2), hosts, [path])
    argv = measuring.command(mpirun, hosts, ranks or (None if mpirun else 2), [], "stretto-doctor")
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise Failure(f"no MPI launcher: {argv[0]}: {error.strerror}") from None
    return argv, done.returncode, done.stdout, done.stderr


def advice(report):
    """What a user or an administrator could change: [{"host", "what", "how"}], the most useful first."""
    found, over_mpi = [], not report["mpi"].startswith(("UCX ", "no MPI"))
    for number, host in enumerate(report["hosts"]):
        ranks = [rank for rank in report["ranks"] if rank["host"] == number]
        for rule in RULES:
            what, *how = rule(host, ranks) or [None]
            if what and (over_mpi or rule is not small_shm):
                found.append({"host": host["name"], "what": what, "how": how[0] if over_mpi else how[-1]})
    moves = any(module["used"] for module in report["modules"] if module["name"] != "nccl")
    if not over_mpi and not moves:
        found.append({"host": None, "what": "neither an MPI nor UCX is here: no communicator of several processes can be made",
                      "how": "install UCX (libucx0), with its module built (libucx-dev), or build stretto for an MPI"})
    elif not moves:
        found.append({"host": None, "what": f"no module fits {report['mpi']}: stretto_comm_create() fails",
                      "how": "build stretto with that MPI's mpicc (STRETTO_OTHER_MPICC)"})
    if report["profile"]["name"] == "built-in":
        found.append({"host": None, "what": "predictions come from the built-in profile, not from this machine",
                      "how": "measure it once: stretto tune, with the launcher, ranks and hosts of your jobs" if over_mpi
                      else "measure it once: stretto tune --carrier ucx, with the launcher, ranks and hosts of your jobs"})
    elif report["profile"]["name"] is None:
        found.append({"host": None, "what": f"the profile cannot be used: {report['profile']['reason']}",
                      "how": "mend STRETTO_PROFILE, or unset it"})
    return found


def unread_variables():
    return [{"host": None, "what": variables.said(name, nearest), "how": f"set {nearest}, if it was meant, or unset {name}"}
            for name, nearest, _ in variables.unknown()]


def usable(host, access):
    return next((way["usable"] for way in host["ways"] if way["access"] == access), False)


def failing(host, way):
    return [pair for pair in host["pairs"] if pair["way"] == way]


def containers_apart(host, ranks):
    for kind in ("user", "pid"):
        if len({rank[f"{kind}_namespace"] for rank in ranks}) > 1:
            return (f"ranks are in different {kind} namespaces (containers), so they may not see each other's memory but through sockets",
                    f"start all ranks of the host in one container, or share the namespace (--{kind}{'ns' if kind == 'user' else ''}=host)")
    return None


def no_segment(host, ranks):
    if host["segment"]:
        return None
    return (f"there is no shared memory between the ranks: {host['segment_reason']}",
            "messages of the MPI are used instead; see the reason", "messages over UCX are used instead; see the reason")


def no_kernel_copies(host, ranks):
    if len(ranks) < 2 or usable(host, "kernel") or not failing(host, "kernel"):
        return None
    pair = failing(host, "kernel")[0]
    what = f"the kernel refuses copies between processes (rank {host['ranks'][pair['from']]} from {host['ranks'][pair['to']]}: {pair['why']})"
    if (host["yama"] or 0) >= 2:
        return what, f"Yama forbids them: sysctl kernel.yama.ptrace_scope=1 (it is {host['yama']})"
    if len({rank["uid"] for rank in ranks}) > 1:
        return what, "the ranks belong to different users: start them as one"
    if host["container"]:
        return what, "in a container: --cap-add=SYS_PTRACE, or a seccomp profile that allows process_vm_readv"
    return what, "a security module or seccomp filter of this machine forbids process_vm_readv"


def oversubscribed(host, ranks):
    if len(ranks) <= host["cores"]:
        return None
    return (f"{len(ranks)} ranks share {host['cores']} hardware threads: who waits gives its core away, and small collectives take microseconds more",
            "start at most as many ranks as hardware threads, or give the job more of them")


def unbound(host, ranks):
    loose = [rank["rank"] for rank in ranks if rank["cpu_count"] > 1 and rank["core"] is None]
    if not loose or len(ranks) > host["cores"] or host["cores"] < 2:
        return None
    return (f"{len(loose)} of {len(ranks)} ranks are bound to no core, so they wander, and their caches are cold",
            "bind them: --bind-to core (Open MPI), -bind-to core (MPICH)", "bind them: --cpu-bind=cores (srun), or taskset")


def crowded(host, ranks):
    places = [rank["cpus"] for rank in ranks if rank["cpu_count"] == 1]
    if len(ranks) > host["cores"] or len(set(places)) == len(places):
        return None
    cpu = max(set(places), key=places.count)
    return (f"{places.count(cpu)} ranks are bound to hardware thread {cpu} while others are idle",
            "let the launcher spread them: --map-by core --bind-to core (Open MPI), -bind-to core (MPICH)",
            "let the launcher spread them: --cpu-bind=cores (srun), or taskset")


def private_buffers(host, ranks):
    if len(ranks) < 2 or not host["segment"] or usable(host, "xpmem"):
        return None
    where = f"; large blocks of {KERNEL_COPIES} once, by the kernel" if usable(host, "kernel") else ""
    return (f"buffers of malloc are copied twice on their way to another rank{where}; memory that peers can see is not copied",
            "stretto run --arena puts large allocations where peers see them; or buffers from MPI_Alloc_mem; or install XPMEM",
            "take buffers from stretto_alloc; or preload libstretto_arena.so, which puts large allocations where peers see them; or install XPMEM")


def small_shm(host, ranks):
    if host["shm"] is None or host["shm"] >= SHM_LEAST:
        return None
    return (f"/dev/shm has only {units.size(host['shm'])}: stretto does not use it, but your MPI may",
            "in a container: --shm-size=1g")


# (what, how to change it[, how without an MPI, where that differs]), or None.
RULES = (no_segment, containers_apart, no_kernel_copies, oversubscribed, crowded, unbound, private_buffers, small_shm)


def show(console, report):
    hosts, ranks = report["hosts"], report["ranks"]
    console.print(f"[bold]{len(ranks)} rank{'s' * (len(ranks) > 1)} on {len(hosts)} host{'s' * (len(hosts) > 1)}[/], {report['mpi']}, "
                  f"stretto {report['stretto']}; profile: {report['profile']['name'] or 'none'}", highlight=False)
    tables = [modules_table(report)]
    for host in hosts:
        tables.append(hosts_table(host))
        if host["devices"]["list"]:
            tables.append(devices_table(report, host))
        tables.append(ways_table(host))
        if host["failing"]:
            tables.append(pairs_table(host))
    for table in tables:
        console.print("", table, sep="\n")
    if report["advice"]:
        table = new_table("What could be better", "what", "how")
        for column in table.columns:
            column.justify, column.no_wrap, column.max_width = "left", False, WIDEST
        for one in report["advice"]:
            where = f"{one['host']}: " if one["host"] and len(hosts) > 1 else ""
            table.add_row(where + one["what"], one["how"])
        console.print("", table, sep="\n")
    else:
        console.print("\nNothing to improve was found.")


def modules_table(report):
    table = new_table("Modules: what moves bytes between processes", "module", "built for", "used", "why")
    for column in table.columns[1:]:
        column.justify, column.no_wrap, column.max_width = "left", False, WIDEST
    for module in report["modules"]:
        table.add_row(module["name"], module["built_for"] or ("does not load" if module["there"] else "not there"), "yes" if module["used"] else "no", module["reason"])
    return table


def hosts_table(host):
    table = new_table(host["name"], "what", "found")
    table.columns[1].justify, table.columns[1].no_wrap = "left", False
    yama = {None: "not there", 0: "0, off", 1: "1, descendants only", 2: "2, administrators only", 3: "3, nobody"}
    table.add_row("ranks", f"{len(host['ranks'])} on {host['cores']} hardware threads")
    table.add_row("memory", f"{units.size(host['memory'])}; /dev/shm {units.size(host['shm']) if host['shm'] is not None else 'not there'}"
                  if host["memory"] is not None else "not known")
    table.add_row("Yama (who may look at a process)", yama.get(host["yama"], str(host["yama"])))
    table.add_row("container", host["container"] or "no sign of one")
    table.add_row("huge pages; for shared memory", f"{host['huge_pages'] or 'none'}; {host['shared_huge_pages'] or 'none'}")
    table.add_row("codec", f"{host['codec']['kernels']} kernels")
    table.add_row("GPU", gpu(host))
    return table


def gpu(host):
    """Devices and stretto's plugin for them, in one line."""
    devices = host["devices"]
    if not devices["list"]:
        return devices["reason"].partition(": ")[0]
    number = len(devices["list"])
    driver = f", driver for CUDA {devices['driver']}" if devices["driver"] else ""
    return f"{number} device{'s' * (number > 1)}{driver}; {host['codec']['gpu_reason'].partition(': ')[0]}"


def devices_table(report, host):
    carrier = report["device_memory"] or "not moved: " + host["codec"]["gpu_reason"].partition(": ")[0]
    table = new_table(f"Devices of {host['name']}; their memory is {carrier}", "device", "memory", "PCIe", "NVLink", "reads of others", "GPUDirect")
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "left", False
    unknown = "not known: " + (host["devices"]["links_reason"] or "NVML does not say").partition(": ")[0]
    for device in host["devices"]["list"]:
        capability = f" ({device['capability']})" if device.get("capability") else ""
        table.add_row(f"{device['number']}: {device['name'] or 'does not answer'}{capability}",
                      units.size(device["memory"]) if device.get("memory") is not None else "not known",
                      pcie(device.get("pcie")) or unknown, nvlink(device.get("nvlink")) or (unknown if not device.get("pcie") else "none"),
                      ", ".join(map(str, device.get("peers", []))) or "none", gpudirect(device.get("gpudirect")))
    return table


def pcie(link):
    """As "5.0 x16", with what the device could do where that is more: an idle link may be slower."""
    if not link or link["generation"] is None or link["width"] is None:
        return None
    most = (link["most_generation"], link["most_width"])
    could = f", at most {most[0]}.0 x{most[1]}" if None not in most and most != (link["generation"], link["width"]) else ""
    return f"{link['generation']}.0 x{link['width']}{could}"


def nvlink(link):
    if not link:
        return None
    version = f", version {link['version']}" if link["version"] else ""
    return f"{link['active']} of {link['links']} links active{version}"


def gpudirect(found):
    """What network cards may do with the device's memory, as far as the driver tells."""
    if not found or found["rdma"] is None:
        return "not known"
    if not found["rdma"]:
        return "no"
    ways = [name for name, there in (("dma-buf", found["dma_buf"]), ("nvidia_peermem", found["peer_memory_module"])) if there]
    return "yes, by " + " and ".join(ways) if ways else "the device can; the kernel has no module for it"


def ways_table(host):
    title = f"How ranks of {host['name']} see each other's memory, the first that serves is used"
    table = new_table(title, "way", "answer", "used", "why")
    for column in table.columns[1:]:
        column.justify, column.no_wrap, column.max_width = "left", False, WIDEST
    if not host["segment"]:
        table.add_row("messages", "-", "yes", host["segment_reason"])
    for way in host["ways"]:
        if way["access"] == "process" and not way["usable"]:
            continue  # that ranks are processes says nothing
        answer, used = (way["answer"], "yes") if way["usable"] else ("-", "no")
        what = f": large blocks of {KERNEL_COPIES}" if way["access"] == "kernel" and way["usable"] else ""
        table.add_row(WAYS.get(way["access"], way["access"]), answer, used, way["reason"] + what)
    return table


def pairs_table(host):
    table = new_table(f"Refused on {host['name']}: {host['failing']} attempts", "way", "pairs", "why")
    for column in table.columns[1:]:
        column.justify, column.no_wrap, column.max_width = "left", False, WIDEST
    groups = {}
    for pair in host["pairs"]:
        groups.setdefault((pair["way"], pair["why"]), []).append(pair)
    for (way, why), pairs in groups.items():
        named = ", ".join(f"{host['ranks'][pair['from']]} of {host['ranks'][pair['to']]}" for pair in pairs[:4])
        more = f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
        table.add_row({"kernel": "copy by the kernel", "descriptor": "/proc/PID/fd"}[way], named + more, why)
    return table
