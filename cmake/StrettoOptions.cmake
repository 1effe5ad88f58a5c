# Options of the build, and what holds for every file of it. A part of another project (add_subdirectory, FetchContent) is the libraries alone.
option(STRETTO_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(STRETTO_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(STRETTO_APPS "Build the programs, which the command `stretto` starts" ${PROJECT_IS_TOP_LEVEL})
option(STRETTO_WERROR "Warnings are errors" OFF)
set(STRETTO_SANITIZE "" CACHE STRING "Sanitizers of the build: empty, 'address' (with undefined) or 'thread'")
set_property(CACHE STRETTO_SANITIZE PROPERTY STRINGS "" address thread)
set(STRETTO_TEST_PARTS house base codec schedule topology payload device model carrier node engine call select backend api modules mpi boundary soak fuzz apps hosts filters python bench
    CACHE STRING "Directories of tests/ to build")
set(STRETTO_LIBRARIES "" CACHE PATH "Build directory whose libraries are taken; programs and tests alone are built here, for another MPI than its own")
set(STRETTO_DATA_DIR ${PROJECT_SOURCE_DIR}/../shared/data CACHE PATH "Real fields for tests and benchmarks; need not exist")
set(STRETTO_FUZZ_SECONDS 60 CACHE STRING "Seconds of fuzzing in one run of ctest, for each fuzz target")

if(NOT CMAKE_BUILD_TYPE)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Type of the build" FORCE)
  else()
    set(CMAKE_BUILD_TYPE Release)  # of this directory and those below; another project's own files keep none
  endif()
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Kernels choose their instructions at run time, with flags a file, so nothing here names a processor.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")

add_compile_options(-Wall -Wextra)
if(STRETTO_WERROR)
  add_compile_options(-Werror)
endif()

# One stream, one meaning: every path gives the same bits, so no multiply and add is fused behind our back.
add_compile_options(-ffp-contract=off)

# mpi.h without the C++ bindings that some MPIs still ship.
add_compile_definitions(MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)

set(STRETTO_KERNEL_CHECKS)  # options of the codec's kernels
if(STRETTO_SANITIZE STREQUAL "address")
  set(_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
  # A check of all arithmetic on pointers doubles the time that kernels take to compile. AddressSanitizer checks what they access.
  set(STRETTO_KERNEL_CHECKS -fno-sanitize=pointer-overflow)
elseif(STRETTO_SANITIZE STREQUAL "thread")
  set(_flags -fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # fences order the codec's non-temporal stores, which no other thread reads yet
  endif()
elseif(STRETTO_SANITIZE)
  message(FATAL_ERROR "STRETTO_SANITIZE is '${STRETTO_SANITIZE}'; it takes 'address', 'thread' or nothing")
endif()
if(STRETTO_SANITIZE)
  add_compile_options(${_flags} -fno-omit-frame-pointer -g1)  # lines: a report needs no more
  add_link_options(${_flags})
  add_compile_definitions(STRETTO_SANITIZED)  # compilers differ in what they define themselves
endif()

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT DEFINED ENV{CCACHE_DISABLE})  # without it, the build is one with precompiled headers
  foreach(language IN ITEMS C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    endif()
  endforeach()
endif()

# stretto_check_choice(OPTION): that an option is AUTO, ON or OFF.
function(stretto_check_choice option)
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  if(NOT "${${option}}" MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${option} is '${${option}}'; it takes AUTO, ON or OFF")
  endif()
endfunction()

# stretto_quick_to_build(FILE...): files that run once, such as those that read arguments, whose libraries take long to optimise.
set(STRETTO_QUICK_FLAGS $<$<CONFIG:Release>:-O1>)
function(stretto_quick_to_build)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS ${STRETTO_QUICK_FLAGS} SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# stretto_quick_program(TARGET [FAST file...]): a program or its parts, whose time goes into our library, and into arguments and JSON. The files
# after FAST hold loops of its own, and know neither: the functions of CLI11's headers alone cost a compilation seconds.
function(stretto_quick_program target)
  cmake_parse_arguments(arg "" "" "FAST" ${ARGN})
  target_compile_options(${target} PRIVATE ${STRETTO_QUICK_FLAGS})
  set_source_files_properties(${arg_FAST} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3> SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# stretto_install(TARGET ...): install(TARGETS TARGET ...). The target stretto_installed builds all that is installed, and no test.
add_custom_target(stretto_installed)
function(stretto_install target)
  install(TARGETS ${target} ${ARGN})
  add_dependencies(stretto_installed ${target})
endfunction()

# Adds a directory when it is there. Under a sanitizer the libraries and programs are built only where a test needs them.
function(stretto_add_directory directory)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${directory}/CMakeLists.txt)
    return()
  endif()
  if(STRETTO_SANITIZE AND NOT directory MATCHES "^tests/")
    add_subdirectory(${directory} EXCLUDE_FROM_ALL)
  else()
    add_subdirectory(${directory})
  endif()
endfunction()
