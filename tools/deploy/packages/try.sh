#!/bin/sh
# Installs the packages of its own folder, runs what is in them, and removes them. check.sh runs it in a system of
# its own: it must not run on any other.
set -eu

die() { echo "try: $*" >&2; exit 1; }
runnel_files() { find / -xdev \( -path /proc -o -path /sys -o -path /packages \) -prune -o -name '*runnel*' -print; }

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt() { apt-get -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 "$@"; }
[ -z "$(runnel_files)" ] || die "this system has files of Runnel: $(runnel_files)"
apt install gcc libc6-dev systemd-standalone-sysusers
# All but the reference, and so without LibTorch.
without_reference=
for file in /packages/*.deb; do
  case "$file" in */runnel-reference_*) ;; *) without_reference="$without_reference $file" ;; esac
done
# shellcheck disable=SC2086  # several files
apt install $without_reference
libraries="$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' '*torch*' '*openblas*' 2>/dev/null |
  sed -n 's/ installed$//p')"
[ -z "$libraries" ] || die "the packages need $libraries without runnel-reference"

# Tools, from every folder of the path, as their manual pages and completions name them.
version="$(dpkg-query --show --showformat='${Version}' runnel-tools)"
for page in $(dpkg --listfiles runnel-tools runnel-server | sed -n 's|.*/man1/\(.*\)\.1\.gz$|\1|p'); do
  [ "$("$page" --version)" = "$page (Runnel) $version" ] || die "$page --version: $("$page" --version)"
  [ -e "/usr/share/bash-completion/completions/$page" ] || die "no completion of $page"
done
sh /packages/decode_samples.sh
runnel convert --help >/tmp/output 2>&1 && die "runnel convert ran without PyTorch"
grep -q '^runnel convert: .* has no .*; expected one with numpy, torch and yaml: apt-get install' /tmp/output ||
  die "runnel convert: $(cat /tmp/output)"

# The reference: without its package one line names it, from tools, the server and Python.
digits=/usr/share/runnel/models/digits/digits.pt
sample=/usr/share/runnel/models/digits/samples/ked_year.flac
refuses() {
  "$@" >/tmp/output 2>/tmp/errors && die "$* ran without runnel-reference"
  [ "$(wc -l </tmp/errors)" = 1 ] && grep -q 'expected the Debian package runnel-reference' /tmp/errors ||
    die "$* without runnel-reference: $(cat /tmp/errors)"
}
reference_in_python="import runnel, sys
try:
    print(runnel.load('$digits', backend='libtorch').transcribe('$sample'))
except runnel.DataError as error:
    sys.exit(str(error))"
refuses runnel transcribe $digits $sample --backend=libtorch
refuses runnel verify $digits $sample
refuses stream_server --model=$digits --port=0 --precision=float64 --snapshot_store=none
refuses python3 -c "$reference_in_python"

# The server, as its user.
cd /usr/share/runnel/models/digits
mkfifo /tmp/address
setpriv --reuid=runnel --regid=runnel --clear-groups stream_server --model=digits.pt --port=0 \
  --snapshot_store=none >/tmp/address &
server=$!
read -r line </tmp/address
url="$(echo "$line" | sed -n 's/.*(\(ws.*\))$/\1/p')"
runnel client --server="$url/" --wav=samples/ked_year.flac --speed=0 >/tmp/texts
kill $server
wait $server || die "stream_server: exit code $?"
[ "$(cat /tmp/texts)" = "$(grep '^ked_year ' samples/text)" ] || die "runnel client: wrong text"

# The Python package, with the programs and the converter of the other packages.
[ "$(python3 -m runnel transcribe digits.pt samples/ked_year.flac)" = "samples/$(
  sed -n 's/^ked_year /ked_year.flac /p' samples/text)" ] || die "python3 -m runnel transcribe: wrong text"
for command in serve verify; do
  python3 -m runnel $command --version | grep -q "(Runnel) $version$" || die "python3 -m runnel $command --version"
done
cat >/tmp/package.py <<'PYTHON'
import importlib.metadata
import pathlib
import runnel

assert importlib.metadata.version("runnel") == runnel.__version__
pathlib.Path("/tmp/lm.arpa").write_text(
    "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<s>\n-1\t</s>\n-1\tone\n\n\\end\\\n")
runnel.convert("arpa", "/tmp/lm.arpa", "/tmp/lm.bin")
assert runnel.LanguageModel("/tmp/lm.bin").num_ngrams == 3
try:
    runnel.convert("wenet", "/tmp", "/tmp/model.pt")
except ModuleNotFoundError as error:
    assert "apt-get install python3-torch python3-yaml" in str(error), error
else:
    raise AssertionError("runnel.convert ran without PyTorch")
print(runnel.__version__)
PYTHON
[ "$(python3 /tmp/package.py)" = "$version" ] || die "the Python package is not of version $version"

# The C library.
cat >/tmp/version.c <<'C'
#include <runtime/c_api.h>
#include <stdio.h>

int main(void) { return puts(runnel_version()) < 0; }
C
# shellcheck disable=SC2046  # several flags
gcc -Wall -Werror /tmp/version.c $(pkg-config --cflags --libs runnel) -o /tmp/version
[ "$(/tmp/version)" = "$version" ] || die "runnel_version: $(/tmp/version), expected $version"

# The same with the reference.
apt install /packages/runnel-reference_*.deb
sh /packages/decode_samples.sh --backend=libtorch
sh /packages/decode_samples.sh --precision=float64
[ "ked_year $(python3 -c "$reference_in_python")" = "$(grep '^ked_year ' /usr/share/runnel/models/digits/samples/text)" ] ||
  die "runnel.load(backend='libtorch'): wrong text"
runnel verify --model=$digits --wav=$sample --precision=float32 >/tmp/output || die "runnel verify: $(cat /tmp/output)"

# shellcheck disable=SC2046  # several names
apt purge $(for file in /packages/*.deb; do dpkg-deb --field "$file" Package; done)
[ -z "$(runnel_files)" ] || die "left after the removal: $(runnel_files)"
echo "try: installed, used and removed the packages of Runnel $version"
