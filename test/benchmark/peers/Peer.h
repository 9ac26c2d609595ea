//===- Peer.h - What the harness asks of a library ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A peer is a shared object that wraps one library that Tilewright is compared with. The harness loads each with
/// its own copy of symbols, so that two versions of a library can be timed in one process, interleaved.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_BENCHMARK_PEER_H
#define TILEWRIGHT_BENCHMARK_PEER_H

#include <cstdint>

/// One computation on row-major buffers that the harness owns.
///   gemm       C[m,n] = op(A) * op(B); A is m x k, or k x m where `transA`; B is k x n, or n x k where `transB`
///   softmax    C[m,n] = softmax of the rows of A[m,n]
///   layernorm  C[m,n] = (A - mean) / sqrt(variance + 1e-5) * gain[n] + bias[n], by rows; gain and bias are b and bias
///   fused      C[m,n] = gelu(A * B + bias[n]) + residual[m,n], the exact GELU; otherwise as gemm
///   chain      C[m,n] = max(A[m,n] * 0.5 + bias[n], 0)
///   rowsum     C[m] = sum of A[m,n] over n
///   colsum     C[n] = sum of A[m,n] over m
///   maxpool    C[m,n/4] = maxima of 2 x 2, rows of A being planes of sqrt(n) x sqrt(n)
///   maxpool-last  the same for pictures of k x k pixels of n channels, of which A holds m; C[m/4,n]
///   mean       C[m,(sqrt(n) - 2)^2] = means of the neighbourhoods of 3 x 3, in planes as above
struct PeerProblem {
  const char *kind;
  const char *type; ///< "f32", "f64", "bf16" (C is f32), "u8s8", "s8s8" (C is i32)
  int64_t m, n, k;
  int transA, transB;
  int threads;
  const void *a, *b, *bias, *residual;
  void *c;
};

/// A prepared call. `run` computes once, packing included; `description` names version and kernel.
struct PeerCall {
  void (*run)(void *state);
  void *state;
  char description[256];
  int moves; ///< 1: only moves the bytes that the problem must move; its result means nothing
};

/// Prepares `problem` with the library at `library`; `form` chooses between forms that a library offers ("" = default).
/// Returns 0, or 1 if the library cannot do it.
extern "C" int tilewrightPeer(const char *library, const char *form, const PeerProblem *problem, PeerCall *call);

#endif // TILEWRIGHT_BENCHMARK_PEER_H
