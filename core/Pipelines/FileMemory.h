//===- FileMemory.h - Memory that the system may write to a file -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Packed constants take as much room as those that they are packed of. While they are filled they lie in a file
/// without a name, whose pages the compiler lets go: the system writes them out when it needs the memory.
///
///   constants as read | packed, a file          packed pages are in memory only where something writes or reads them
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_FILEMEMORY_H
#define TILEWRIGHT_CORE_PIPELINES_FILEMEMORY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>

namespace tilewright {

/// What the system is told of the whole pages of a piece of memory: MADV_HUGEPAGE and others.
void advise(llvm::StringRef memory, int advice);
/// Takes whole pages of a mapped file out of the process; its contents stay.
void letGo(llvm::StringRef memory);

class FileMemory {
public:
  /// Bytes that are written or read before their pages are let go; fewer are no file.
  static constexpr uint64_t window = 1 << 24;

  /// `size` bytes that are zero: of a file in the directory for temporary ones where it has room for them, else of the
  /// process. Null where there is no memory.
  static std::unique_ptr<FileMemory> create(uint64_t size);
  ~FileMemory();
  FileMemory(const FileMemory &) = delete;
  FileMemory &operator=(const FileMemory &) = delete;

  char *data() const { return begin; }
  uint64_t size() const { return bytes; }
  bool isFile() const { return filed; }
  /// Runs `work`, which writes to the memory, and lets its pages go now and then.
  void whileFilled(llvm::function_ref<void()> work) const;

private:
  FileMemory(char *begin, uint64_t bytes, bool filed) : begin(begin), bytes(bytes), filed(filed) {}

  char *begin;
  uint64_t bytes;
  bool filed;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_FILEMEMORY_H
