#!/usr/bin/env bash
# Installs, builds, and runs the main job on this machine's processor: the feed-forward block of BERT-base in f32
# (examples/feed-forward-f32.mlir), checked against the plain path in float64 and then timed.
#
#   scripts/run-example.sh [tw-run's options]     another program: scripts/run-example.sh examples/mlp-f32.mlir --verify
#   scripts/run-example.sh --torch [FILE.py]      a PyTorch model, compiled by one line (examples/pytorch)
#   scripts/run-example.sh --jax [FILE.py]        a JAX function and its gradient, compiled by one line (examples/jax)
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target tw-run tw-compile tw-targets
if [ "${1:-}" = --torch ]; then
  if ! build/venv-torch/bin/python -c 'import torch' 2>/dev/null; then
    echo "run-example: PyTorch could not be installed; see scripts/install-deps.sh" >&2
    exit 1
  fi
  echo "+ python ${2:-examples/pytorch/inference.py}"
  TILEWRIGHT_SDK=$PWD/build/release PYTHONPATH=$PWD/python exec build/venv-torch/bin/python "${2:-examples/pytorch/inference.py}"
fi
if [ "${1:-}" = --jax ]; then
  if ! build/venv-jax/bin/python -c 'import jax' 2>/dev/null; then
    echo "run-example: JAX could not be installed; see scripts/install-deps.sh" >&2
    exit 1
  fi
  echo "+ python ${2:-examples/jax/training.py}"
  TILEWRIGHT_SDK=$PWD/build/release PYTHONPATH=$PWD/python exec build/venv-jax/bin/python "${2:-examples/jax/training.py}"
fi
if [ $# -eq 0 ]; then
  set -- examples/feed-forward-f32.mlir --target cpu:host --verify --benchmark
fi
echo "+ tw-run $*"
exec build/release/bin/tw-run "$@"
