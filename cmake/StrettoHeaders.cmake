# Precompiled headers: a third of the time that a file takes would go into the same headers of others. They are no substitute for an
# #include: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON finds one that is missing. With ccache they are off, since it does better by itself, and for
# Clang, which wants the same macros everywhere. Builds with sanitizers compile several files at once instead (CMAKE_UNITY_BUILD of the presets).
# Libraries and programs of many files, and their tests, do both: a library's files share most of what they include, and the functions of CLI11
# and nlohmann-json cost each compilation 4 s besides their text.
if("${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES ccache OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# stretto_compile_together(TARGET...): several files at once, where headers are precompiled; elsewhere as CMAKE_UNITY_BUILD says.
function(stretto_compile_together)
  foreach(target IN LISTS ARGN)
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    if(count GREATER 1 AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
      # The warning is of types that several compilations define, and every file but the first passes for a header here.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
  endforeach()
endfunction()

# _stretto_reuse_headers(TARGET NAME): TARGET takes the headers precompiled for NAME. CMake 4 warns of it where none are precompiled.
function(_stretto_reuse_headers target name)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# stretto_precompiled_headers(TARGET...): libraries of ours, which all have the compiler's flags of stretto_base.
function(stretto_precompiled_headers)
  foreach(target IN LISTS ARGN)
    _stretto_reuse_headers(${target} stretto_base)
  endforeach()
endfunction()

# _stretto_headers(NAME LIBS libraries HEADERS headers OPTIONS options): the target NAME, whose precompiled headers programs take. Headers are
# precompiled for one set of flags, so programs that take them compile no file with -fPIC.
function(_stretto_headers name)
  if(TARGET ${name})
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS;HEADERS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_compile_options(${name} PRIVATE -fPIE ${arg_OPTIONS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

# stretto_test_headers(TARGET [MPI]): a program with GoogleTest, and the flags of stretto_test_program, for each of which headers are
# precompiled once; MPI: it uses the MPI of this build.
function(stretto_test_headers target)
  set(busy "")
  if(STRETTO_TEST_FLAGS STREQUAL STRETTO_BUSY_TEST_FLAGS)
    set(busy busy_)
  endif()
  set(headers <gtest/gtest.h> <algorithm> <cmath> <cstring> <functional> <limits> <map> <numeric> <random> <set> <string> <thread> <vector>)
  if("MPI" IN_LIST ARGN)
    _stretto_headers(stretto_mpi_${busy}test_headers LIBS GTest::gtest MPI::MPI_C HEADERS ${headers} <mpi.h> OPTIONS ${STRETTO_TEST_FLAGS})
    _stretto_reuse_headers(${target} stretto_mpi_${busy}test_headers)
  else()
    _stretto_headers(stretto_${busy}test_headers LIBS GTest::gtest HEADERS ${headers} OPTIONS ${STRETTO_TEST_FLAGS})
    _stretto_reuse_headers(${target} stretto_${busy}test_headers)
  endif()
endfunction()

# stretto_program_headers(TARGET... [QUICK]): programs that read arguments and write JSON, and libraries that these alone contain. All link fmt. QUICK:
# those of stretto_quick_program. GCC 14 takes no headers that were precompiled at another level of optimisation.
function(stretto_program_headers)
  set(name stretto_program_headers)
  set(options -pthread)
  if("QUICK" IN_LIST ARGN)
    list(REMOVE_ITEM ARGN QUICK)
    set(name stretto_quick_program_headers)
    list(APPEND options ${STRETTO_QUICK_FLAGS})
  endif()
  _stretto_headers(${name} LIBS fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json OPTIONS ${options}
    HEADERS <algorithm> <chrono> <cmath> <map> <memory> <optional> <string> <thread> <vector> <fmt/core.h> <CLI/CLI.hpp> <nlohmann/json.hpp>)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -fPIE -pthread)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    _stretto_reuse_headers(${target} ${name})
  endforeach()
endfunction()
