//===- Predictions.h - What the cost models say of kernels --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Listens to a compilation and keeps the modelled seconds of each kernel:
///
///   Predictions predictions(context, target);
///   compile.afterStage = [&](unsigned stage, ModuleOp module) { predictions.afterStage(stage, module); };
///   ...
///   predictions.of("mm_kernel_0")     a kernel of a processor, one call
///   predictions.of("mm_launch_0")     a launch
///
/// Decisions name the kernel that a nest stands in. A launch is one grid of such a
/// kernel; it has the decisions with its location in the program, unless several
/// launches have this location: of those nothing is known but what their grids say.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRACING_PREDICTIONS_H
#define TILEWRIGHT_CORE_TRACING_PREDICTIONS_H

#include "core/Explore/Estimate.h"
#include "core/Transforms/Host/StaticCounts.h"
#include "tilewright/Explain.h"

namespace tilewright {

/// Of one run of a kernel.
struct Prediction {
  double seconds = 0;
  std::optional<double> bytes; // to and from the backing memory
  std::string location;
};

class Predictions {
public:
  /// From now on decisions of passes in `context` are kept, until stage 5 has ended. `target`: as CompileOptions has
  /// it.
  Predictions(mlir::MLIRContext &context, std::string target);
  Predictions(const Predictions &) = delete;
  void afterStage(unsigned stage, mlir::ModuleOp module);

  /// Null where the models say nothing of this kernel. The public function is one, too: of one call of the program,
  /// unless some loop's number of iterations is not known.
  const Prediction *of(llvm::StringRef kernel) const;

private:
  void addKernels(const explore::Estimate &estimate, const TargetDescription &chip);
  void addLaunches(mlir::ModuleOp module);

  std::string target;
  std::unique_ptr<DecisionLog> log;
  llvm::StringMap<double> calls;
  llvm::StringMap<LaunchCounts> counts;        // of launches
  llvm::StringMap<Prediction> kernels, places; // by name; by location
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRACING_PREDICTIONS_H
