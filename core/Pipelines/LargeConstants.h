//===- LargeConstants.h - Constants that LLVM does not see ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Weights of hundreds of megabytes go from the program's memory into the file that is written, once. LLVM and the
/// linker see an array of their size without contents, in a section of its own:
///
///   llvm.mlir.global constant @w(dense<"0x...">)      @tilewright.constants: T bytes, reserved
///   llvm.mlir.addressof @w                       ->   addressof @tilewright.constants + offset of w
///
///   object or library:   code | reserved section | code      in memory: without the section's T bytes
///   file:                code | w | v | ...      | code
///
/// Each constant begins at a multiple of 64 bytes; equal ones are there once.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LARGECONSTANTS_H
#define TILEWRIGHT_CORE_PIPELINES_LARGECONSTANTS_H

#include "core/Analysis/FoldedConstants.h"
#include "tilewright/Compiler.h"

namespace tilewright {

/// The bytes of a global of the LLVM dialect that is at least `largeConstantBytes` long and in the machine's order;
/// empty: it is another. The module's context keeps the memory.
llvm::ArrayRef<char> largeConstant(mlir::Operation *global);

/// A unit attribute of globals of the LLVM dialect whose bytes are pages of a file (FileMemory).
constexpr const char *filedAttr = "tilewright.filed";

/// The constants of a module that were taken out of it.
struct LargeConstants {
  struct Part {
    uint64_t offset; // bytes from the beginning of the reserved section
    llvm::ArrayRef<char> bytes;
    bool isFile; // they are pages of a file, which are let go when they were written
  };
  std::vector<Part> parts;
  uint64_t size = 0; // bytes of the section

  /// Takes the large constants out of a module after stage 5. None for a machine whose object files are other than ELF
  /// of 64 bits, little-endian.
  static LargeConstants reserve(mlir::ModuleOp module, const llvm::TargetMachine &machine);
};

/// An artifact whose constants lie where the program has them.
struct Artifact {
  /// The file without its constants; these are `position` bytes after its beginning.
  std::string bytes;
  uint64_t position = 0;
  LargeConstants constants;

  uint64_t size() const { return bytes.size() + constants.size; }
  void write(llvm::raw_ostream &os) const;
  /// The file in memory.
  std::string whole() &&;
};

/// An object file that LLVM wrote, with these contents of its reserved section at its end.
llvm::Expected<Artifact> objectFile(llvm::StringRef object, LargeConstants constants);
/// The object for the linker: its section is read-only, and still without contents.
llvm::Expected<std::string> reservedObject(llvm::StringRef object);
/// The file at `path` that was linked of such an object, with these contents of its reserved section.
llvm::Expected<Artifact> linkedFile(llvm::StringRef path, LargeConstants constants);

/// As `linkSharedLibrary` of Compiler.h, of objects of which the first has the reserved section.
llvm::Expected<Artifact> linkSharedLibrary(llvm::ArrayRef<std::unique_ptr<llvm::MemoryBuffer>> objects,
                                           LargeConstants constants, llvm::StringRef soname,
                                           llvm::TargetMachine &machine, bool needsThreads);
/// As `writeFile` of Compiler.h.
llvm::Error writeFile(llvm::StringRef path, const Artifact &artifact);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LARGECONSTANTS_H
