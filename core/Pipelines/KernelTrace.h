//===- KernelTrace.h - When kernels of this process run -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What traced code (core/Transforms/Lower/Vectors/TraceKernels.h) tells while one
/// of these lives:
///
///   KernelTrace trace;
///   executable.call(sizes, arrays);
///   for (const KernelSpan &span : trace.take()) ...
///
/// A mark costs two dozen nanoseconds; without a trace, a call and a branch.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_KERNELTRACE_H
#define TILEWRIGHT_CORE_PIPELINES_KERNELTRACE_H

#include <cstdint>
#include <vector>

namespace tilewright {

/// A kernel, or what one thread did of it.
struct KernelSpan {
  int64_t site = 0;
  bool isPart = false;       // of one thread, before it waits for the others
  unsigned thread = 0;       // 0: the one that calls the program; others in the order in which they first came
  double begin = 0, end = 0; // secondsNow()
};

/// At most one at a time.
class KernelTrace {
public:
  KernelTrace();
  ~KernelTrace();
  KernelTrace(const KernelTrace &) = delete;
  KernelTrace &operator=(const KernelTrace &) = delete;

  /// Spans that have ended, by thread and then by their ends. No traced code may run meanwhile.
  std::vector<KernelSpan> take();
};

} // namespace tilewright

/// What traced code calls: the number of a site, and a TraceMark.
extern "C" __attribute__((visibility("default"))) void tilewright_trace_kernel(int64_t site, int64_t what);

#endif // TILEWRIGHT_CORE_PIPELINES_KERNELTRACE_H
