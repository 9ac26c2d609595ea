//===- Files.cpp - Whole files or none ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writing output files: a full disk or a crash never leaves half a file.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LargeConstants.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;

/// Writes what a file shall have.
using Contents = llvm::function_ref<void(llvm::raw_ostream &)>;

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code error) {
  return llvm::createStringError(error, "cannot write '%s': %s", path.str().c_str(), error.message().c_str());
}

/// Writes and closes; every byte has arrived or an error says why not.
static llvm::Error writeTo(int descriptor, llvm::StringRef path, Contents contents) {
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  contents(os);
  os.close();
  if (!os.has_error())
    return llvm::Error::success();
  std::error_code error = os.error();
  os.clear_error();
  return cannotWrite(path, error);
}

static llvm::Error writeWhole(llvm::StringRef path, Contents contents) {
  if (path == "-") {
    contents(llvm::outs());
    llvm::outs().flush();
    return llvm::Error::success();
  }
  llvm::sys::fs::file_status status;
  std::error_code missing = llvm::sys::fs::status(path, status);
  int descriptor = -1;
  if (!missing && status.type() != llvm::sys::fs::file_type::regular_file) {
    if (std::error_code error = llvm::sys::fs::openFileForWrite(path, descriptor))
      return cannotWrite(path, error);
    return writeTo(descriptor, path, contents);
  }
  llvm::SmallString<128> temporary;
  unsigned permissions = llvm::sys::fs::all_read | llvm::sys::fs::all_write;
  if (path.ends_with(".so"))
    permissions |= llvm::sys::fs::all_exe;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(path + ".%%%%%%.tmp", descriptor, temporary,
                                                              llvm::sys::fs::OF_None, permissions))
    return cannotWrite(path, error);
  llvm::sys::RemoveFileOnSignal(temporary);
  llvm::Error result = writeTo(descriptor, path, contents);
  if (!result)
    if (std::error_code error = llvm::sys::fs::rename(temporary, path))
      result = cannotWrite(path, error);
  if (result)
    (void)llvm::sys::fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return result;
}

llvm::Error tilewright::writeFile(llvm::StringRef path, llvm::StringRef contents) {
  return writeWhole(path, [&](llvm::raw_ostream &os) { os << contents; });
}

llvm::Error tilewright::writeFile(llvm::StringRef path, const Artifact &artifact) {
  return writeWhole(path, [&](llvm::raw_ostream &os) { artifact.write(os); });
}
