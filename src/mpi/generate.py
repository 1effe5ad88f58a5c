#!/usr/bin/env python3
"""Writes the wrappers of the profiling library from collectives.txt and the functions that an MPI's mpi.h declares.

usage: generate.py TABLE OUT_DIRECTORY                        the first of these files
       generate.py TABLE OUT_DIRECTORY COMPILER [FLAG...]     the others; the flags lead the compiler to mpi.h

OUT_DIRECTORY/mpi/operations.hpp   the operations by name
OUT_DIRECTORY/mpi/pmpi_names.h     turns the MPI calls of the sources that it is put before into calls of PMPI_...
OUT_DIRECTORY/wrappers_c.cpp       MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, MPI_Allreduce_c, ...; MPI_Comm_dup_with_info, ...
OUT_DIRECTORY/wrappers_fortran.cpp mpi_allreduce_ and its other names, ...
"""

import itertools
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

HEAD = "// Written by src/mpi/generate.py.\n"
FORMS = {"blocking": "{}", "nonblocking": "I{}", "persistent": "{}_init"}
# Linker names of a Fortran procedure, by compiler, and in the module mpi_f08.
FORTRAN_NAMES, F08_NAME = ["{}", "{}_", "{}__"], "{}_f08_"

BUFFERS = {"sendbuf", "recvbuf", "buffer"}
NUMBERS = {"count", "sendcount", "recvcount"}
ARRAYS = {"sendcounts", "recvcounts", "displs", "sdispls", "rdispls", "sdispls_bytes", "rdispls_bytes"}
# Members of WrappedCall for a role, if not the member of its name.
MEMBERS = {
    "buffer": ["recvbuf"],
    "count": ["sendcount", "recvcount"],
    "datatype": ["sendtype", "recvtype"],
    "sdispls_bytes": [],
    "rdispls_bytes": [],
    "sendtypes": [],
    "recvtypes": [],
    "sdispls": [],
    "rdispls": [],
    "sendcounts": [],
}
TYPES = {
    "sendbuf": "const void*",
    "recvbuf": "void*",
    "buffer": "void*",
    "datatype": "MPI_Datatype",
    "sendtype": "MPI_Datatype",
    "recvtype": "MPI_Datatype",
    "sendtypes": "const MPI_Datatype*",
    "recvtypes": "const MPI_Datatype*",
    "op": "MPI_Op",
    "root": "int",
    "comm": "MPI_Comm",
    "info": "MPI_Info",
    "request": "MPI_Request*",
}

