#!/usr/bin/env bash
# Applies the steps of binder/Dockerfile to a folder with a Debian, as a builder of images would, and
# runs a command in it: `build.sh FOLDER COMMAND`. Needs root.
set -euo pipefail
root=$1
repository=$(cd "$(dirname "$0")/../../.." && pwd)
user=root
folder=/
variables=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
  DEBIAN_FRONTEND=noninteractive NO_COLOR=1)

# What this machine needs to reach a registry. Packages overwrite the usual path of a certificate.
for name in NODE_EXTRA_CA_CERTS SSL_CERT_FILE HTTPS_PROXY https_proxy NO_PROXY; do
  value=${!name-}
  case $value in
    "") continue ;;
    /*) cp "$value" "$root/opt/$name" && value=/opt/$name ;;
  esac
  variables+=("$name=$value")
done

# Runs a line in the folder. What it mounts and starts goes with it.
run() {
  unshare --mount --pid --fork --kill-child --mount-proc --root="$root" \
    env -i "${variables[@]}" chroot --userspec="$user" / sh -c "cd '$folder' && $1" </dev/null
}

# The text with the values of the variables instead of ${NAME}.
filled() { env -i "${variables[@]}" bash -c "printf %s \"$1\""; }

# The files that git tracks, without settings or builds.
copy() {
  mkdir -p "$root$1"
  cd "$repository" && git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null |
    tar -cf - -T - | tar --no-same-owner -xf - -C "$root$1"
}

while read -r name value; do
  case $name in
    "") ;;
    FROM) [ "$value" = debian:trixie-slim ] ;;
    ARG | ENV) variables+=("$(filled "$value")") ;;
    USER) user=$(filled "$value") ;;
    WORKDIR) folder=$(filled "$value") ;;
    COPY) copy "$(filled "${value#. }")" ;;
    RUN) run "$value" ;;
    # The program is not started here, but it must exist.
    CMD) run "command -v $(cut -d'"' -f2 <<<"$value")" ;;
    *) echo "build.sh does not know $name" >&2 && exit 1 ;;
  esac
done < <(sed '/^#/d' "$repository/binder/Dockerfile" | sed -e ':line' -e '/\\$/{N;s/\\\n *//;b line' -e '}')

run "$2"
