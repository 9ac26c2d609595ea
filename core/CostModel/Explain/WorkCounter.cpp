//===- WorkCounter.cpp - What a compilation did, counted ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tree of parts. Each thread knows the parts that it is in, innermost last.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Explain/WorkCounter.h"
#include <dlfcn.h>
#include <map>
#include <mutex>

using namespace tilewright;

struct WorkCounter::Part {
  const void *id = nullptr;
  std::string name;
  std::map<std::string, int64_t> counts;
  std::vector<std::unique_ptr<Part>> parts;
};

namespace {
/// A part that a thread is in, the allocations of the thread before it, and those of parts inside of it that are done.
struct Running {
  WorkCounter::Part *part;
  uint64_t before, inside;
};
} // namespace

static thread_local std::vector<Running> running;
/// Of all counters: parts of one name are entered by several threads.
static std::mutex counting;

/// The function that gives the allocations of the calling thread; null: nobody counts them.
static uint64_t (*allocationCounter())() {
  static auto *counter = reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "tilewright_allocations"));
  return counter;
}

WorkCounter::WorkCounter() : root(std::make_unique<Part>()) {
  root->name = "total";
  allocationCounter();
}
WorkCounter::~WorkCounter() = default;

std::optional<void *> WorkCounter::rootTimer() { return root.get(); }

void WorkCounter::startTimer(void *part) {
  running.push_back({static_cast<Part *>(part), 0, 0});
  if (auto *counter = allocationCounter())
    running.back().before = counter();
}

void WorkCounter::stopTimer(void *part) {
  auto *counter = allocationCounter();
  uint64_t now = counter ? counter() : 0;
  for (size_t i = running.size(); i-- > 0;) {
    if (running[i].part != part)
      continue;
    if (counter) {
      uint64_t all = now - running[i].before;
      if (i > 0)
        running[i - 1].inside += all;
      std::lock_guard lock(counting);
      running[i].part->counts["allocations"] += int64_t(all - running[i].inside);
    }
    running.erase(running.begin() + std::ptrdiff_t(i));
    return;
  }
}

void *WorkCounter::nestTimer(void *part, const void *id, llvm::function_ref<std::string()> nameOf) {
  std::lock_guard lock(counting);
  auto &parts = static_cast<Part *>(part)->parts;
  for (const std::unique_ptr<Part> &known : parts)
    if (known->id == id)
      return known.get();
  parts.push_back(std::make_unique<Part>());
  parts.back()->id = id;
  parts.back()->name = nameOf();
  return parts.back().get();
}

static llvm::json::Object jsonOf(const WorkCounter::Part &part) {
  llvm::json::Object counts, result{{"name", part.name}};
  for (const auto &[what, amount] : part.counts)
    counts[what] = amount;
  llvm::json::Array parts;
  for (const std::unique_ptr<WorkCounter::Part> &each : part.parts)
    parts.push_back(jsonOf(*each));
  result["counts"] = std::move(counts);
  result["parts"] = std::move(parts);
  return result;
}

llvm::json::Object WorkCounter::toJson() const {
  std::lock_guard lock(counting);
  return jsonOf(*root);
}

bool tilewright::isWorkCounted() { return !running.empty(); }

void tilewright::countWork(llvm::StringLiteral what, int64_t amount) {
  if (running.empty())
    return;
  std::lock_guard lock(counting);
  running.back().part->counts[what.str()] += amount;
}
