# CMake's toolchain file for WebAssembly with SIMD: Debian's emscripten and the libraries in build/wasm/root
# (tools/cross/wasm_root.sh). Programs run in Node.js.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
cmake_path(ABSOLUTE_PATH CMAKE_CURRENT_LIST_DIR NORMALIZE OUTPUT_VARIABLE cross_folder)
cmake_path(SET wasm_root NORMALIZE "${cross_folder}/../../build/wasm/root")
set(CMAKE_C_FLAGS_INIT "-msimd128")
# Exceptions of WebAssembly itself cost nothing where none is thrown.
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fwasm-exceptions")

# Where emscripten finds its JavaScript when Node.js is not Debian's.
set(ENV{NODE_PATH} /usr/share/nodejs)

# Programs are this machine's, everything else is the root's or emscripten's.
list(APPEND CMAKE_FIND_ROOT_PATH "${wasm_root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${wasm_root}/lib/pkgconfig:${wasm_root}/share/pkgconfig")
