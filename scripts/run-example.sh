#!/usr/bin/env bash
# Installs, builds, and runs the main job on this machine's processor: the feed-forward block of BERT-base in f32
# (examples/feed-forward-f32.mlir), checked against the plain path in float64 and then timed.
#
#   scripts/run-example.sh [tw-run's options]     another program: scripts/run-example.sh examples/mlp-f32.mlir --verify
#   scripts/run-example.sh --torch [FILE.py]      a PyTorch model, compiled by one line (examples/pytorch)
#   scripts/run-example.sh --jax [FILE.py]        a JAX function and its gradient, compiled by one line (examples/jax)
#   scripts/run-example.sh --tf [FILE.py]         a Keras model trained by a compiled step (examples/tensorflow)
#   scripts/run-example.sh --onnx [MODEL.onnx]    an ONNX model beside ONNX's reference, and its package (examples/onnx)
set -euo pipefail
cd "$(dirname "$0")/.."
# What the tests need beside is not installed.
case "${1:-}" in
  --torch | --jax | --tf | --onnx) scripts/install-deps.sh --build "${1#--}" ;;
  *) scripts/install-deps.sh --build ;;
esac
# Tools that are there are kept up to date; else those that an example takes are built at once, not optimised (docs/install.md).
build=quick
[ ! -x build/release/bin/tw-run ] || build=release
cmake --preset $build >/dev/null
cmake --build --preset $build --target tw-run tw-compile tw-targets
front_end() { # NAME MODULE TITLE [ARGUMENTS OF PYTHON]
  local interpreter=build/venv-$1/bin/python
  if ! "$interpreter" -c "import $2" 2>/dev/null; then
    echo "run-example: $3 could not be installed; see scripts/install-deps.sh" >&2
    exit 1
  fi
  echo "+ python ${*:4}"
  TILEWRIGHT_SDK=$PWD/build/$build PYTHONPATH=$PWD/python exec "$interpreter" "${@:4}"
}
case "${1:-}" in
  --torch) front_end torch torch PyTorch "${2:-examples/pytorch/inference.py}" ;;
  --jax) front_end jax jax JAX "${2:-examples/jax/training.py}" ;;
  --tf) front_end tf tensorflow TensorFlow "${2:-examples/tensorflow/training.py}" ;;
  --onnx) front_end onnx onnx ONNX examples/onnx/inference.py "${@:2}" ;;
esac
if [ $# -eq 0 ]; then
  set -- examples/feed-forward-f32.mlir --target cpu:host --verify --benchmark
fi
echo "+ tw-run $*"
exec build/$build/bin/tw-run "$@"
