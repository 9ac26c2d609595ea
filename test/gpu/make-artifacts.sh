#!/usr/bin/env bash
# Compiles the programs of test/gpu/programs.py for chips, on any machine; test/gpu/run.py then needs no compiler.
#
#   test/gpu/make-artifacts.sh FOLDER [--small] [CHIP ...]       default: nvidia:H100 nvidia:H200 amd:MI300X
#
# FOLDER/CHIP gets the artifacts with their index, tw-launch and run.py: copy it to the machine with the device and run
# `python3 run.py .` there. A program that cannot be compiled is named and left out; the exit status is then 1.
# TILEWRIGHT_BUILD: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${TILEWRIGHT_BUILD:-$here/../../build/release}
[ $# -ge 1 ] || { sed -n '2,9p' "$0" | cut -c3- >&2; exit 2; }
folder=$1
shift
small=()
if [ "${1:-}" = --small ]; then
  small=(--small)
  shift
fi
[ $# -gt 0 ] || set -- nvidia:H100 nvidia:H200 amd:MI300X
python3 "$here/programs.py" "$folder/programs" "${small[@]}" || exit 1
status=0
for chip in "$@"; do
  target=$folder/${chip/:/-}
  mkdir -p "$target"
  cp "$folder/programs/index.json" "$here/run.py" "$build/bin/tw-launch" "$target/" || exit 1
  for program in "$folder"/programs/*.mlir; do
    name=$(basename "$program" .mlir)
    if ! "$build/bin/tw-compile" "$program" --target "$chip" -o "$target/$name.tw"; then
      echo "$chip: $name: not compiled" >&2
      status=1
    fi
  done
done
exit "$status"
