//===- LaneReduce.h - Combining what lanes hold -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.reduce over the columns of one row: first the elements of a lane, then
/// the lanes, in pairs whose numbers differ in one bit:
///
///   x = x + (x of lane xor 1)      x of lanes 0..1, 2..3, ..
///   x = x + (x of lane xor 2)      x of lanes 0..3, ..          all lanes have the same in the end
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEREDUCE_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEREDUCE_H

#include "core/Transforms/Lower/Lanes/LaneAccess.h"

namespace tilewright {

/// The value of lane `lane` (i32) of the subgroup, of any number type of up to 64 bits. All lanes come here.
mlir::Value valueOfLane(const LaneContext &context, mlir::Value value, mlir::Value lane);

/// The combination of all columns of `vector`, one lane's elements of op's input, as a vector of one element. Failure
/// with a diagnostic where the op combines rows, or has more than one.
mlir::FailureOr<mlir::Value> emitReduce(const LaneContext &context, tile::ReduceOp op, mlir::Value vector,
                                        const Distribution &distribution, const mlir::IRMapping &values);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEREDUCE_H
