#!/usr/bin/env bash
# Checks the packages in build/package: lintian, then installed, used and removed in a minimal Debian, first without
# and then with the reference and its LibTorch.
set -euo pipefail
cd "$(dirname "$0")/../../.."

as_root=()
(($(id -u) != 0)) || as_root=(--allow-root)
lintian "${as_root[@]}" --fail-on=error,warning build/package/runnel_*.changes
echo "lintian: no errors, no warnings"
tools/deploy/packages/base_system.sh /dev/null --customize-hook='chroot "$1" sh /packages/try.sh'
