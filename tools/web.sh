#!/usr/bin/env bash
# Builds the report page and the figures, web/dist, from web/ and catalogue/. Does nothing, and needs no Node.js,
# when web/dist was built from these very sources: so it is in a release tarball.
#
#   tools/web.sh            build
#   tools/web.sh --check    only see whether that is possible
set -euo pipefail
cd "$(dirname "$0")/../web"

sources() {
  find src index.html package.json package-lock.json ./*.ts tsconfig.json ../catalogue \
    ../tools/web.sh -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
}

node_minimum=18.20

has_node() {
  local version
  command -v npm >/dev/null && version=$(node --version 2>/dev/null) || return 1
  [ "$(printf '%s\n%s\n' "$node_minimum" "${version#v}" | sort -V | head -n 1)" = "$node_minimum" ]
}

up_to_date() {
  [ -f dist/index.html ] && [ -f dist/figures.js ] && [ -f dist/sources.sha256 ] &&
    [ "$(sources)" = "$(cat dist/sources.sha256)" ]
}

if up_to_date; then
  # Newer than the sources, for those who ask by time.
  [ "${1:-}" = --check ] || touch dist/index.html dist/figures.js
  exit 0
fi
if ! has_node; then
  echo "the report page is built with Node.js $node_minimum or later and npm, and they are missing:" \
    "install them (apt-get install nodejs npm), use a release tarball, which has the page in" \
    "web/dist, or configure with -DHEADGAUGE_REPORT=OFF to do without headgauge report" >&2
  exit 1
fi
[ "${1:-}" = --check ] && exit 0

# A second build of the same tree waits and then finds the work done.
exec 9>.build.lock
flock 9
up_to_date && exit 0
if [ ! -f node_modules/.package-lock.json ] ||
  [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --no-audit --no-fund --loglevel=error
fi
npm run --silent build
sources >dist/sources.sha256
