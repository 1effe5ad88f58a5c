# STRETTO_GLIBC=2.28: what is built here loads with glibc 2.28 and GCC 8's libstdc++, and needs no shared library of fmt or hwloc: for wheels. The
# objects are compiled as ever, and linked against stubs (glibc/stubs.py).
set(STRETTO_GLIBC "" CACHE STRING "The oldest glibc to load with: empty (this system's) or 2.28")
set_property(CACHE STRETTO_GLIBC PROPERTY STRINGS "" 2.28)
# Where an MPI's libraries were linked: paths that programs of this system may look into, and those of a wheel may not.
set(STRETTO_RPATH_OF_LINKS ON)
if(NOT STRETTO_GLIBC)
  return()
elseif(NOT STRETTO_GLIBC STREQUAL "2.28" OR STRETTO_SANITIZE)
  message(FATAL_ERROR "STRETTO_GLIBC is '${STRETTO_GLIBC}'; it takes 2.28 or nothing, and under a sanitizer nothing")
endif()
# No path of this build, so that its place changes no byte.
set(STRETTO_RPATH_OF_LINKS OFF)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=stretto -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The directory's name follows its sources, so that a change of these links everything again.
file(GLOB _sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/glibc/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_sources})
set(_sums "")
foreach(source IN LISTS _sources)
  file(SHA256 ${source} _sum)
  string(APPEND _sums ${_sum})
endforeach()
string(SHA256 _sum "${_sums}")
string(SUBSTRING ${_sum} 0 8 _sum)
set(STRETTO_GLIBC_STUBS ${PROJECT_BINARY_DIR}/glibc/${_sum})

set(_flags "")
if(CMAKE_SYSROOT)
  set(_flags --sysroot=${CMAKE_SYSROOT})
endif()
execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/glibc/stubs.py ${STRETTO_GLIBC_STUBS} ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${_flags}
  COMMAND_ERROR_IS_FATAL ANY)
add_link_options(-L${STRETTO_GLIBC_STUBS} LINKER:--wrap=__libc_start_main LINKER:--exclude-libs,libstdc++.a:libstretto_glibc.a:libstretto_fmt.a:libhwloc.a
  LINKER:--as-needed LINKER:--allow-shlib-undefined)
