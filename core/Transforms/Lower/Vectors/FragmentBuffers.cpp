//===- FragmentBuffers.cpp - Fragments as small arrays --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where buffers are allocated, and copies between them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/FragmentBuffers.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilewright;

Value FragmentBuffers::allocate(Type type, Location loc) {
  auto fragment = cast<tile::FragmentType>(type);
  OpBuilder builder = OpBuilder::atBlockBegin(frame);
  auto memref = MemRefType::get({fragment.getRows(), fragment.getCols()}, fragment.getElementType());
  if (isa<func::FuncOp>(frame->getParentOp()))
    return memref::AllocaOp::create(builder, loc, memref);
  // On the stack it would grow with each iteration that one thread runs.
  Value buffer = memref::AllocOp::create(builder, loc, memref);
  builder.setInsertionPoint(frame->getTerminator());
  memref::DeallocOp::create(builder, loc, buffer);
  return buffer;
}

Value FragmentBuffers::define(Value fragment) {
  return buffers[fragment] = allocate(fragment.getType(), fragment.getLoc());
}

void FragmentBuffers::forEach(OpBuilder &builder, Location loc, Type type,
                              function_ref<void(OpBuilder &, ValueRange)> body) {
  auto fragment = cast<tile::FragmentType>(type);
  OpFoldResult extents[] = {builder.getIndexAttr(fragment.getRows()), builder.getIndexAttr(fragment.getCols())};
  buildLoops(builder, loc, extents, body);
}

void FragmentBuffers::copyAll(OpBuilder &builder, Location loc, ValueRange fragments, ArrayRef<Value> targets) {
  auto copy = [&](Value from, Value to, Type type) {
    if (from == to)
      return;
    forEach(builder, loc, type, [&](OpBuilder &at, ValueRange point) {
      memref::StoreOp::create(at, loc, memref::LoadOp::create(at, loc, from, point), to, point);
    });
  };
  SmallVector<Value> from;
  for (auto [i, fragment] : llvm::enumerate(fragments)) {
    Value source = of(fragment);
    if (source != targets[i] && llvm::is_contained(targets, source)) {
      Value saved = allocate(fragment.getType(), loc);
      copy(source, saved, fragment.getType());
      source = saved;
    }
    from.push_back(source);
  }
  for (auto [i, fragment] : llvm::enumerate(fragments))
    copy(from[i], targets[i], fragment.getType());
}
