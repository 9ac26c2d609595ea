//===- EngineNumbers.h - Integers and addresses of commands -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arithmetic on the operands of commands at one place of a core's program.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_ENGINENUMBERS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_ENGINENUMBERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tilewright {

/// Integers and addresses at one place.
struct Numbers {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, loc, value); }
  mlir::Value i32(mlir::Value index) {
    return mlir::arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
  }
  mlir::Value i64(mlir::Value index) {
    return mlir::arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  }
  mlir::Value i32(int64_t value) { return mlir::arith::ConstantIntOp::create(builder, loc, value, 32); }
  mlir::Value i64(int64_t value) { return mlir::arith::ConstantIntOp::create(builder, loc, value, 64); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return mlir::arith::MulIOp::create(builder, loc, a, b); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return mlir::arith::AddIOp::create(builder, loc, a, b); }

  /// Elements from one index of dimension `d` to the next.
  mlir::Value stride(mlir::Value memref, unsigned d) {
    auto type = mlir::cast<mlir::MemRefType>(memref.getType());
    int64_t known = 1;
    mlir::Value result;
    for (unsigned i = d + 1; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i)) {
        known *= type.getDimSize(i);
        continue;
      }
      mlir::Value size = mlir::memref::DimOp::create(builder, loc, memref, i);
      result = result ? mul(result, size) : size;
    }
    return !result ? index(known) : known == 1 ? result : mul(result, index(known));
  }
  mlir::Value linear(mlir::Value memref, mlir::ValueRange indices) {
    mlir::Value sum;
    for (auto [d, at] : llvm::enumerate(indices)) {
      if (auto constant = at.getDefiningOp<mlir::arith::ConstantIndexOp>(); constant && constant.value() == 0)
        continue;
      mlir::Value part = mul(at, stride(memref, d));
      sum = sum ? add(sum, part) : part;
    }
    return sum ? sum : index(0);
  }
  /// `pointer` plus `bytes`.
  mlir::Value advance(mlir::Value pointer, mlir::Value bytes) {
    return mlir::LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                                     mlir::ArrayRef<mlir::LLVM::GEPArg>{i64(bytes)});
  }
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_ENGINENUMBERS_H
