#!/usr/bin/env bash
# Installs the Python package with all that it can use into build/python-all, and runs its tests: 3 GB
# of packages, minutes.
#
#   TRANSFORMERS='transformers==4.57.*' tools/python_all.sh    with another version of transformers
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh python3-venv
folder=build/python-all
[ -x $folder/bin/python ] || "$(tools/python.sh)" -m venv $folder
pip=($folder/bin/pip install --upgrade --quiet --disable-pip-version-check)
"${pip[@]}" '.[all]' pytest nbclient ipykernel mypy pyright lightning netCDF4 zarr "dask[distributed]" ray scipy timm "${TRANSFORMERS:-transformers}"
$folder/bin/pip list 2>/dev/null | grep -E '^(torch|transformers|numpy) '
$folder/bin/mypy
# Not from the sources: the package is the one that was installed.
cd $folder
# All public names have types.
PYTHONPATH=$(bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
  bin/pyright --pythonpath "$PWD/bin/python" --verifytypes headgauge --ignoreexternal | grep score
bin/python -m pytest -q ../../python/tests
# Every model type of transformers, against the table in docs/python.md.
bin/python ../../tools/architectures.py --check
