//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads and writes `.npy` files of versions 1 to 3.
///
///   magic "\x93NUMPY" | major minor | header length | {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } |
///   data
///
/// Types: b1, i1 i2 i4 i8, u1 u2 u4 u8, f2 f4 f8, of either byte order. The format
/// has no bf16: it is a u2 array (or V2, as some programs write it) in a file
/// whose name ends with `.bf16.npy`. Nor has it 8-bit floats: they are u1 arrays
/// (V1 or f1, as ml_dtypes writes them, are read as u1), the bytes of a program
/// whose type says which they are.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_RUNTIME_NPY_H
#define TILEWRIGHT_CORE_RUNTIME_NPY_H

#include "core/Runtime/Array.h"
#include <optional>
#include <string_view>

namespace tilewright {

/// The array in the bytes of a file. `bfloat`: 2-byte unsigned or void elements are bf16. Empty on an error, which
/// `error` describes: what was found and what was expected.
std::optional<Array> parseNpy(std::string_view bytes, bool bfloat, std::string &error);

/// Reads a file; `bfloat` follows from its name. `error` begins with the file's name.
std::optional<Array> readNpy(const std::string &path, std::string &error);

/// The bytes of a version 1 file, in row-major order and the machine's byte order.
std::string formatNpy(const Array &array);

/// Whether arrays in this file are bf16: the name ends with `.bf16.npy`.
bool isBfloatName(std::string_view path);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_RUNTIME_NPY_H
