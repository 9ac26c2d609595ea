//===- Finish.h - A program as a pass left it, made to run ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first pass that breaks a program is found by running the program as each pass leaves it. For that it has to be
/// *finished*, and by as few of the compiler's own passes as possible, since those that finish every attempt are not
/// told apart:
///
///   tensors          upstream's bufferization and loops; where they refuse it, buildReferencePipeline
///   nests, tiles     levels as loops, tile ops by their reference lowering, plain conversions to LLVM's dialect:
///                    code of this machine, for every chip
///   code of lanes    scf, arith and LLVM conversions without clean-up: the emulator or the device
///   or of cores
///
/// Between the passes that outline launches and those that write the code of lanes or cores nothing can be run.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_BISECT_FINISH_H
#define TILEWRIGHT_CORE_BISECT_FINISH_H

#include "core/Pipelines/Executable.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright::bisect {

/// Where in the stages a module stands.
struct Reached {
  unsigned stage = 1;                 // 1 to 5
  llvm::StringSet<> done;             // passes of this stage that have run
  std::optional<Signature> signature; // in stage 5: of the public function before it
};

/// Ways to finish a program on tensors, from 0 on.
inline constexpr unsigned finishingWays = 2;

/// Consumes `module`. `place`: where code of lanes or cores runs. The error says
/// why the program cannot be run from there, or nothing that a diagnostic has not said.
llvm::Expected<std::unique_ptr<Executable>> finish(mlir::ModuleOp module, const Reached &reached, unsigned way,
                                                   const Place &place);

/// What the reference lowering does not show, since it copies at once: a tile.copy whose token no tile.wait takes.
/// Empty if there is none.
std::string unawaitedCopy(mlir::ModuleOp module);

} // namespace tilewright::bisect

#endif // TILEWRIGHT_CORE_BISECT_FINISH_H
