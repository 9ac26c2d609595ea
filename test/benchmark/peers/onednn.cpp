//===- onednn.cpp - oneDNN, version 2 and 3 -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms: "gemm" calls the library's BLAS-like functions; "matmul" (default) its primitive on plain row-major buffers,
// so that whatever the primitive packs is packed inside the call; "prepacked" gives the primitive weights in the
// layout that it prefers, reordered before the clock starts. Softmax and layer norm are primitives.
//
//===----------------------------------------------------------------------===//

#include "Peer.h"
#include "oneapi/dnnl/dnnl.hpp"
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

using namespace dnnl;

extern "C" dnnl_status_t dnnl_gemm_bf16bf16f32(char transA, char transB, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
                                               float alpha, const uint16_t *a, dnnl_dim_t lda, const uint16_t *b,
                                               dnnl_dim_t ldb, float beta, float *c, dnnl_dim_t ldc);

#if DNNL_VERSION_MAJOR >= 3
// Newer headers ask for these; early libraries of version 3 have the older forms, which serve for what is used here.
extern "C" __attribute__((weak)) dnnl_status_t dnnl_memory_create_v2(dnnl_memory_t *memory,
                                                                     const_dnnl_memory_desc_t descriptor,
                                                                     dnnl_engine_t engine, int, void **handles) {
  return dnnl_memory_create(memory, descriptor, engine, handles[0]);
}
extern "C" __attribute__((weak)) dnnl_status_t dnnl_memory_desc_query_v2(const_dnnl_memory_desc_t descriptor,
                                                                         dnnl_query_t what, int, void *result) {
  return dnnl_memory_desc_query(descriptor, what, result);
}
#endif

namespace {

using Type = memory::data_type;

struct State {
  PeerProblem problem;
  engine cpu;
  stream order;
  primitive call;
  std::unordered_map<int, memory> arguments;
};

void runFunctions(void *opaque) {
  const PeerProblem &p = static_cast<State *>(opaque)->problem;
  char ta = p.transA ? 'T' : 'N', tb = p.transB ? 'T' : 'N';
  dnnl_dim_t lda = p.transA ? p.m : p.k, ldb = p.transB ? p.k : p.n;
  int32_t zero = 0;
  if (!strcmp(p.type, "f32"))
    dnnl_sgemm(ta, tb, p.m, p.n, p.k, 1, (const float *)p.a, lda, (const float *)p.b, ldb, 0, (float *)p.c, p.n);
  else if (!strcmp(p.type, "bf16"))
    dnnl_gemm_bf16bf16f32(ta, tb, p.m, p.n, p.k, 1, (const uint16_t *)p.a, lda, (const uint16_t *)p.b, ldb, 0,
                          (float *)p.c, p.n);
  else if (!strcmp(p.type, "u8s8"))
    dnnl_gemm_u8s8s32(ta, tb, 'F', p.m, p.n, p.k, 1, (const uint8_t *)p.a, lda, 0, (const int8_t *)p.b, ldb, 0, 0,
                      (int32_t *)p.c, p.n, &zero);
  else
    dnnl_gemm_s8s8s32(ta, tb, 'F', p.m, p.n, p.k, 1, (const int8_t *)p.a, lda, 0, (const int8_t *)p.b, ldb, 0, 0,
                      (int32_t *)p.c, p.n, &zero);
}

void runPrimitive(void *opaque) {
  State &s = *static_cast<State *>(opaque);
  s.call.execute(s.order, s.arguments);
  s.order.wait();
}

memory::desc matrix(int64_t rows, int64_t cols, Type type, bool transposed) {
  return {{rows, cols}, type, transposed ? memory::dims{1, rows} : memory::dims{cols, 1}};
}

std::string prepareMatmul(State &s, bool prepacked) {
  const PeerProblem &p = s.problem;
  std::string type = p.type;
  Type left = type == "f32" ? Type::f32 : type == "bf16" ? Type::bf16 : type == "u8s8" ? Type::u8 : Type::s8;
  Type right = type == "f32" ? Type::f32 : type == "bf16" ? Type::bf16 : Type::s8;
  Type out = right == Type::s8 ? Type::s32 : Type::f32;
  memory::desc a = matrix(p.m, p.k, left, p.transA), b = matrix(p.k, p.n, right, p.transB),
               c = matrix(p.m, p.n, out, false);
  memory::desc weights = prepacked ? memory::desc({p.k, p.n}, right, memory::format_tag::any) : b;
#if DNNL_VERSION_MAJOR >= 3
  matmul::primitive_desc description(s.cpu, a, weights, c);
#else
  matmul::primitive_desc description(matmul::desc(a, weights, c), s.cpu);
#endif
  memory source(a, s.cpu, const_cast<void *>(p.a)), plain(b, s.cpu, const_cast<void *>(p.b)), target(c, s.cpu, p.c);
  memory packed = plain;
  if (prepacked && description.weights_desc() != b) {
    packed = memory(description.weights_desc(), s.cpu);
    reorder(plain, packed).execute(s.order, plain, packed);
    s.order.wait();
  }
  s.call = matmul(description);
  s.arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, target}};
  return description.impl_info_str();
}

