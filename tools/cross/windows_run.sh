#!/usr/bin/env bash
# Runs a Windows program under wine, without a screen. wine's settings are in build/windows/wine.
#   tools/cross/windows_run.sh build/windows/bin/decode_wav.exe --version
set -euo pipefail

WINEPREFIX="$(realpath -m "$(dirname "$0")/../../build/windows/wine")"
wine="$(command -v wine64 || echo /usr/lib/wine/wine64)"
mkdir -p "$WINEPREFIX"
# Programs that would be installed into the prefix, and that no test needs, are turned off.
WINEDLLOVERRIDES='mscoree,mshtml=;winemenubuilder.exe=d'
WINEDEBUG="${WINEDEBUG:--all}"
unset DISPLAY WAYLAND_DISPLAY
# In which wine reads and makes names of files.
LC_ALL=C.UTF-8
export WINEPREFIX WINEDLLOVERRIDES WINEDEBUG LC_ALL
exec "$wine" "$@"
