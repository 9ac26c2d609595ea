//===- Host.cpp - Launches of a manifest ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the host does for a program of launches stands in its manifest, which the
/// runtime executes: arrays, extents of grids, order of launches are read from there.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Reader.h"

using namespace mlir;
using namespace tilewright::proof;

Linear Reader::expression(const llvm::json::Value *value) {
  if (!value)
    return fresh("value", "a value that the manifest lacks");
  if (auto number = value->getAsInteger())
    return *number;
  if (const auto *object = value->getAsObject()) {
    if (auto size = object->getInteger("size"); size && *size < static_cast<int64_t>(sizes.size()))
      return sizes[*size];
    if (auto variable = object->getInteger("variable"); variable && *variable < static_cast<int64_t>(variables.size()))
      return variables[*variable];
    return fresh("value", "a value of data");
  }
  const auto *list = value->getAsArray();
  if (!list || list->size() != 3)
    return fresh("value", "an expression that is not read");
  llvm::StringRef op = list->front().getAsString().value_or("");
  Linear a = expression(&(*list)[1]), b = expression(&(*list)[2]);
  if (op == "+")
    return a + b;
  if (op == "-")
    return a - b;
  if (op == "*")
    return space.product(a, b);
  if (op == "max" || op == "min")
    return space.extreme({a, b}, op == "min");
  if (op == "<" || op == "==")
    return space.select(truthOf(value), 1, 0);
  if (!b.isConstant()) {
    Linear quotient = op == "ceildiv" ? space.quotient(a * -1, b) * -1 : space.quotient(a, b);
    return op == "mod" ? a - space.product(quotient, b) : quotient;
  }
  if (b.constant() <= 0)
    return fresh("quotient", "a division by a number that is not positive");
  if (op == "mod")
    return space.modulo(a, b.constant());
  return space.floorDiv(op == "ceildiv" ? a + (b.constant() - 1) : a, b.constant());
}

Truth Reader::truthOf(const llvm::json::Value *value) {
  const auto *list = value ? value->getAsArray() : nullptr;
  llvm::StringRef op = list && list->size() == 3 ? list->front().getAsString().value_or("") : "";
  if (op == "<" || op == "==") {
    Linear difference = expression(&(*list)[2]) - expression(&(*list)[1]);
    return op == "<" ? Truth{{{difference + -1}}, true} : Truth{{{difference, difference * -1}}, true};
  }
  Linear number = expression(value);
  return {{{number + -1}, {number * -1 + -1}}, true};
}

void Reader::readLaunch(const llvm::json::Object &step) {
  llvm::StringRef name = step.getString("launch").value_or("");
  auto kernel = module.lookupSymbol<func::FuncOp>(name);
  const llvm::json::Array *given = step.getArray("arguments"), *extents = step.getArray("grid");
  if (!kernel || kernel.isExternal() || !given || !extents) {
    program.gaps.push_back({place, ("the kernel '" + name + "' of the manifest is not in the module").str()});
    return;
  }
  SmallVector<View> arrays;
  SmallVector<Linear> values;
  size_t next = 0;
  for (Type type : kernel.getArgumentTypes()) {
    arrays.emplace_back();
    values.emplace_back();
    const llvm::json::Object *argument = next < given->size() ? (*given)[next].getAsObject() : nullptr;
    ++next;
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      values.back() = expression(argument ? argument->get("value") : nullptr);
      continue;
    }
    int64_t buffer = argument ? argument->getInteger("buffer").value_or(-1) : -1;
    View &view = arrays.back();
    if (buffer < 0 || buffer >= static_cast<int64_t>(buffers.size())) {
      view.unknown = "an argument that the manifest does not name as a buffer";
      continue;
    }
    view = buffers[buffer];
    // The kernel's own shape of it; an array of the host keeps the one that it got first.
    view.shape.clear();
    for (int64_t d = 0; d < memref.getRank(); ++d)
      view.shape.push_back(memref.isDynamicDim(d) ? expression(next < given->size() && (*given)[next].getAsObject()
                                                                   ? (*given)[next].getAsObject()->get("value")
                                                                   : nullptr)
                                                  : Linear(memref.getDimSize(d))),
          next += memref.isDynamicDim(d);
    if (!view.unknown.empty())
      continue;
    Array &array = program.arrays[view.array];
    if (array.shape.empty() && array.name.starts_with("temporary"))
      array.shape = view.shape, array.element = memref.getElementType();
    else if (array.shape == view.shape)
      continue;
    else if (std::optional<View> other = joined(buffers[buffer], view.shape)) // launches see rows that are one
      view = *other;
    else
      view.unknown = "launches see " + array.name + " in two shapes";
  }
  grid.clear();
  Conditions before = conditions;
  for (const llvm::json::Value &extent : *extents) {
    grid.push_back(expression(&extent));
    Linear rest = grid.back() * -1 + std::numeric_limits<int32_t>::max(); // larger grids are refused
    conditions.all.push_back(rest);
    if (time.empty() && isExact)
      program.facts.all.push_back(rest);
  }
  readFunction(kernel, arrays, values);
  grid.clear();
  conditions = std::move(before);
}

