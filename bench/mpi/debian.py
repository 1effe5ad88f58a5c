"""Programs of Debian 12 and the MPI that they are linked to (Open MPI 4.1), unpacked in a directory of this checkout: nothing is installed."""

import os
import pathlib
import subprocess

PROGRAMS = ("elk-lapw", "lammps", "openmpi-bin", "quantum-espresso", "quantum-espresso-data", "scalapack-mpi-test", "scalapack-test-common")
# Dependencies of these that a small system may lack. Fetched even if the system has them.
LIBRARIES = ("libblas3", "libevent-core-2.1-7", "libevent-pthreads-2.1-7", "libfftw3-double3", "libgfortran5", "libhwloc15", "libibverbs1",
             "libjpeg62-turbo", "libkim-api2", "liblammps0", "liblapack3", "libltdl7", "libmunge2", "libnl-3-200", "libnl-route-3-200", "libnuma1",
             "libopenmpi3", "libpmix2", "libpng16-16", "libpython3.11", "libquadmath0", "librdmacm1", "libscalapack-openmpi2.2", "libucx0",
             "libvoro++1", "libxc9", "openmpi-common")
PREFIX = pathlib.Path("usr/lib/x86_64-linux-gnu")


class Unavailable(Exception):
    """The packages cannot be had here."""


def unpack(directory):
    """The root of the unpacked packages, which are fetched by apt-get and unpacked once."""
    root, done = directory / "root", directory / "packages.done"
    wanted = "\n".join((*PROGRAMS, *LIBRARIES))
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return root
    fetched = directory / "packages"
    fetched.mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    try:
        subprocess.run(["apt-get", "-q", "download", *wanted.split()], cwd=fetched, check=True, capture_output=True, text=True, timeout=900)
        for package in sorted(fetched.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, root], check=True, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise Unavailable(f"packages of Debian 12 cannot be had: {said[-1] if said else error}") from error
    done.write_text(wanted, encoding="utf-8")
    return root


def environment(root):
    """This process's environment, in which the root's launcher and programs find what is theirs."""
    libraries = root / PREFIX
    return dict(os.environ, OPAL_PREFIX=str(root / "usr"), OPAL_LIBDIR=str(libraries / "openmpi" / "lib"),
                OPAL_SYSCONFDIR=str(root / "etc" / "openmpi"), OPAL_DATADIR=str(root / "usr" / "share"),
                OPAL_PKGDATADIR=str(root / "usr" / "share" / "openmpi"), PMIX_INSTALL_PREFIX=str(libraries / "pmix2"),
                PMIX_MCA_pcompress_base_silence_warning="1", OMPI_MCA_mtl="^psm,psm2,ofi", ESPRESSO_PSEUDO=str(root / "usr" / "share" / "espresso" / "pseudo"),
                LD_LIBRARY_PATH=":".join(str(libraries / part) for part in ("", "blas", "lapack")))
