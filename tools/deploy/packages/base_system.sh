#!/usr/bin/env bash
# Makes a minimal Debian system of the release and from the mirrors of this machine, with mmdebstrap:
#   base_system.sh TARGET [options of mmdebstrap]
# The packages in build/package are in its folder /packages until the hooks of the options have run.
set -euo pipefail
cd "$(dirname "$0")/../../.."

target="$1"
shift
# shellcheck disable=SC2016  # apt replaces $(...)
sources="$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | sort --unique)"
if [[ -z "$sources" ]]; then
  echo "base_system: apt knows no Debian mirror; expected one in /etc/apt/sources.list, after apt-get update" >&2
  exit 1
fi
suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
folder="$(mktemp --directory)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/packages"
cp build/package/*.deb tools/deploy/packages/*.sh "$folder/packages"
chmod -R a+rX "$folder"
mmdebstrap --variant=minbase --customize-hook="copy-in $folder/packages /" "$@" \
  --customize-hook='rm -r "$1/packages"' "$suite" "$target" - <<<"$sources"
