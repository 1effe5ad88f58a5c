# stretto_bench(NAME SOURCES ... LIBS ...): the program bench_NAME, which `make bench-NAME` runs (scripts/bench). It takes
# --json FILE and appends rows there (timing/rows.hpp). Where bench/run_NAME.py stands, `make bench-NAME` runs that instead:
# it drives the program, for example across several hosts. `make bench` runs all, in the order of these calls. They are
# built for that (all of them by the target `benches`), not with everything else.
function(stretto_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE ${arg_LIBS} nlohmann_json::nlohmann_json fmt::fmt CLI11::CLI11)
  stretto_program_headers(bench_${name})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  set_property(GLOBAL APPEND_STRING PROPERTY STRETTO_BENCH_NAMES "${name}\n")
endfunction()

# stretto_bench_script(NAME TARGET...): a benchmark that is bench/run_NAME.py alone, over these programs.
function(stretto_bench_script name)
  add_custom_target(bench_${name} DEPENDS ${ARGN})
  set_property(GLOBAL APPEND_STRING PROPERTY STRETTO_BENCH_NAMES "${name}\n")
endfunction()

# The names, for scripts/bench; called once all directories are in.
function(stretto_write_bench_names)
  get_property(names GLOBAL PROPERTY STRETTO_BENCH_NAMES)
  file(WRITE ${PROJECT_BINARY_DIR}/bench/names "${names}")
  string(REGEX REPLACE "([^\n]+)\n" "bench_\\1;" targets "${names}")
  list(REMOVE_ITEM targets "")
  add_custom_target(benches DEPENDS ${targets})
endfunction()
