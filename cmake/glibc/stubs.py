"""Writes libraries to link against, so that what is built here loads with an older glibc.

stubs.py DIRECTORY CC CXX [FLAG...]: into DIRECTORY, which then goes first on the linker's path (StrettoGlibc.cmake).

glibc and libstdc++ keep every version of a symbol that they ever had. A program binds to the newest one there is when it is linked. The stubs
have the symbols of this system's libraries with the newest version that the older libraries have too, and no code. Symbols that no older glibc
has come from the sources beside this file, and those of libstdc++ from its static library: both become part of what is linked, hidden.
"""

import pathlib
import re
import subprocess
import sys

NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}

# glibc 2.34 merged these libraries into libc.so.6, which has their symbols since.
MERGED = {
    "libpthread.so.0": re.compile(r"(__|_)?pthread_|sem_|thrd_|mtx_|cnd_|tss_|call_once"),
    "libdl.so.2": re.compile(r"dl(addr1?|close|error|info|mopen|open|v?sym)$"),
    "librt.so.1": re.compile(r"aio_|lio_|mq_|shm_|timer_|__mq_open_2"),
}


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def number(version):
    """The kind and number of a version such as GLIBC_2.2.5; None for others, such as GLIBC_PRIVATE."""
    found = re.fullmatch(r"(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)", version)
    return found and (found[1], tuple(map(int, found[2].split("."))))


def symbols_of(library):
    """Of each symbol its newest version that is old enough: name -> (version, address, kind, size, binding, whether a newer version exists)."""
    chosen, newer = {}, set()
    for line in run("readelf", "-W", "--dyn-syms", library).splitlines():
        field = line.split()
        if len(field) != 8 or field[6] in ("UND", "ABS") or "@" not in field[7]:
            continue
        name, version = re.split("@+", field[7])
        order = number(version)
        if order is None:
            continue
        if order[1] > NEWEST[order[0]]:
            newer.add(name)
        elif name not in chosen or order > number(chosen[name][0]):
            chosen[name] = (version, int(field[1], 16), field[3], int(field[2], 0), field[4])
    return {name: (*symbol, name in newer) for name, symbol in chosen.items()}


def write_stub(directory, compiler, soname, symbols):
    """A shared library of those symbols. Data has its size, for copies of it in programs, and its aliases stay aliases."""
    assembly, data, threads = ['.section .note.GNU-stack,"",%progbits', ".text"], {}, []
    for name, (_, address, kind, size, binding, _) in sorted(symbols.items()):
        directive = ".weak" if binding == "WEAK" else ".globl"
        if kind == "OBJECT":
            data.setdefault(address, []).append((name, size, directive))
        elif kind == "TLS":
            threads += [f'{directive} "{name}"', f'.type "{name}", %tls_object', f'.size "{name}", {size}', f'"{name}":', f".zero {size}"]
        else:
            assembly += [f'{directive} "{name}"', f'.type "{name}", %function', f'"{name}":']
    assembly += [".byte 0", ".data"]
    for aliases in data.values():
        assembly.append(".balign 32")
        for name, size, directive in aliases:
            assembly += [f'{directive} "{name}"', f'.type "{name}", %object', f'.size "{name}", {size}', f'"{name}":']
        assembly.append(f".zero {max(size for _, size, _ in aliases)}")
    if threads:
        assembly += ['.section .tbss,"awT",%nobits', ".balign 16", *threads]
    versions = {}
    for name, symbol in sorted(symbols.items()):
        versions.setdefault(symbol[0], []).append(f'"{name}";')
    stem = directory / soname
    source, script = stem.with_name(f"{soname}.s"), stem.with_name(f"{soname}.map")
    source.write_text("\n".join(assembly) + "\n")
    script.write_text("\n".join(f"{version} {{ {' '.join(names)} }};" for version, names in sorted(versions.items())) + "\n")
    run(*compiler, "-shared", "-nostdlib", "-Wl,--build-id=none", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-o", stem, source)


def main(directory, cc, cxx, *flags):
    directory, here = pathlib.Path(directory).resolve(), pathlib.Path(__file__).resolve().parent
    directory.mkdir(parents=True, exist_ok=True)
    compiler = [cc, *flags]

    def found(name):
        path = pathlib.Path(run(*compiler, f"-print-file-name={name}").strip())
        if not path.is_absolute():
            sys.exit(f"{cc} finds no {name}")
        return path

    libc = symbols_of(found("libc.so.6"))
    for soname, names in MERGED.items():
        theirs = {name: symbol for name, symbol in libc.items() if symbol[5] and names.match(name)}
        write_stub(directory, compiler, soname, theirs)
        libc = {name: symbol for name, symbol in libc.items() if name not in theirs}
    write_stub(directory, compiler, "libc.so.6", libc)
    write_stub(directory, compiler, "libm.so.6", symbols_of(found("libm.so.6")))
    write_stub(directory, compiler, "libstdc++.so.6", symbols_of(found("libstdc++.so.6")))

    hidden = directory / "libstretto_glibc.a"
    objects = []
    for source in ("glibc.c", "start.c", "stdcxx.cpp", "hwloc.c"):
        objects.append(directory / f"{source}.o")
        run(*([cxx, *flags, "-std=c++20"] if source.endswith("pp") else compiler), "-O2", "-fPIC", "-fvisibility=hidden", "-c", here / source, "-o", objects[-1])
    hidden.unlink(missing_ok=True)
    run(run(*compiler, "-print-prog-name=ar").strip(), "rcsD", hidden, *objects)

    loader = found(pathlib.Path(re.search(r"\S*/ld-linux[^\s)]*", found("libc.so").read_text())[0]).name)
    merged = " ".join(f'"{directory / name}"' for name in MERGED)
    scripts = {
        "libc.so": f'GROUP("{directory}/libc.so.6" "{hidden}" "{found("libc_nonshared.a")}" AS_NEEDED({merged} "{loader}"))',
        "libm.so": f'INPUT("{directory}/libm.so.6")',
        "libstdc++.so": f'GROUP("{directory}/libstdc++.so.6" "{hidden}" "{found("libstdc++.a")}")',
    }
    for name, text in scripts.items():
        (directory / name).write_text(text + "\n")


main(*sys.argv[1:])
