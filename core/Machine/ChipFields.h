//===- ChipFields.h - The numeric fields of a description -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One table a structure: the names that `tw-targets --json` prints, and the members. What prints a chip and what
/// changes one read the same tables, so that a field is named by the path at which the JSON has it:
///
///   clockMHz
///   memories.scratchpad.bytes      of the object whose `name` is "scratchpad"
///   units.systolic_*.m             of all whose names match; of a unit with or without "target."
///   numbers.launch                 the value of the number
///
/// The first word may also stand in the singular: memory.scratchpad.bytes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_CHIPFIELDS_H
#define TILEWRIGHT_CORE_MACHINE_CHIPFIELDS_H

#include "tilewright/ChipTable.h"
#include "llvm/ADT/SmallVector.h"
#include <variant>

namespace tilewright {

/// A field of `Owner`: its name in JSON, and whether it stands there where it is 0.
template <typename Owner> struct ChipField {
  llvm::StringLiteral name;
  std::variant<int64_t Owner::*, double Owner::*, bool Owner::*> member;
  bool isShownAtZero = true;
};

/// The table of a structure.
template <typename Owner> llvm::ArrayRef<ChipField<Owner>> fieldsOf();
template <> llvm::ArrayRef<ChipField<Level>> fieldsOf<Level>();
template <> llvm::ArrayRef<ChipField<Memory>> fieldsOf<Memory>();
template <> llvm::ArrayRef<ChipField<CopyEngine>> fieldsOf<CopyEngine>();
template <> llvm::ArrayRef<ChipField<MatrixUnit>> fieldsOf<MatrixUnit>();
template <> llvm::ArrayRef<ChipField<VectorOp>> fieldsOf<VectorOp>();

/// All facts of a description as a table. Features are those that its records ask for.
ChipTable tableOf(const TargetDescription &chip);

/// The value at `path`; an error where it names nothing, with the nearest names, or fields of different values.
llvm::Expected<double> fieldAt(const ChipTable &chip, llvm::StringRef path);

/// Gives the fields at `path` the value. What a record derives from a field follows: operands of a unit have its shape,
/// a register file has the bytes of its registers, and stores of a memory that are as fast as its loads stay so.
llvm::Error setField(ChipTable &chip, llvm::StringRef path, double value);

/// A number as fields and options write it: "16", "1.5", "256K", "4M", "1G" (powers of 1024).
llvm::Expected<double> parseNumber(llvm::StringRef text);

/// `base` with the assignments "PATH=VALUE,PATH=VALUE": what a record with these numbers would be. The name of the chip
/// is "CHIP@PATH=VALUE,...". A chip that breaks a rule of the records is an error with the rule's message.
llvm::Expected<std::shared_ptr<const TargetDescription>> changedChip(std::shared_ptr<const TargetDescription> base,
                                                                     llvm::StringRef assignments);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_CHIPFIELDS_H
