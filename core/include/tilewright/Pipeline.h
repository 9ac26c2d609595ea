//===- Pipeline.h - The stages of the compiler ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The stages of DESIGN 5 as pass pipelines, in order:
///
///   1 import    TOSA, linalg, tensor      -> linalg, tensor, arith, math, scf, func
///   2 affine    tensors                   -> affine nests on memrefs, kernels outlined
///   3 optimise  scalar affine             -> tile ops, vectors, memories, levels
///   4 map       levels                    -> the execution model, still sequential in meaning
///   5 lower     tile, affine, vector, scf -> LLVM dialect (units as calls by record)
///   6 emit      LLVM dialect              -> object, library, text
///
/// A module carries what passes need to know as attributes: `tilewright.target = "acme:one"`,
/// `tilewright.fp = "default" | "strict" | "fast"`, `tilewright.threads = N : i64` (1 = no parallel code).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PIPELINE_H
#define TILEWRIGHT_PIPELINE_H

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tilewright {

class TargetDescription;

/// Dialects, interfaces and passes that the stages use.
void registerAllDialects(mlir::DialectRegistry &registry);
void registerAllPasses();
/// All of these dialects and those of the targets of this process.
mlir::DialectRegistry programDialects();

void buildImportPipeline(mlir::OpPassManager &pm);
void buildAffinePipeline(mlir::OpPassManager &pm);
/// Stage 2 without any optimisation and without kernels: an independent judge of buildAffinePipeline.
void buildReferencePipeline(mlir::OpPassManager &pm);
/// The plain path of `--verify`: stage 3 without any optimisation.
void buildOptimizePipeline(mlir::OpPassManager &pm, bool plain = false);
void buildMapPipeline(mlir::OpPassManager &pm);
/// Stages 3 to 5 of chips that run lanes: contractions and nests on grid, block and subgroup; launches and their
/// manifest; the code of one lane in the LLVM dialect, with the target's own ops and units as calls by record.
void buildOptimizeLanesPipeline(mlir::OpPassManager &pm);
void buildMapLanesPipeline(mlir::OpPassManager &pm);
void buildLowerLanesPipeline(mlir::OpPassManager &pm);

/// The same for chips whose cores program engines: contractions by unit and copy engine, everything else on the cores;
/// commands as calls of primitives.
void buildOptimizeCoresPipeline(mlir::OpPassManager &pm, bool vectors = true);
void buildMapCoresPipeline(mlir::OpPassManager &pm);
void buildLowerCoresPipeline(mlir::OpPassManager &pm);
/// Stage 5 for programs that are given out as source: scalar loops, structured control flow, arrays as memrefs, the
/// vendor's names (see writeC and writeLLVM).
void buildLowerCoresToCPipeline(mlir::OpPassManager &pm);

struct LoweringOptions {
  bool packedCall = false; // for callers in this process, see the pass make-c-interface
  bool tileLoops = false;  // tile ops by their reference lowering to scalar loops, instead of vectors
  bool libm = false;       // elementary functions by calls of libm, instead of expand-math
};
/// What is common to targets that lower to LLVM on the host: tile -> vector -> LLVM dialect.
void buildLowerToLLVMPipeline(mlir::OpPassManager &pm, const LoweringOptions &options = {});

} // namespace tilewright

#endif // TILEWRIGHT_PIPELINE_H
