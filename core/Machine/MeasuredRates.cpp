//===- MeasuredRates.cpp - Numbers that were measured on a chip -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One JSON object a chip.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/MeasuredRates.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;
using llvm::createStringError;
using llvm::formatv;

/// Empty where the system names no folder.
static std::string pathOf(llvm::StringRef chip) {
  llvm::SmallString<128> path;
  if (auto folder = llvm::sys::Process::GetEnv("TILEWRIGHT_MEASURED")) {
    path = *folder;
  } else {
    if (auto config = llvm::sys::Process::GetEnv("XDG_CONFIG_HOME"))
      path = *config;
    else if (!llvm::sys::path::user_config_directory(path))
      return "";
    llvm::sys::path::append(path, "tilewright");
  }
  std::string name = chip.str();
  llvm::replace(name, ':', '-');
  llvm::sys::path::append(path, name + ".json");
  return path.str().str();
}

llvm::Expected<std::string> tilewright::saveMeasured(llvm::StringRef chip,
                                                     llvm::ArrayRef<std::pair<std::string, double>> fields) {
  const std::string path = pathOf(chip);
  if (path.empty())
    return createStringError("no home directory to keep measured fields in; set TILEWRIGHT_MEASURED to a folder");
  llvm::json::Object values;
  for (const auto &[field, value] : fields)
    values[field] = value;
  std::error_code code = llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
  if (!code) {
    llvm::raw_fd_ostream file(path, code);
    if (!code)
      file << formatv("{0:2}", llvm::json::Value(llvm::json::Object{{"chip", chip}, {"fields", std::move(values)}}))
           << "\n";
  }
  if (code)
    return createStringError(formatv("cannot write the measured fields to '{0}': {1}", path, code.message()));
  return path;
}

llvm::Expected<std::string> tilewright::readMeasured(llvm::StringRef chip) {
  const std::string path = pathOf(chip);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (path.empty() || !file)
    return createStringError(
        formatv("'{0}@measured': no file '{1}'; tw-calibrate --target {0} --save writes it", chip, path));
  auto wrong = [&](const llvm::Twine &why) {
    return createStringError(formatv("'{0}': {1}; write it anew with tw-calibrate --target {2} --save, or delete it",
                                     path, why.str(), chip));
  };
  auto parsed = llvm::json::parse((*file)->getBuffer());
  if (!parsed)
    return wrong(llvm::toString(parsed.takeError()));
  const llvm::json::Object *root = parsed->getAsObject(), *fields = root ? root->getObject("fields") : nullptr;
  if (!fields)
    return wrong("no object with the key \"fields\"");
  if (auto of = root->getString("chip"); !of || *of != chip)
    return wrong("it is of the chip '" + of.value_or("") + "'");
  std::string text;
  for (const auto &[field, value] : *fields) {
    auto number = value.getAsNumber();
    if (!number)
      return wrong("'" + field.str() + "' is no number");
    text += formatv("{0}{1}={2}", text.empty() ? "" : ",", field.str(), llvm::json::Value(*number));
  }
  return text;
}
