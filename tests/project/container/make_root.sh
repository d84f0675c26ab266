#!/usr/bin/env bash
# Makes a folder with a Debian 13 that has nothing but what it needs to start: `make_root.sh FOLDER`.
# Needs root, apt and debootstrap. It stands for the image that binder/Dockerfile begins with.
set -euo pipefail
root=$1
export DEBIAN_FRONTEND=noninteractive
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null
# What is mounted in it is the command's own, and goes with it, however it ends.
unshare --mount --pid --fork --kill-child debootstrap --variant=minbase trixie "$root" >/dev/null
# As in that image: dpkg does not wait for the disk, and apt keeps no archive.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
echo 'APT::Keep-Downloaded-Packages "false"; DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb";};' \
  >"$root/etc/apt/apt.conf.d/docker-clean"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
