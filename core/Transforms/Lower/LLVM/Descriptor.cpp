//===- Descriptor.cpp - memrefs from pointers and back --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds and reads memref descriptors in LLVM's types.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/Descriptor.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

Value tilewright::memrefFromPointer(OpBuilder &builder, Location loc, MemRefType type, Value pointer,
                                    ValueRange sizes) {
  LLVMTypeConverter converter(builder.getContext());
  Type i64 = builder.getI64Type();
  auto descriptor = MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  descriptor.setConstantOffset(builder, loc, 0);

  SmallVector<Value> dims;
  auto nextSize = sizes.begin();
  for (int64_t dim : type.getShape()) {
    if (ShapedType::isDynamic(dim))
      dims.push_back(arith::IndexCastOp::create(builder, loc, i64, *nextSize++));
    else
      dims.push_back(LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(dim)));
  }
  Value stride;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    descriptor.setSize(builder, loc, i, dims[i]);
    if (!stride)
      stride = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(1));
    descriptor.setStride(builder, loc, i, stride);
    if (i > 0)
      stride = LLVM::MulOp::create(builder, loc, stride, dims[i], LLVM::IntegerOverflowFlags::nsw);
  }
  return UnrealizedConversionCastOp::create(builder, loc, type, Value(descriptor)).getResult(0);
}

Value tilewright::pointerOf(OpBuilder &builder, Location loc, Value memref) {
  LLVMTypeConverter converter(builder.getContext());
  Type descriptorType = converter.convertType(memref.getType());
  Value descriptor = UnrealizedConversionCastOp::create(builder, loc, descriptorType, memref).getResult(0);
  return MemRefDescriptor(descriptor).alignedPtr(builder, loc);
}
