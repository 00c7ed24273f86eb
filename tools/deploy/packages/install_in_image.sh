#!/bin/sh
# Installs in a container image the packages of its own folder that a server and bulk decoding need.
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 install systemd-standalone-sysusers \
  ./runnel-server_*.deb ./runnel-tools_*.deb ./runnel-digits_*.deb \
  ./runnel-media_*.deb
rm -rf /var/lib/apt/lists/*
