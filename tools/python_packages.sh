#!/usr/bin/env bash
# Prints the folder of the packages that the Python package is built and tested with; they are
# installed there, from PyPI, where they are not yet. For the Python of tools/python.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/build/python-packages
python=$(tools/python.sh)
if ! cmp -s python/requirements-test.txt "$folder/installed.txt"; then
  rm -rf "$folder"
  "$python" -m pip install --quiet --disable-pip-version-check --no-warn-script-location --root-user-action=ignore \
    --target "$folder" -r python/requirements-test.txt >&2
  cp python/requirements-test.txt "$folder/installed.txt"
fi
echo "$folder"
