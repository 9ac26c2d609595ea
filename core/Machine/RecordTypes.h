//===- RecordTypes.h - Types that records name ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fields that hold a type: `valueType` of a register, `storage` of an operand.
/// A record may write it as LLVM IR does or as MLIR does:
///
///   "<512 x i1>"                    "vector<512xi1>"
///   "{ <4 x i32>, <4 x i32> }"      "struct<(vector<4xi32>, vector<4xi32>)>"
///   "target(\"acme.tile\", 2)"      "target<\"acme.tile\", 2>"
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_RECORDTYPES_H
#define TILEWRIGHT_CORE_MACHINE_RECORDTYPES_H

#include "mlir/IR/Types.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// The type of the LLVM dialect that `text` names; null if neither LLVM nor MLIR reads it. `context` has that dialect.
mlir::Type parseRecordType(llvm::StringRef text, mlir::MLIRContext &context);

/// Bits of a type of the LLVM dialect: a number, a vector of fixed length, or a structure of such; 0 if unknown.
int64_t bitsOfType(mlir::Type type);

/// What is wrong with the fields `valueType` and `storage` of `operand`, which stands in field `field`; it names the
/// field and what would be right. Empty: they are types that the operand's bits go into. `laneBits`, if not 0: so many
/// of a lane lie in one register of the type `storage`, which may be wider.
std::vector<std::string> checkTypes(llvm::StringRef field, const UnitOperand &operand, int64_t laneBits = 0);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_RECORDTYPES_H
