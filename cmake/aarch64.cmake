# Toolchain file: builds for 64-bit Arm on another machine, whose tests then run under qemu-user. STRETTO_SYSROOT has the libraries
# (scripts/lib/cross.sh unpacks Debian's packages there).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(STRETTO_SYSROOT "" CACHE PATH "Root directory with the libraries and headers of the Arm machine")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STRETTO_SYSROOT)
set(CMAKE_SYSROOT ${STRETTO_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${STRETTO_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${STRETTO_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${STRETTO_SYSROOT}/usr/share/pkgconfig)

# QEMU_CPU chooses the processor, and with it the vectors that there are (scripts/test).
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${STRETTO_SYSROOT})
