# How tests are registered. Each test carries the label of its directory (tests/codec: `codec`) unless LABEL says
# otherwise, and a time limit, so that a hang is a failure with a name.
include(GoogleTest)

# Test code is not optimised, since it takes longer to build than to run. A directory whose test code runs long, or
# contains loops of the library, sets STRETTO_TEST_FLAGS to STRETTO_BUSY_TEST_FLAGS.
set(STRETTO_TEST_FLAGS $<$<CONFIG:Release>:-O0>)
if(STRETTO_SANITIZE STREQUAL "address")
  set(STRETTO_TEST_FLAGS -O0)
endif()
set(STRETTO_BUSY_TEST_FLAGS $<$<CONFIG:Release>:-O1>)

add_custom_target(mpi_tests)  # every program that stretto_mpi_test runs; without an MPI, none

# stretto_long_program(NAME): the program serves tests of label `long` alone, and is built by the target `long_tests`. Until then ctest shows
# its tests as one, NAME_NOT_BUILT.
add_custom_target(long_tests)
function(stretto_long_program name)
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(long_tests ${name})
endfunction()

# _stretto_test_code(NAME LIBRARY ...): flags and headers of test code that uses these libraries.
function(_stretto_test_code name)
  target_compile_options(${name} PRIVATE ${STRETTO_TEST_FLAGS})
  if("MPI::MPI_C" IN_LIST ARGN)
    stretto_test_headers(${name} MPI)
  else()
    stretto_test_headers(${name})
  endif()
endfunction()

# stretto_test_library(NAME SOURCES ... LIBS ...): what several test programs, and no shared library, contain.
function(stretto_test_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LIBS} GTest::gtest Threads::Threads)
  target_compile_options(${name} PRIVATE -fPIE)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  _stretto_test_code(${name} ${arg_LIBS})
endfunction()

# stretto_test_program(NAME SOURCES ... LIBS ...): a program with GoogleTest that is no test by itself.
function(stretto_test_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest Threads::Threads)
  list(LENGTH arg_SOURCES count)
  if(count GREATER 5)
    stretto_compile_together(${name})
  endif()
  _stretto_test_code(${name} ${arg_LIBS})
endfunction()

# stretto_test(NAME SOURCES ... LIBS ... [LABEL label] [TIMEOUT seconds] [PROCESSORS n] [WAITING filter] [WHOLE])
# A GoogleTest program NAME. Each of its tests is an entry of ctest; with WHOLE (many tiny tests) the program is one.
# PROCESSORS 2 is for tests that keep both cores of a small machine busy. WAITING, a filter of GoogleTest, names those that mostly wait: they take 1.
function(stretto_test name)
  cmake_parse_arguments(arg "WHOLE" "LABEL;TIMEOUT;PROCESSORS;WAITING" "SOURCES;LIBS" ${ARGN})
  _stretto_test_defaults()
  stretto_test_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} GTest::gtest_main)
  if(arg_LABEL STREQUAL "long")
    stretto_long_program(${name})
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS})
  else()
    set(discovery NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 TEST_PREFIX ${name}.)
    set(others)
    if(arg_WAITING)
      gtest_discover_tests(${name} ${discovery} TEST_LIST ${name}_waiting TEST_FILTER ${arg_WAITING}
        PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS 1)
      set(others TEST_FILTER -${arg_WAITING})
    endif()
    gtest_discover_tests(${name} ${discovery} ${others}
      PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS})
  endif()
endfunction()

# stretto_mpi_test(NAME TARGET program RANKS 1 2 3 ... [WIDE 4 7 ...] [ARGS ...] [LABEL label] [TIMEOUT seconds])
# Runs an existing program once for each number of ranks, as NAME.pN, under the launcher of the MPI of this build. The numbers after WIDE
# repeat the test on more ranks, with the label `wide` besides: `make test` leaves them to `make test-all`. RANKS has an even and an odd one.
# Ranks may exceed cores (scripts/launch). The label is `mpi` unless given. Starting and ending an MPI is mostly waiting, so that few
# ranks count as one processor: another test runs meanwhile.
function(stretto_processors_of ranks result)
  if(ranks GREATER 3)
    set(${result} 2 PARENT_SCOPE)
  else()
    set(${result} 1 PARENT_SCOPE)
  endif()
endfunction()

function(stretto_mpi_test name)
  cmake_parse_arguments(arg "" "TARGET;LABEL;TIMEOUT" "RANKS;WIDE;ARGS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL mpi)
  endif()
  _stretto_test_defaults()
  add_dependencies(mpi_tests ${arg_TARGET})
  foreach(ranks IN LISTS arg_RANKS arg_WIDE)
    add_test(NAME ${name}.p${ranks}
      COMMAND ${PROJECT_SOURCE_DIR}/scripts/launch ${MPIEXEC_EXECUTABLE} ${ranks} $<TARGET_FILE:${arg_TARGET}> ${arg_ARGS})
    stretto_processors_of(${ranks} processors)
    set_tests_properties(${name}.p${ranks} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors})
  endforeach()
  _stretto_wide(${name} ${arg_WIDE})
