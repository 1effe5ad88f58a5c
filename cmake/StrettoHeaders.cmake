# Precompiled headers: a third of the time that a file takes would go into the same headers of others. They are no substitute for an
# #include. With ccache they are off, since it does better by itself, and for Clang, which wants the same macros
# everywhere: so the build with AddressSanitizer finds an #include that is missing, as does -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
if("${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES ccache OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# stretto_precompiled_headers(TARGET...): libraries of ours, which all have the compiler's flags of stretto_base.
function(stretto_precompiled_headers)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM stretto_base)
  endforeach()
endfunction()

# stretto_test_headers(TARGET...): programs with GoogleTest, and the flags of stretto_test_program.
function(stretto_test_headers)
  if(NOT TARGET stretto_test_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cpp CONTENT "")
    add_library(stretto_test_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_headers.cpp)
    target_precompile_headers(stretto_test_headers PRIVATE
      <gtest/gtest.h> <algorithm> <cmath> <cstring> <functional> <limits> <map> <numeric> <random> <set> <string> <thread> <vector>)
    target_link_libraries(stretto_test_headers PRIVATE GTest::gtest)
    target_compile_options(stretto_test_headers PRIVATE -fPIE ${STRETTO_TEST_FLAGS})
    set_target_properties(stretto_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM stretto_test_headers)
  endforeach()
endfunction()
