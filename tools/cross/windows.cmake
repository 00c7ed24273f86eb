# CMake's toolchain file for 64-bit Windows: Debian's mingw-w64, the static libraries in build/windows/root
# (tools/cross/windows_root.sh), and wine to run programs. A program needs nothing but the DLLs of Windows.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR NORMALIZE OUTPUT_VARIABLE cross_folder)
cmake_path(SET windows_root NORMALIZE "${cross_folder}/../../build/windows/root")
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR "${cross_folder}/windows_run.sh")

# Windows aligns the stack to 16 bytes, and GCC moves vectors of AVX from and to it as if it were aligned to 32 or
# 64 (GCC bug 54412). Debian's compiler is patched; the assembler option is for others.
set(CMAKE_C_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")
set(CMAKE_CXX_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")

# Programs are this machine's, everything else is the root's or the compiler's.
set(CMAKE_FIND_ROOT_PATH "${windows_root}" /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(PKG_CONFIG_ARGN --static)
set(ENV{PKG_CONFIG_LIBDIR} "${windows_root}/lib/pkgconfig")
# The package of gflags looks for a library without threads, unless it is told.
set(GFLAGS_NOTHREADS OFF)
