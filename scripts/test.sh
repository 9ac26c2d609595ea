#!/usr/bin/env bash
# The test command: installs, configures, builds and runs every suite. The last line is `N passed, N failed`; the exit
# status is 0 only if nothing failed.
#
#   scripts/test.sh           what continuous integration runs (minutes)
#   scripts/test.sh --full    also the long runs: all seeds of the random programs, regret, sanitizers (hours)
#
# TILEWRIGHT_PRESET selects another preset of CMakePresets.json.
set -uo pipefail
cd "$(dirname "$0")/.."
export TILEWRIGHT_FULL=0
case "${1:-}" in
  --full) TILEWRIGHT_FULL=1 ;;
  "") ;;
  *) echo "usage: scripts/test.sh [--full]" >&2; exit 2 ;;
esac

preset=${TILEWRIGHT_PRESET:-release}
build=build/$preset
scripts/install-deps.sh || exit 1
cmake --preset "$preset" >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build --preset "$preset" || exit 1

python=$PWD/build/venv/bin/python
passed=0 failed=0 skipped=0
add() { passed=$((passed + $1)); failed=$((failed + $2)); skipped=$((skipped + $3)); }
# Sums of a suite's JUnit files; one that wrote none (it crashed) counts as a failure.
collect() { # NAME STATUS FILE..
  local sums
  if ! sums=$("$python" scripts/junit-sums.py "${@:3}"); then
    sums="0 1 0"
  fi
  # shellcheck disable=SC2086
  set -- "$1" "$2" $sums
  if [ "$2" -ne 0 ] && [ "$4" -eq 0 ]; then
    set -- "$1" "$2" "$3" 1 "$5"
  fi
  echo "$1: $3 passed, $4 failed, $5 skipped"
  add "$3" "$4" "$5"
}

results=$PWD/$build/results
rm -rf "$results"
mkdir -p "$results"

"$python" /usr/lib/llvm-22/bin/lit -sv --xunit-xml-output "$results/lit.xml" "$build/test/lit"
collect lit $? "$results/lit.xml"

# A process for each core, too.
shards=$(nproc) unit_status=0 unit_processes=() unit_results=()
for ((shard = 0; shard < shards; shard++)); do
  unit_results+=("$results/unit-$shard.xml")
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
    "$build/bin/tilewright-unit" --gtest_brief=1 --gtest_output="xml:$results/unit-$shard.xml" &
  unit_processes+=($!)
done
for process in "${unit_processes[@]}"; do
  wait "$process" || unit_status=1
done
collect unit "$unit_status" "${unit_results[@]}"

# A process for each core; a file's tests share one, since they share what they build.
TILEWRIGHT_BUILD=$PWD/$build "$python" -m pytest -q -p no:cacheprovider -n auto --dist loadfile \
  --junitxml="$results/integration.xml" test/integration
collect integration $? "$results/integration.xml"

# The Python package, without any framework: those have folders.
folders=(test/python/*/)
TILEWRIGHT_BUILD=$PWD/$build "$python" -m pytest -q -p no:cacheprovider -n auto --dist loadfile \
  --junitxml="$results/python.xml" "${folders[@]/#/--ignore=}" test/python
collect python $? "$results/python.xml"

# Front ends have modules of their own, in folders of their own.
front_end() { # NAME MODULE TITLE
  local interpreter=build/venv-$1/bin/python
  if "$interpreter" -c "import $2" 2>/dev/null; then
    TILEWRIGHT_BUILD=$PWD/$build "$interpreter" -m pytest -q -p no:cacheprovider -n auto --dist worksteal \
      --junitxml="$results/python-$1.xml" "test/python/$1"
    collect "python-$1" $? "$results/python-$1.xml"
  else
    echo "python-$1: skipped, since $3 could not be installed"
    add 0 0 1
  fi
}
front_end torch torch PyTorch
front_end jax jax JAX
front_end onnx onnx ONNX
if [ "$TILEWRIGHT_FULL" -eq 1 ]; then
  front_end tf tensorflow TensorFlow
fi

if [ "$TILEWRIGHT_FULL" -eq 1 ]; then
  scripts/test-sanitize.sh --integration | tee "$results/sanitize.log"
  if read -r p _ f _ < <(tail -1 "$results/sanitize.log" | grep -E '^[0-9]+ passed, [0-9]+ failed$'); then
    add "$p" "$f" 0
  else
    echo "the sanitized build or its tests did not end"
    add 0 1 0
  fi
fi

if [ "$skipped" -gt 0 ]; then
  echo "$skipped skipped (the suites above say why)"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
