"""What `stretto doctor` shows and advises, from reports that are made up for the purpose."""

import copy
import importlib.machinery
import importlib.util
import io
import json
import os

import pytest
from rich.console import Console

from stretto.launch import programs
from stretto.machine import doctor


def way(access, answer, usable, reason="in use"):
    return {"access": access, "answer": answer, "usable": usable, "reason": reason}


HEALTHY = {
    "stretto": "0.1.0", "mpi": "Open MPI 5.0.11", "profile": {"name": "node7", "where": "node7.json", "mpi": "Open MPI 5.0.11"},
    "modules": [{"name": "openmpi", "there": True, "built_for": "Open MPI 5.0.11", "used": True, "reason": "the MPI of this program is Open MPI v5"},
                {"name": "mpich", "there": False, "built_for": None, "used": False, "reason": "no module for mpich: cannot open"}],
    "hosts": [{"name": "node7", "ranks": [0, 1], "kernel": "6.1", "cores": 4, "memory": 1 << 34, "shm": 1 << 33, "shm_free": 1 << 33,
               "yama": 0, "overcommit": 0, "huge_pages": "madvise", "shared_huge_pages": "never", "xpmem_device": True, "container": None,
               "segment": True, "segment_reason": "in use",
               "ways": [way("arena", "mapped", True), way("xpmem", "mapped", True), way("kernel", "copyable", True),
                        way("staged", "staged", True, "always")],
               "failing": 0, "pairs": [], "codec": {"kernels": "avx512", "gpu": False, "gpu_reason": "no CUDA plugin: a: b"},
               "devices": {"reason": "no CUDA driver: libcuda.so.1: cannot open", "driver": None, "links_reason": None, "list": []}}],
    "device_memory": None,
    "ranks": [{"rank": r, "host": 0, "pid": 70 + r, "uid": 1000, "user_namespace": "user:[1]", "pid_namespace": "pid:[1]",
               "cpus": str(r), "cpu_count": 1, "socket": 0, "cache": 0, "core": r} for r in range(2)],
}


def refused(report):
    host = report["hosts"][0]
    host["ways"][2] = way("kernel", "copyable", False, "Operation not permitted (rank 0)")
    host["pairs"] = [{"way": "kernel", "from": 0, "to": 1, "why": "Operation not permitted"}]
    host["failing"] = 1


def apart(report):
    report["ranks"][1]["pid_namespace"] = "pid:[2]"


def yama(report):
    refused(report)
    report["hosts"][0]["yama"] = 3


def contained(report):
    refused(report)
    report["hosts"][0]["container"] = "/.dockerenv"


def users(report):
    refused(report)
    report["ranks"][1]["uid"] = 1001


def crowd(report):
    report["hosts"][0]["cores"] = 1


def loose(report):
    for rank in report["ranks"]:
        rank.update(cpus="0-3", cpu_count=4, core=None)


def same_core(report):
    report["ranks"][1].update(cpus="0", core=0)


def no_xpmem(report):
    report["hosts"][0]["ways"][1] = way("xpmem", "mapped", False, "no library")


def small(report):
    report["hosts"][0]["shm"] = 64 << 10


def no_segment(report):
    report["hosts"][0].update(segment=False, segment_reason="memfd_create: Function not implemented", ways=[])


def no_module(report):
    report["modules"][0]["used"] = False


def built_in(report):
    report["profile"]["name"] = "built-in"


def bad_profile(report):
    report["profile"] = {"name": None, "reason": "x.json: version 9"}


