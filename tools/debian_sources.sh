#!/usr/bin/env bash
# Prints the Debian mirrors of this machine's apt, one line of a sources.list each, for mmdebstrap.
set -euo pipefail

# shellcheck disable=SC2016  # apt replaces $(...)
sources="$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | sort --unique)"
if [[ -z "$sources" ]]; then
  echo "debian_sources: apt knows no Debian mirror; expected one in /etc/apt/sources.list, after apt-get update" >&2
  exit 1
fi
echo "$sources"
