#!/usr/bin/env bash
# Lays out the C++ and Python sources, with the versions that python/requirements-layout.txt pins.
#
#   tools/layout.sh            writes them
#   tools/layout.sh --check    fails where one is not laid out, or where ruff or mypy finds a fault (mypy needs
#                              the built package); exit status 77 where the tools cannot be installed
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$(tools/python_packages.sh layout) || { echo "layout: the tools could not be installed" >&2; exit 77; }
# A tarball has no git to list them.
mapfile -t sources < <(find bench cli examples fuzz include python src tests -name '*.[ch]pp' -not -path '*/target/*')
clang_format=$tools/clang_format/data/bin/clang-format
if [ "${1:-}" != --check ]; then
  "$clang_format" -i "${sources[@]}"
  "$tools/bin/ruff" check --quiet --select I --fix .
  exec "$tools/bin/ruff" format --quiet .
fi

failed=0
"$clang_format" --dry-run -Werror "${sources[@]}" || failed=1
"$tools/bin/ruff" format --quiet --diff . || failed=1
"$tools/bin/ruff" check --quiet . || failed=1
# Without torch, whose types take half a minute to read: what comes from it is Any. make test-python-all
# checks with it.
packages=$(tools/python_packages.sh)
PYTHONPATH=$tools:$packages "$(tools/python.sh)" -m mypy --no-error-summary --cache-dir build/mypy \
  --allow-subclassing-any --no-warn-return-any --no-warn-unused-ignores || failed=1
exit "$failed"