@pytest.mark.parametrize("harm, said, how", [
    (refused, "rank 0 from 1: Operation not permitted", "security module"),
    (yama, "Operation not permitted", "ptrace_scope=1 (it is 3)"),
    (contained, "Operation not permitted", "SYS_PTRACE"),
    (users, "Operation not permitted", "start them as one"),
    (apart, "different pid namespaces", "one container"),
    (crowd, "2 ranks share 1 hardware threads", "at most as many"),
    (loose, "2 of 2 ranks are bound to no core", "--bind-to core"),
    (same_core, "2 ranks are bound to hardware thread 0", "--map-by core"),
    (no_xpmem, "copied twice", "--arena"),
    (small, "only 64 KiB", "--shm-size"),
    (no_segment, "Function not implemented", "messages of the MPI"),
    (no_module, "no module fits Open MPI 5.0.11", "STRETTO_OTHER_MPICC"),
    (built_in, "built-in profile", "stretto tune"),
    (bad_profile, "version 9", "STRETTO_PROFILE"),
])
def test_each_harm_has_its_advice_and_no_other(harm, said, how):
    report = copy.deepcopy(HEALTHY)
    harm(report)
    (one,) = [one for one in doctor.advice(report) if said in one["what"]]
    assert how in one["how"]
    if harm is not apart:
        assert len(doctor.advice(report)) == 1


def test_what_the_kernel_copies_is_said_beside_what_is_copied_twice():
    report = copy.deepcopy(HEALTHY)
    no_xpmem(report)
    (one,) = doctor.advice(report)
    assert "copied twice on their way to another rank; large blocks of allgather, gather, scatter and alltoall once, by the kernel" in one["what"]
    report["hosts"][0]["ways"][2] = way("kernel", "copyable", False, "switched off")
    assert "kernel" not in doctor.advice(report)[0]["what"]


def test_a_way_that_is_not_usable_has_no_answer():
    host = copy.deepcopy(HEALTHY)["hosts"][0]
    host["ways"][1] = way("xpmem", "mapped", False, "no library")
    answer, used, why = (list(column.cells) for column in doctor.ways_table(host).columns[1:])
    assert (answer, used) == (["mapped", "-", "copyable", "staged"], ["yes", "no", "yes", "yes"])
    assert why[2] == "in use: large blocks of allgather, gather, scatter and alltoall"


DEVICE = {"number": 0, "name": "NVIDIA H200", "memory": 141 << 30, "capability": "9.0", "bus": "0000:0a:00.0", "peers": [1],
          "gpudirect": {"rdma": True, "dma_buf": True, "peer_memory_module": False},
          "pcie": {"generation": 5, "width": 16, "most_generation": 5, "most_width": 16}, "nvlink": {"links": 18, "active": 17, "version": 4}}


def with_devices(links_reason=None, **other):
    report = copy.deepcopy(HEALTHY)
    bare = {"number": 1, "name": "Tesla T4", "memory": 16 << 30, "capability": "7.5", "bus": "0000:0b:00.0", "peers": [],
            "gpudirect": {"rdma": False, "dma_buf": None, "peer_memory_module": False}, "nvlink": None, **other,
            "pcie": other.get("pcie", {"generation": 1, "width": 8, "most_generation": 3, "most_width": 16})}
    report["hosts"][0]["devices"] = {"reason": None, "driver": "13.1", "links_reason": links_reason, "list": [DEVICE, bare]}
    report["hosts"][0]["codec"]["gpu_reason"] = "plugin and device are there"
    report["device_memory"] = "copied to pinned memory of the host, and sent over Open MPI 5.0.11"
    return report


def cells(table):
    return list(zip(*(column.cells for column in table.columns)))


def test_each_device_has_its_links_and_what_network_cards_may_do():
    report = with_devices()
    table = doctor.devices_table(report, report["hosts"][0])
    assert report["device_memory"] in table.title
    assert cells(table) == [
        ("0: NVIDIA H200 (9.0)", "141 GiB", "5.0 x16", "17 of 18 links active, version 4", "1", "yes, by dma-buf"),
        ("1: Tesla T4 (7.5)", "16 GiB", "1.0 x8, at most 3.0 x16", "none", "none", "no")]
    assert doctor.gpu(report["hosts"][0]) == "2 devices, driver for CUDA 13.1; plugin and device are there"


