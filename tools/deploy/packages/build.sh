#!/usr/bin/env bash
# Builds the Debian packages from a copy of this source tree; they are then in build/package.
set -euo pipefail
cd "$(dirname "$0")/../../.."

rm -rf build/package
mkdir -p build/package/source
tar --create --exclude-vcs --exclude='./build*' --exclude=__pycache__ --exclude=.pytest_cache . |
  tar --extract --directory build/package/source
# debhelper hides the home folder, where ccache would look for its settings.
if command -v ccache >/dev/null; then
  CCACHE_DIR="$(ccache --get-config cache_dir)"
  export CCACHE_DIR
fi
cd build/package/source
ln --symbolic tools/deploy/debian debian  # where dpkg-buildpackage looks for it
dpkg-buildpackage --build=binary --no-sign --jobs="${JOBS:-$(nproc)}"
