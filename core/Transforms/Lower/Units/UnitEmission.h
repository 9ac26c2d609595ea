//===- UnitEmission.h - One record in place of a call ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the emission of a record (an op, an LLVM intrinsic, inline assembly, an
/// external function, or one that the record ships) where a call of its symbol
/// stands. Arguments are named by roles; an operand comes whole or in as many
/// registers as the emission takes:
///
///   A: vector<4xf64>     f(vector<4xf64>)                  "A"            f(%a)
///                        f(vector<2xf64>, vector<2xf64>)   "A"            f(first half, second half)
///                                                          "A.1", "A.0"   f(second half, first half)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITEMISSION_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITEMISSION_H

#include "core/Transforms/Lower/Units/ShippedFunctions.h"
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
  UnitEmitter(mlir::LLVM::CallOp call, llvm::StringRef record, ShippedFunctions &functions)
      : call(call), record(record), builder(call), loc(call.getLoc()), functions(functions) {}

  /// Emits `emission`; `resultType` is null where it gives nothing. `roles` gives the operand of a role, of the type
  /// `wanted` if that is not null; null if it does not know the role.
  mlir::FailureOr<mlir::Value> emit(const Emission &emission, mlir::Type resultType, Roles roles);
  /// The same with the result as it comes: one value, or the members of a structure, in the order that "result:" names.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> emitParts(const Emission &emission, mlir::Type resultType,
                                                            Roles roles);
  /// What `emission` gave in parts as one value of `type`.
  mlir::FailureOr<mlir::Value> join(const Emission &emission, llvm::ArrayRef<mlir::Value> parts, mlir::Type type);

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

  mlir::LLVM::CallOp call;
  llvm::StringRef record;
  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  struct Signature;
  mlir::FailureOr<Signature> signatureOf(const Emission &emission);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> operandsOf(const Emission &emission, const Signature &signature,
                                                             Roles roles);
  mlir::FailureOr<mlir::Value> write(const Emission &emission, mlir::ValueRange operands, const Signature &signature,
                                     mlir::Type resultType);
  mlir::LogicalResult appendPieces(const Emission &emission, llvm::StringRef role, mlir::Value value,
                                   const Signature &signature, llvm::SmallVectorImpl<mlir::Value> &operands);
  mlir::Value partOf(mlir::Value value, int64_t index, int64_t count);
  mlir::Value data(llvm::StringRef digits);

  ShippedFunctions &functions;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_UNITEMISSION_H
