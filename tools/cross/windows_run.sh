#!/usr/bin/env bash
# Runs a Windows program under wine, without a screen. wine's settings are in build/windows/wine.
#   tools/cross/windows_run.sh build/windows/bin/decode_wav.exe --version
#   tools/cross/windows_run.sh --end   ends all programs that run, and wine's services
set -euo pipefail

WINEPREFIX="$(realpath -m "$(dirname "$0")/../../build/windows/wine")"
wine="$(command -v wine64 || echo /usr/lib/wine/wine64)"
mkdir -p "$WINEPREFIX"
# Programs that would be installed into the prefix, and that no test needs, are turned off; also the debugger, which
# would wait beside a program that has crashed.
WINEDLLOVERRIDES='mscoree,mshtml=;winedbg.exe,winemenubuilder.exe=d'
WINEDEBUG="${WINEDEBUG:--all}"
unset DISPLAY WAYLAND_DISPLAY
# In which wine reads and makes names of files.
LC_ALL=C.UTF-8
export WINEPREFIX WINEDLLOVERRIDES WINEDEBUG LC_ALL
if [[ "${1:-}" == --end ]]; then
  exec "$(command -v wineserver64 || echo /usr/lib/wine/wineserver64)" --kill
fi
exec "$wine" "$@"
