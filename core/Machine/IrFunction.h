//===- IrFunction.h - Functions shipped beside records ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An emission may be a function that the vendor ships beside the record:
///
///   let fill = IrFunction<"sums.ll", "load_sums", ["Ptr", "Stride"]>;
///
/// tw-tblgen puts the text of the file into the tables. There it is an external
/// call whose first argument is "ir:sums.ll", a line feed, and the text; the
/// other arguments are roles.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_IRFUNCTION_H
#define TILEWRIGHT_CORE_MACHINE_IRFUNCTION_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// What begins the argument with the text.
inline constexpr llvm::StringLiteral irTextPrefix = "ir:";

/// A file of functions: LLVM IR where its name ends in ".ll", MLIR where it ends in ".mlir".
struct IrText {
  llvm::StringRef file, text;
};

/// The file that `emission` ships its function in; nullopt for all other emissions.
inline std::optional<IrText> shippedText(const Emission &emission) {
  if (emission.kind != EmissionKind::ExternalCall || emission.arguments.empty())
    return std::nullopt;
  llvm::StringRef argument = emission.arguments.front();
  if (!argument.consume_front(irTextPrefix))
    return std::nullopt;
  auto [file, text] = argument.split('\n');
  return IrText{file, text};
}

/// The arguments of `emission` that people wrote: roles, without the text of a function.
inline llvm::ArrayRef<std::string> writtenArguments(const Emission &emission) {
  return llvm::ArrayRef(emission.arguments).drop_front(shippedText(emission) ? 1 : 0);
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_IRFUNCTION_H
