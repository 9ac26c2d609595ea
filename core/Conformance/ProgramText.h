//===- ProgramText.h - MLIR text of a case ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes one function line by line:
///
///   ProgramText text;
///   std::string a = text.input("f32", {m, k});           // %a0: tensor<?x48xf32>
///   std::string zero = text.filled("f32", {m, n}, "0.0");
///   std::string c = text.generic({...}, ...);
///   text.finish(c, "f32", {m, n});
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_PROGRAMTEXT_H
#define TILEWRIGHT_CORE_CONFORMANCE_PROGRAMTEXT_H

#include "core/Runtime/Array.h"

#include <functional>
#include <map>

namespace tilewright::conformance {

/// A dimension: its size, and a name if the program does not know it.
struct Dim {
  int64_t size = 1;
  std::string name = ""; // empty: static
};
using Dims = std::vector<Dim>;

std::vector<int64_t> sizesOf(const Dims &dims);
/// "33x47x29"; a dynamic size carries a question mark: "33?x47x29".
std::string shapeName(const Dims &dims);
/// The element type in MLIR: "f32", "i8" (also for unsigned integers), "i1".
std::string mlirName(ElementType type);
/// "tensor<?x48xf32>".
std::string tensorType(ElementType type, const Dims &dims);

/// An operand of a generic: its value, type, dimensions, and the indices of each dimension over the loops
/// ("d0, d1 * 2 + d3").
struct Operand {
  std::string value;
  ElementType type;
  Dims dims;
  std::string indices;
};

class ProgramText {
public:
  /// The next argument: its value. Dynamic dimensions get their sizes from the first argument that has them.
  /// `attributes`: of the argument, "tilewright.constant".
  std::string input(ElementType type, const Dims &dims, const std::string &attributes = "");
  /// An uninitialised tensor.
  std::string empty(ElementType type, const Dims &dims);
  /// A tensor filled with a constant ("0.0", "0", "0xFF800000").
  std::string filled(ElementType type, const Dims &dims, const std::string &constant);
  std::string constant(ElementType type, const std::string &constant);
  /// One line "%v = TEXT": the value.
  std::string add(const std::string &text);
  /// linalg.generic over `loops` loops, the last `reductions` of them reductions. `body` gets the block's arguments
  /// (inputs, then the output's) and returns the value to yield.
  std::string generic(int loops, int reductions, const std::vector<Operand> &inputs, const Operand &output,
                      const std::function<std::string(const std::vector<std::string> &)> &body);
  /// Converts a scalar; the same value if the types agree. Integers widen by their signedness.
  std::string convert(const std::string &value, ElementType from, ElementType to);
  /// The whole program.
  std::string finish(const std::string &result, ElementType type, const Dims &dims);

private:
  std::string fresh() { return "%v" + std::to_string(values++); }

  int values = 0, arguments = 0;
  std::string parameters, body;
  std::map<std::string, std::string> sizes; // dynamic dimension -> its index value
};

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_PROGRAMTEXT_H
