#!/usr/bin/env bash
# Compiles the programs of test/gpu/programs.py for chips, on any machine; test/gpu/run.py then needs no compiler.
#
#   test/gpu/make-artifacts.sh FOLDER [--small] [--experiments] [CHIP ...]
#                                                       default: nvidia:H100 nvidia:H200 amd:MI300X
#
# FOLDER/CHIP gets the artifacts with their index and decisions, tw-launch, the runtime library and run.py: copy it to the
# machine with the device and run `python3 run.py .` there. --experiments: forced plans for an H200, too (README.md). A program
# that cannot be compiled is named and left out; the exit status is then 1. TILEWRIGHT_BUILD: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${TILEWRIGHT_BUILD:-$here/../../build/release}
[ $# -ge 1 ] || { sed -n '2,10p' "$0" | cut -c3- >&2; exit 2; }
folder=$1
shift
what=()
while [[ "${1:-}" = --* ]]; do
  what+=("$1")
  shift
done
[ $# -gt 0 ] || set -- nvidia:H100 nvidia:H200 amd:MI300X
python3 "$here/programs.py" "$folder/programs" "${what[@]}" || exit 1
status=0
for chip in "$@"; do
  target=$folder/${chip/:/-}
  mkdir -p "$target"
  cp "$folder/programs/index.json" "$here"/{run,device,peers,checks,experiments}.py "$build/bin/tw-launch" "$target/" &&
    cp "$build/lib/libtilewright-runtime.so.0" "$target/libtilewright-runtime.so" || exit 1
  for program in "$folder"/programs/*.mlir; do
    name=$(basename "$program" .mlir)
    read -ra words < "$folder/programs/$name.words"
    if ! "$build/bin/tw-compile" "$program" --target "$chip" -o "$target/$name.tw" --explain=json "${words[@]}" \
      > "$target/$name.json"; then
      rm -f "$target/$name.json"
      echo "$chip: $name: not compiled" >&2
      status=1
    fi
  done
done
exit "$status"
