//===- TraceFile.h - Spans of time for a viewer -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The trace-event format that Perfetto and `chrome://tracing` read: processes
/// with rows of spans. Here a process is a group of rows with one time base, which
/// its name says:
///
///   TraceFile file;
///   unsigned host = file.process("tw-run", "host clock");
///   unsigned row = file.row(host, "call");
///   file.span(row, "gemm", "call", 0.25, 1e-3, json::Object{{"bytes", 4096}});   // seconds
///   writeFile("trace.json", file.text());
///
/// Spans of a row lie beside each other or inside of each other.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRACING_TRACEFILE_H
#define TILEWRIGHT_CORE_TRACING_TRACEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace tilewright {

class TraceFile {
public:
  /// A new group of rows; its number, from 1. `timeBase`: what its times are, in words.
  unsigned process(llvm::StringRef name, llvm::StringRef timeBase);
  /// A new row of the group, below the ones before.
  unsigned row(unsigned process, llvm::StringRef name);
  /// `begin`: seconds since the zero of the group's time base.
  void span(unsigned row, llvm::StringRef name, llvm::StringRef category, double begin, double seconds,
            llvm::json::Object arguments = {});
  /// A fact about the whole.
  void note(llvm::StringRef key, llvm::json::Value value) { notes[key.str()] = std::move(value); }

  size_t spans() const { return numSpans; }
  std::string text() const;

private:
  void metadata(const char *what, unsigned process, unsigned row, llvm::json::Object arguments);

  std::vector<unsigned> processOf; // by row
  unsigned numProcesses = 0;
  size_t numSpans = 0;
  llvm::json::Array events;
  llvm::json::Object notes, bases;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRACING_TRACEFILE_H
