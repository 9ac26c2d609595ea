//===- Explain.cpp - Decisions and their numbers ------------------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One log per context while somebody listens, and its printing as text.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Explain.h"
#include "core/Analysis/LoopRuns.h"
#include "core/CostModel/Explain/FormerNames.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;
namespace json = llvm::json;

namespace {
/// The logs that are alive, by context.
struct Listeners {
  std::mutex mutex;
  llvm::DenseMap<mlir::MLIRContext *, DecisionLog *> logs;
};
} // namespace

static Listeners &listeners() {
  static Listeners all;
  return all;
}

DecisionLog::DecisionLog(mlir::MLIRContext *context, bool listsCandidates)
    : context(context), isWithCandidates(listsCandidates) {
  std::lock_guard lock(listeners().mutex);
  listeners().logs[context] = this;
}

DecisionLog::~DecisionLog() {
  std::lock_guard lock(listeners().mutex);
  auto entry = listeners().logs.find(context);
  if (entry != listeners().logs.end() && entry->second == this)
    listeners().logs.erase(entry);
}

DecisionLog *DecisionLog::of(mlir::MLIRContext *context) {
  std::lock_guard lock(listeners().mutex);
  return listeners().logs.lookup(context);
}

/// loc("file":1:2) reads better as "file":1:2.
std::string DecisionLog::textOf(mlir::Location location) {
  std::string where;
  llvm::raw_string_ostream os(where);
  location.print(os);
  llvm::StringRef text = where;
  if (text.consume_front("loc("))
    text.consume_back(")");
  return text.str();
}

void DecisionLog::add(llvm::StringRef decision, mlir::Location location, json::Object record) {
  record["decision"] = decision;
  record["location"] = textOf(location);
  std::lock_guard lock(mutex);
  decisions.push_back(std::move(record));
}

static llvm::StringRef kernelOf(mlir::Operation *op) {
  auto function = op->getParentOfType<mlir::FunctionOpInterface>();
  return function ? function.getName() : "";
}

bool DecisionLog::has(llvm::StringRef decision, mlir::Operation *op) {
  const std::string location = textOf(op->getLoc());
  const llvm::StringRef kernel = kernelOf(op);
  std::lock_guard lock(mutex);
  return llvm::any_of(decisions, [&](const json::Value &each) {
    const json::Object &record = *each.getAsObject();
    return record.getString("decision") == decision && record.getString("location") == location &&
           record.getString("kernel") == kernel;
  });
}

void DecisionLog::add(llvm::StringRef decision, mlir::Operation *op, json::Object record) {
  if (llvm::StringRef kernel = kernelOf(op); !kernel.empty())
    record["kernel"] = kernel;
  if (std::optional<int64_t> runs = runsOf(op))
    record["runs"] = *runs;
  add(decision, op->getLoc(), std::move(record));
}

json::Array DecisionLog::take() {
  std::lock_guard lock(mutex);
  json::Array taken = std::move(decisions);
  decisions = json::Array();
  return taken;
}

void DecisionLog::addFormerNames(json::Value &value) {
  if (json::Array *array = value.getAsArray())
    for (json::Value &element : *array)
      addFormerNames(element);
  json::Object *object = value.getAsObject();
  if (!object)
    return;
  for (auto &entry : *object)
    addFormerNames(entry.second);
  for (const FormerName &name : formerNames)
    if (const json::Value *field = object->get(name.now); field && !object->get(name.before)) {
      json::Value copy = *field;
      object->try_emplace(name.before, std::move(copy));
    }
}

/// One value in a line: numbers short, nested objects as (a = 1, b = 2).
static void printValue(const json::Value &value, llvm::raw_ostream &os);

static void printFields(const json::Object &object, llvm::raw_ostream &os) {
  std::vector<llvm::StringRef> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first);
  llvm::sort(keys);
  bool first = true;
  for (llvm::StringRef key : keys) {
    os << (first ? "" : ", ") << key << " = ";
    printValue(*object.get(key), os);
    first = false;
  }
}

static void printValue(const json::Value &value, llvm::raw_ostream &os) {
  if (const json::Object *object = value.getAsObject()) {
    os << "(";
    printFields(*object, os);
    os << ")";
  } else if (const json::Array *array = value.getAsArray()) {
    os << "[";
    for (auto [index, element] : llvm::enumerate(*array)) {
      os << (index ? ", " : "");
      printValue(element, os);
    }
    os << "]";
  } else if (auto text = value.getAsString()) {
    os << *text;
  } else if (auto integer = value.getAsInteger()) {
    os << *integer;
  } else if (auto number = value.getAsNumber()) {
    os << llvm::format("%.4g", *number);
  } else if (auto truth = value.getAsBoolean()) {
    os << (*truth ? "yes" : "no");
  } else {
    os << "unknown";
  }
}

void DecisionLog::printText(const json::Array &decisions, llvm::raw_ostream &os) {
  for (const json::Value &entry : decisions) {
    const json::Object *record = entry.getAsObject();
    if (!record)
      continue;
    os << record->getString("location").value_or("?") << ": " << record->getString("decision").value_or("decision")
       << "\n";
    for (llvm::StringRef section : {"inputs", "choice"}) {
      if (const json::Object *fields = record->getObject(section)) {
        os << "  " << section << ": ";
        printFields(*fields, os);
        os << "\n";
      }
    }
    if (const json::Array *candidates = record->getArray("candidates")) {
      os << "  candidates:\n";
      for (const json::Value &candidate : *candidates) {
        os << "    ";
        if (const json::Object *fields = candidate.getAsObject())
          printFields(*fields, os);
        else
          printValue(candidate, os);
        os << "\n";
      }
    }
    json::Object rest;
    for (const auto &[key, value] : *record) {
      llvm::StringRef name = key;
      if (name != "location" && name != "decision" && name != "inputs" && name != "choice" && name != "candidates" &&
          name != "reason")
        rest[name] = value;
    }
    if (!rest.empty()) {
      os << "  also: ";
      printFields(rest, os);
      os << "\n";
    }
    if (auto reason = record->getString("reason"))
      os << "  reason: " << *reason << "\n";
  }
}
