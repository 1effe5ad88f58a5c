# Sourced by the scripts beside it: paths, and the results of the setup.
set -eu
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MPI=${MPI:-auto}
# Of another machine than this one: a build for it, without an MPI, whose tests run under qemu-user.
ARCH=${ARCH:-}

say() { if [ -t 1 ]; then printf '\033[1m== %s\033[0m\n' "$*"; else printf '== %s\n' "$*"; fi; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Neither LD_PRELOAD nor the compiler commands of MPIs take a path with a space or such a character. A checkout there is worked on through a link: in
# the user's cache, or in /var/tmp where the cache's path has one, too.
has_unusual_characters() { [[ $1 = *[[:space:]\"\'\`\\:\;\$\*\?\#\&\|\<\>\(\)\{\}\[\]]* ]]; }

link_checkout() {
  local links=${XDG_CACHE_HOME:-${HOME:-/}/.cache}/stretto number link
  ! has_unusual_characters "$links" && mkdir -p "$links" 2>/dev/null && [ -w "$links" ] || links=/var/tmp
  number=$(printf '%s' "$ROOT" | cksum)
  link=$links/stretto-checkout-$(id -u)-${number%% *}
  [ -L "$link" ] || ln -s "$ROOT" "$link" 2>/dev/null || true
  # A link of somebody else in /var/tmp could lead elsewhere tomorrow.
  [ "$(readlink "$link")" = "$ROOT" ] && [ "$(stat -c %u "$link")" = "$(id -u)" ] ||
    die "'$ROOT' has unusual characters, and $link is no link of yours that leads there: delete it, or move the checkout"
  ROOT=$link
}
is_linked_checkout() { [ -L "$ROOT" ] && [[ $ROOT = */stretto-checkout-$(id -u)-* ]]; }
! has_unusual_characters "$ROOT" || link_checkout
cd "$ROOT"

case $ARCH in
  '' | "$(uname -m)") ARCH= ;;
  aarch64)
    case $MPI in auto | none) MPI=none ;; *) die "MPI=$MPI: the build for ARCH=$ARCH has no MPI" ;; esac ;;
  *) die "ARCH=$ARCH: it takes aarch64, or this machine's $(uname -m)" ;;
esac
export ARCH

# use_setup LEVEL: runs the setup (silent when nothing changed) and sets its results:
# MPICC, MPIRUN, MPI_FLAVOUR, PYTHON, FUZZ_CC and FUZZ_CXX (empty where no Clang can fuzz). MPI=none: no MPICC and MPIRUN, flavour none.
use_setup() {
  "$ROOT/scripts/setup" "$1"
  . "$ROOT/build/setup/${MPI//[^A-Za-z0-9]/_}.$1${ARCH:+.$ARCH}"
}

# use_chroots: what makes chroots of Debian is there. The caller is a skipped test where mounts are not permitted, as in many containers, or where there
# is no right to install mmdebstrap; any other failure is one.
use_chroots() {
  local status=0 user=()
  [ "$(id -u)" = 0 ] || user=(--user --map-root-user)
  unshare "${user[@]}" --mount true 2>/dev/null || {
    echo "skipped: no mounts are permitted here, which a chroot needs" >&2
    exit 77
  }
  "$ROOT/scripts/setup" chroot || status=$?
  [ "$status" != 77 ] || echo "skipped: mmdebstrap, which makes the chroot, is not installed" >&2
  [ "$status" = 0 ] || exit "$status"
}

# use_setup_with_mpi LEVEL: the same, for what starts an MPI.
use_setup_with_mpi() {
  [ "$MPI" != none ] || die "$(basename "$0") starts programs under an MPI, and MPI=none builds without one"
  use_setup "$1"
}

# The build directory of a kind (release, other, asan, tsan) for the MPI in use, or for another machine: MPIs differ in their binary interface, and none
# runs under ThreadSanitizer.
build_dir() { if [ "$1" = tsan ]; then echo "$ROOT/build/tsan-none"; else echo "$ROOT/build/$1-${ARCH:-$MPI_FLAVOUR}"; fi; }

# Before a command with a sanitizer: those of older compilers cannot place their tables under the address randomisation of newer kernels.
unrandomised=()
! setarch "$(uname -m)" -R true 2>/dev/null || unrandomised=(setarch "$(uname -m)" -R)
