//===- cblas.cpp - Libraries behind the C interface of BLAS ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// OpenBLAS, BLIS and MKL: `cblas_*gemm` and the bf16 and int8 extensions that they have. `form` is the prefix of their
// symbols ("scipy_" for the build that PyPI carries).
//
//===----------------------------------------------------------------------===//

#include "Peer.h"
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

using Gemm32 = void (*)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                        int);
using Gemm64 = void (*)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                        double *, int);
using GemmBf16 = void (*)(int, int, int, int, int, int, float, const uint16_t *, int, const uint16_t *, int, float,
                          float *, int);
// MKL: op of the offset, then A unsigned and B signed for row-major C.
using GemmU8S8 = void (*)(int, int, int, int, int, int, int, float, const void *, int, int8_t, const void *, int,
                          int8_t, float, int32_t *, int, const int32_t *);

struct State {
  PeerProblem problem;
  Gemm32 f32;
  Gemm64 f64;
  GemmBf16 bf16;
  GemmU8S8 u8s8;
  int lda, ldb, ldc;
};

constexpr int rowMajor = 101, noTrans = 111, trans = 112, fixOffset = 173;

void run(void *opaque) {
  const State &s = *static_cast<State *>(opaque);
  const PeerProblem &p = s.problem;
  int ta = p.transA ? trans : noTrans, tb = p.transB ? trans : noTrans;
  int m = int(p.m), n = int(p.n), k = int(p.k);
  if (s.f32)
    s.f32(rowMajor, ta, tb, m, n, k, 1, (const float *)p.a, s.lda, (const float *)p.b, s.ldb, 0, (float *)p.c, s.ldc);
  else if (s.f64)
    s.f64(rowMajor, ta, tb, m, n, k, 1, (const double *)p.a, s.lda, (const double *)p.b, s.ldb, 0, (double *)p.c,
          s.ldc);
  else if (s.bf16)
    s.bf16(rowMajor, ta, tb, m, n, k, 1, (const uint16_t *)p.a, s.lda, (const uint16_t *)p.b, s.ldb, 0, (float *)p.c,
           s.ldc);
  else {
    int32_t zero = 0;
    s.u8s8(rowMajor, ta, tb, fixOffset, m, n, k, 1, p.a, s.lda, 0, p.b, s.ldb, 0, 0, (int32_t *)p.c, s.ldc, &zero);
  }
}

/// Version and kernel, in the words of each library.
std::string describe(void *library, const std::string &prefix) {
  if (auto core = (char *(*)())dlsym(library, (prefix + "openblas_get_corename").c_str())) {
    auto config = (char *(*)())dlsym(library, (prefix + "openblas_get_config").c_str());
    std::string words = config ? config() : "OpenBLAS";
    return words.substr(0, words.find(' ', 9)) + ", kernel " + core();
  }
  if (auto id = (int (*)())dlsym(library, "bli_arch_query_id")) {
    auto name = (const char *(*)(int))dlsym(library, "bli_arch_string");
    auto version = (const char *(*)())dlsym(library, "bli_info_get_version_str");
    return std::string("BLIS ") + (version ? version() : "?") + ", kernel " + (name ? name(id()) : "?");
  }
  if (auto version = (void (*)(char *, int))dlsym(library, "MKL_Get_Version_String")) {
    char text[256] = {};
    version(text, sizeof text - 1);
    std::string words = text;
    words.erase(words.find_last_not_of(" \n") + 1);
    return words;
  }
  return "?";
}

} // namespace

extern "C" int tilewrightPeer(const char *path, const char *form, const PeerProblem *problem, PeerCall *call) {
  if (strcmp(problem->kind, "gemm"))
    return 1;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  std::string prefix = form, type = problem->type;
  State state = {};
  state.problem = *problem;
  auto find = [&](const char *name) { return dlsym(library, (prefix + name).c_str()); };
  if (type == "f32")
    state.f32 = (Gemm32)find("cblas_sgemm");
  else if (type == "f64")
    state.f64 = (Gemm64)find("cblas_dgemm");
  else if (type == "bf16") {
    state.bf16 = (GemmBf16)find("cblas_gemm_bf16bf16f32");
    if (!state.bf16)
      state.bf16 = (GemmBf16)find("cblas_sbgemm");
  } else if (type == "u8s8")
    state.u8s8 = (GemmU8S8)find("cblas_gemm_s8u8s32");
  if (!state.f32 && !state.f64 && !state.bf16 && !state.u8s8)
    return 1;
  state.lda = int(problem->transA ? problem->m : problem->k);
  state.ldb = int(problem->transB ? problem->k : problem->n);
  state.ldc = int(problem->n);
  // As the library counts: BLIS and MKL have setters of their own beside the environment.
  if (auto threads = (void (*)(int64_t))dlsym(library, "bli_thread_set_num_threads"))
    threads(problem->threads);
  if (auto threads = (void (*)(int))dlsym(library, "MKL_Set_Num_Threads"))
    threads(problem->threads);
  if (auto threads = (void (*)(int))find("openblas_set_num_threads"))
    threads(problem->threads);
  snprintf(call->description, sizeof call->description, "%s", describe(library, prefix).c_str());
  call->run = run;
  call->state = new State(state);
  return 0;
}
