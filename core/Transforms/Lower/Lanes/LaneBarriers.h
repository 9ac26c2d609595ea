//===- LaneBarriers.h - Where lanes wait for each other ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sequential program of a launch says nothing of barriers. One is needed
/// where an access to a scratchpad conflicts with one of another lane since
/// the last barrier. What a copy writes is there at its wait, so a multi-stage buffer
/// takes one barrier a step:
///
///   for %k { tile.wait %oldest   // stage k has landed
///            (barrier)           // .. for all lanes, and all have left stage k - 1
///            tile.copy -> stage (k + 2) mod 3
///            tile.load <- stage k mod 3 ... }
///
/// Accesses to different stages, whose first index differs, do not conflict. A
/// buffer that overlays others conflicts with all. Lanes of a block do not share a
/// branch: an access in it that conflicts with those before the branch alone has its
/// barrier before the branch, one that conflicts with an access in it is an error:
///
///   (barrier)                             // of all lanes
///   scf.if %some { tile.store -> %x }     // conflicts with loads before it
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEBARRIERS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEBARRIERS_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/LaneOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright {

class LaneBarriers {
public:
  /// Analyses a launch. `engine`: copies are asynchronous and awaited by groups. Failure with a diagnostic where a
  /// barrier would stand in control flow that lanes do not share.
  mlir::LogicalResult analyze(mlir::func::FuncOp launch, const LaneHierarchy &hierarchy, bool engine);

  /// A barrier stands before `op`.
  bool needs(mlir::Operation *op) const { return before.contains(op); }
  /// .. after it: a wait for asynchronous copies, which other lanes read, and which nobody reads any longer
  /// where the next ones land.
  bool needsBehind(mlir::Operation *op) const { return behind.contains(op); }
  /// Without an engine that counts groups: the copy is asynchronous and lands at a wait, to which
  /// loops may carry its token.
  bool isDirect(tile::CopyOp copy) const;
  /// The first copy that `token`, which loops may carry, stands for; null: none is found.
  static tile::CopyOp firstCopy(mlir::Value token);
  /// The elements of `copy` may be staged in registers, since its wait follows in the same block: without an engine, or
  /// where it is marked so.
  bool landsAtWait(tile::CopyOp copy) const;
  /// With an engine: copies that follow each other and are awaited together form a group, which the last one closes.
  static bool closesGroup(tile::CopyOp copy);
  /// With an engine: it does not do this copy, which is marked to be staged in registers.
  static bool isHeld(tile::CopyOp copy);
  /// With an engine: how many groups closed after those that `wait` awaits are under way, at least.
  int64_t pendingAt(tile::WaitOp wait) const;

private:
  /// An access since the last barrier.
  struct Event {
    mlir::Operation *op = nullptr; // null: what an engine writes until a wait
    mlir::Value buffer;
    mlir::AffineExpr stage; // first index, null: unknown
    llvm::SmallVector<mlir::Value> operands;
    bool write = false;
    bool earlier = false; // of an earlier iteration of a loop around
  };
  mlir::LogicalResult visit(mlir::Block &block, bool diverges);
  mlir::LogicalResult meet(mlir::Operation *op, Event event, bool diverges);
  static Event eventOf(mlir::Value buffer, mlir::AffineMap map, mlir::ValueRange operands, mlir::AffineMap elements,
                       bool write);
  static bool conflict(const Event &a, const Event &b);
  bool isScratchpad(mlir::Value buffer);
  void add(Event event);

  const LaneHierarchy *hierarchy = nullptr;
  bool engine = false;
  mlir::Operation *branch = nullptr; // the outermost one around that some lanes take; null: none
  llvm::DenseSet<mlir::Operation *> before, behind;
  std::vector<Event> open;
  llvm::DenseMap<mlir::Value, bool> scratchpads; // what isScratchpad has said
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEBARRIERS_H
