//===- Buffers.h - Which memrefs can name the same memory -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the memrefs of a function come from: allocations, constants,
/// arguments, seen through views and structured control flow.
///
///   %a = memref.alloc()                                       origins {%a}
///   %v = memref.subview %a[...]                               origins {%a}
///   %r = scf.if %c -> memref { yield %a } else { yield %b }   origins {%a, %b}
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_BUFFERS_H
#define TILEWRIGHT_CORE_ANALYSIS_BUFFERS_H

#include "core/Analysis/Settings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tilewright {

/// Origins of the memrefs of one function. Arguments of a public function are distinct buffers where one of them is
/// written: outputs do not overlap inputs, by the contract of the C interface. So are those of an outlined kernel;
/// those of another private function may overlap.
class BufferOrigins {
public:
  explicit BufferOrigins(mlir::func::FuncOp function)
      : function(function), distinctArguments(!function.isPrivate() || function->hasAttr(kernelAttr)) {}

  /// Whether `a` and `b` may share memory.
  bool mayAlias(mlir::Value a, mlir::Value b) const;
  /// Whether `memref` is an origin that no other one can be: an allocation, or an argument apart from all others. Two
  /// of these do not alias.
  bool isOnlyOrigin(mlir::Value memref) const;

private:
  struct Set {
    llvm::SmallPtrSet<mlir::Value, 4> values;
    bool unknown = false; // also something that is not listed
  };
  void collect(mlir::Value memref, Set &set, llvm::SmallPtrSetImpl<mlir::Value> &visited) const;

  mlir::func::FuncOp function;
  bool distinctArguments;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_BUFFERS_H
