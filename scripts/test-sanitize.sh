#!/usr/bin/env bash
# Builds the project's own code under the address and undefined-behaviour sanitizers and runs the GoogleTest part and
# the lit suite. LLVM itself is not instrumented, therefore its containers must not be poisoned by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0:detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-22/bin/llvm-symbolizer
scripts/install-deps.sh
cmake --preset sanitize >/dev/null
cmake --build --preset sanitize
mkdir -p build/sanitize/results
build/sanitize/bin/tilewright-unit --gtest_brief=1 --gtest_output=xml:build/sanitize/results/unit.xml
build/venv/bin/python /usr/lib/llvm-22/bin/lit -sv build/sanitize/test/lit "$@"
