//===- LaunchProgram.cpp - A manifest that runs on a device ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Expressions, memory and steps of a manifest.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LaunchProgram.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <memory>

using namespace tilewright;
namespace json = llvm::json;
using llvm::createStringError;
using llvm::formatv;

static llvm::Error malformed(const llvm::Twine &what) { return createStringError("malformed manifest: " + what); }

llvm::Expected<int64_t> tilewright::evaluate(const json::Value &expression, llvm::ArrayRef<int64_t> sizes,
                                             llvm::ArrayRef<int64_t> variables) {
  if (std::optional<int64_t> number = expression.getAsInteger())
    return *number;
  if (const json::Object *object = expression.getAsObject()) {
    for (auto [key, list] : {std::pair("size", sizes), {"variable", variables}})
      if (std::optional<int64_t> index = object->getInteger(key)) {
        if (*index < 0 || *index >= int64_t(list.size()))
          return malformed(formatv("{0} names none of {1} {2}s", expression, list.size(), key));
        return list[*index];
      }
  }
  const json::Array *list = expression.getAsArray();
  std::optional<llvm::StringRef> op = list && list->size() == 3 ? (*list)[0].getAsString() : std::nullopt;
  if (!op)
    return malformed(formatv("{0} is no expression", expression));
  llvm::Expected<int64_t> left = evaluate((*list)[1], sizes, variables);
  if (!left)
    return left;
  llvm::Expected<int64_t> right = evaluate((*list)[2], sizes, variables);
  if (!right)
    return right;
  int64_t a = *left, b = *right;
  if (*op == "+")
    return a + b;
  if (*op == "-")
    return a - b;
  if (*op == "*")
    return a * b;
  if (*op == "max")
    return std::max(a, b);
  if (*op == "min")
    return std::min(a, b);
  if (*op == "<")
    return a < b;
  if (*op == "==")
    return a == b;
  if (*op != "floordiv" && *op != "ceildiv" && *op != "mod")
    return malformed(formatv("{0} has an unknown operation", expression));
  if (b == 0)
    return malformed(formatv("{0} divides by zero", expression));
  if (*op == "floordiv")
    return llvm::divideFloorSigned(a, b);
  return *op == "ceildiv" ? llvm::divideCeilSigned(a, b) : llvm::mod(a, b);
}

//===-- Reading -----------------------------------------------------------===//

llvm::Expected<LaunchProgram> LaunchProgram::read(llvm::StringRef text) {
  auto parsed = json::parse(text);
  if (!parsed)
    return parsed.takeError();
  json::Object *object = parsed->getAsObject();
  if (!object || object->getInteger("format") != 2)
    return malformed("its format is not 2");
  for (const char *key : {"sizes", "variables", "buffers"})
    if (object->getInteger(key).value_or(-1) < 0)
      return malformed(formatv("a program needs '{0}'", key));
  for (const char *key : {"arguments", "constants", "temporaries", "steps"})
    if (!object->getArray(key))
      return malformed(formatv("a program needs '{0}'", key));
  if (!object->getString("entry"))
    return malformed("a program needs 'entry'");
  if (object->getArray("arguments")->size() > size_t(*object->getInteger("buffers")))
    return malformed("there are fewer buffers than arguments");
  for (const json::Value &each : *object->getArray("arguments")) {
    const json::Object *argument = each.getAsObject();
    if (!argument || !argument->getArray("shape") || !argument->getInteger("bytes"))
      return malformed("an argument needs 'shape' and 'bytes'");
  }
  return LaunchProgram(std::move(*object));
}

std::string LaunchProgram::entry() const { return manifest.getString("entry")->str(); }
size_t LaunchProgram::numArguments() const { return manifest.getArray("arguments")->size(); }
size_t LaunchProgram::numSizes() const { return *manifest.getInteger("sizes"); }

llvm::Expected<int64_t> LaunchProgram::argumentBytes(size_t i, llvm::ArrayRef<int64_t> sizes) const {
  const json::Object &argument = *(*manifest.getArray("arguments"))[i].getAsObject();
  int64_t bytes = *argument.getInteger("bytes");
  for (const json::Value &extent : *argument.getArray("shape")) {
    llvm::Expected<int64_t> value = evaluate(extent, sizes);
    if (!value)
      return value;
    bytes *= *value;
  }
  return bytes;
}

//===-- Running -----------------------------------------------------------===//

namespace {

/// One call of a program.
class Call {
public:
  Call(Device &device, llvm::ArrayRef<int64_t> sizes, size_t numVariables, size_t numBuffers)
      : device(device), sizes(sizes), variables(numVariables), buffers(numBuffers) {}

