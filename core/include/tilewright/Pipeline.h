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
/// `tilewright.fp = "default" | "strict" | "reproducible" | "fast"`, `tilewright.threads = N : i64` (1 = no parallel
/// code).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PIPELINE_H
#define TILEWRIGHT_PIPELINE_H

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tilewright {

class MachineGraph;

/// Dialects, interfaces and passes that the stages use.
void registerAllDialects(mlir::DialectRegistry &registry);
void registerAllPasses();
/// All of these dialects and those of the targets of this process.
mlir::DialectRegistry programDialects();

/// `lanes`: for a chip whose nests are launches of lanes (`MachineGraph::lanesAreThreads`).
void buildImportPipeline(mlir::OpPassManager &pm, bool lanes = false);
void buildAffinePipeline(mlir::OpPassManager &pm);
/// Stage 2 without any optimisation and without kernels: an independent judge of buildAffinePipeline.
void buildReferencePipeline(mlir::OpPassManager &pm);

//===-- Stages 3 to 5: which passes run follows from the machine graph ------===//

/// `vectors`: nests that stay with one thread are vectorised; not those of programs that are given out as source.
void buildOptimizePipeline(mlir::OpPassManager &pm, const MachineGraph &graph, bool vectors = true);
/// Launches and their manifest where a host program starts them, else threads and kernels that are shared.
void buildMapPipeline(mlir::OpPassManager &pm, const MachineGraph &graph);

struct LoweringOptions {
  bool packedCall = false; // for callers in this process, see the pass make-c-interface
  bool tileLoops = false;  // tile ops by their reference lowering to scalar loops, instead of vectors
  bool libm = false;       // elementary functions by calls of libm, instead of expand-math
  bool source = false;     // for programs that are given out as source (writeC, writeLLVM), see buildLowerPipeline
};
/// Where values reside decides: functions of one thread become vectors and LLVM's dialect; launches the code of one
/// lane with the target's own ops, or that of one core with commands as calls of primitives. As `source` the latter is
/// scalar loops, structured control flow, arrays as memrefs, and the vendor's names. Units are calls by record.
void buildLowerPipeline(mlir::OpPassManager &pm, const MachineGraph &graph, const LoweringOptions &options = {});

} // namespace tilewright

#endif // TILEWRIGHT_PIPELINE_H
