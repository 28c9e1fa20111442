#!/usr/bin/env bash
# Prints the Python to run the tests with: the first one that has numpy and jsonschema.
set -euo pipefail

for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
  if "$python" - 2>/dev/null <<'EOF'
import importlib.util
import sys

found = all(importlib.util.find_spec(name) for name in ("numpy", "jsonschema"))
sys.exit(not found or sys.version_info < (3, 11))
EOF
  then
    echo "$python"
    exit 0
  fi
done
echo "no Python from 3.11 on with numpy and jsonschema" >&2
exit 1
