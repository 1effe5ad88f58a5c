# Spack's package. Nothing but its Python was tried: it compiles, and no Spack has built it.
from spack.package import *


class Stretto(CMakePackage):
    """Collective communication, compressed within an error bound between hosts, shared inside hosts, overlapped with
    computation, and chosen by a cost model of the machine."""

    # A release adds its archive: url = ..., and version("0.1.0", sha256=...). The Git repository is given by
    # `spack develop` or in a packages.yaml until then.
    maintainers = []

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("mpi", default=True, description="Profiling library and module for an MPI")
    variant("ucx", default=True, description="Module for ranks without an MPI, over UCX")
    variant("python", default=True, description="Python package, and the command")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.10:", type="build")
    depends_on("cli11")
    depends_on("fmt@9:")
    depends_on("highway@1.0.3:")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json@3.11:")
    depends_on("mpi", when="+mpi")
    depends_on("ucx", when="+ucx")

    extends("python@3.10:", when="+python")
    with when("+python"):
        depends_on("py-nanobind@3.1:", type="build")
        depends_on("py-setuptools@77:", type="build")
        depends_on("py-pip", type="build")
        depends_on("py-numpy@1.22:", type=("build", "run"))
        depends_on("py-typer@0.7:", type=("build", "run"))
        depends_on("py-rich@13:", type=("build", "run"))
        depends_on("py-matplotlib@3.6:", type=("build", "run"))

    conflicts("%gcc@:11", msg="stretto is C++20")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("STRETTO_TESTS", False),
            self.define("STRETTO_BENCH", False),
            self.define("STRETTO_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
            self.define("STRETTO_UCX", "ON" if self.spec.satisfies("+ucx") else "OFF"),
            self.define("STRETTO_PYTHON", "ON" if self.spec.satisfies("+python") else "OFF"),
        ]
        if self.spec.satisfies("+mpi"):
            args.append(self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc))
        return args

    @run_after("install", when="+python")
    def install_python(self):
        with working_dir(self.stage.source_path):
            pip("install", "--no-deps", "--no-build-isolation", f"--prefix={self.prefix}", "./python")