# Parameters of functions that make a communicator, including nonblocking forms.
MAKERS = {
    "cart_create": "MPI_Comm comm, int n, const int* dims, const int* periods, int reorder, MPI_Comm* made",
    "cart_sub": "MPI_Comm comm, const int* remain, MPI_Comm* made",
    "comm_create": "MPI_Comm comm, MPI_Group group, MPI_Comm* made",
    "comm_create_group": "MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made",
    "comm_dup": "MPI_Comm comm, MPI_Comm* made",
    "comm_split": "MPI_Comm comm, int color, int key, MPI_Comm* made",
    "graph_create": "MPI_Comm comm, int n, const int* index, const int* edges, int reorder, MPI_Comm* made",
    "intercomm_merge": "MPI_Comm comm, int high, MPI_Comm* made",
    "comm_create_from_group": "MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* made",
    "comm_dup_with_info": "MPI_Comm comm, MPI_Info info, MPI_Comm* made",
    "comm_idup_with_info": "MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request",
    "comm_split_type": "MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made",
    "dist_graph_create": "MPI_Comm comm, int n, const int* from, const int* degrees, const int* to, const int* weights, "
    "MPI_Info info, int reorder, MPI_Comm* made",
    "dist_graph_create_adjacent": "MPI_Comm comm, int in, const int* from, const int* in_weights, int out, const int* to, "
    "const int* out_weights, MPI_Info info, int reorder, MPI_Comm* made",
}
# Parameters (except ierror) of other Fortran procedures that concern the library (src/mpi/fortran.cpp). The flag is
# true if MPICH's module mpi_f08 bypasses the C function.
OTHERS = {
    "init": ([], True),
    "init_thread": (["required", "provided"], True),
    "finalize": ([], True),
    "comm_set_info": (["comm", "info"], True),
    "alloc_mem": (["size", "info", "base"], True),
    "alloc_mem_cptr": (["size", "info", "base"], False),
    "free_mem": (["base"], False),
    "wait": (["request", "status"], True),
    "waitall": (["count", "requests", "statuses"], True),
    "waitany": (["count", "requests", "index", "status"], True),
    "waitsome": (["count", "requests", "done", "indices", "statuses"], True),
    "test": (["request", "flag", "status"], True),
    "testall": (["count", "requests", "flag", "statuses"], True),
    "testany": (["count", "requests", "index", "flag", "status"], True),
    "testsome": (["count", "requests", "done", "indices", "statuses"], True),
    "request_get_status": (["request", "flag", "status"], True),
    "request_get_status_all": (["count", "requests", "flag", "statuses"], True),
    "request_get_status_any": (["count", "requests", "index", "flag", "status"], True),
    "request_get_status_some": (["count", "requests", "done", "indices", "statuses"], True),
    "start": (["request"], True),
    "startall": (["count", "requests"], True),
    "request_free": (["request"], True),
}
SINCE_MPI_4_1 = {"request_get_status_all", "request_get_status_any", "request_get_status_some"}
OTHER_TYPES = {"base": "void*", "size": "MPI_Aint*"}


@dataclass(frozen=True)
class Function:
    operation: str
    form: str
    large: bool
    arguments: tuple

    @property
    def name(self):
        base = self.operation if self.form == "nonblocking" else self.operation.capitalize()
        return "MPI_" + FORMS[self.form].format(base) + ("_c" if self.large else "")

    def type_of(self, role):
        if role in NUMBERS:
            return "MPI_Count" if self.large else "int"
        if role in ("sendcounts", "recvcounts"):
            return "const MPI_Count*" if self.large else "const int*"
        if role in ARRAYS:
            return "const MPI_Aint*" if self.large or role.endswith("_bytes") else "const int*"
        return TYPES[role]


