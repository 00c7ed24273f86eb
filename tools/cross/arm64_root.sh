#!/usr/bin/env bash
# Unpacks the arm64 Debian packages that Runnel is built and run with into build/arm64/root, from the mirrors of
# this machine. Nothing of them is installed. A root that is complete stays.
set -euo pipefail
cd "$(dirname "$0")/../.."

root=build/arm64/root
packages=(
  libc6-dev
  libsndfile1-dev libsoxr-dev libkissfft-dev libzip-dev libhwy-dev libxxhash-dev
  libogg-dev libopus-dev libavformat-dev libavcodec-dev libswresample-dev libboost-dev libssl-dev libhiredis-dev prometheus-cpp-dev
  nlohmann-json3-dev libgflags-dev libgoogle-glog-dev libgtest-dev
)
if [[ -e "$root/complete" ]]; then
  exit 0
fi
sources="$(tools/debian_sources.sh)"
suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
rm -rf "$root"
mkdir -p "$root"
mmdebstrap --variant=extract --architectures=arm64 --include="$(IFS=,; echo "${packages[*]}")" \
  --aptopt='APT::Install-Recommends "false"' "$suite" "$root" - <<<"$sources"

# Absolute links would lead to files of this machine.
find "$root" -type l -lname '/*' -path '*/lib/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
done
touch "$root/complete"
