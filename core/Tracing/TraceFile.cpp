//===- TraceFile.cpp - Spans of time for a viewer -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Complete events ("X") in microseconds, and the names of processes and rows.
///
//===----------------------------------------------------------------------===//

#include "core/Tracing/TraceFile.h"

#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::json::Object;

void TraceFile::metadata(const char *what, unsigned process, unsigned row, Object arguments) {
  events.push_back(Object{{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", row}, {"args", std::move(arguments)}});
}

unsigned TraceFile::process(llvm::StringRef name, llvm::StringRef timeBase) {
  unsigned number = ++numProcesses;
  bases[std::to_string(number)] = timeBase.str();
  metadata("process_name", number, 0, Object{{"name", name.str()}});
  metadata("process_labels", number, 0, Object{{"labels", timeBase.str()}});
  metadata("process_sort_index", number, 0, Object{{"sort_index", number}});
  return number;
}

unsigned TraceFile::row(unsigned process, llvm::StringRef name) {
  auto number = static_cast<unsigned>(processOf.size());
  processOf.push_back(process);
  metadata("thread_name", process, number, Object{{"name", name.str()}});
  metadata("thread_sort_index", process, number, Object{{"sort_index", number}});
  return number;
}

void TraceFile::span(unsigned row, llvm::StringRef name, llvm::StringRef category, double begin, double seconds,
                     Object arguments) {
  ++numSpans;
  events.push_back(Object{{"ph", "X"},
                          {"name", name.str()},
                          {"cat", category.str()},
                          {"pid", processOf[row]},
                          {"tid", row},
                          {"ts", begin * 1e6},
                          {"dur", seconds * 1e6},
                          {"args", std::move(arguments)}});
}

std::string TraceFile::text() const {
  Object other(notes);
  other["time_bases"] = Object(bases);
  return llvm::formatv("{0}\n", llvm::json::Value(Object{{"traceEvents", llvm::json::Array(events)},
                                                         {"displayTimeUnit", "ns"},
                                                         {"otherData", std::move(other)}}))
      .str();
}
