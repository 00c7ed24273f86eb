#!/usr/bin/env bash
# Builds the libraries of the engine for WebAssembly into build/wasm/root, with Debian's emscripten. A root that is
# complete stays.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck disable=SC2034  # libraries.sh reads it
system=wasm
. tools/cross/libraries.sh
if root_is_complete; then
  exit 0
fi
# Where emscripten finds its JavaScript when Node.js is not Debian's.
export NODE_PATH=/usr/share/nodejs
fetch_sources zlib libzip libsoxr kissfft

# Debian's zlib lacks a file that its CMakeLists.txt names.
echo "wasm_root: zlib"
(
  cd "$work"/zlib-[0-9]*/
  CC=emcc AR=emar RANLIB=emranlib CFLAGS=-O3 ./configure --static --prefix="$root"
  make install
) >"$work/zlib.log" 2>&1 || {
  tail -20 "$work/zlib.log" >&2
  exit 1
}
# The sizes are asked of a program, which Node.js 18 and later do not run.
build_library libzip -D HAVE_SIZEOF_OFF_T=TRUE -D SIZEOF_OFF_T=8 -D HAVE_SIZEOF_SIZE_T=TRUE -D SIZEOF_SIZE_T=4 \
  -D BUILD_TOOLS=OFF -D BUILD_REGRESS=OFF -D BUILD_EXAMPLES=OFF -D BUILD_DOC=OFF \
  -D ENABLE_BZIP2=OFF -D ENABLE_LZMA=OFF -D ENABLE_GNUTLS=OFF -D ENABLE_MBEDTLS=OFF -D ENABLE_OPENSSL=OFF
# Its code for SSE, the same as on a PC, which emscripten translates. The code without SIMD calls functions by pointers
# of other types, at which WebAssembly stops.
build_library libsoxr -D BUILD_TESTS=OFF -D WITH_OPENMP=OFF -D WITH_LSR_BINDINGS=OFF -D WITH_CR32=OFF -D WITH_CR64=OFF \
  -D WITH_CR64S=OFF -D WITH_VR32=OFF -D WITH_DEV_TRACE=OFF -D CMAKE_C_FLAGS="-msimd128 -msse -D_M_X64"
build_library kissfft -D KISSFFT_DATATYPE=float -D KISSFFT_STATIC=ON -D KISSFFT_TEST=OFF -D KISSFFT_TOOLS=OFF \
  -D CMAKE_BUILD_TYPE=None -D CMAKE_C_FLAGS="-O3 -msimd128"
copy_headers
finish_root
