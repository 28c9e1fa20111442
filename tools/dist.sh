#!/usr/bin/env bash
# Makes build/headgauge-VERSION.tar.gz: what is committed, and the report page built from it, so that
# the tarball needs no Node.js.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(headgauge VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=headgauge-$version
if [ -n "$(git status --porcelain -- web catalogue tools/web.sh)" ]; then
  echo "dist: web/ or catalogue/ has changes that are not committed: the page would not be that of the sources" >&2
  exit 1
fi
tools/web.sh
mkdir -p build
git archive --prefix="$name/" -o "build/$name.tar" HEAD
tar --append --file "build/$name.tar" --owner=0 --group=0 --numeric-owner \
  --transform="s,^,$name/," web/dist
gzip -nf "build/$name.tar"
echo "Written: build/$name.tar.gz"
