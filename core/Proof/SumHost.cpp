//===- SumHost.cpp - Launches of a manifest, counted ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The host's steps as the runtime executes them, for one size.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/SumCounter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright::proof;

std::optional<int64_t> SumCounter::expression(const llvm::json::Value *value) {
  if (!value)
    return std::nullopt;
  if (auto number = value->getAsInteger())
    return number;
  if (const auto *object = value->getAsObject()) {
    if (auto index = object->getInteger("size"); index && *index < static_cast<int64_t>(hostSizes.size()))
      return hostSizes[*index];
    if (auto index = object->getInteger("variable"); index && *index < static_cast<int64_t>(hostVariables.size()))
      return hostVariables[*index];
    return std::nullopt;
  }
  const auto *list = value->getAsArray();
  if (!list || list->size() != 3)
    return std::nullopt;
  llvm::StringRef op = list->front().getAsString().value_or("");
  std::optional<int64_t> a = expression(&(*list)[1]), b = expression(&(*list)[2]);
  if (!a || !b)
    return std::nullopt;
  if (op == "+")
    return *a + *b;
  if (op == "-")
    return *a - *b;
  if (op == "*")
    return *a * *b;
  if (op == "max" || op == "min")
    return op == "max" ? std::max(*a, *b) : std::min(*a, *b);
  if (op == "<" || op == "==")
    return op == "<" ? *a < *b : *a == *b;
  if (*b <= 0)
    return std::nullopt;
  if (op == "ceildiv")
    return llvm::divideCeilSigned(*a, *b);
  int64_t quotient = llvm::divideFloorSigned(*a, *b);
  return op == "mod" ? *a - quotient * *b : quotient;
}

void SumCounter::runLaunch(const llvm::json::Object &step) {
  auto kernel = module.lookupSymbol<func::FuncOp>(step.getString("launch").value_or(""));
  const llvm::json::Array *given = step.getArray("arguments"), *extents = step.getArray("grid");
  if (!kernel || kernel.isExternal() || !given || !extents) {
    gap(module, "a kernel of the manifest is not in the module");
    return;
  }
  SmallVector<unsigned> buffers;
  SmallVector<Number> values;
  size_t next = 0;
  auto valueOf = [&](size_t index) -> std::optional<int64_t> {
    const llvm::json::Object *argument = index < given->size() ? (*given)[index].getAsObject() : nullptr;
    return expression(argument ? argument->get("value") : nullptr);
  };
  for (Type type : kernel.getArgumentTypes()) {
    buffers.emplace_back();
    values.emplace_back();
    size_t index = next++;
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      values.back().value = valueOf(index);
      values.back().form.constant = values.back().value.value_or(0);
      continue;
    }
    const llvm::json::Object *argument = index < given->size() ? (*given)[index].getAsObject() : nullptr;
    int64_t buffer = argument ? argument->getInteger("buffer").value_or(-1) : -1;
    std::vector<int64_t> shape;
    for (int64_t extent : memref.getShape())
      shape.push_back(ShapedType::isDynamic(extent) ? valueOf(next++).value_or(size) : extent);
    if (buffer < 0 || buffer >= static_cast<int64_t>(hostArrays.size())) {
      gap(kernel, "an argument that the manifest does not name as a buffer");
      return;
    }
    unsigned &array = hostArrays[buffer];
    if (arrays[array].extents() != ArrayRef<int64_t>(shape)) { // the same memory in another shape
      Chain all;
      for (const Write &each : arrays[array].writes())
        all.join(each.chain);
      SumArray other(shape, &counterRanges);
      other.write({std::vector<Interval>(shape.size(), Interval{{}, 1, true}), true, all});
      arrays[array] = std::move(other);
    }
    buffers.back() = array;
  }
  grid.clear();
  for (const llvm::json::Value &extent : *extents)
    grid.push_back(expression(&extent));
  runFunction(kernel, buffers, values);
  grid.clear();
}

void SumCounter::runSteps(const llvm::json::Array &steps) {
  for (const llvm::json::Value &each : steps) {
    const llvm::json::Object *step = each.getAsObject();
    if (!step)
      continue;
    if (step->get("launch")) {
      runLaunch(*step);
    } else if (auto variable = step->getInteger("read")) {
      if (*variable < static_cast<int64_t>(hostVariables.size()))
        hostVariables[*variable] = std::nullopt;
    } else if (const auto *assigned = step->getArray("assign")) {
      SmallVector<std::pair<int64_t, std::optional<int64_t>>> values;
      for (const llvm::json::Value &one : *assigned)
        if (const auto *pair = one.getAsArray(); pair && pair->size() == 2)
          values.push_back({(*pair)[0].getAsInteger().value_or(-1), expression(&(*pair)[1])});
      for (auto &[variable, value] : values)
        if (variable >= 0 && variable < static_cast<int64_t>(hostVariables.size()))
          hostVariables[variable] = value;
    } else if (const llvm::json::Value *condition = step->get("if")) {
      std::optional<int64_t> known = expression(condition);
      bool wasSure = isSure;
      isSure &= known.has_value();
      for (llvm::StringRef name : {"then", "else"})
        if (const auto *body = step->getArray(name); body && (!known || (*known != 0) == (name == "then")))
          runSteps(*body);
      isSure = wasSure;
    } else if (!step->get("require"))
      gap(module, "the host's steps of the manifest hold a loop, or arrays of sizes of data");
  }
}

void SumCounter::runManifest(func::FuncOp function, llvm::StringRef text, ArrayRef<unsigned> given) {
  auto manifest = llvm::json::parse(text);
  const llvm::json::Object *object = manifest ? manifest->getAsObject() : nullptr;
  if (!object || !object->getArray("steps")) {
    llvm::consumeError(manifest.takeError());
    gap(function, "the manifest cannot be read");
    return;
  }
  hostSizes.assign(object->getInteger("sizes").value_or(0), size);
  hostVariables.assign(object->getInteger("variables").value_or(0), std::nullopt);
  hostArrays.assign(given.begin(), given.end());
  while (static_cast<int64_t>(hostArrays.size()) < object->getInteger("buffers").value_or(0)) {
    hostArrays.push_back(arrays.size());
    arrays.emplace_back(std::vector<int64_t>(), &counterRanges);
  }
  runSteps(*object->getArray("steps"));
}
