//===- Linker.cpp - Shared libraries --------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Links objects with lld in this process, against the C library's run-time
/// files alone: no compiler driver, no development package.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Explain/Stopwatch.h"
#include "core/Pipelines/LargeConstants.h"
#include "core/Pipelines/OpenMP.h"
#include "tilewright/Compiler.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace tilewright;

/// Directories that may hold the C library of a triple, most specific first.
static std::vector<std::string> libraryDirectories(const llvm::Triple &triple) {
  std::string multiarch = (triple.getArchName() + "-linux-gnu").str();
  std::vector<std::string> directories = {"/lib/" + multiarch, "/usr/lib/" + multiarch, "/usr/" + multiarch + "/lib"};
  if (triple.getArch() == llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch())
    for (const char *directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
      directories.push_back(directory);
  return directories;
}

/// Path of a library; an error lists where it was looked for.
static llvm::Expected<std::string> findLibrary(const llvm::Triple &triple, llvm::StringRef name) {
  std::vector<std::string> directories = libraryDirectories(triple);
  for (const std::string &directory : directories) {
    std::string path = directory + "/" + name.str();
    if (llvm::sys::fs::exists(path))
      return path;
  }
  return llvm::createStringError("linking for '%s' needs %s, which is in none of %s", triple.str().c_str(),
                                 name.str().c_str(), llvm::join(directories, ", ").c_str());
}

/// What lld makes of the bytes of object files and these arguments; an error says that `what` cannot be linked.
static llvm::Expected<Artifact> linkObjects(llvm::ArrayRef<llvm::StringRef> objects, LargeConstants constants,
                                            llvm::ArrayRef<std::string> arguments, const std::string &what) {
  Stopwatch stopwatch("link");
  std::vector<std::string> files; // what is linked, then objects
  auto cleanUp = llvm::make_scope_exit([&] {
    for (const std::string &file : files)
      (void)llvm::sys::fs::remove(file);
  });
  for (size_t i = 0; i <= objects.size(); ++i) {
    llvm::SmallString<128> file;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("tilewright", i == 0 ? "so" : "o", file))
      return llvm::createStringError(error, "cannot create a temporary file: %s", error.message().c_str());
    files.push_back(file.str().str());
    if (i == 0)
      continue;
    if (llvm::Error error = writeFile(file, objects[i - 1]))
      return error;
  }
  std::vector<const char *> pointers = {"ld.lld", "-shared", "-o"};
  for (const std::string &file : files)
    pointers.push_back(file.c_str());
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  static std::mutex one; // the linker has one state a process
  std::unique_lock lock(one);
  lld::Result result = lld::lldMain(pointers, os, os, {{lld::Gnu, &lld::elf::link}});
  lock.unlock();
  if (result.retCode != 0)
    return llvm::createStringError("cannot link " + what + ": " + llvm::StringRef(messages).trim());
  return linkedFile(files.front(), std::move(constants));
}

llvm::Expected<Artifact> tilewright::linkSharedLibrary(llvm::ArrayRef<std::unique_ptr<llvm::MemoryBuffer>> objects,
                                                       LargeConstants constants, llvm::StringRef soname,
                                                       llvm::TargetMachine &machine, bool needsThreads) {
  const llvm::Triple &triple = machine.getTargetTriple();
  if (!triple.isOSBinFormatELF())
    return llvm::createStringError("shared libraries for '%s' cannot be linked; write an object file (.o)",
                                   triple.str().c_str());
  std::vector<std::string> arguments = {"-z",    "defs",    "-z",         "now",         "-z",
                                        "relro", "-soname", soname.str(), "--as-needed", "--build-id=none"};
  for (const char *name : {"libm.so.6", "libc.so.6"}) {
    auto library = findLibrary(triple, name);
    if (!library)
      return library.takeError();
    arguments.push_back(*library);
  }
  if (needsThreads) {
    bool native = triple.getArch() == llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch();
    auto library = native ? openMPLibrary() : findLibrary(triple, "libomp.so.5");
    if (!library)
      return library.takeError();
    arguments.push_back(*library);
  }
  std::vector<llvm::StringRef> bytes;
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    bytes.push_back(object->getBuffer());
  std::string reserved;
  if (!constants.parts.empty()) {
    auto first = reservedObject(bytes.front());
    if (!first)
      return first.takeError();
    reserved = std::move(*first);
    bytes.front() = reserved;
  }
  return linkObjects(bytes, std::move(constants), arguments, ("'" + soname + "'").str());
}

llvm::Expected<std::string> tilewright::linkSharedLibrary(llvm::StringRef object, llvm::StringRef soname,
                                                          llvm::TargetMachine &machine, bool needsThreads) {
  auto library = linkSharedLibrary(llvm::MemoryBuffer::getMemBuffer(object, "", /*RequiresNullTerminator=*/false), {},
                                   soname, machine, needsThreads);
  if (!library)
    return library.takeError();
  return std::move(library->bytes);
}

llvm::Expected<std::string> tilewright::linkDeviceObject(llvm::StringRef object) {
  auto library = linkObjects(object, {}, {}, "the device code");
  if (!library)
    return library.takeError();
  return std::move(library->bytes);
}
