#!/usr/bin/env bash
# clang-tidy 19 over C++ sources, 3 to 10 s a file on a core.
#
#   tools/tidy.sh              those that differ from the last tag, commits and working tree
#   tools/tidy.sh --all        all of them
#   tools/tidy.sh FILE...      these
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  tag=$(git describe --tags --abbrev=0 2>/dev/null) || { echo "tidy: no tag yet, so nothing has changed since one" >&2; exit 0; }
  mapfile -t files < <(git diff --name-only --diff-filter=d "$tag" -- 'src/*.cpp' 'cli/*.cpp')
elif [ "$1" = --all ]; then
  mapfile -t files < <(git ls-files 'src/*.cpp' 'cli/*.cpp')
else
  files=("$@")
fi
echo "tidy: ${#files[@]} files" >&2
[ "${#files[@]}" -eq 0 ] && exit 0

tools/setup.sh clang-tidy-19
# It reads how files are compiled, and headers that the build writes.
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --target headgauge_tokenizers >/dev/null
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 2 clang-tidy-19 -quiet -p build/release 2> >(grep -v 'warnings generated' >&2)