  llvm::Error constants(const json::Array &list);
  llvm::Error temporaries(const json::Array &list);
  llvm::Error steps(const json::Array *list);
  void argument(size_t i, void *memory) {
    buffers[i] = std::shared_ptr<void>(memory, [](void *) {});
  }

private:
  llvm::Error step(const json::Object &step);
  llvm::Error launch(const json::Object &step);
  llvm::Error read(const json::Object &step);
  /// Fresh memory for buffer `index`, at least one byte.
  llvm::Error allocate(std::optional<int64_t> index, int64_t bytes);
  llvm::Expected<int64_t> number(const json::Value *expression) {
    return expression ? evaluate(*expression, sizes, variables) : malformed("an expression is missing");
  }
  llvm::Error checkBuffer(std::optional<int64_t> index) {
    if (index && *index >= 0 && *index < int64_t(buffers.size()))
      return llvm::Error::success();
    return malformed(
        formatv("{0} names none of {1} buffers", index ? std::to_string(*index) : "nothing", buffers.size()));
  }
  /// Calls `each` with the left sides and the positions of [[left, right], ..].
  llvm::Error pairs(const json::Array &list, size_t limit,
                    llvm::function_ref<llvm::Error(int64_t, const json::Value &)> each);

  Device &device;
  llvm::ArrayRef<int64_t> sizes;
  std::vector<int64_t> variables;
  std::vector<std::shared_ptr<void>> buffers;
};

} // namespace

llvm::Error Call::allocate(std::optional<int64_t> index, int64_t bytes) {
  if (llvm::Error error = checkBuffer(index))
    return error;
  std::string error;
  void *memory = device.allocate(std::max<int64_t>(1, bytes), error);
  if (!memory)
    return createStringError(error);
  buffers[*index] = std::shared_ptr<void>(memory, [this](void *old) { device.release(old); });
  return llvm::Error::success();
}

llvm::Error Call::constants(const json::Array &list) {
  for (const json::Value &each : list) {
    const json::Object *constant = each.getAsObject();
    std::optional<llvm::StringRef> text = constant ? constant->getString("data") : std::nullopt;
    std::vector<char> data;
    if (!text || !constant->getInteger("bytes"))
      return malformed("a constant needs 'bytes' and 'data'");
    if (llvm::Error error = llvm::decodeBase64(*text, data))
      return error;
    size_t bytes = *constant->getInteger("bytes"), period = data.size();
    if (period == 0 && bytes > 0)
      return malformed("a constant has no data");
    data.resize(bytes);
    for (size_t i = period; i < bytes; ++i)
      data[i] = data[i - period];
    std::optional<int64_t> buffer = constant->getInteger("buffer");
    if (llvm::Error error = allocate(buffer, bytes))
      return error;
    std::string error;
    if (bytes && !device.copyIn(buffers[*buffer].get(), data.data(), bytes, error))
      return createStringError(error);
  }
  return llvm::Error::success();
}