def read_table(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, arguments = line.split(":")
            yield name, tuple(arguments.split())


def functions_of(table):
    extra = {"blocking": (), "nonblocking": ("request",), "persistent": ("info", "request")}
    for (name, arguments), form, large in itertools.product(table, FORMS, (False, True)):
        yield Function(name, form, large, arguments + extra[form])


def declared(compiler):
    """Names that mpi.h declares with and without the P of the profiling interface."""
    done = subprocess.run([*compiler, "-E", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    names = set(re.findall(r"\b(P?MPI_[A-Z]\w*)\s*\(", done.stdout))
    return sorted(n for n in names if "P" + n in names)


def operations_header(operations):
    yield HEAD + "#pragma once\n\n#include <array>\n#include <cstdint>\n\nnamespace stretto::mpi {\n"
    yield "enum class Function : std::uint8_t {"
    yield from (f"  {name}," for name in operations)
    yield "};\n"
    yield f"inline constexpr std::array<const char*, {len(operations)}> operation_names = {{"
    yield from (f'    "{name}",' for name in operations)
    yield "};\n\n}  // namespace stretto::mpi"


def pmpi_names(names):
    yield HEAD + "#pragma once\n\n#include <mpi.h>\n"
    for name in names:
        yield f"#ifndef {name}\n#define {name} P{name}\n#endif"


def fill(function, value):
    """Lines that put a function's arguments into `call`."""
    for role in function.arguments:
        for member in MEMBERS.get(role, [role]):
            if role not in ("info", "request"):
                yield f"  call.{member} = {value(role)};"


def c_wrapper(function):
    parameters = ", ".join(f"{function.type_of(r)} {r}" for r in function.arguments)
    yield f"STRETTO_WRAPPER int {function.name}({parameters}) {{"
    yield f"  WrappedCall call(Function::{function.operation}, Form::{function.form}, __builtin_return_address(0));"
    yield from fill(function, lambda role: role)
    if function.form == "nonblocking":
        yield "  call.request = request;"
    yield f"  const auto native = [&] {{ return P{function.name}({', '.join(function.arguments)}); }};"
    if function.form != "persistent":
        yield "  return perform(call, native);\n}\n"
        return
    yield "  const int code = perform(call, native);"
    yield "  if (code == MPI_SUCCESS) prepared(call, *request);"
    yield "  return code;\n}\n"


def names_in(parameters):
    return re.findall(r"(\w+)(?:,|$)", parameters)


def c_maker(name, parameters):
    function, arguments = "MPI_" + name.capitalize(), names_in(parameters)
    yield f"STRETTO_WRAPPER int {function}({parameters}) {{"
    if "request" in arguments:
        yield "  const InheritedBound inherited(comm, info);"
        yield f"  return P{function}({', '.join(arguments)});\n}}\n"
        return
    info = "info" if "info" in arguments else "MPI_INFO_NULL"
    yield f"  const int code = P{function}({', '.join(arguments)});"
    yield f'  return constructed(code, code == MPI_SUCCESS ? *made : MPI_COMM_NULL, "{function}", {info});\n}}\n'


def fortran_value(function, role):
    if role in ("sendbuf", "recvbuf", "buffer"):
        return f"fortran::buffer({role})"
    if role in ("datatype", "sendtype", "recvtype"):
        return f"PMPI_Type_f2c(*{role})"
    if role == "op":
        return "PMPI_Op_f2c(*op)"
    if role == "comm":
        return "PMPI_Comm_f2c(*comm)"
    return role if role in ARRAYS else f"*{role}"


def fortran_type(role):
    if role in ("sendbuf", "recvbuf", "buffer"):
        return "void*"
    if role.endswith("_bytes"):
        return "MPI_Aint*"
    return "MPI_Fint*"


def fortran_wrapper(function):
    """One body, and an entry for each name that goes on to the procedure of that name in the MPI's own library."""
    parameters = ", ".join(f"{fortran_type(r)} {r}" for r in [*function.arguments, "ierror"])
    passed = ", ".join(function.arguments)
    body = "fortran_" + function.name[4:].lower()
    yield f"[[maybe_unused]] static void {body}(const char* name, void (*&next)({parameters}), const void* site, {parameters}) {{"
    yield f"  WrappedCall call(Function::{function.operation}, Form::{function.form}, site);"
    yield from fill(function, lambda role: fortran_value(function, role))
    if function.form == "nonblocking":
        yield "  MPI_Request made = MPI_REQUEST_NULL;\n  call.request = &made;"
    yield f"  const auto native = [&] {{ return fortran::go_on(name, next, {passed}); }};"
    yield "  const int code = perform(call, native);"
    if function.form == "nonblocking":
        yield "  if (made != MPI_REQUEST_NULL) *request = PMPI_Request_c2f(made);"
    if function.form == "persistent":
        yield "  if (code == MPI_SUCCESS) prepared(call, PMPI_Request_f2c(*request));"
    yield "  fortran::deliver(code, ierror);\n}"
    goes_past = not BUFFERS & set(function.arguments)
    yield from entries(function.name, goes_past, entry(body, parameters, f"__builtin_return_address(0), {passed}, ierror"))


def entry(body, parameters, passed):
    """What calls the body, by each name; it keeps the procedure of that name in the libraries after."""

    def lines(symbol):
        yield f"STRETTO_WRAPPER void {symbol}({parameters}) {{"
        yield f"  static void (*next)({parameters}) = nullptr;"
        yield f'  {body}("{symbol}", next, {passed});\n}}'

    return lines


def entries(c_name, goes_past, lines):
    """Under every name; but where `goes_past` says that MPICH's module mpi_f08 does not come by the C function, its name is always there."""
    f08 = F08_NAME.format(c_name.lower())
    yield from lines(f08) if goes_past else ()
    yield "#ifdef STRETTO_WRAPS_FORTRAN"
    yield from () if goes_past else lines(f08)
    for pattern in FORTRAN_NAMES:
        yield from lines(pattern.format(c_name.lower()))
    yield from lines(c_name.upper())
    yield "#endif"


def fortran_maker(name, c_parameters):  # the length of a text comes last, by value
    arguments = names_in(c_parameters)
    text = "tag" if "const char* tag" in c_parameters else None
    length = ["length"] if text else []
    parameters = ", ".join(f"{'const char*' if a == text else 'MPI_Fint*'} {a}" for a in [*arguments, "ierror"])
    parameters += ", std::size_t length" if length else ""
    passed = ", ".join(arguments)
    body = "fortran_" + name
    yield f"[[maybe_unused]] static void {body}(const char* name, void (*&next)({parameters}), {parameters}) {{"
    if "request" in arguments:
        yield "  const InheritedBound inherited(PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info));"
        yield f"  fortran::deliver(fortran::go_on(name, next, {passed}), ierror);\n}}"
    else:
        yield f"  const int code = fortran::{'go_on_with(length, ' if length else 'go_on('}name, next, {passed});"
        yield "  const MPI_Comm comm_made = code == MPI_SUCCESS ? PMPI_Comm_f2c(*made) : MPI_COMM_NULL;"
        info = "PMPI_Info_f2c(*info)" if "info" in arguments else "MPI_INFO_NULL"
        yield f'  fortran::deliver(constructed(code, comm_made, "MPI_{name.capitalize()}", {info}), ierror);\n}}'

    yield from entries("MPI_" + name, True, entry(body, parameters, ", ".join([*arguments, "ierror", *length])))


def fortran_other(name, arguments, goes_past):
    parameters = ", ".join(f"{OTHER_TYPES.get(a, 'MPI_Fint*')} {a}" for a in [*arguments, "ierror"])
    yield from entries("MPI_" + name, goes_past, entry("fortran::" + name, parameters, ", ".join([*arguments, "ierror"])))


def opening(first):
    yield HEAD
    yield from (f'#include "mpi/{header}.hpp"' for header in (first, "calls/perform", "requests/persistent", "process/lifecycle"))
    yield "\nusing namespace stretto::mpi;\n"


def wrappers(table, compiler):
    names = declared(compiler)
    functions = [f for f in functions_of(table) if f.name in names]
    makers = [(name, arguments) for name, arguments in MAKERS.items() if "MPI_" + name.capitalize() in names]
    others = {name: other for name, other in OTHERS.items() if name not in SINCE_MPI_4_1 or "MPI_" + name.capitalize() in names}
    yield "mpi/pmpi_names.h", pmpi_names(names)
    c_lines = [*map(c_wrapper, functions), *(c_maker(*m) for m in makers)]
    yield "wrappers_c.cpp", itertools.chain(opening("calls/wrapped_call"), *c_lines)
    yield (
        "wrappers_fortran.cpp",
        itertools.chain(
            opening("fortran"),
            *(fortran_other(name, *other) for name, other in others.items()),
            *(fortran_maker(*m) for m in makers),
            *(fortran_wrapper(f) for f in functions if not f.large),
        ),
    )


def main():
    table_file, out, *compiler = sys.argv[1:]
    table = list(read_table(pathlib.Path(table_file)))
    files = wrappers(table, compiler) if compiler else [("mpi/operations.hpp", operations_header([n for n, _ in table]))]
    for name, lines in files:
        target = pathlib.Path(out) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
