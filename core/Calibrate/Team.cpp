//===- Team.cpp - What it takes to wake a team of threads -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiled code shares loops among the threads of LLVM's OpenMP library: so the team of that library is measured, by
/// parallel regions that do nothing.
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Calibration.h"
#include "core/Pipelines/OpenMP.h"
#include "core/Pipelines/Run.h"
#include "llvm/Support/DynamicLibrary.h"
#include <cmath>

using namespace tilewright;

namespace {
/// Where a region stands in a source, as the library's entries take it.
struct Location {
  int32_t reserved = 0, flags = 2, more[2] = {0, 0}; // 2: of a compiler
  const char *text = ";unknown;unknown;0;0;;";
};
using Region = void (*)(int32_t *thread, int32_t *bound, ...);
using Fork = void (*)(Location *, int32_t arguments, Region, ...);
} // namespace

static void doNothing(int32_t *, int32_t *, ...) {}

llvm::Expected<double> calibrate::teamNanoseconds() {
  auto path = openMPLibrary();
  if (!path)
    return path.takeError();
  std::string message;
  auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path->c_str(), &message);
  auto fork = reinterpret_cast<Fork>(library.isValid() ? library.getAddressOfSymbol("__kmpc_fork_call") : nullptr);
  if (!fork)
    return llvm::createStringError("'" + *path + "' has no teams of threads: " + message);
  static Location here;
  // The fastest of several samples: in the others a core did something else. The first one wakes the team.
  constexpr int samples = 200, regions = 20;
  double best = HUGE_VAL;
  for (int sample = 0; sample <= samples; ++sample) {
    const double begin = secondsNow();
    for (int i = 0; i < regions; ++i)
      fork(&here, 0, doNothing);
    if (sample > 0)
      best = std::min(best, (secondsNow() - begin) / regions);
  }
  return best * 1e9;
}
