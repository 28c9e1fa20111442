#!/usr/bin/env bash
# Packs the wheel from the objects of the release build, which has the Python package's module, installs it
# into an empty environment, and uses it there. Exit status 77 where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(tools/python.sh)
missing() { echo "wheel: PyPI could not be reached" >&2; exit 77; }
packages=$(tools/python_packages.sh) && tools=$(tools/python_packages.sh wheel) || missing
folder=$PWD/build/wheel-test
rm -rf "$folder"
mkdir -p "$folder"
# With the options of the release preset, so that nothing is compiled again. What scikit-build-core leaves in
# its cache goes: the folder of the wheel would be where the build is installed.
trap "cmake --preset release -U 'SKBUILD*' -U CMAKE_INSTALL_PREFIX --log-level=WARNING >/dev/null" EXIT
PYTHONPATH=$tools:$packages "$python" - "$folder" >"$folder/log" <<'PY' || { cat "$folder/log"; exit 1; }
import sys

from scikit_build_core.build import build_wheel

options = {"build-dir": "build/release", "cmake.define.HEADGAUGE_TESTS": "ON"}
build_wheel(sys.argv[1], options | {"cmake.define.Python_EXECUTABLE": sys.executable})
PY

"$python" -m venv --without-pip "$folder/env"
install() {
  "$python" -m pip --python "$folder/env/bin/python" install --quiet --disable-pip-version-check \
    --root-user-action=ignore "$@"
}
install numpy || missing
install --no-index "$folder"/*.whl
run() { env -i PATH="$folder/env/bin" LANG=C.UTF-8 "$@"; }
run headgauge --version
run headgauge scan demo/model --text demo/text.txt --lengths 32 --quiet --out "$folder/of-command" >/dev/null
# -I: what is imported is the wheel's, whatever lies in this folder.
run python -I - "$folder/of-command" <<'PY'
import sys
from pathlib import Path

import headgauge
import numpy as np

assert Path(headgauge.__file__).is_relative_to(sys.prefix), headgauge.__file__
results = headgauge.scan("demo/model", Path("demo/text.txt"), lengths=[32])
of_command = headgauge.Results.load(sys.argv[1])
for name in results:
    assert np.array_equal(results[name].values, of_command[name].values, equal_nan=True), name
assert len(list(results)) > 50, list(results)
print(f"headgauge {headgauge.__version__}: {len(list(results))} metrics, the same from Python and the command")
PY
