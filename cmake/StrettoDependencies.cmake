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

# STRETTO_MPI_FLAVOUR: its binary interface, openmpi or mpich (and its kin). STRETTO_OTHER_FLAVOURS: those of others here.
# stretto_read_mpicc(FLAVOUR MPICC NAME): from what the compiler command MPICC shows, the directories STRETTO_FLAVOUR_INCLUDES, and
# STRETTO_FLAVOUR_LIBRARY, its lib<NAME>.so. Another MPI's are not linked to programs of ours.
function(stretto_read_mpicc flavour mpicc name)
  if(NOT EXISTS ${mpicc} OR STRETTO_${flavour}_LIBRARY)
    return()
  endif()
  execute_process(COMMAND ${mpicc} -show OUTPUT_VARIABLE command OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX MATCHALL "-I[^ ]+" includes "${command}")
  string(REGEX MATCHALL "-L[^ ]+" libraries "${command}")
  list(TRANSFORM includes REPLACE "^-I" "")
  list(TRANSFORM libraries REPLACE "^-L" "")
  set(STRETTO_${flavour}_INCLUDES "${includes}" CACHE STRING "" FORCE)
  string(REGEX MATCHALL "-l(mpich|mpi_abi|mpi)( |$)" names "${command} ")
  list(TRANSFORM names REPLACE "^-l([a-z_]+) ?$" "\\1")
  find_library(STRETTO_${flavour}_LIBRARY NAMES ${names} ${name} PATHS ${libraries} NO_DEFAULT_PATH)
  mark_as_advanced(STRETTO_${flavour}_INCLUDES STRETTO_${flavour}_LIBRARY)
endfunction()

# Further MPIs that modules and profiling libraries are built for, beside that of this build: their mpicc. The standard binary interface of
# MPI 5 stands beside MPICH's own.
set(STRETTO_OTHER_MPICC "" CACHE STRING "mpicc of further MPIs to build modules for, of another binary interface each")
foreach(mpicc IN LISTS MPI_C_COMPILER STRETTO_OTHER_MPICC)
  execute_process(COMMAND ${mpicc} -E -dM -include mpi.h -x c /dev/null OUTPUT_VARIABLE _macros ERROR_QUIET)
  if(_macros MATCHES "#define OPEN_MPI ")
    set(_flavour openmpi)
  elseif(_macros MATCHES "#define MPICH_VERSION ")
    set(_flavour mpich)
  else()
    message(FATAL_ERROR "${mpicc} is the compiler command of no MPI that stretto knows")
  endif()
  if(mpicc STREQUAL MPI_C_COMPILER)
    set(STRETTO_MPI_FLAVOUR ${_flavour})
  elseif(NOT _flavour STREQUAL STRETTO_MPI_FLAVOUR)
    stretto_read_mpicc(${_flavour} ${mpicc} mpi)
    if(STRETTO_${_flavour}_LIBRARY)
      list(APPEND STRETTO_OTHER_FLAVOURS ${_flavour})
    else()
      message(WARNING "no libmpi was found by ${mpicc} -show: nothing is built for that MPI")
    endif()
  endif()
  get_filename_component(_directory ${mpicc} DIRECTORY)
  stretto_read_mpicc(mpi_abi ${_directory}/mpicc_abi mpi_abi)
endforeach()
if(STRETTO_mpi_abi_LIBRARY)
  list(APPEND STRETTO_OTHER_FLAVOURS mpi_abi)
endif()

# UCX's headers; its library is found at run time. The module over UCX is built where they are there.
find_path(STRETTO_UCX_INCLUDES ucp/api/ucp.h)
mark_as_advanced(STRETTO_UCX_INCLUDES)
if(STRETTO_UCX_INCLUDES)
  file(STRINGS ${STRETTO_UCX_INCLUDES}/ucp/api/ucp_version.h _version REGEX "define UCP_API_M")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" STRETTO_UCX_VERSION "${_version}")
else()
  set(STRETTO_UCX_INCLUDES "")
endif()

if(STRETTO_TESTS)
  find_package(GTest REQUIRED)
endif()
if(STRETTO_TESTS OR STRETTO_BENCH)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
