#!/usr/bin/env bash
# Builds and tests this source tree in a minimal Debian of its own, in which LibTorch was never installed: `make demo`
# with its times, what the programs are linked with, and the tests that need neither the reference nor PyTorch.
# Needs some 4 GB in the folder of temporary files. Nothing is installed on this machine.
#   minimal.sh [demo]   demo: without the tests
set -euo pipefail
cd "$(dirname "$0")/../../.."

folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/source"
# .git: tests list the files of the repository.
tar --create --exclude='./build*' --exclude=__pycache__ --exclude=.pytest_cache . |
  tar --extract --directory "$folder/source"
chmod -R a+rX "$folder"
mmdebstrap --variant=minbase --include=ca-certificates,make,git,time \
  --customize-hook="copy-in $folder/source /" \
  --customize-hook="chroot \"\$1\" env JOBS=${JOBS:-$(nproc)} sh /source/tools/deploy/packages/in_minimal_system.sh ${1:-}" \
  "$(. /etc/os-release && echo "$VERSION_CODENAME")" /dev/null - <<<"$(tools/debian_sources.sh)"
