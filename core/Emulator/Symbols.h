//===- Symbols.h - Functions that compiled kernels call ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The runtime as compiled kernels see it: every function takes the lane first,
/// most the number of the site that calls.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_SYMBOLS_H
#define TILEWRIGHT_CORE_EMULATOR_SYMBOLS_H

#include <cstdint>
#include <utility>
#include <vector>

namespace tilewright {

/// Where functions return a bf16, on all hosts that the emulator runs on: the low bits of a vector register. Compilers
/// may call __truncsfbf2 for a __bf16 themselves, so what defines it must not return one.
using BfloatRegister [[gnu::vector_size(16)]] = uint16_t;

/// Name and address of each function of the runtime.
std::vector<std::pair<const char *, void *>> runtimeSymbols();

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_SYMBOLS_H