void Reader::readSteps(const llvm::json::Array &steps) {
  for (const llvm::json::Value &each : steps) {
    const llvm::json::Object *step = each.getAsObject();
    if (!step)
      continue;
    ++clock;
    if (step->get("launch")) {
      readLaunch(*step);
    } else if (auto variable = step->getInteger("read");
               variable && *variable < static_cast<int64_t>(variables.size())) {
      variables[*variable] = fresh("data", "a value of data");
    } else if (const auto *assigned = step->getArray("assign")) {
      SmallVector<std::pair<int64_t, Linear>> values;
      for (const llvm::json::Value &one : *assigned)
        if (const auto *pair = one.getAsArray(); pair && pair->size() == 2)
          values.push_back({(*pair)[0].getAsInteger().value_or(-1), expression(&(*pair)[1])});
      for (auto &[variable, value] : values)
        if (variable >= 0 && variable < static_cast<int64_t>(variables.size()))
          variables[variable] = value;
    } else if (step->get("if")) {
      std::vector<Linear> before = variables;
      auto branch = [&](const Truth &condition, llvm::StringRef name) {
        if (const auto *body = step->getArray(name))
          within(condition, [&] { readSteps(*body); });
        std::vector<Linear> after = variables;
        variables = before;
        return after;
      };
      Truth condition = truthOf(step->get("if"));
      std::vector<Linear> yes = branch(condition, "then"), no = branch(!condition, "else");
      for (auto [variable, a, b] : llvm::zip(variables, yes, no))
        variable = space.select(condition, a, b);
    } else if (step->get("require")) {
      if (time.empty() && isExact)
        conditions.addEqual(expression(step->get("require")), expression(step->get("equals")));
    } else {
      // Loops of the host, buffers that change their names, memory of a size of data.
      program.gaps.push_back({place, "the host's steps of the manifest hold a loop, or arrays of sizes of data"});
    }
  }
}

void Reader::readManifest(func::FuncOp function, llvm::StringRef text, ArrayRef<View> arrays) {
  auto manifest = llvm::json::parse(text);
  const llvm::json::Object *object = manifest ? manifest->getAsObject() : nullptr;
  if (!object || !object->getArray("steps")) {
    llvm::consumeError(manifest.takeError());
    program.gaps.push_back({function.getLoc(), "the manifest cannot be read"});
    return;
  }
  while (static_cast<int64_t>(sizes.size()) < object->getInteger("sizes").value_or(0)) {
    Variable size = space.add("size " + std::to_string(sizes.size()), Space::Kind::Size);
    space.know(size, Linear::of(size));
    sizes.push_back(Linear::of(size));
  }
  for (int64_t i = 0, e = object->getInteger("variables").value_or(0); i < e; ++i)
    variables.push_back(fresh("variable", "a variable of the host"));
  buffers.assign(arrays.begin(), arrays.end());
  while (static_cast<int64_t>(buffers.size()) < object->getInteger("buffers").value_or(0)) {
    program.arrays.push_back(
        {"temporary " + std::to_string(buffers.size()), function.getLoc(), {}, false, 0, {}, true});
    buffers.push_back({static_cast<unsigned>(program.arrays.size() - 1), {}, nullptr, ""});
  }
  // What the runtime compares before the first launch.
  if (const auto *constraints = object->getArray("constraints"))
    for (const llvm::json::Value &each : *constraints)
      if (const auto *constraint = each.getAsObject()) {
        if (const auto *zero = constraint->get("zero"))
          conditions.addEqual(expression(zero), 0);
        else if (const auto *value = constraint->get("nonnegative"))
          conditions.all.push_back(expression(value));
      }
  program.facts.add(conditions);
  readSteps(*object->getArray("steps"));
}
