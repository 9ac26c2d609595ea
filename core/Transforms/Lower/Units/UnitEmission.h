//===- UnitEmission.h - One record in place of a call ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the emission of a record (an op, an LLVM intrinsic, inline assembly, or
/// an external function) where a call of its symbol stands. Arguments are named
/// by roles; an operand comes whole or in as many registers as the emission takes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITEMISSION_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITEMISSION_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// The same bits as `type`; the value itself where that is null or its own.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);

/// Emits one record in place of a call.
class UnitEmitter {
public:
  using Roles = llvm::function_ref<mlir::Value(llvm::StringRef role, mlir::Type wanted)>;
  UnitEmitter(mlir::LLVM::CallOp call, llvm::StringRef record)
      : call(call), record(record), builder(call), loc(call.getLoc()) {}

  /// Emits `emission`; `resultType` is null where it gives nothing. `roles` gives the operand of a role, of the type
  /// `wanted` if that is not null; null if it does not know the role.
  mlir::FailureOr<mlir::Value> emit(const Emission &emission, mlir::Type resultType, Roles roles);

  /// What `role` names: one of `roles`, a constant "i32:7", or data.
  mlir::Value operandOf(llvm::StringRef role, mlir::Type wanted, Roles roles);
  mlir::Value constant(mlir::Type type, int64_t value) {
    if (auto vector = dyn_cast<mlir::VectorType>(type)) {
      auto element = builder.getIntegerAttr(vector.getElementType(), value);
      return mlir::LLVM::ConstantOp::create(builder, loc, type, mlir::SplatElementsAttr::get(vector, element));
    }
    return mlir::LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  }
  mlir::Value constant(unsigned width, int64_t value) { return constant(builder.getIntegerType(width), value); }

  /// Bits of an LLVM scalar or vector type; 0 if unknown.
  static int64_t bitsOf(mlir::Type type) {
    if (auto vector = dyn_cast<mlir::VectorType>(type))
      return vector.getNumElements() * bitsOf(vector.getElementType());
    return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  }

  mlir::LLVM::CallOp call;
  llvm::StringRef record;
  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  void appendPieces(mlir::Value value, llvm::ArrayRef<mlir::Type> parameters,
                    llvm::SmallVectorImpl<mlir::Value> &operands);
  mlir::Value joinPieces(mlir::Value result, mlir::Type type);
  mlir::Value data(llvm::StringRef digits);
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITEMISSION_H