def test_links_that_nobody_tells_are_not_known():
    report = with_devices("no NVML: libnvidia-ml.so.1: cannot open", pcie=None)
    *_, bare = cells(doctor.devices_table(report, report["hosts"][0]))
    assert bare[2:4] == ("not known: no NVML", "not known: no NVML")


def test_module_reasons_fit_120_columns_in_piped_output():
    report = copy.deepcopy(HEALTHY)
    missing = "no module for nccl: /opt/a/rather/deep/prefix/of/some/cluster/lib/stretto/libstretto_nccl.so: cannot open shared object file: No such file or directory"
    report["modules"].append({"name": "nccl", "there": False, "built_for": None, "used": False, "reason": missing})
    console = Console(width=100000, highlight=False, file=io.StringIO())
    console.print(doctor.modules_table(report))
    lines = console.file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 120
    assert "no module for nccl:" in "\n".join(lines)


def test_without_a_driver_one_line_says_so():
    host = HEALTHY["hosts"][0]
    assert ("GPU", "no CUDA driver") in cells(doctor.hosts_table(host))


def test_without_an_mpi_no_advice_is_of_one():
    for harm in (no_segment, crowd, loose, same_core, no_xpmem, small, no_module, built_in):
        report = copy.deepcopy(HEALTHY)
        harm(report)
        report["mpi"] = "UCX 1.13.1"
        advice = doctor.advice(report)
        assert len(advice) == (harm is not small), harm
        for one in advice:
            assert not any(word in one["how"] for word in ("--bind-to", "MPI_Alloc_mem", "messages of the MPI", "--arena")), one
            assert harm is not built_in or "stretto tune --carrier ucx" in one["how"]


def test_a_healthy_job_gets_no_advice():
    assert doctor.advice(HEALTHY) == []


def examined_by(stretto, text):
    stretto.executable("bin/stretto-doctor", text)
    stretto.set("STRETTO_LIBEXEC", stretto.home / "bin")
    return stretto.executable("mpirun", 'while [ "${1##*/}" != stretto-doctor ]; do shift; done; exec "$@"\n')


def test_the_report_is_shown_with_who_is_refused_and_why(stretto):
    report = copy.deepcopy(HEALTHY)
    refused(report)
    (stretto.home / "report").write_text("a launcher's greeting\n" + json.dumps(report) + "\n", encoding="utf-8")
    launcher = examined_by(stretto, f'cat "{stretto.home}/report"\n')
    shown = stretto.succeeds("doctor", "--mpirun", launcher)
    assert "Devices of" not in shown
    for words in ("2 ranks on 1 host", "profile: node7", "XPMEM", "0 of 1", "Operation not permitted", "What could be better"):
        assert words in shown, shown
    assert json.loads(stretto.succeeds("doctor", "--mpirun", launcher, "--json"))["advice"]


def test_without_a_launcher_the_helpers_mpi_provides_it(stretto):
    (stretto.home / "report").write_text(json.dumps(HEALTHY) + "\n", encoding="utf-8")
    helper = stretto.executable("bin/stretto-doctor", f'cat "{stretto.home}/report"\n')
    stretto.executable("mpi/bin/mpirun", '[ "$1" = --version ] && echo "Open MPI" && exit\nwhile [ "${1##*/}" != stretto-doctor ]; do shift; done; exec "$@"\n')
    stretto.set("STRETTO_LIBEXEC", helper.parent)
    stretto.set("PATH", "/usr/bin:/bin")
    stretto.monkeypatch.setattr("stretto.launch.programs.CHECKOUT", stretto.home)
    stretto.monkeypatch.setattr("stretto.launch.programs.linked", lambda path: f"\tlibmpi.so.40 => {stretto.home}/mpi/lib/libmpi.so.40 (0x7f)\n")
    assert "2 ranks on 1 host" in stretto.succeeds("doctor")


