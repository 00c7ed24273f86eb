#!/usr/bin/env bash
# Builds and tests this source tree in a minimal Debian of its own, in which LibTorch was never installed: `make demo`
# with its times, what the programs are linked with, and the tests that need neither the reference nor PyTorch.
# Needs some 4 GB in the folder of temporary files. Nothing is installed on this machine.
#   minimal.sh        all of that, compiled anew
#   minimal.sh demo   without the tests
#   minimal.sh serve [CODENAME]  README's `make demo` and `make serve`, instead of the tests: the server answers a
#                     request. CODENAME: of the Debian, e.g. trixie; by default that of this machine.
#   minimal.sh build  every library and program instead of the tests. Compiled with this machine's ccache: what was
#                     compiled here before, of the same headers, is not compiled again. Times mean nothing then.
set -euo pipefail
cd "$(dirname "$0")/../../.."

part="${1:-tests}"
[[ "$part" == tests || "$part" == demo || "$part" == serve || "$part" == build ]] ||
  { echo "minimal: '$part', expected nothing, demo, serve or build" >&2; exit 1; }
own="$(. /etc/os-release && echo "$VERSION_CODENAME")"
codename="${2:-$own}"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
# At the path that it has here, for ccache. .git: tests list the files of the repository.
mkdir -p "$folder/root$PWD"
tar --create --exclude='./build*' --exclude=__pycache__ --exclude=.pytest_cache . |
  tar --extract --directory "$folder/root$PWD"
chmod -R a+rX "$folder"
export CHECKOUT="$PWD" JOBS="${JOBS:-$(nproc)}" PART="$part" CACHE=""
# shellcheck disable=SC2016  # $1 is the folder of the system
enter='chroot "$1" sh "$CHECKOUT/tools/deploy/packages/in_minimal_system.sh" "$PART"'
if [[ "$part" == build ]]; then
  # Mounted in a namespace of its own: nothing that removes the system afterwards can reach the cache.
  CACHE="$(ccache --get-config cache_dir)"
  mkdir -p "$CACHE" "$folder/root/ccache"
  enter="unshare --mount sh -ec 'mount --bind \"\$CACHE\" \"\$1/ccache\"; CCACHE_DIR=/ccache $enter' - \"\$1\""
fi
mmdebstrap --variant=minbase --include=ca-certificates,curl,make,git,time --aptopt='Acquire::Retries "3"' \
  --customize-hook="sync-in $folder/root /" \
  --customize-hook="$enter" \
  "$codename" /dev/null - <<<"$(tools/debian_sources.sh | sed "s/ $own/ $codename/")"
