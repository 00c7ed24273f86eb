#!/usr/bin/env bash
# Builds the libraries of decode_wav for Windows into build/windows/root, with Debian's mingw-w64. A root that is
# complete stays.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck disable=SC2034  # libraries.sh reads it
system=windows
. tools/cross/libraries.sh
if root_is_complete; then
  exit 0
fi
fetch_sources libogg libvorbis opus flac libsndfile libsoxr kissfft libzip gflags

# Debian has zlib for Windows. Beside its library for DLLs, the static one would not be found.
cp /usr/x86_64-w64-mingw32/lib/libz.a "$root/lib"
cp /usr/x86_64-w64-mingw32/include/{zlib,zconf}.h "$root/include"
build_library libogg -D INSTALL_DOCS=OFF
build_library libvorbis
touch "$(echo "$work"/opus-[0-9]*/)opus_buildtype.cmake"  # which this release lacks; it sets the default type of a build
build_library opus -D OPUS_STACK_PROTECTOR=OFF
build_library flac -D BUILD_CXXLIBS=OFF -D BUILD_PROGRAMS=OFF -D BUILD_EXAMPLES=OFF -D BUILD_DOCS=OFF \
  -D INSTALL_MANPAGES=OFF -D WITH_FORTIFY_SOURCE=OFF -D WITH_STACK_PROTECTOR=OFF
build_library libsndfile -D ENABLE_MPEG=OFF -D BUILD_PROGRAMS=OFF -D BUILD_EXAMPLES=OFF -D ENABLE_CPACK=OFF \
  -D CMAKE_C_FLAGS="-DFLAC__NO_DLL -Wa,-muse-unaligned-vector-move"
build_library libsoxr -D BUILD_TESTS=OFF -D BUILD_EXAMPLES=OFF -D WITH_OPENMP=OFF -D WITH_LSR_BINDINGS=OFF
# libsoxr installs none for Windows.
cat >"$root/lib/pkgconfig/soxr.pc" <<END
Name: soxr
Description: High quality, one-dimensional sample-rate conversion library
Version: $(cd "$work" && echo libsoxr-[0-9]* | sed 's/libsoxr-//')
Libs: -L$root/lib -lsoxr
Cflags: -I$root/include
END
# Compiled as Debian does: another optimization would round spectra differently.
build_library kissfft -D KISSFFT_DATATYPE=float -D KISSFFT_STATIC=ON -D KISSFFT_TEST=OFF -D KISSFFT_TOOLS=OFF \
  -D CMAKE_BUILD_TYPE=None -D CMAKE_C_FLAGS="-O3 -Wa,-muse-unaligned-vector-move"
build_library libzip -D BUILD_TOOLS=OFF -D BUILD_REGRESS=OFF -D BUILD_EXAMPLES=OFF -D BUILD_DOC=OFF \
  -D ENABLE_BZIP2=OFF -D ENABLE_LZMA=OFF -D ENABLE_GNUTLS=OFF -D ENABLE_MBEDTLS=OFF -D ENABLE_OPENSSL=OFF \
  -D ENABLE_WINDOWS_CRYPTO=OFF
build_library gflags -D BUILD_gflags_nothreads_LIB=OFF -D REGISTER_INSTALL_PREFIX=OFF
copy_headers
finish_root