llvm::Error Call::temporaries(const json::Array &list) {
  for (const json::Value &each : list) {
    const json::Object *temporary = each.getAsObject();
    llvm::Expected<int64_t> bytes = number(temporary ? temporary->get("bytes") : nullptr);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = allocate(temporary->getInteger("buffer"), *bytes))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Call::launch(const json::Object &step) {
  const json::Array *grid = step.getArray("grid"), *passed = step.getArray("arguments");
  if (!grid || grid->size() != 3 || !passed || !step.getString("launch") || !step.getInteger("threads"))
    return malformed("a launch needs a kernel, 'threads', 'grid' and 'arguments'");
  Launch start;
  start.kernel = step.getString("launch")->str();
  start.block[0] = *step.getInteger("threads");
  start.dynamicScratchpadBytes = step.getInteger("scratchpad").value_or(0);
  for (unsigned d = 0; d < 3; ++d) {
    llvm::Expected<int64_t> extent = number(&(*grid)[d]);
    if (!extent)
      return extent.takeError();
    if (*extent <= 0)
      return llvm::Error::success(); // nothing to compute
    int64_t most = d == 0 ? 0x7fffffff : 65535;
    if (*extent > most)
      return createStringError(formatv("kernel '{0}' needs {1} blocks in dimension {2} of its grid, devices have {3}",
                                       start.kernel, *extent, d, most));
    start.grid[d] = *extent;
  }
  for (const json::Value &argument : *passed) {
    const json::Object *one = argument.getAsObject();
    if (const json::Value *value = one ? one->get("value") : nullptr) {
      llvm::Expected<int64_t> given = number(value);
      if (!given)
        return given.takeError();
      start.value<int64_t>(*given);
      continue;
    }
    std::optional<int64_t> buffer = one ? one->getInteger("buffer") : std::nullopt;
    if (llvm::Error error = checkBuffer(buffer))
      return error;
    start.pointer(buffers[*buffer].get());
  }
  std::string error;
  return device.launch(start, error) ? llvm::Error::success() : createStringError(error);
}

llvm::Error Call::read(const json::Object &step) {
  std::optional<int64_t> variable = step.getInteger("read"), buffer = step.getInteger("buffer"),
                         bytes = step.getInteger("bytes");
  if (*variable < 0 || *variable >= int64_t(variables.size()) || !bytes || !llvm::isPowerOf2_64(*bytes) || *bytes > 8)
    return malformed("a step reads into no variable, or another number of bytes than 1, 2, 4 or 8");
  if (llvm::Error error = checkBuffer(buffer))
    return error;
  llvm::Expected<int64_t> offset = number(step.get("offset"));
  if (!offset)
    return offset.takeError();
  std::string error;
  uint64_t bits = 0; // little-endian, as the devices are
  const char *from = static_cast<const char *>(buffers[*buffer].get()) + *offset * *bytes;
  if (!device.wait(error) || !device.copyOut(&bits, from, *bytes, error))
    return createStringError(error);
  variables[*variable] = llvm::SignExtend64(bits, 8 * *bytes);
  return llvm::Error::success();
}

llvm::Error Call::pairs(const json::Array &list, size_t limit,
                        llvm::function_ref<llvm::Error(int64_t, const json::Value &)> each) {
  for (const json::Value &entry : list) {
    const json::Array *pair = entry.getAsArray();
    std::optional<int64_t> left = pair && pair->size() == 2 ? (*pair)[0].getAsInteger() : std::nullopt;
    if (!left || *left < 0 || *left >= int64_t(limit))
      return malformed(formatv("{0} sets nothing that is there", entry));
    if (llvm::Error error = each(*left, (*pair)[1]))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Call::step(const json::Object &step) {
  if (step.get("launch"))
    return launch(step);
  if (step.getInteger("read"))
    return read(step);
  if (std::optional<int64_t> buffer = step.getInteger("allocate")) {
    llvm::Expected<int64_t> bytes = number(step.get("bytes"));
    return bytes ? allocate(buffer, *bytes) : bytes.takeError();
  }
  if (const json::Array *list = step.getArray("assign")) {
    std::vector<int64_t> next = variables;
    llvm::Error error = pairs(*list, next.size(), [&](int64_t left, const json::Value &right) -> llvm::Error {
      llvm::Expected<int64_t> value = number(&right);
      if (!value)
        return value.takeError();
      next[left] = *value;
      return llvm::Error::success();
    });
    variables = std::move(next);
    return error;
  }
  if (const json::Array *list = step.getArray("rename")) {
    std::vector<std::shared_ptr<void>> next = buffers;
    llvm::Error error = pairs(*list, next.size(), [&](int64_t left, const json::Value &right) -> llvm::Error {
      if (llvm::Error unknown = checkBuffer(right.getAsInteger()))
        return unknown;
      next[left] = buffers[*right.getAsInteger()];
      return llvm::Error::success();
    });
    buffers = std::move(next);
    return error;
  }
  if (const json::Value *condition = step.get("if")) {
    llvm::Expected<int64_t> value = number(condition);
    return value ? steps(step.getArray(*value ? "then" : "else")) : value.takeError();
  }
  if (const json::Value *condition = step.get("while"))
    for (;;) {
      if (llvm::Error error = steps(step.getArray("before")))
        return error;
      llvm::Expected<int64_t> value = number(condition);
      if (!value || !*value)
        return value ? llvm::Error::success() : value.takeError();
      if (llvm::Error error = steps(step.getArray("do")))
        return error;
    }
  return malformed("a step is of no kind that is known");
}

llvm::Error Call::steps(const json::Array *list) {
  if (!list)
    return malformed("a list of steps is missing");
  for (const json::Value &each : *list) {
    if (!each.getAsObject())
      return malformed("a step is an object");
    if (llvm::Error error = step(*each.getAsObject()))
      return error;
  }
  return llvm::Error::success();
}

bool LaunchProgram::run(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                        std::string &error) const {
  if (sizes.size() != numSizes() || arrays.size() != numArguments()) {
    error = formatv("program '{0}' takes {1} sizes and {2} arrays", entry(), numSizes(), numArguments());
    return false;
  }
  Call call(device, sizes, *manifest.getInteger("variables"), *manifest.getInteger("buffers"));
  for (auto [i, array] : llvm::enumerate(arrays))
    call.argument(i, array);
  auto runAll = [&]() -> llvm::Error {
    if (llvm::Error failure = call.constants(*manifest.getArray("constants")))
      return failure;
    if (llvm::Error failure = call.temporaries(*manifest.getArray("temporaries")))
      return failure;
    return call.steps(manifest.getArray("steps"));
  };
  error.clear();
  llvm::Error failure = runAll();
  bool done = device.wait(error);
  if (failure)
    error = llvm::toString(std::move(failure));
  return done && error.empty();
}
