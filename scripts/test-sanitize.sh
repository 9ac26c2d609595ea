#!/usr/bin/env bash
# Builds the project's own code under the address and undefined-behaviour sanitizers, with assertions, and runs the
# GoogleTest part, the lit suite, and each libFuzzer program of test/fuzz for a while. LLVM itself is not instrumented,
# therefore its containers must not be poisoned by hand.
#
#   scripts/test-sanitize.sh [SECONDS] [--integration]
#
# SECONDS are of each fuzzer (default 30). --integration adds the integration tests with CI's seeds and shapes (an hour of one
# core, in parts with TILEWRIGHT_SHARD=I/N), but for those that build projects of vendors, which have no sanitizers.
#
# The last line is `N passed, N failed`; results stand in build/sanitize/results as JUnit files.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=30 integration=0
for word in "$@"; do
  case "$word" in
    --integration) integration=1 ;;
    *[!0-9]* | "") echo "usage: scripts/test-sanitize.sh [SECONDS] [--integration]" >&2; exit 2 ;;
    *) seconds=$word ;;
  esac
done
export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0:detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-22/bin/llvm-symbolizer
build=build/sanitize
scripts/install-deps.sh || exit 1
cmake --preset sanitize >build/configure-sanitize.log 2>&1 || { cat build/configure-sanitize.log; exit 1; }
cmake --build --preset sanitize || exit 1

python=$PWD/build/venv/bin/python
results=$PWD/$build/results
rm -rf "$results"
mkdir -p "$results"
passed=0 failed=0
count() { # NAME STATUS [JUNIT]: the sums of a suite's file, or one test; a suite that crashed counts as a failure
  local sums="1 0 0"
  if [ $# -gt 2 ]; then
    sums=$("$python" scripts/junit-sums.py "$3") || sums="0 1 0"
  fi
  # shellcheck disable=SC2086
  set -- "$1" "$2" $sums
  if [ "$2" -ne 0 ] && [ "$4" -eq 0 ]; then
    set -- "$1" "$2" 0 1
  fi
  echo "$1: $3 passed, $4 failed"
  passed=$((passed + $3)) failed=$((failed + $4))
}

"$build/bin/tilewright-unit" --gtest_brief=1 --gtest_output="xml:$results/unit.xml"
count "unit (sanitized)" $? "$results/unit.xml"
"$python" /usr/lib/llvm-22/bin/lit -sv --xunit-xml-output "$results/lit.xml" "$build/test/lit"
count "lit (sanitized)" $? "$results/lit.xml"
if [ "$integration" -eq 1 ]; then
  TILEWRIGHT_FULL=0 TILEWRIGHT_BUILD=$PWD/$build "$python" -m pytest -q -p no:cacheprovider \
    --junitxml="$results/integration.xml" test/integration
  count "integration (sanitized)" $? "$results/integration.xml"
fi

for fuzzer in "$build"/bin/tilewright-fuzz-*; do
  name=${fuzzer##*/tilewright-fuzz-}
  found=$PWD/$build/fuzz/$name # new inputs, and the one that crashed
  mkdir -p "$found/corpus"
  if "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/" \
    "$found/corpus" "test/fuzz/corpus/$name" >"$found/log" 2>&1; then
    count "fuzz $name" 0
  else
    tail -40 "$found/log"
    count "fuzz $name" 1
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
