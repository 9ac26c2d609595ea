#!/usr/bin/env bash
# Installs what Tilewright needs to build and test on Debian 12: packages through apt, the Python test modules into
# build/venv, those of front ends into folders of their own. Does nothing, quickly, where all is present. Run it as root, or as a
# user who may use sudo.
#
#   scripts/install-deps.sh                 all that the tests take but TensorFlow
#   scripts/install-deps.sh --tf            TensorFlow too
#   scripts/install-deps.sh --build         what the build takes, and nothing for tests
#   scripts/install-deps.sh --build NAME    that and the modules of one front end: torch, jax, onnx or tf
#   scripts/install-deps.sh --packages      what the build and Debian packages take
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools liblld-22-dev lld-22 clang-22 libomp-22-dev libisl-dev
  libgtest-dev cmake ninja-build ccache libzstd-dev libcurl4-openssl-dev libedit-dev zlib1g-dev libxml2-dev libc6-dev
  libstdc++-12-dev git python3 python3-venv)
packaging_packages=(doxygen dpkg-dev file)
test_packages=(libclang-rt-22-dev clang-format-22 clang-tidy-22 libbenchmark-dev graphviz "${packaging_packages[@]}")
# Used where they can be had; tests and benchmarks that need one say so and are skipped without it.
optional_packages=(qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross libc6-dev-ppc64el-cross libopenblas-dev libblis-dev libdnnl-dev libxsmm-dev
  chromium verilator)
# Every module pinned: the same tests everywhere.
python_modules=(numpy==1.26.4 ml_dtypes==0.5.1 pytest==8.3.4 pytest-xdist==3.6.1 wheel==0.45.1)
# Those of the tests of tilewright.torch, in a folder of their own (build/venv-torch): 0.7 GB, PyTorch built for hosts alone.
torch_modules=(torch==2.13.0 torchao==0.18.0 onnx==1.23.2 onnxscript==0.7.2 numpy==1.26.4 expecttest==0.3.0 pytest==8.3.4 pytest-xdist==3.6.1)
# Those of the tests of tilewright.jax, in build/venv-jax: 0.5 GB.
jax_modules=(jax==0.10.2 jaxlib==0.10.2 sympy==1.14.0 numpy==2.3.4 ml_dtypes==0.5.4 scipy==1.17.1 pytest==8.3.4 pytest-xdist==3.6.1)
# Those of the tests of tilewright.onnx, in build/venv-onnx: 0.2 GB.
onnx_modules=(onnx==1.23.2 sympy==1.14.0 numpy==2.3.4 ml_dtypes==0.5.4 pytest==8.3.4 pytest-xdist==3.6.1)
# Those of the tests of tilewright.tf, in build/venv-tf: 1.7 GB, for the full mode (TILEWRIGHT_FULL=1) or with --tf.
tf_modules=(tensorflow-cpu==2.21.0 jaxlib==0.10.2 numpy==2.4.6 ml_dtypes==0.6.0 pytest==8.3.4 pytest-xdist==3.6.1)

missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "install-deps: root (or sudo) is needed to install:" "${wanted[@]}" >&2
    exit 1
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

mode=${1:-}
case "$mode" in
  "" | --tf) needed=("${build_packages[@]}" "${test_packages[@]}") ;;
  --build) needed=("${build_packages[@]}") optional_packages=() ;;
  --packages) needed=("${build_packages[@]}" "${packaging_packages[@]}") optional_packages=() ;;
  *) echo "usage: scripts/install-deps.sh [--tf | --build [torch|jax|onnx|tf] | --packages]" >&2; exit 2 ;;
esac
mapfile -t wanted < <(missing "${needed[@]}")
mapfile -t extra < <(missing "${optional_packages[@]}")
# An optional package that could not be had is asked for once, not at every start.
if [ -f build/.optional-packages-tried ] && [ "${#wanted[@]}" -eq 0 ]; then
  extra=()
fi
if [ $((${#wanted[@]} + ${#extra[@]})) -gt 0 ]; then
  as_root apt-get update -q
  if [ "${#wanted[@]}" -gt 0 ]; then
    apt_install "${wanted[@]}"
  fi
  for package in "${extra[@]}"; do
    apt_install "$package" || echo "install-deps: $package cannot be had; what needs it is skipped" >&2
  done
  if [ "${#optional_packages[@]}" -gt 0 ]; then
    mkdir -p build
    touch build/.optional-packages-tried
  fi
fi

# PyTorch for hosts comes from a wheel at hand, or from PyTorch's own index: the package index has the one with CUDA, of 3 GB.
install_torch() {
  /usr/bin/python3 -m venv build/venv-torch
  local pip=(build/venv-torch/bin/python -m pip install -q --disable-pip-version-check)
  "${pip[@]}" --only-binary :all: "torch==2.13.0+cpu" "${torch_modules[@]:1}" ||
    "${pip[@]}" --only-binary :all: --extra-index-url https://download.pytorch.org/whl/cpu "torch==2.13.0+cpu" "${torch_modules[@]:1}"
}

install_modules() { # FOLDER MODULES
  local folder=build/$1
  shift
  /usr/bin/python3 -m venv "$folder"
  "$folder/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: "$@"
}

# The modules of one front end, once: also where they cannot be had they are asked for once, not at every start.
front_end() { # NAME TITLE MODULES
  local name=$1 title=$2 stamp=build/.$1-modules
  shift 2
  if [ "$(cat "$stamp" 2>/dev/null)" != "$*" ]; then
    mkdir -p build
    if [ "$name" = torch ]; then install_torch; else install_modules "venv-$name" "$@"; fi ||
      echo "install-deps: $title cannot be had; the tests of tilewright.$name are skipped" >&2
    echo "$*" >"$stamp"
  fi
}

front_end_by_name() { # NAME
  case "$1" in
    torch) front_end torch PyTorch "${torch_modules[@]}" ;;
    jax) front_end jax JAX "${jax_modules[@]}" ;;
    onnx) front_end onnx ONNX "${onnx_modules[@]}" ;;
    tf) front_end tf TensorFlow "${tf_modules[@]}" ;;
    *) echo "install-deps: no front end is called '$1'; name torch, jax, onnx or tf" >&2; exit 2 ;;
  esac
}

case "$mode" in
  --packages) exit ;;
  --build)
    if [ -n "${2:-}" ]; then
      front_end_by_name "$2"
    fi
    exit
    ;;
esac
for name in torch jax onnx; do
  front_end_by_name "$name"
done
if [ "$mode" = --tf ] || [ "${TILEWRIGHT_FULL:-0}" = 1 ]; then
  front_end_by_name tf
fi

stamp=build/venv/.tilewright-modules
if [ "$(cat "$stamp" 2>/dev/null)" != "${python_modules[*]}" ]; then
  mkdir -p build
  /usr/bin/python3 -m venv build/venv
  build/venv/bin/python -m pip install -q --disable-pip-version-check "${python_modules[@]}"
  echo "${python_modules[*]}" >"$stamp"
fi
