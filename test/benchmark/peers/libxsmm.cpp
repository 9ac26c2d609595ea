//===- libxsmm.cpp - Generated small products -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One generated kernel for the whole product: what libxsmm is for. It packs nothing and blocks for no cache, so large
// products are refused here rather than shown slow.
//
//===----------------------------------------------------------------------===//

#include "Peer.h"
#include <cstdio>
#include <cstring>
#include <libxsmm.h>

namespace {

struct State {
  PeerProblem problem;
  libxsmm_smmfunction kernel;
};

// Column-major: C^T = B^T * A^T, so the right operand comes first.
void run(void *opaque) {
  State &s = *static_cast<State *>(opaque);
  s.kernel((const float *)s.problem.b, (const float *)s.problem.a, (float *)s.problem.c);
}

} // namespace

extern "C" int tilewrightPeer(const char *, const char *, const PeerProblem *problem, PeerCall *call) {
  if (strcmp(problem->kind, "gemm") || strcmp(problem->type, "f32") || problem->transA || problem->transB)
    return 1;
  if (problem->m * problem->n * problem->k > 512LL * 512 * 512)
    return 1;
  libxsmm_init();
  int m = int(problem->n), n = int(problem->m), k = int(problem->k), lda = m, ldb = k, ldc = m;
  float alpha = 1, beta = 0;
  int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_PREFETCH_NONE;
  libxsmm_smmfunction kernel = libxsmm_smmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
  if (!kernel)
    return 1;
  snprintf(call->description, sizeof call->description, "libxsmm %s, kernel %s", LIBXSMM_VERSION,
           libxsmm_get_target_arch());
  call->run = run;
  call->state = new State{*problem, kernel};
  return 0;
}
