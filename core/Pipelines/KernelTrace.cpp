//===- KernelTrace.cpp - When kernels of this process run -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The function that traced code calls, and a list of spans for each thread.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/KernelTrace.h"
#include "core/Pipelines/PlacedProgram.h"
#include "core/Transforms/Lower/Vectors/TraceKernels.h"

#include <atomic>
#include <memory>
#include <mutex>

using namespace tilewright;

namespace {
/// What one thread told.
struct ThreadSpans {
  std::vector<KernelSpan> open, ended;
};

struct Spans {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadSpans>> threads;

  ThreadSpans *add() {
    std::lock_guard<std::mutex> guard(mutex);
    threads.push_back(std::make_unique<ThreadSpans>());
    return threads.back().get();
  }
};
} // namespace

/// Of the trace that lives; `generation` tells threads that theirs is another one.
static std::unique_ptr<Spans> spans;
static std::atomic<uint64_t> generation{0};
static std::atomic<bool> isOn{false};

KernelTrace::KernelTrace() {
  spans = std::make_unique<Spans>();
  ++generation;
  isOn = true;
  tilewright_trace_kernel(-1, 0); // this thread is the first
}

KernelTrace::~KernelTrace() { isOn = false; }

std::vector<KernelSpan> KernelTrace::take() {
  std::vector<KernelSpan> all;
  std::lock_guard<std::mutex> guard(spans->mutex);
  for (unsigned number = 0; number < spans->threads.size(); ++number)
    for (KernelSpan &span : spans->threads[number]->ended) {
      span.thread = number;
      all.push_back(span);
    }
  return all;
}

void tilewright_trace_kernel(int64_t site, int64_t what) {
  if (!isOn.load(std::memory_order_relaxed))
    return;
  static thread_local ThreadSpans *mine;
  static thread_local uint64_t mineOf;
  if (uint64_t now = generation.load(std::memory_order_relaxed); mineOf != now) {
    mine = spans->add();
    mineOf = now;
  }
  auto mark = static_cast<TraceMark>(what);
  if (site < 0)
    return;
  if (mark == TraceMark::Begin || mark == TraceMark::ThreadBegin) {
    mine->open.push_back({site, mark == TraceMark::ThreadBegin, 0, secondsNow(), 0});
    return;
  }
  if (mine->open.empty()) // began before the trace did
    return;
  KernelSpan span = mine->open.back();
  mine->open.pop_back();
  span.end = secondsNow();
  mine->ended.push_back(span);
}
