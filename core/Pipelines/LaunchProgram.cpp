//===- LaunchProgram.cpp - A manifest run on a device ------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Evaluates size expressions and starts the launches.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LaunchProgram.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;
namespace json = llvm::json;

/// The number that an expression stands for.
static int64_t evaluate(const json::Value &expression, llvm::ArrayRef<int64_t> sizes) {
  if (auto number = expression.getAsInteger())
    return *number;
  if (const json::Object *object = expression.getAsObject())
    return sizes[object->getInteger("size").value_or(0)];
  const json::Array &parts = *expression.getAsArray();
  llvm::StringRef op = *parts[0].getAsString();
  int64_t a = evaluate(parts[1], sizes), b = evaluate(parts[2], sizes);
  if (op == "+")
    return a + b;
  if (op == "-")
    return a - b;
  if (op == "*")
    return a * b;
  if (op == "max")
    return std::max(a, b);
  if (op == "min")
    return std::min(a, b);
  if (b == 0)
    return 0;
  if (op == "mod")
    return llvm::mod(a, b);
  return op == "ceildiv" ? llvm::divideCeilSigned(a, b) : llvm::divideFloorSigned(a, b);
}

/// Whether an expression has the form that `evaluate` reads.
static bool isExpression(const json::Value &expression, int64_t sizes) {
  if (expression.getAsInteger())
    return true;
  if (const json::Object *object = expression.getAsObject()) {
    auto size = object->getInteger("size");
    return size && *size >= 0 && *size < sizes;
  }
  const json::Array *parts = expression.getAsArray();
  if (!parts || parts->size() != 3 || !(*parts)[0].getAsString())
    return false;
  bool known = llvm::StringSwitch<bool>(*(*parts)[0].getAsString())
                   .Cases({"+", "-", "*", "max", "min", "mod", "ceildiv", "floordiv"}, true)
                   .Default(false);
  return known && isExpression((*parts)[1], sizes) && isExpression((*parts)[2], sizes);
}

llvm::Expected<LaunchProgram> LaunchProgram::read(llvm::StringRef text) {
  auto parsed = json::parse(text);
  if (!parsed)
    return parsed.takeError();
  json::Object *object = parsed->getAsObject();
  auto fail = [](const char *what) { return llvm::createStringError("the manifest of a program %s", what); };
  if (!object || object->getInteger("format").value_or(0) != 1)
    return fail("has another format than 1");
  int64_t sizes = object->getInteger("sizes").value_or(-1);
  const json::Array *launches = object->getArray("launches"), *arguments = object->getArray("arguments"),
                    *temporaries = object->getArray("temporaries");
  if (sizes < 0 || !launches || !arguments || !temporaries || !object->getString("entry"))
    return fail("lacks 'sizes', 'entry', 'arguments', 'temporaries' or 'launches'");
  for (const json::Value &each : *arguments) {
    const json::Object *argument = each.getAsObject();
    const json::Array *shape = argument ? argument->getArray("shape") : nullptr;
    if (!shape || !argument->getInteger("bytes") ||
        !llvm::all_of(*shape, [&](const json::Value &extent) { return isExpression(extent, sizes); }))
      return fail("has an argument without 'shape' or 'bytes'");
  }
  for (const json::Value &each : *temporaries)
    if (!each.getAsObject() || !each.getAsObject()->get("bytes") ||
        !isExpression(*each.getAsObject()->get("bytes"), sizes))
      return fail("has a temporary without 'bytes'");
  for (const json::Value &each : *launches) {
    const json::Object *launch = each.getAsObject();
    const json::Array *grid = launch ? launch->getArray("grid") : nullptr;
    const json::Array *passed = launch ? launch->getArray("arguments") : nullptr;
    if (!grid || grid->size() != 3 || !passed || !launch->getString("kernel") || !launch->getInteger("threads") ||
        !llvm::all_of(*grid, [&](const json::Value &extent) { return isExpression(extent, sizes); }))
      return fail("has a launch without 'kernel', 'threads', 'grid' or 'arguments'");
    for (const json::Value &argument : *passed) {
      const json::Object *one = argument.getAsObject();
      auto array = one ? one->getInteger("array") : std::nullopt,
           temporary = one ? one->getInteger("temporary") : std::nullopt;
      bool good = one && ((array && *array >= 0 && *array < int64_t(arguments->size())) ||
                          (temporary && *temporary >= 0 && *temporary < int64_t(temporaries->size())) ||
                          (one->get("value") && isExpression(*one->get("value"), sizes)));
      if (!good)
        return fail("has a launch with an argument that is neither array, temporary nor value");
    }
  }
  return LaunchProgram(std::move(*object));
}

std::string LaunchProgram::entry() const { return manifest.getString("entry")->str(); }
size_t LaunchProgram::numArguments() const { return manifest.getArray("arguments")->size(); }
size_t LaunchProgram::numSizes() const { return *manifest.getInteger("sizes"); }

int64_t LaunchProgram::argumentBytes(size_t i, llvm::ArrayRef<int64_t> sizes) const {
  const json::Object &argument = *(*manifest.getArray("arguments"))[i].getAsObject();
  int64_t bytes = *argument.getInteger("bytes");
  for (const json::Value &extent : *argument.getArray("shape"))
    bytes *= evaluate(extent, sizes);
  return bytes;
}

bool LaunchProgram::run(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                        std::string &error) const {
  if (sizes.size() != numSizes() || arrays.size() != numArguments()) {
    error = "program '" + entry() + "' takes " + std::to_string(numSizes()) + " sizes and " +
            std::to_string(numArguments()) + " arrays";
    return false;
  }
  std::vector<void *> temporaries;
  auto cleanUp = llvm::make_scope_exit([&] {
    for (void *memory : temporaries)
      device.release(memory);
  });
  for (const json::Value &each : *manifest.getArray("temporaries")) {
    void *memory = device.allocate(std::max<int64_t>(1, evaluate(*each.getAsObject()->get("bytes"), sizes)), error);
    if (!memory)
      return false;
    temporaries.push_back(memory);
  }
  for (const json::Value &each : *manifest.getArray("launches")) {
    const json::Object &launch = *each.getAsObject();
    Launch start;
    start.kernel = launch.getString("kernel")->str();
    start.block[0] = *launch.getInteger("threads");
    start.dynamicScratchpadBytes = launch.getInteger("scratchpad").value_or(0);
    bool empty = false;
    for (unsigned d = 0; d < 3; ++d) {
      int64_t extent = evaluate((*launch.getArray("grid"))[d], sizes), most = d == 0 ? 0x7fffffff : 65535;
      if (extent > most) {
        error = "kernel '" + start.kernel + "' needs " + std::to_string(extent) + " blocks in dimension " +
                std::to_string(d) + " of its grid, devices have " + std::to_string(most);
        return false;
      }
      start.grid[d] = std::max<int64_t>(extent, 0);
      empty |= extent <= 0;
    }
    if (empty)
      continue; // nothing to compute
    for (const json::Value &argument : *launch.getArray("arguments")) {
      const json::Object &one = *argument.getAsObject();
      if (auto array = one.getInteger("array"))
        start.pointer(arrays[*array]);
      else if (auto temporary = one.getInteger("temporary"))
        start.pointer(temporaries[*temporary]);
      else
        start.value<int64_t>(evaluate(*one.get("value"), sizes));
    }
    if (!device.launch(start, error))
      return false;
  }
  return device.wait(error);
}
