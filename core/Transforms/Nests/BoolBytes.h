//===- BoolBytes.h - Arrays of bools as arrays of bytes ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A bool in memory is a byte, a vector of bools is bits of a mask: a vector
/// cannot be loaded from an array of bools as it lies there.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_BOOLBYTES_H
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_BOOLBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Has the affine accesses of a kernel's arguments of bools access bytes, which vectors can be made of:
///
///   %p = affine.load %m[%i] : memref<?xi1>
///   ->
///   %bytes = builtin.unrealized_conversion_cast %m : memref<?xi1> to memref<?xi8>          once, at the kernel's start
///   %b = affine.load %bytes[%i] : memref<?xi8>;  %p = arith.cmpi ne, %b, %zero : i8
///
/// and stores `arith.extui %p : i1 to i8`. An argument that anything but affine accesses, sizes and ends of lifetimes
/// use stays as it is, and so does a kernel's own buffer, whose lifetime is read off its uses.
void accessBoolsAsBytes(mlir::func::FuncOp kernel);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_BOOLBYTES_H
