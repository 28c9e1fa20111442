#!/usr/bin/env bash
# Prints the folder of the packages that the Python package is built and tested with; they are
# installed there, from PyPI, where they are not yet. For the Python of tools/python.sh.
#
#   tools/python_packages.sh          what all of it needs
#   tools/python_packages.sh torch    what the tests of live models need besides: 5 GB
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-test}
requirements=python/requirements-$kind.txt
folder=$PWD/build/python-packages
[ "$kind" = test ] || folder=$PWD/build/python-$kind
python=$(tools/python.sh)
if ! cmp -s "$requirements" "$folder/installed.txt"; then
  rm -rf "$folder" "$folder.tmp"
  mkdir -p "$folder.tmp"  # on the same disk, for pip moves what it has unpacked
  TMPDIR=$folder.tmp "$python" -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
    --root-user-action=ignore --no-compile --target "$folder" -r "$requirements" >&2
  rm -rf "$folder.tmp"
  cp "$requirements" "$folder/installed.txt"
fi
echo "$folder"
