//===- LaunchManifest.h - What the host does for a program ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The public function of a program whose work is launches, as data for a
/// loader that has no compiler.
///
/// An artifact has the data of constants beside its manifests (core/Runtime/C/Artifact.h).
/// Buffers are numbered in one list, the arguments first. Variables are 64-bit
/// integers of the host.
///
///   { "format": 2, "entry": "mm", "target": "acme:one", "sizes": 2, "variables": 0, "buffers": 5,
///     "arguments":   [{"type": "f16", "bytes": 2, "shape": [{"size": 0}, 64], "written": false,
///                      "result": false}, ..],
///     "constants":   [{"buffer": 3, "bytes": 64, "data": base64}],
///     "temporaries": [{"buffer": 4, "bytes": ["*", {"size": 0}, 4]}],
///     "roundings":   ["+", 1, 64],
///     "steps":       [{"launch": "mm_launch_0", "threads": 128, "scratchpad": 65536, "grid": [x, y, z], "cluster": 1,
///                      "arguments": [{"buffer": 0}, {"buffer": 3}, {"value": E}, {"tensor_map": {..}}]}] }
///
///   step                                         does
///   {"launch": kernel, ..}                       starts a kernel, with a pointer for each buffer, a 64-bit integer for
///                                                each value; "scratchpad": bytes that the launch has to give;
///                                                "cluster": blocks along x that run together and see each other's
///                                                scratchpads (left out: 1); "predicted": {"nanoseconds", "bytes"},
///                                                what the cost model expects of it, for profilers (left out: not
///                                                known)
///   {"read": v, "buffer": b, "offset": E, "bytes": n}   waits; variable v = the signed integer of n bytes at E n
///   {"allocate": b, "bytes": E}                  fresh memory for buffer b
///   {"assign": [[v, E], ..]}                     variables, all right sides first
///   {"rename": [[b, c], ..]}                     buffer b stands for what c stood for, all right sides first
///   {"if": E, "then": [..], "else": [..]}
///   {"while": E, "before": [..], "do": [..]}     before; ends if E is 0; do; again
///   {"require": E, "equals": E, ..}              ends the call where they differ (format 3); with "argument": a and
///                                                "dimension": d, an extent of a result that the program makes of its
///                                                data, and the caller's; with "message": what the caller is told; with
///                                                "index": 1 and "extent": E, the code of an index (IndexChecks.h)
///
/// A grid has at most 2^31 - 1 blocks along x and 65535 along y and along z (core/Runtime/C/Limits.h). The compiler
/// makes one dimension of those that may be longer (LaneGrid.h); a loader refuses calls whose grids are larger.
///
/// An expression E is a number, {"size": i}, {"variable": i}, or [op, a, b] with op one of
/// + - * floordiv ceildiv mod max min < ==. A constant's data is repeated until its bytes are full; it is
/// copied to the device once, when the program is loaded, and one with "written": true keeps what a call has written to
/// it. Those of the programs of one artifact with the same "shared": name are one memory (format 4). Temporaries are as
/// large as the sizes say and live as long as the call; other memory until no buffer stands for it. Sizes disagree
/// where one of "constraints": [{"zero": E}, {"nonnegative": E}, ..] does not hold. "roundings": E, how many
/// floating-point operations an element of a result has passed through at most, for comparisons (left out: not known).
///
/// The C runtime (core/Runtime/C/Manifest.c) reads it, for devices and for the emulator. A reader ignores keys that it
/// does not know; what would be wrong without knowing them needs another "format".
/// "made" lists the sizes that the program makes of its data, for callers that allocate results (Python).
///
/// For each tensor map a kernel gets 128 bytes by value, aligned to 64: the driver's encoding of tiles of an array,
///
///   {"buffer": 0, "type": "f16", "bytes": 2,
///    "sizes": [64, {"size": 0}],    of the array in elements, innermost first; 1 to 5 dimensions
///    "pitches": [128],              bytes from one index of dimension 1, 2, .. to the next: multiples of 16
///    "box": [64, 128],              of a tile in elements; all element strides are 1
///    "swizzle": 128}                bytes over which 16-byte pieces are permuted: 0, 32, 64, 128; then box[0] times
///                                   bytes is at most that
///
/// Elements of a tile outside the array arrive as zeros and are left out of stores. No interleaving.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHMANIFEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHMANIFEST_H