std::string prepareRows(State &s) {
  const PeerProblem &p = s.problem;
  memory::desc rows = matrix(p.m, p.n, Type::f32, false);
  memory source(rows, s.cpu, const_cast<void *>(p.a)), target(rows, s.cpu, p.c);
  s.arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}};
  if (!strcmp(p.kind, "softmax")) {
#if DNNL_VERSION_MAJOR >= 3
    softmax_forward::primitive_desc description(s.cpu, prop_kind::forward_inference, algorithm::softmax_accurate, rows,
                                                rows, 1);
#else
    softmax_forward::primitive_desc description(softmax_forward::desc(prop_kind::forward_inference, rows, 1), s.cpu);
#endif
    s.call = softmax_forward(description);
    return description.impl_info_str();
  }
  normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  layer_normalization_forward::primitive_desc description(s.cpu, prop_kind::forward_inference, rows, rows, 1e-5f,
                                                          flags);
#else
  layer_normalization_forward::primitive_desc description(
      layer_normalization_forward::desc(prop_kind::forward_inference, rows, 1e-5f, flags), s.cpu);
#endif
  memory::desc vector({p.n}, Type::f32, memory::format_tag::a);
  s.arguments.insert({DNNL_ARG_SCALE, memory(vector, s.cpu, const_cast<void *>(p.b))});
  s.arguments.insert({DNNL_ARG_SHIFT, memory(vector, s.cpu, const_cast<void *>(p.bias))});
  s.call = layer_normalization_forward(description);
  return description.impl_info_str();
}

} // namespace

extern "C" int tilewrightPeer(const char *, const char *form, const PeerProblem *problem, PeerCall *call) {
  std::string kind = problem->kind, type = problem->type, way = form;
  if (kind != "gemm" && kind != "softmax" && kind != "layernorm")
    return 1;
  if (type == "f64" || (way == "gemm" && kind != "gemm"))
    return 1;
  try {
    auto state = std::make_unique<State>();
    state->problem = *problem;
    std::string implementation = "functions";
    if (way != "gemm") {
      state->cpu = engine(engine::kind::cpu, 0);
      state->order = stream(state->cpu);
      implementation = kind == "gemm" ? prepareMatmul(*state, way == "prepacked") : prepareRows(*state);
    }
    const dnnl_version_t *version = dnnl_version();
    snprintf(call->description, sizeof call->description, "oneDNN %d.%d.%d, %s, isa %#x", version->major,
             version->minor, version->patch, implementation.c_str(), unsigned(dnnl_get_effective_cpu_isa()));
    call->run = way == "gemm" ? runFunctions : runPrimitive;
    call->state = state.release();
    return 0;
  } catch (const error &failure) {
    fprintf(stderr, "oneDNN: %s\n", failure.what());
    return 1;
  }
}