endfunction()

# _stretto_wide(NAME n ...): the label `wide` for NAME.pn.
function(_stretto_wide name)
  foreach(ranks IN LISTS ARGN)
    set_property(TEST ${name}.p${ranks} APPEND PROPERTY LABELS wide)
  endforeach()
endfunction()

# stretto_ucx_test(NAME TARGET program RANKS 1 2 3 ... [WIDE 7 ...] [ARGS ...] [CONNECTIONS n] [CORES list] [TIMEOUT seconds]): the same over UCX, for ranks that meet in a
# store, without an MPI's launcher, with n connections between two of them, and with communication cores. Without UCX's library they are skipped,
# with the reason.
function(stretto_ucx_test name)
  cmake_parse_arguments(arg "" "TARGET;CONNECTIONS;CORES;TIMEOUT" "RANKS;WIDE;ARGS" ${ARGN})
  set(arg_LABEL ucx)
  _stretto_test_defaults()
  foreach(ranks IN LISTS arg_RANKS arg_WIDE)
    add_test(NAME ${name}.p${ranks}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/modules/ranks.py ${ranks} $<TARGET_FILE:${arg_TARGET}> ${arg_ARGS})
    stretto_processors_of(${ranks} processors)
    set_tests_properties(${name}.p${ranks} PROPERTIES
      LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors} SKIP_RETURN_CODE 77
      ENVIRONMENT "STRETTO_CONNECTIONS=${arg_CONNECTIONS};STRETTO_COMM_CORES=${arg_CORES}")
  endforeach()
  _stretto_wide(${name} ${arg_WIDE})
endfunction()

# stretto_hosts_test(NAME TARGET program HOSTS n [SLOTS ranks-a-host] [BY_NODE] [RATE 1gbit] [ARGS ...] [TIMEOUT seconds])
# Runs an existing program across several hosts made on this machine (tests/hosts/hosts.py), with a rank in each slot. SLOTS may name
# those of each host, as in 1,2,3. BY_NODE places the ranks by turns; skipped, with
# a reason in its output, where the machine does not permit them.
function(stretto_hosts_test name)
  cmake_parse_arguments(arg "BY_NODE" "TARGET;HOSTS;SLOTS;RATE;LABEL;TIMEOUT" "ARGS" ${ARGN})
  if(NOT arg_SLOTS)
    set(arg_SLOTS 1)
  endif()
  set(placed)
  if(arg_BY_NODE)
    set(placed --by-node)
  endif()
  if(NOT arg_RATE)
    set(arg_RATE 1gbit)
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL hosts)
  endif()
  _stretto_test_defaults()
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/hosts/hosts.py run --mpirun ${MPIEXEC_EXECUTABLE}
            --hosts ${arg_HOSTS} --slots ${arg_SLOTS} ${placed} --rate ${arg_RATE} -- $<TARGET_FILE:${arg_TARGET}> ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS 2 SKIP_RETURN_CODE 77)
endfunction()

add_custom_target(fuzz_targets)

# stretto_fuzz_test(NAME SOURCES ... LIBS ... [CORPUS directory])
# A libFuzzer program (LLVMFuzzerTestOneInput). It needs Clang; the caller checks STRETTO_CAN_FUZZ first. ctest replays
# the stored corpus and fuzzes on for STRETTO_FUZZ_SECONDS, new inputs staying in the build directory; NAME.corpus, of label `corpora`,
# does so for 5 seconds and keeps none.
function(stretto_fuzz_test name)
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${name})
  set(limits -timeout=20 -rss_limit_mb=4096)
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}.found)
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${STRETTO_FUZZ_SECONDS} ${limits} ${found} ${arg_CORPUS})
  math(EXPR most "${STRETTO_FUZZ_SECONDS} + 120")
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${most})
  file(GLOB stored CONFIGURE_DEPENDS ${arg_CORPUS}/*)
  if(NOT stored)
    message(FATAL_ERROR "fuzz target ${name} has no stored inputs in ${arg_CORPUS}")
  endif()
  list(JOIN stored "," stored)
  file(WRITE ${found}.stored "${stored}")
  add_test(NAME ${name}.corpus COMMAND ${name} -max_total_time=5 ${limits} -seed_inputs=@${found}.stored)
  set_tests_properties(${name}.corpus PROPERTIES LABELS corpora TIMEOUT 120)
endfunction()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND STRETTO_SANITIZE STREQUAL "address")
  set(STRETTO_CAN_FUZZ TRUE)
else()
  set(STRETTO_CAN_FUZZ FALSE)
endif()

macro(_stretto_test_defaults)
  if(NOT arg_LABEL)
    get_filename_component(arg_LABEL ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
endmacro()
