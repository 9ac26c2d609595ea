//===- TileDialect.h - The tile dialect -------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fragments (small matrices in registers), the matrix units that multiply them,
/// and the accesses that move them:
///
///   %c = tile.zero : !tile.fragment<1x16xf32, #row16>
///   %b = tile.load %B[%k, %j] elements affine_map<(r, c) -> (r, c)> : ... -> !tile.fragment<1x16xf32, #row16>
///   %d = tile.mma %a, %b, %c {unit = "acme.fma_f32"} : ...
///   tile.store %d, %C[%i, %j] elements affine_map<(r, c) -> (r, c)> : ...
///
/// TileOps.td documents each op.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECTS_TILE_TILEDIALECT_H
#define TILEWRIGHT_DIALECTS_TILE_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Layout.h"

#include "dialects/Tile/TileDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace tilewright::tile {

/// On the first operation of those that a `#tile.schedule` is for.
inline constexpr llvm::StringLiteral scheduleAttr = "tile.schedule";
/// On a loop over tiles, from tile-and-fuse to place-tiles: the number of the loop that was cut.
inline constexpr llvm::StringLiteral atAttr = "tile.at";
/// On a loop over tiles, from place-tiles to pipeline-tiles: the stages of its buffers.
inline constexpr llvm::StringLiteral stagesAttr = "tile.stages";

} // namespace tilewright::tile

#endif // TILEWRIGHT_DIALECTS_TILE_TILEDIALECT_H
