//===- npy.cpp - Fuzzes the reader of array files -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first byte chooses whether the file is one of bf16; the rest is the file.
/// What is read must be written back to a file that reads the same.
///
//===----------------------------------------------------------------------===//

#include "core/Runtime/Npy.h"

#include <cstdlib>
#include <cstring>

using namespace tilewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  bool bfloat = data[0] & 1;
  std::string error;
  std::optional<Array> array = parseNpy({reinterpret_cast<const char *>(data) + 1, size - 1}, bfloat, error);
  if (array.has_value() != error.empty())
    std::abort();
  if (!array)
    return 0;
  std::optional<Array> again = parseNpy(formatNpy(*array), array->type() == ElementType::BF16, error);
  if (!again || again->type() != array->type() || again->shape() != array->shape() ||
      (array->bytes() > 0 && std::memcmp(again->data(), array->data(), static_cast<size_t>(array->bytes())) != 0))
    std::abort();
  return 0;
}
