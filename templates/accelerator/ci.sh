#!/bin/sh
# What continuous integration runs: configures, builds and tests.
#   ./ci.sh [PREFIX]     PREFIX: where Tilewright is installed (default: where CMake looks by itself)
set -eu
cd "$(dirname "$0")"
cmake -B build -DCMAKE_BUILD_TYPE=Release ${1:+"-DCMAKE_PREFIX_PATH=$1"}
cmake --build build --parallel 2
ctest --test-dir build --output-on-failure
