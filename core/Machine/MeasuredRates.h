//===- MeasuredRates.h - Numbers that were measured on a chip ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fields of a chip that tw-calibrate found other than its records say. They lie beside the rates of the host, in a
/// file for each chip, and make the chip "target:chip@measured":
///
///   ~/.config/tilewright/acme-one.json    {"chip": "acme:one", "fields": {"copies.DmaIn.latency": 150}}
///
/// TILEWRIGHT_MEASURED names another folder.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_MEASUREDRATES_H
#define TILEWRIGHT_CORE_MACHINE_MEASUREDRATES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>

namespace tilewright {

/// What stands after '@' for the chip with its measured fields.
inline constexpr llvm::StringLiteral measuredChanges = "measured";

/// Keeps `fields` (path, value) of `chip` ("target:chip"); the file's name. Error: there is no folder, or it cannot be
/// written.
llvm::Expected<std::string> saveMeasured(llvm::StringRef chip, llvm::ArrayRef<std::pair<std::string, double>> fields);

/// The fields of `chip` as "PATH=VALUE,..". Error: nothing was saved, or the file is another chip's or cannot be read.
llvm::Expected<std::string> readMeasured(llvm::StringRef chip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_MEASUREDRATES_H
