//===- FragmentBuffers.h - Fragments as small arrays ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference lowering keeps a fragment as an array of its matrix, without
/// layout or lanes. A value has one buffer, allocated where the frame begins; a
/// value that a loop or a choice hands on is copied into the buffer of what it
/// becomes there.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_FRAGMENTBUFFERS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_FRAGMENTBUFFERS_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright {

class FragmentBuffers {
public:
  /// The block where buffers are allocated: of a function or of a parallel loop, whose threads must not share them.
  mlir::Block *frame = nullptr;

  /// The buffer of `fragment`, null before it has one.
  mlir::Value of(mlir::Value fragment) const { return buffers.lookup(fragment); }
  /// Gives `fragment` a new buffer.
  mlir::Value define(mlir::Value fragment);
  /// Lets `fragment` be what lies in `buffer`.
  void define(mlir::Value fragment, mlir::Value buffer) { buffers[fragment] = buffer; }

  /// Loops over the matrix of a fragment of `type`; `body` gets row and column.
  static void forEach(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                      llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange point)> body);
  /// Copies the buffers of all `fragments` to `targets` as if at once.
  void copyAll(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange fragments,
               llvm::ArrayRef<mlir::Value> targets);

private:
  mlir::Value allocate(mlir::Type type, mlir::Location loc);

  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_FRAGMENTBUFFERS_H
