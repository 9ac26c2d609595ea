#!/usr/bin/env bash
# Builds the Debian packages tilewright-runtime, -tools, -dev and -doc from this tree.
#
#   scripts/make-packages.sh [FOLDER]     into FOLDER; build/packages unless given
#
# The same tree gives the same bytes: the time in the packages is SOURCE_DATE_EPOCH, that of the last commit unless it is set.
# TILEWRIGHT_PRESET selects another preset of CMakePresets.json. Afterwards, here or on another Debian 12:
#
#   sudo apt install ./build/packages/tilewright-*.deb
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 1 ]; then
  echo "usage: scripts/make-packages.sh [FOLDER]" >&2
  exit 2
fi
output=${1:-build/packages}
build=build/${TILEWRIGHT_PRESET:-release}
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)
fi
export SOURCE_DATE_EPOCH
# Shells differ in what a new file may be.
umask 022

scripts/install-deps.sh --packages
cmake --preset "${TILEWRIGHT_PRESET:-release}" >/dev/null
cmake --build --preset "${TILEWRIGHT_PRESET:-release}" --target packaged docs
mkdir -p "$output"
output=$(cd "$output" && pwd)
rm -f "$output"/tilewright-*.deb
cpack --config "$build/CPackConfig.cmake" -B "$output/work" >"$output/cpack.log" || { cat "$output/cpack.log"; exit 1; }
mv "$output"/work/tilewright-*.deb "$output"
rm -rf "$output/work" "$output/cpack.log"
(cd "$output" && sha256sum tilewright-*.deb)
