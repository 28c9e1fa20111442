#!/usr/bin/env bash
# Installs what headgauge is built from, on Debian 12 and 13: as root, or with sudo. Quick, and
# touches nothing, when all of it is there.
#
#   tools/setup.sh [PACKAGE...]    the packages of the build and the tests, and those named
set -euo pipefail

packages=(
  g++ make cmake ninja-build pkg-config
  libhwy-dev libeigen3-dev zlib1g-dev libtbb-dev nlohmann-json3-dev libfmt-dev
  libgtest-dev libbenchmark-dev
  python3 python3-dev python3-pip ca-certificates
  "$@"
)
rust_minimum=1.85 # as src/tokenize/CMakeLists.txt and its ffi/Cargo.toml have it

# Whether the version $1 is at least $2.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# For the report page (tools/web.sh).
node_is_there() {
  local version
  command -v npm >/dev/null && version=$(node --version 2>/dev/null) && at_least "${version#v}" 18.20
}

# Boost's headers, of whichever version: two of them cannot be installed side by side.
boost_is_there() {
  [ -f /usr/include/boost/version.hpp ]
}

rust_is_there() {
  local cargo rustc
  cargo=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
  rustc=$(rustc --version 2>/dev/null | cut -d' ' -f2) || return 1
  [ -n "$cargo" ] && [ -n "$rustc" ] &&
    at_least "$cargo" "$rust_minimum" && at_least "$rustc" "$rust_minimum"
}

missing_packages() {
  local installed
  # dpkg-query fails where it does not know a package at all; its answer is complete all the same.
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/^installed //p') || true
  for package in "${packages[@]}"; do
    grep -qx -- "$package" <<<"$installed" || echo "$package"
  done
  boost_is_there || echo libboost-dev
  node_is_there || printf '%s\n' nodejs npm
  rust_is_there || printf '%s\n' cargo-web rustc-web
  "$(dirname "$0")/python.sh" >/dev/null 2>&1 || printf '%s\n' python3-numpy python3-jsonschema
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system, so nothing is checked or installed; headgauge needs the" \
    "likes of: ${packages[*]}, Boost 1.74, cargo and rustc $rust_minimum, Node.js 18.20 and npm, numpy and jsonschema" >&2
  exit 0
fi

mapfile -t missing < <(missing_packages)
[ "${#missing[@]}" -eq 0 ] && exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root=(sudo)
else
  echo "setup: missing: ${missing[*]}; install them as root: $install" >&2
  exit 1
fi

echo "setup: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
# A word of each is one argument; -qq leaves errors alone on the screen.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" >/dev/null

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -gt 0 ]; then
  echo "setup: still missing after the installation: ${missing[*]}" \
    "(is an older cargo or rustc first on PATH?)" >&2
  exit 1
fi
