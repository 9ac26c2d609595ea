//===- SizeProduct.cpp - Products of sizes that do not wrap ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product is compared with its bound by a division before it is formed.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/SizeProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

Value tilewright::boundedProduct(OpBuilder &builder, Location loc, Value x, int64_t factor) {
  Value bound = arith::ConstantIndexOp::create(builder, loc, unreachableBytes);
  Value most = arith::ConstantIndexOp::create(builder, loc, unreachableBytes / factor);
  Value product = arith::MulIOp::create(builder, loc, arith::ConstantIndexOp::create(builder, loc, factor), x);
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, x, most);
  return arith::SelectOp::create(builder, loc, wraps, bound, product);
}

Value tilewright::boundedProduct(OpBuilder &builder, Location loc, Value x, Value y) {
  Value bound = arith::ConstantIndexOp::create(builder, loc, unreachableBytes);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value most = arith::DivUIOp::create(builder, loc, bound, arith::MaxUIOp::create(builder, loc, x, one));
  Value product = arith::MulIOp::create(builder, loc, x, y);
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, y, most);
  return arith::SelectOp::create(builder, loc, wraps, bound, product);
}