def test_an_empty_line_is_before_each_table(stretto):
    (stretto.home / "report").write_text(json.dumps(HEALTHY) + "\n", encoding="utf-8")
    shown = stretto.succeeds("doctor", "--mpirun", examined_by(stretto, f'cat "{stretto.home}/report"\n'))
    lines = [line.strip() for line in shown.splitlines()]
    for title in ("Modules: what moves bytes between processes", "node7"):
        assert lines[lines.index(title) - 1] == "", shown


def test_a_rank_that_fails_is_named(stretto):
    launcher = examined_by(stretto, 'echo "stretto-doctor: rank 1 on node7: no memory" >&2\nexit 1\n')
    said = stretto.refused("doctor", "--mpirun", launcher, status=1)
    assert "the examination failed (status 1): rank 1 on node7: no memory" in said


def test_a_variable_that_nothing_reads_is_named_with_the_nearest(stretto):
    (stretto.home / "report").write_text(json.dumps(HEALTHY) + "\n", encoding="utf-8")
    launcher = examined_by(stretto, f'cat "{stretto.home}/report"\n')
    for name in [name for name in os.environ if name.startswith("STRETTO_") and name != "STRETTO_LIBEXEC"]:
        stretto.monkeypatch.delenv(name)
    assert json.loads(stretto.succeeds("doctor", "--mpirun", launcher, "--json"))["advice"] == []
    stretto.set("STRETTO_BONUD", "rel:1e-4")
    advice, = json.loads(stretto.succeeds("doctor", "--mpirun", launcher, "--json"))["advice"]
    assert advice["what"] == "STRETTO_BONUD is no variable of stretto's, and without effect; the nearest is STRETTO_BOUND"
    assert "STRETTO_BONUD is no variable" in stretto.succeeds("doctor", "--mpirun", launcher)


def test_both_ends_of_a_long_complaint_are_repeated(stretto):
    launcher = examined_by(stretto, "exec >&2; echo 'There are not enough slots.'; seq 100 200; printf '\\000\\n'; echo 'The job ends.'; exit 1\n")
    said = stretto.refused("doctor", "--mpirun", launcher, status=1)
    assert "(status 1): There are not enough slots.\n100\n" in said and "\n...\n" in said and "200\nThe job ends.\nThe command was" in said


def test_missing_ranks_and_separate_jobs_are_reported(stretto):
    (stretto.home / "report").write_text(json.dumps(HEALTHY) + "\n", encoding="utf-8")
    launcher = examined_by(stretto, f'cat "{stretto.home}/report"\n')
    assert "5 ranks were started, and 2 came" in stretto.refused("doctor", "--mpirun", launcher, "-n", "5", status=1)
    launcher = examined_by(stretto, f'cat "{stretto.home}/report" "{stretto.home}/report"\n')
    assert "2 jobs of 2 ranks each came of the launch" in stretto.refused("doctor", "--mpirun", launcher, status=1)


def test_ucx_is_that_of_python(monkeypatch, tmp_path):
    for name in ("STRETTO_UCX", *programs.SEGMENTS_OF_TCP):
        monkeypatch.setenv(name, "")  # so that what is set here ends with the test
        monkeypatch.delenv(name)
    library = tmp_path / "libucx" / "lib" / "libucp.so.0"
    library.parent.mkdir(parents=True)
    library.touch()
    spec = importlib.machinery.ModuleSpec("libucx", None, is_package=True)
    spec.submodule_search_locations.append(str(library.parents[1]))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    program = tmp_path / "doctor"
    program.write_text("#!/bin/sh\necho $STRETTO_UCX\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(doctor.measuring, "program_for", lambda mpirun, name: program)
    monkeypatch.setattr(doctor.measuring, "command", lambda *arguments: [str(program)])
    monkeypatch.setattr(programs, "over_mpi", lambda path: True)
    assert doctor.started(None, None, None)[2] == f"{library}\n"