#include "core/Analysis/Signature.h"
#include "core/Transforms/Host/HostExpressions.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/LaneOps.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright {

/// A grid that has become a function.
struct OutlinedLaunch {
  std::string kernel;
  LaunchShape shape;
  llvm::SmallVector<mlir::Value> arguments; // arrays and integers of the host
};

class LaunchManifest {
public:
  using Outline = llvm::function_ref<mlir::FailureOr<OutlinedLaunch>(tile::ParallelOp)>;

  /// `dynamicScratchpad`: a launch gives the size of its scratchpad. `gridLevel`: level of the grids. `shared`: globals
  /// that several programs of the file keep.
  LaunchManifest(mlir::func::FuncOp function, const Signature &signature, bool dynamicScratchpad,
                 llvm::StringRef gridLevel, const llvm::StringSet<> &shared)
      : function(function), signature(signature), dynamicScratchpad(dynamicScratchpad), gridLevel(gridLevel),
        shared(shared), expressions(function, signature) {}

  /// Writes down the function, calling `outline` for each grid, and sets its attribute. Failure with a diagnostic at
  /// what no step does.
  mlir::LogicalResult write(Outline outline);

private:
  mlir::LogicalResult steps(mlir::Block &block, llvm::json::Array &into);
  mlir::LogicalResult step(mlir::Operation &op, llvm::json::Array &into);
  mlir::LogicalResult launch(tile::ParallelOp grid, llvm::json::Array &into);
  mlir::LogicalResult allocate(mlir::memref::AllocOp op, llvm::json::Array &into);
  mlir::LogicalResult constant(mlir::memref::GetGlobalOp op);
  mlir::LogicalResult read(mlir::memref::LoadOp op, llvm::json::Array &into);
  mlir::LogicalResult branch(mlir::scf::IfOp op, llvm::json::Array &into);
  mlir::LogicalResult require(tile::RequireSizeOp op, llvm::json::Array &into);
  mlir::LogicalResult select(mlir::arith::SelectOp op, llvm::json::Array &into);
  mlir::LogicalResult loop(mlir::scf::ForOp op, llvm::json::Array &into);
  mlir::LogicalResult loop(mlir::scf::WhileOp op, llvm::json::Array &into);
  /// `to` become what `from` are: integers and arrays with their sizes.
  mlir::LogicalResult move(mlir::Operation *user, mlir::ValueRange from, mlir::ValueRange to, llvm::json::Array &into);
  /// Gives integers a variable, arrays a buffer and variables for their sizes.
  mlir::LogicalResult declare(mlir::Operation *user, mlir::ValueRange values);
  /// The number of an array's buffer, seen through views of all of it; a diagnostic at `user` if it has none.
  mlir::FailureOr<int64_t> bufferOf(mlir::Operation *user, mlir::Value array);

  mlir::func::FuncOp function;
  const Signature &signature;
  bool dynamicScratchpad;
  llvm::StringRef gridLevel;
  const llvm::StringSet<> &shared;
  HostExpressions expressions;
  Outline *outline = nullptr;
  int64_t format = 2; // the oldest whose readers do all steps
  llvm::DenseMap<mlir::Value, int64_t> buffers;
  int64_t numBuffers = 0;
  llvm::json::Array constants, temporaries;
  llvm::StringMap<int64_t> constantOf; // by the global's name
};

/// After stage 4: what the public functions did is in their manifests; the module keeps those.
void takeManifests(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_LAUNCHMANIFEST_H
