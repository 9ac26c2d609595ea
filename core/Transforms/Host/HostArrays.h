//===- HostArrays.h - Arrays that come and go in a host program -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers of a manifest (LaunchManifest.h) that its steps allocate or rename, in a
/// program that is given out as source. Each is a slot: the address that the buffer
/// has at a step, and the memory of this call that it lies in, 0 for an argument's.
///
///   {"allocate": 3, ..}      slots[3] = owners[3] = malloc(..)
///   {"rename": [[4, 3]]}     slots[4] = slots[3], owners[4] = owners[3]; what no slot owns any more is freed
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTARRAYS_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTARRAYS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

class HostArrays {
public:
  HostArrays(mlir::ImplicitLocOpBuilder &builder) : b(builder) {}

  /// Finds the buffers that `steps`, and the steps inside of them, allocate or rename.
  void find(const llvm::json::Array &steps);
  /// Empty slots for all of them, at the insertion point.
  void begin(mlir::func::FuncOp function);
  bool holds(int64_t buffer) const { return slotOf.count(buffer) != 0; }
  /// The address that `buffer` stands for.
  mlir::Value pointer(int64_t buffer);
  /// Fresh memory of `bytes` (i64, not negative); whether there was none (i1).
  mlir::Value allocate(int64_t buffer, mlir::Value bytes);
  /// Pairs of a buffer and what it stands for from now on: another buffer with a slot, or else a pointer.
  struct Move {
    int64_t to, from;
    mlir::Value pointer;
  };
  void rename(llvm::ArrayRef<Move> moves);
  /// Frees all that is owned.
  void end();

private:
  mlir::Value i64(int64_t value);
  mlir::Value place(int64_t value);
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value load(mlir::Value array, int64_t buffer);
  void store(mlir::Value value, mlir::Value array, int64_t buffer);
  void release(mlir::Value owner, mlir::Value unless);

  mlir::ImplicitLocOpBuilder &b;
  mlir::func::FuncOp function;
  llvm::MapVector<int64_t, int64_t> slotOf;
  mlir::Value slots, owners;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTARRAYS_H
