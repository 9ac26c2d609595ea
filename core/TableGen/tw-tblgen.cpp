//===- tw-tblgen.cpp - Turns records into tables and pages ------------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table generator of the chip description language:
///
///   tw-tblgen -gen-tables -target=acme -namespace=acme Chips.td -o Chips.inc
///
/// Every mode checks all records first and reports each fault at the record.
///
//===----------------------------------------------------------------------===//

#include "core/TableGen/RecordReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include <csignal>

namespace cl = llvm::cl;

namespace {
enum class Mode { Check, Tables, Reference, CHeader };
} // namespace

static cl::opt<Mode> mode(cl::desc("what to write:"),
                          cl::values(clEnumValN(Mode::Check, "check", "nothing, only check the records"),
                                     clEnumValN(Mode::Tables, "gen-tables", "C++ tables of chips and units"),
                                     clEnumValN(Mode::Reference, "gen-reference", "a reference page in Markdown"),
                                     clEnumValN(Mode::CHeader, "gen-c-header", "reference intrinsics in C")),
                          cl::init(Mode::Check));
static cl::opt<std::string> target("target", cl::desc("name of the target, the first part of unit names"),
                                   cl::value_desc("name"), cl::init("target"));
static cl::opt<std::string> nameSpace("namespace", cl::desc("C++ namespace of the tables (default: the target's name)"),
                                      cl::value_desc("name"));

static bool run(llvm::raw_ostream &os, const llvm::RecordKeeper &keeper) {
  std::optional<tilewright::tablegen::Records> records = tilewright::tablegen::readRecords(keeper, target);
  if (!records)
    return true;
  switch (mode) {
  case Mode::Check:
    break;
  case Mode::Tables:
    tilewright::tablegen::writeTables(*records, nameSpace.empty() ? target : nameSpace, os);
    break;
  case Mode::Reference:
    tilewright::tablegen::writeReference(*records, target, os);
    break;
  case Mode::CHeader:
    tilewright::tablegen::writeCHeader(*records, target, os);
    break;
  }
  return false;
}

/// TableGen ends the process where its output cannot be written, without saying which; half a file it removes itself.
static void onFatalError(void *, const char *reason, bool) {
  llvm::StringRef why = reason;
  if (why.consume_front("IO failure on output stream: "))
    llvm::errs() << "tw-tblgen: error: cannot write the output: " << why << "\n";
  else
    llvm::errs() << "tw-tblgen: error: " << why << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::install_fatal_error_handler(onFatalError);
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is a failed write, with its message
#endif
  // LLVM's libraries bring hundreds of options of their own.
  for (auto &entry : cl::getRegisteredOptions())
    if (!llvm::is_contained({"check", "gen-tables", "gen-reference", "gen-c-header", "target", "namespace", "I", "D",
                             "o", "d", "help", "version"},
                            entry.first))
      entry.second->setHiddenFlag(cl::ReallyHidden);
  cl::ParseCommandLineOptions(argc, argv, "Turns chip descriptions into tables and pages\n");
  return llvm::TableGenMain(argv[0], llvm::TableGenMainFn(run));
}
