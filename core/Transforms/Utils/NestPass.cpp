//===- NestPass.cpp - How passes over nests begin -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions and chips that such passes leave alone or refuse.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestPass.h"

using namespace mlir;
using namespace tilewright;

LogicalResult tilewright::withMemoryModel(func::FuncOp function, function_ref<void(const NestContext &)> body) {
  if (function.isExternal())
    return success();
  auto chip = requireTarget(function);
  if (failed(chip))
    return failure();
  body({**chip, MemoryModel(**chip), Settings::of(function)});
  return success();
}

LogicalResult tilewright::overLaneNests(func::FuncOp function,
                                        function_ref<void(affine::AffineForOp, const LaunchTarget &)> map,
                                        bool gathers) {
  if (gathers ? !isKernelOrGathers(function) : !isKernel(function))
    return success();
  FailureOr<LaunchTarget> target = requireLanes(function);
  if (failed(target))
    return failure();
  for (affine::AffineForOp root : llvm::to_vector(function.front().getOps<affine::AffineForOp>()))
    map(root, *target);
  return success();
}
