//===- IndexChecks.h - What checks of a call say ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The attributes through which `--check-indices` and assertions reach the caller of a program:
///
///   module attributes {tilewright.check_indices} ..                             asked for
///   tile.require_size %code, %n {tilewright.bad_index, tilewright.message = ".. index {index} .. extent {extent}"}
///
/// With `tilewright.bad_index` the call ends where %code is not 0, whatever %n is. The code of an index is 0 where it
/// is inside of its array, else the index itself if it is negative, else one more than the index; %n is the extent. In
/// the message {index} and {extent} stand for them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_INDEXCHECKS_H
#define TILEWRIGHT_CORE_ANALYSIS_INDEXCHECKS_H

namespace tilewright {

/// A unit attribute of modules whose indices made of data are compared with their arrays.
inline constexpr const char *checkIndicesAttr = "tilewright.check_indices";
/// A unit attribute of a tile.require_size that refuses a bad index.
inline constexpr const char *badIndexAttr = "tilewright.bad_index";
/// A text of a tile.require_size: what the caller is told.
inline constexpr const char *messageAttr = "tilewright.message";

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_INDEXCHECKS_H
