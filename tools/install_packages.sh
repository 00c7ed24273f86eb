#!/usr/bin/env bash
# Installs the Debian packages that Runnel needs, those that are missing and no others, with apt. Of another system it
# prints what it needs.
#   tools/install_packages.sh build   what `make demo` needs: compiler, CMake, libraries
#   tools/install_packages.sh reference  the same, and LibTorch, for the reference (docs/models.md)
#   tools/install_packages.sh python  the same, and what `pip install .` needs (docs/python.md)
#   tools/install_packages.sh wheel   what `make wheel` needs
#   tools/install_packages.sh minimal what the tests need without the reference and PyTorch (make minimal)
#   tools/install_packages.sh test    the same, and Python with PyTorch for `make test`; clients in JavaScript are
#                                     tested where Node.js and npm are, too
#   tools/install_packages.sh bench   what `make bench` needs besides Node.js and npm, which are optional
#   tools/install_packages.sh package what `make package` and `make image` need
#   tools/install_packages.sh arm64   what `make arm64` needs on this machine; the libraries for arm64 are fetched by
#                                     tools/cross/arm64_root.sh
#   tools/install_packages.sh windows what `make windows` needs on this machine; the libraries for Windows are built
#                                     by tools/cross/windows_root.sh
#   tools/install_packages.sh wasm    what `make wasm` needs: that of `build`, emscripten, Node.js and Chromium; the
#                                     libraries for WebAssembly are built by tools/cross/wasm_root.sh
#   tools/install_packages.sh check   what `make test` needs, clang for the sanitizers, linters for .ci/run, and
#                                     mmdebstrap for its build without LibTorch
# Runs apt as root or through sudo; when nothing is missing it asks for neither and ends at once.
set -euo pipefail

die() { echo "install_packages: $*" >&2; exit 1; }

packages=(
  g++ cmake ninja-build ccache pkg-config
  libsndfile1-dev libsoxr-dev libkissfft-dev libzip-dev libhwy-dev libxxhash-dev
  libogg-dev libopus-dev libavformat-dev libavcodec-dev libswresample-dev
  libboost-dev libssl-dev libhiredis-dev prometheus-cpp-dev
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  nlohmann-json3-dev libgflags-dev libgoogle-glog-dev libgtest-dev
)
reference_packages=(libtorch-dev libopenblas0-pthread)
python_packages=(python3 python3-dev python3-venv python3-pip python3-numpy)
wheel_packages=("${python_packages[@]}" patchelf)
minimal_packages=(
  "${wheel_packages[@]}" mypy python3-scipy python3-soundfile
  python3-yaml python3-pytest python3-matplotlib python3-onnx libbenchmark-dev
  chromium curl ffmpeg haproxy irstlm parallel python3-grpcio python3-protobuf python3-requests
  python3-websockets redis-server redis-tools
)
test_packages=("${reference_packages[@]}" "${minimal_packages[@]}" python3-torch python3-torchaudio)
bench_packages=("${reference_packages[@]}" libbenchmark-dev python3 python3-torch python3-numpy python3-matplotlib python3-onnx)
package_packages=("${reference_packages[@]}" debhelper dpkg-dev dh-python python3 python3-dev lintian mmdebstrap umoci)
arm64_packages=(cmake ninja-build ccache pkg-config g++-aarch64-linux-gnu qemu-user-static mmdebstrap)
windows_packages=(
  dpkg-dev g++-mingw-w64-x86-64-posix libz-mingw-w64-dev wine64
  python3 python3-pytest python3-numpy python3-soundfile
)
wasm_packages=(
  emscripten nodejs dpkg-dev chromium python3 python3-numpy python3-pytest python3-soundfile
)
check_packages=(clang libclang-rt-dev clang-format clang-tidy flake8 mmdebstrap)

set_name="${1:-}"
case "$set_name" in
  build) ;;
  reference) packages+=("${reference_packages[@]}") ;;
  python) packages+=("${python_packages[@]}") ;;
  wheel) packages+=("${wheel_packages[@]}") ;;
  minimal) packages+=("${minimal_packages[@]}") ;;
  test) packages+=("${test_packages[@]}") ;;
  bench) packages+=("${bench_packages[@]}") ;;
  package) packages+=("${package_packages[@]}") ;;
  arm64) packages=("${arm64_packages[@]}") ;;
  windows) packages+=("${windows_packages[@]}") ;;
  wasm) packages+=("${wasm_packages[@]}") ;;
  check) packages+=("${test_packages[@]}" "${check_packages[@]}") ;;
  *) die "say which packages: build, reference, python, wheel, minimal, test, bench, package, arm64, windows, wasm or check (not '$set_name')" ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install_packages: this is not a Debian system; install what these Debian packages hold: ${packages[*]}" >&2
  # A build goes on, and names what it does not find.
  case "$set_name" in build | reference | python | wheel) exit 0 ;; esac
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status="$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)"
  [[ "$status" == installed ]] || missing+=("$package")
done

if ((${#missing[@]} == 0)); then
  echo "packages ($set_name): all ${#packages[@]} are installed"
else
  as_root=(env)
  if (($(id -u) != 0)); then
    command -v sudo >/dev/null ||
      die "missing packages need root or sudo: apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo env)
  fi
  echo "packages ($set_name): installing with apt: ${missing[*]}"
  apt_get=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  "${apt_get[@]}" update || echo "install_packages: apt-get update failed; trying the lists that are here" >&2
  "${apt_get[@]}" install -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
fi

# LibTorch takes its matrix products from whatever libblas.so.3 is; the reference BLAS, also a Debian
# alternative, is many times slower. Debian chooses OpenBLAS by itself unless someone chose otherwise.
[[ " ${packages[*]} " == *" libopenblas0-pthread "* ]] || exit 0
for link in /etc/alternatives/libblas.so.3-*; do
  blas="$(readlink -f "$link")"
  if [[ "$blas" != *openblas* ]]; then
    echo "install_packages: warning: libblas.so.3 is $blas, not OpenBLAS; the reference may be many times" \
      "slower. To change it: sudo update-alternatives --auto $(basename "$link")" >&2
  fi
done
