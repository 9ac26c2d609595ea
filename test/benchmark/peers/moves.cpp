//===- moves.cpp - How fast this machine moves bytes ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What memory-bound code is measured against. Forms: "memcpy", "copy" (vector loads and stores) and "stream" (vector
// loads, stores past the caches) move A to C as a chain must, "stream" a quarter for windows of 2 x 2; "read" reads A
// as a reduction must.
//
//===----------------------------------------------------------------------===//

#include "Peer.h"
#include <cstdio>
#include <cstring>

namespace {

typedef float Vector __attribute__((vector_size(64)));

size_t bytes(const PeerProblem &p) { return size_t(p.m * p.n) * 4; }

void runMemcpy(void *state) {
  const PeerProblem &p = *static_cast<PeerProblem *>(state);
  memcpy(p.c, p.a, bytes(p));
}

void runCopy(void *state) {
  const PeerProblem &p = *static_cast<PeerProblem *>(state);
  const Vector *from = static_cast<const Vector *>(p.a);
  Vector *to = static_cast<Vector *>(p.c);
  for (size_t i = 0, n = bytes(p) / 64; i < n; ++i) {
    to[i] = from[i];
    asm volatile("" ::: "memory"); // stays a loop, not a call of memcpy
  }
}

void runStream(void *state) {
  const PeerProblem &p = *static_cast<PeerProblem *>(state);
  const Vector *from = static_cast<const Vector *>(p.a);
  Vector *to = static_cast<Vector *>(p.c);
  for (size_t i = 0, n = bytes(p) / 64; i < n; ++i)
    __builtin_nontemporal_store(from[i], &to[i]);
}

/// Reads A, writes a quarter as much, past the caches.
void runQuarter(void *state) {
  const PeerProblem &p = *static_cast<PeerProblem *>(state);
  const Vector *from = static_cast<const Vector *>(p.a);
  Vector *to = static_cast<Vector *>(p.c);
  for (size_t i = 0, n = bytes(p) / 256; i < n; ++i)
    __builtin_nontemporal_store(from[4 * i] + from[4 * i + 1] + from[4 * i + 2] + from[4 * i + 3], &to[i]);
}

void runRead(void *state) {
  const PeerProblem &p = *static_cast<PeerProblem *>(state);
  const Vector *from = static_cast<const Vector *>(p.a);
  Vector sums[8] = {};
  for (size_t i = 0, n = bytes(p) / 64; i + 8 <= n; i += 8)
    for (size_t j = 0; j < 8; ++j)
      sums[j] += from[i + j];
  for (const Vector &sum : sums)
    asm volatile("" ::"m"(sum));
}

} // namespace

extern "C" int tilewrightPeer(const char *, const char *form, const PeerProblem *problem, PeerCall *call) {
  // Softmax and layer norm read and write as much as a chain; for them these loops are bounds.
  bool chain = !strcmp(problem->kind, "chain") || !strcmp(problem->kind, "softmax") ||
               !strcmp(problem->kind, "layernorm") || !strcmp(problem->kind, "mean");
  bool quarter = !strncmp(problem->kind, "maxpool", 7);
  if (strcmp(problem->type, "f32") || (problem->m * problem->n) % 128)
    return 1;
  if (chain && !strcmp(form, "memcpy"))
    call->run = runMemcpy;
  else if (chain && !strcmp(form, "copy"))
    call->run = runCopy;
  else if (chain && !strcmp(form, "stream"))
    call->run = runStream;
  else if (quarter && !strcmp(form, "stream"))
    call->run = runQuarter;
  else if (!chain && !quarter && !strcmp(form, "read"))
    call->run = runRead;
  else
    return 1;
  snprintf(call->description, sizeof call->description, "%s loop over the same bytes", form);
  call->moves = 1;
  call->state = new PeerProblem(*problem);
  return 0;
}
