//===- ShareAddresses.h - Addresses share what they have in common -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The conversion of arrays computes each address anew, from the descriptor of its array and all indices:
///
///   %p = extractvalue %descriptor[1]                          %s = add (mul %i, 16), %j     once, where %j begins
///   %0 = add %i, 3     %1 = mul %0, 16     %2 = add %1, %j    %v = getelementptr %a[%s]     once
///   %3 = getelementptr %p[%2]                                 %3 = getelementptr %v[48]
///   %4 = add %i, 4     %5 = mul %4, 16     %6 = add %5, %j    %7 = getelementptr %v[64]
///   %7 = getelementptr %p[%6]
///
/// A third of the operations of a network are of that kind. LLVM would find the same, pass after pass.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_SHAREADDRESSES_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_SHAREADDRESSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tilewright {

/// On the LLVM dialect: parts of descriptors that `function` builds itself are the values that went in, and the index
/// of an address is a sum of products, the terms in order of their definition, each partial sum once for a region,
/// beside a constant that the address adds last. Sums stand where their last term is defined. Addresses are the same
/// modulo 2^64; those with flags, such as `inbounds`, stay.
void shareAddresses(mlir::LLVM::LLVMFuncOp function);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_SHAREADDRESSES_H
