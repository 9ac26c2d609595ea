#!/bin/sh
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the RTL as a shared library, FOLDER/libnpu.so. Needs verilator, make and a C++ compiler.
#   ./build.sh FOLDER [-GPARAMETER=VALUE ...]      parameters of npu_core, e.g. -GDMA_LATENCY=50
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
verilator --cc --top-module npu_core -O3 -Wno-fatal -Wno-WIDTH -Wno-BLKSEQ --Mdir "$folder/model" \
  -CFLAGS "-O1 -fPIC" "$@" \
  "$here/rtl/arithmetic.sv" "$here/rtl/systolic_array.sv" "$here/rtl/npu_core.sv" >"$folder/verilator.log" 2>&1 ||
  { cat "$folder/verilator.log" >&2; exit 1; }
make -s -C "$folder/model" -f Vnpu_core.mk Vnpu_core__ALL.a verilated.o verilated_threads.o \
  OPT_FAST=-O1 OBJCACHE="$(command -v ccache || true)" \
  >"$folder/make.log" 2>&1 || { cat "$folder/make.log" >&2; exit 1; }
include=$(verilator --getenv VERILATOR_ROOT)/include
${CXX:-c++} -std=c++20 -O2 -fPIC -shared -Wl,-Bsymbolic -I"$folder/model" -isystem "$include" -isystem "$include/vltstd" \
  "$here/harness.cpp" "$folder/model/Vnpu_core__ALL.a" "$folder/model/verilated.o" "$folder/model/verilated_threads.o" \
  -pthread -o "$folder/libnpu.so"
