# Libraries that stretto stands on, each under one target name:
#   fmt::fmt  hwloc::hwloc  hwy::hwy  CLI11::CLI11  nlohmann_json::nlohmann_json  Threads::Threads  MPI::MPI_C
#   GTest::gtest  GTest::gtest_main
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET GLOBAL hwloc)
add_library(hwloc::hwloc ALIAS PkgConfig::hwloc)
pkg_check_modules(libhwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
add_library(hwy::hwy ALIAS PkgConfig::libhwy)

# Only the C interface of MPI is used, from C++. -DMPI_C_COMPILER=.../mpicc or -DMPI_HOME=... chooses which MPI; the
# launcher is the one beside that compiler.
if(MPI_C_COMPILER AND NOT MPIEXEC_EXECUTABLE)
  get_filename_component(_mpi_bin ${MPI_C_COMPILER} DIRECTORY)
  find_program(MPIEXEC_EXECUTABLE NAMES mpirun mpiexec.hydra mpiexec PATHS ${_mpi_bin} NO_DEFAULT_PATH)
endif()
find_package(MPI REQUIRED COMPONENTS C)

if(STRETTO_TESTS)
  find_package(GTest REQUIRED)
endif()
if(STRETTO_TESTS OR STRETTO_BENCH)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
