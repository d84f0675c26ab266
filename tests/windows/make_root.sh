#!/usr/bin/env bash
# Makes a folder with Debian 13, Wine 10, Deno for Windows and JupyterLab in it: `make_root.sh FOLDER`.
# Needs root, apt and npm, and four minutes the first time; a folder that is whole is left as it is.
# Debian 12's own Wine 8 does not do: Deno for Windows ends in it at the start.
set -euo pipefail
root=$1
deno_version=2.9.5 # The newest that npm has for Windows.
stamp="$root/.made-with-$deno_version"
[ -e "$stamp" ] && exit 0

command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null
# What a broken run left is no start for this one. No other file system: nothing is mounted there.
rm -rf --one-file-system "$root"
mkdir -p "$root"
# What is mounted in it is the command's own, and goes with it, however it ends.
own() { unshare --mount --pid --fork --kill-child "$@"; }
own debootstrap --variant=minbase trixie "$root" >/dev/null
mkdir -p "$root/etc/ssl/certs"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

# Packages' scripts read /proc.
in_root() { own --root="$root" --mount-proc "$@"; }
export DEBIAN_FRONTEND=noninteractive
in_root apt-get install -y -qq --no-install-recommends \
  wine64 wine ca-certificates jupyterlab >/dev/null
in_root apt-get clean
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

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
