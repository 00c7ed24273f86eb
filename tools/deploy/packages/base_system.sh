#!/usr/bin/env bash
# Makes a minimal Debian system of the release and from the mirrors of this machine, with mmdebstrap:
#   base_system.sh TARGET [options of mmdebstrap]
# The packages in build/package are in its folder /packages until the hooks of the options have run.
set -euo pipefail
cd "$(dirname "$0")/../../.."

target="$1"
shift
sources="$(tools/debian_sources.sh)"
suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/packages"
cp build/package/*.deb tools/deploy/packages/*.sh "$folder/packages"
chmod -R a+rX "$folder"
mmdebstrap --variant=minbase --customize-hook="copy-in $folder/packages /" "$@" \
  --customize-hook='rm -r "$1/packages"' "$suite" "$target" - <<<"$sources"
