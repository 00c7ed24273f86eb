#!/usr/bin/env bash
# Makes a container image of the packages in build/package without a container engine: an OCI layout in
# build/package/image, with the image `runnel`. It is what tools/deploy/Dockerfile makes with Docker.
set -euo pipefail
cd "$(dirname "$0")/../../.."

image=build/package/image
root="$(mktemp)"
trap 'rm -f "$root"' EXIT
tools/deploy/packages/base_system.sh "$root" --format=tar \
  --customize-hook='chroot "$1" sh /packages/install_in_image.sh' \
  --customize-hook='chroot "$1" sh /packages/decode_samples.sh'
rm -rf "$image"
umoci init --layout "$image"
umoci new --image "$image:runnel"
umoci raw add-layer --image "$image:runnel" "$root"
umoci config --image "$image:runnel" --config.user=10001:10001 --config.exposedports=8080 \
  --config.env=PATH=/usr/sbin:/usr/bin:/sbin:/bin --config.stopsignal=SIGTERM \
  --config.entrypoint=stream_server --config.cmd=--model=/usr/share/runnel/models/digits/digits.pt \
  --config.cmd=--listen=0.0.0.0 --config.cmd=--port=8080 --config.cmd=--drain_timeout_s=60
umoci gc --layout "$image"
as_root=()
(($(id -u) == 0)) || as_root=(unshare --map-root-user --map-auto)
"${as_root[@]}" tools/deploy/packages/try_image.py "$image:runnel"
echo "image: $(du --summarize --human-readable "$image" | cut --fields=1) in $image"
