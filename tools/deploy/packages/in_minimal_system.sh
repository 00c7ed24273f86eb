#!/bin/sh
# Builds and tests its source tree as its user would. minimal.sh runs it in a system of its own: it installs packages.
#   in_minimal_system.sh tests|demo|serve|build
set -eu

die() { echo "in_minimal_system: $*" >&2; exit 1; }
without_libtorch() {
  found="$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' '*torch*' 2>/dev/null |
    sed -n 's/ installed$//p')"
  [ -z "$found" ] || die "this system has $found, expected none"
}

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
cd "$(dirname "$0")/../../.."
# As every Debian has it.
echo '127.0.0.1 localhost' >>/etc/hosts
git config --global --add safe.directory "$PWD"
# The packages by themselves, so that the time is that of the build.
tools/install_packages.sh build
without_libtorch
# shellcheck disable=SC2086  # options
command time -f 'in_minimal_system: make demo took %e s, and of processors %U s user, %S s system time' make demo ${JOBS:+JOBS=$JOBS}
if [ "${RUNNEL_WERROR:-OFF}" != OFF ] && ! grep -q -e -Werror build/build.ninja; then
  die "the build has no -Werror, expected it with RUNNEL_WERROR=$RUNNEL_WERROR"
fi
! grep -q torch build/compile_commands.json build/build.ninja || die "the build names LibTorch"

libraries="$(ldd build/bin/decode_wav | sed -n 's/.*=> \(\S*\) .*/\1/p')"
if echo "$libraries" | grep -q -e torch -e c10; then die "decode_wav is linked with LibTorch"; fi
# shellcheck disable=SC2086  # several files
echo "in_minimal_system: decode_wav is linked with $(echo "$libraries" | wc -l) libraries of $(
  du --dereference --apparent-size --total --block-size=1000 $libraries | sed -n 's/\s*total$//p') kB"
for flag in --backend=libtorch --precision=float64; do
  if build/bin/decode_wav --model=models/digits/digits.pt --wav_scp=models/digits/samples/wav.scp $flag \
    >/dev/null 2>/tmp/errors; then die "decode_wav $flag ran without LibTorch"; fi
  [ "$(wc -l </tmp/errors)" = 1 ] && grep -q runnel-reference /tmp/errors ||
    die "decode_wav $flag, expected one line that names runnel-reference: $(cat /tmp/errors)"
done
[ "$1" != demo ] || exit 0

if [ "$1" = serve ]; then
  # shellcheck disable=SC2086  # options
  make serve PORT=0 ${JOBS:+JOBS=$JOBS} >/tmp/serve 2>&1 &
  server=$!
  polls=0
  until url="$(sed -n 's/^stream_server: listening on \(http[^ ]*\) .*/\1/p' /tmp/serve)" && [ -n "$url" ]; do
    kill -0 "$server" 2>/dev/null || die "make serve ended: $(tail -n 50 /tmp/serve)"
    polls=$((polls + 1))
    [ "$polls" -le 900 ] || die "make serve does not listen after 30 minutes: $(tail -n 50 /tmp/serve)"
    sleep 2
  done
  answer="$(curl --silent --show-error --max-time 300 --data-binary @models/digits/samples/ked_year.flac "$url/v1/recognize")"
  kill "$server"
  wait "$server" || true
  grep 'warning:' /tmp/serve || true
  case "$answer" in *'"two zero two six"'*) ;; *) die "make serve answered: $answer" ;; esac
  echo "in_minimal_system: make serve answers on $(. /etc/os-release && echo "$PRETTY_NAME")"
  exit 0
fi

if [ "$1" = build ]; then
  cmake --build --preset release ${JOBS:+--parallel "$JOBS"}
  exit 0
fi
tools/install_packages.sh minimal
without_libtorch
cmake --preset release  # Python is new
cmake --build --preset release ${JOBS:+--parallel "$JOBS"} --target all tests/all
ctest --preset release ${JOBS:+--parallel "$JOBS"}
