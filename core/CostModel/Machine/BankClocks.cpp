//===- BankClocks.cpp - Lanes that meet in banks --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts words in banks.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/BankClocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace tilewright;

BankClocks tilewright::bankClocks(ArrayRef<int64_t> addresses, int64_t width, const Memory &memory) {
  size_t group = std::max<int64_t>(1, memory.banks * memory.bankBytes / width);
  BankClocks clocks;
  SmallVector<int64_t, 64> words;
  SmallVector<int64_t, 64> inBank;
  for (size_t first = 0; first < addresses.size(); first += group) {
    words.clear();
    inBank.assign(memory.banks, 0);
    for (size_t i = first; i < std::min(addresses.size(), first + group); ++i)
      for (int64_t byte = 0; byte < std::max<int64_t>(width, memory.bankBytes); byte += memory.bankBytes)
        words.push_back((addresses[i] + byte) / memory.bankBytes);
    llvm::sort(words);
    words.erase(llvm::unique(words), words.end());
    for (int64_t word : words)
      ++inBank[word % memory.banks];
    clocks = clocks + BankClocks{*llvm::max_element(inBank), 1};
  }
  return clocks;
}
