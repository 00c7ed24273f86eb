# Builds static libraries for another system from the sources of their Debian packages, which come from the mirrors of
# this machine. Sourced by the scripts that do so, in the root of the checkout, with
#   system   "wasm" or "windows": of the toolchain file tools/cross/$system.cmake and of the folder build/$system
# Afterwards $root is the folder that the libraries are installed into, and $work one for their build.
# shellcheck shell=bash disable=SC2154

root="$PWD/build/$system/root"
work="$PWD/build/$system/libraries"
jobs="${JOBS:-$(nproc)}"

# Whether an earlier run has finished the root.
root_is_complete() { [[ -e "$root/complete" ]]; }

# fetch_sources PACKAGE...: begins a new root and unpacks the source packages into $work.
fetch_sources() {
  rm -rf "$root" "$work"
  mkdir -p "$root/lib/pkgconfig" "$root/include" "$work/lists/partial"
  # Of two mirrors with the same version apt asks the first. That of security updates lacks some files.
  tools/debian_sources.sh | sed 's/^deb /deb-src /' | sort --reverse >"$work/sources.list"
  # apt's settings of this machine stay as they are.
  local apt_get=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$work/lists" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache=
    -o APT::Sandbox::User=root)
  "${apt_get[@]}" update
  (cd "$work" && "${apt_get[@]}" source "$@" >apt.log 2>&1) || {
    tail -5 "$work/apt.log" >&2
    return 1
  }
}

# build_library SOURCE [option of cmake ...]: builds and installs the library of the folder $work/SOURCE-*.
build_library() {
  local name="$1" folder="" log=""
  folder="$(echo "$work/$name"-[0-9]*/)"
  log="$work/$name.log"
  shift
  echo "${system}_root: $name"
  {
    cmake -S "$folder" -B "$work/build/$name" -G Ninja --toolchain "$PWD/tools/cross/$system.cmake" \
      -D CMAKE_INSTALL_PREFIX="$root" -D CMAKE_INSTALL_LIBDIR=lib -D CMAKE_INSTALL_INCLUDEDIR=include \
      -D CMAKE_BUILD_TYPE=Release -D BUILD_SHARED_LIBS=OFF -D BUILD_TESTING=OFF "$@" &&
      cmake --build "$work/build/$name" --parallel "$jobs" &&
      cmake --install "$work/build/$name"
  } >"$log" 2>&1 || {
    tail -20 "$log" >&2
    echo "${system}_root: $name was not built; $log says why" >&2
    return 1
  }
}

# Highway, xxHash and nlohmann/json: headers alone, the same for every system.
copy_headers() {
  cp -r /usr/include/hwy /usr/include/xxhash.h /usr/include/nlohmann "$root/include"
  mkdir -p "$root/share/cmake"
  cp -r /usr/share/cmake/nlohmann_json "$root/share/cmake"
}

# finish_root: the root is complete.
finish_root() {
  rm -rf "$work"
  touch "$root/complete"
}
