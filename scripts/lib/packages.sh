# Sourced by setup: finds missing system packages, and installs them. A package counts as present if its header or program
# exists, whatever its origin.

# Lines `package header` of the libraries. UCX is for tests, wheels, and builds without an MPI: without it there is no module over it.
library_headers() {
  [ "$1" = build ] && [ "$MPI" != none ] || echo "libucx-dev ucp/api/ucp.h"
  cat <<'LIST'
libfmt-dev fmt/format.h
libhwloc-dev hwloc.h
libhwy-dev hwy/highway.h
libcli11-dev CLI/CLI.hpp
nlohmann-json3-dev nlohmann/json.hpp
libgtest-dev gtest/gtest.h
LIST
}

# Lines `package program`.
tool_programs() {
  if [ "$1" = chroot ]; then
    echo "mmdebstrap mmdebstrap"
    return
  fi
  cat <<'LIST'
g++ g++
cmake cmake
make make
ninja-build ninja
pkg-config pkg-config
python3 python3
LIST
  [ -z "$ARCH" ] || cross_programs
  if [ "$1" = test ]; then
    echo "iproute2 ip"
    echo "iproute2 tc"
    echo "hdf5-tools h5repack"
  fi
}

missing_packages() {
  local package probe
  while read -r package probe; do
    PATH=$PATH:/usr/sbin:/sbin type -P "$probe" >/dev/null || echo "$package"
  done < <(tool_programs "$1")
  [ "$1" != chroot ] || return 0
  # One run of the preprocessor tells which headers are not there.
  if type -P g++ >/dev/null; then
    while read -r package probe; do
      printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$probe" "$package"
    done < <(library_headers "$1") | g++ -E -P -x c++ - | sed -n 's/^missing *//p' | tr -d ' '
  else
    library_headers "$1" | cut -d' ' -f1
  fi
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
  # The headers of Python are for tests of its extension, which a build without them leaves out, and for a wheel of this machine.
  case $1,$ARCH in
    test,* | wheel,) python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || echo python3-dev ;;
  esac
  if [ "$1" = test ] && [ -z "$(find_fuzzing_clang)" ]; then
    echo clang
    clang_runtime_package
  fi
}

# The newest Clang that links a fuzz target under AddressSanitizer; empty when none does.
find_fuzzing_clang() {
  local scratch clang
  scratch=$(mktemp -d)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$scratch/f.cpp"
  for clang in $(compgen -c clang++ | grep -E '^clang\+\+(-[0-9]+)?$' | sort -uVr); do
    if "$clang" -fsanitize=fuzzer,address,undefined "$scratch/f.cpp" -o "$scratch/f" 2>/dev/null; then
      type -P "$clang"
      break
    fi
  done
  rm -rf "$scratch"
}

# Debian and Ubuntu put Clang's sanitizer runtimes into a package of their own, named by version, since 14 or 15.
clang_runtime_package() {
  local version
  version=$(apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
  if [ -n "$version" ] && [ -n "$(apt-cache search --names-only "^libclang-rt-$version-dev$" 2>/dev/null)" ]; then
    echo "libclang-rt-$version-dev"
  fi
}

# The status is 1 after a failure; 77 where a chroot wants what there is no right to install, so that its tests are skipped.
install_packages() {
  local level=$1 missing name root_command proxies=() told=
  missing=$(missing_packages "$level" | sort -u | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  type -P apt-get >/dev/null ||
    die "missing: $missing(as Debian and Ubuntu name them). This is neither, so install them by its own means and run again."
  # sudo forgets the variables by which apt finds a proxy.
  for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || { proxies+=("$name=${!name}") told+=" $name=\"\$$name\""; }
  done
  [ -z "$told" ] || told=" env$told"
  if [ "$(id -u)" = 0 ]; then
    root_command=(env)
  elif sudo -n true 2>/dev/null; then
    root_command=(sudo -n env "${proxies[@]}")
  else
    (die "missing system packages, and no right to install them. Run this, then the same make again:
  sudo$told apt-get update && sudo$told apt-get install -y --no-install-recommends $missing") || true
    [ "$level" != chroot ] || exit 77
    exit 1
  fi
  say "apt-get update"
  apt_get update || true  # a stale list may still do; the install below decides
  missing=$(missing_packages "$level" | sort -u | tr '\n' ' ')  # names of some depend on the list
  say "apt-get install $missing"
  apt_get install -y --no-install-recommends $missing || die "apt-get install failed for: $missing"
  missing=$(missing_packages "$level" | sort -u | tr '\n' ' ')
  [ -z "$missing" ] || die "installed, and still not usable: $missing"
}

apt_get() {
  "${root_command[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$ROOT/build/setup/apt.log" 2>&1 || {
    local status=$?
    tail -n 15 "$ROOT/build/setup/apt.log" >&2
    return $status
  }
}
