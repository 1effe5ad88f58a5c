# The CUDA plugin and the programs that need a GPU, where an nvcc is found: on the PATH, in CUDA's usual place, or CUDA's wheels in .venv. They are built by
# `make gpu` (targets stretto_cuda, gpu_check, bench_gpu), not by default: no machine needs CUDA to build stretto. nvcc is called
# directly, since CMake's own support of CUDA does not know the wheels.
include(GNUInstallDirs)
file(GLOB _wheels ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu*/bin)
find_program(STRETTO_NVCC nvcc HINTS ${_wheels} PATHS /usr/local/cuda/bin DOC "The CUDA compiler")
set(STRETTO_CUDA_ARCHITECTURES 80 90 100 CACHE STRING "Architectures of the plugin's machine code; PTX is that of the first")
set(STRETTO_CUDA_TESTED 90)  # the one that tests compile for where there is no GPU
set(STRETTO_CUDA_CODE)
foreach(architecture IN LISTS STRETTO_CUDA_ARCHITECTURES)
  list(APPEND STRETTO_CUDA_CODE -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET STRETTO_CUDA_ARCHITECTURES 0 architecture)
list(APPEND STRETTO_CUDA_CODE -gencode arch=compute_${architecture},code=compute_${architecture})

# Nothing may change a bit: no contraction; denormals, division and square roots are exact by default.
set(STRETTO_NVCC_FLAGS -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)

# stretto_nvcc_object(RESULT DIRECTORY file.cu [FLAGS ...]): a variable RESULT with the object that nvcc makes of it, in a directory of the build.
# What the compiler says of registers and stacks goes to OBJECT.report, which tests/codec/cuda/registers.py reads.
function(stretto_nvcc_object result directory file)
  get_filename_component(name ${file} NAME_WE)
  get_filename_component(file ${file} ABSOLUTE)
  set(directory ${PROJECT_BINARY_DIR}/${directory})
  set(object ${directory}/${name}.o)
  add_custom_command(OUTPUT ${object} BYPRODUCTS ${object}.report DEPENDS ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${directory}
    COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/with_report.sh ${object}.report
            ${STRETTO_NVCC} ${STRETTO_NVCC_FLAGS} ${ARGN} -Xptxas -v -Xcompiler -fPIC,-Wall,-Wextra,-fvisibility=hidden
            -MD -MF ${object}.d -MT ${object} -c ${file} -o ${object}
    DEPFILE ${object}.d COMMENT "nvcc ${name}.cu" VERBATIM)
  set(${result} ${object} PARENT_SCOPE)
endfunction()

# stretto_cuda_plugin(NAME files ...): the library NAME (libNAME.so), for every architecture; installed beside libstretto if it was built.
# The global property STRETTO_CUDA_OBJECTS_FOR_TESTS has the objects for one architecture, which tests have compiled in a third of the time.
function(stretto_cuda_plugin target)
  foreach(file IN LISTS ARGN)
    stretto_nvcc_object(object cuda ${file} -t0 ${STRETTO_CUDA_CODE})
    list(APPEND objects ${object})
    stretto_nvcc_object(object cuda-test ${file} -gencode arch=compute_${STRETTO_CUDA_TESTED},code=sm_${STRETTO_CUDA_TESTED})
    list(APPEND objects_for_tests ${object})
  endforeach()
  set_property(GLOBAL PROPERTY STRETTO_CUDA_OBJECTS_FOR_TESTS ${objects_for_tests})
  add_custom_target(${target}_for_tests DEPENDS ${objects_for_tests})
  set(library ${PROJECT_BINARY_DIR}/cuda/lib${target}.so)
  add_custom_command(OUTPUT ${library} DEPENDS ${objects}
    COMMAND ${STRETTO_NVCC} -shared -cudart static ${objects} -o ${library} COMMENT "link lib${target}.so" VERBATIM)
  add_custom_target(${target} DEPENDS ${library})
  install(FILES ${library} DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endfunction()

# stretto_cuda_program(NAME file.cu [FLAGS ...] [OBJECTS ...]): a program that uses CUDA's runtime and stretto's functions on streams. It takes
# those from an archive, so that it starts on a machine without an MPI, and finds the plugin beside itself.
function(stretto_cuda_program target file)
  cmake_parse_arguments(arg "" "" "FLAGS;OBJECTS" ${ARGN})
  if(NOT TARGET stretto_api_archive)
    add_library(stretto_api_archive STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:stretto_api>)
    set_target_properties(stretto_api_archive PROPERTIES LINKER_LANGUAGE CXX)  # its objects may be of another build
  endif()
  stretto_nvcc_object(object cuda ${file} ${arg_FLAGS})
  set(program ${PROJECT_BINARY_DIR}/cuda/${target})
  set(libraries $<TARGET_FILE:stretto_api_archive> $<TARGET_FILE:stretto_call> $<TARGET_FILE:stretto_device> $<TARGET_FILE:stretto_payload>
    $<TARGET_FILE:stretto_codec> $<TARGET_FILE:stretto_base>)
  foreach(name IN ITEMS fmt hwy)  # as archives too, where there are such
    find_library(STRETTO_STATIC_${name} NAMES lib${name}.a ${name})
    list(APPEND libraries ${STRETTO_STATIC_${name}})
  endforeach()
  set(files ${arg_OBJECTS})
  list(FILTER files EXCLUDE REGEX "^-")  # what remains are files; the linker's options are none
  add_custom_command(OUTPUT ${program} DEPENDS ${object} ${files} stretto_api_archive stretto_call stretto_device stretto_payload stretto_codec stretto_base
    COMMAND ${STRETTO_NVCC} -cudart static ${object} ${arg_OBJECTS} -o ${program} -Xlinker --as-needed ${libraries} -lpthread -ldl COMMENT "link ${target}" VERBATIM)
  add_custom_target(${target} DEPENDS ${program})
endfunction()

# stretto_cuda_peer(RESULT FLAGS flags ... FILES files ...): objects of a peer's sources, which the user has, with their authors' flags in
# place of ours, and without warnings.
function(stretto_cuda_peer result)
  cmake_parse_arguments(arg "" "" "FLAGS;FILES" ${ARGN})
  set(STRETTO_NVCC_FLAGS -w ${arg_FLAGS})
  foreach(file IN LISTS arg_FILES)
    stretto_nvcc_object(object cuda-peer ${file} ${STRETTO_CUDA_CODE})
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()
