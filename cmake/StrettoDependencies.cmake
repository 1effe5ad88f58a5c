# Libraries that stretto stands on, each under one target name:
#   fmt::fmt  hwloc::hwloc  hwy::hwy  CLI11::CLI11  nlohmann_json::nlohmann_json  Threads::Threads  GTest::gtest  GTest::gtest_main
# An MPI is in StrettoMpi.cmake.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET GLOBAL hwloc)
add_library(hwloc::hwloc ALIAS PkgConfig::hwloc)
pkg_check_modules(libhwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
add_library(hwy::hwy ALIAS PkgConfig::libhwy)

# UCX's headers; its library is found at run time. STRETTO_UCX=AUTO builds the module over UCX where they are there.
set(STRETTO_UCX AUTO CACHE STRING "The module over UCX: AUTO (where UCX's headers are found), ON or OFF")
stretto_check_choice(STRETTO_UCX)
set(STRETTO_UCX_INCLUDES "")
if(NOT STRETTO_UCX STREQUAL "OFF")
  find_path(STRETTO_UCX_HEADERS ucp/api/ucp.h)
  mark_as_advanced(STRETTO_UCX_HEADERS)
  if(STRETTO_UCX_HEADERS)
    set(STRETTO_UCX_INCLUDES ${STRETTO_UCX_HEADERS})
    file(STRINGS ${STRETTO_UCX_INCLUDES}/ucp/api/ucp_version.h _version REGEX "define UCP_API_M")
    string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" STRETTO_UCX_VERSION "${_version}")
  elseif(STRETTO_UCX STREQUAL "ON")
    message(FATAL_ERROR "STRETTO_UCX is ON, and UCX's header ucp/api/ucp.h is not there (libucx-dev)")
  endif()
endif()
if(NOT STRETTO_UCX_INCLUDES)
  message(STATUS "Without UCX (STRETTO_UCX=${STRETTO_UCX}): no module for programs without an MPI, and no tests of it")
endif()

if(STRETTO_TESTS)
  find_package(GTest REQUIRED)
endif()
if(STRETTO_TESTS OR STRETTO_BENCH)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
