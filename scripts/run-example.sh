#!/usr/bin/env bash
# Installs, builds, and runs the main job on this machine's processor: the feed-forward block of BERT-base in f32
# (examples/feed-forward-f32.mlir), checked against the plain path in float64 and then timed.
#
#   scripts/run-example.sh [tw-run's options]     another program: scripts/run-example.sh examples/mlp-f32.mlir --verify
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target tw-run tw-compile tw-targets
if [ $# -eq 0 ]; then
  set -- examples/feed-forward-f32.mlir --target cpu:host --verify --benchmark
fi
echo "+ tw-run $*"
exec build/release/bin/tw-run "$@"
