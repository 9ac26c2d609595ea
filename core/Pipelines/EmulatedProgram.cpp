//===- EmulatedProgram.cpp - A program's launches on the emulator ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Expressions, memory and launches of a manifest.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/EmulatedProgram.h"
#include "core/Emulator/Kernels.h"
#include "tilewright/Target.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;
using llvm::createStringError;
using llvm::formatv;

/// Module attribute with the manifests of its programs, as JSON texts.
static constexpr llvm::StringLiteral manifestsName = "tilewright.manifests";

static llvm::Error malformed(const llvm::Twine &what) { return createStringError("malformed manifest: " + what); }

llvm::Expected<int64_t> tilewright::evaluate(const llvm::json::Value &expression, llvm::ArrayRef<int64_t> sizes) {
  if (std::optional<int64_t> number = expression.getAsInteger())
    return *number;
  if (const llvm::json::Object *object = expression.getAsObject()) {
    std::optional<int64_t> index = object->getInteger("size");
    if (!index || *index < 0 || *index >= static_cast<int64_t>(sizes.size()))
      return malformed(formatv("{0} names none of {1} sizes", expression, sizes.size()));
    return sizes[*index];
  }
  const llvm::json::Array *list = expression.getAsArray();
  std::optional<llvm::StringRef> op = list && list->size() == 3 ? (*list)[0].getAsString() : std::nullopt;
  if (!op)
    return malformed(formatv("{0} is no expression", expression));
  llvm::Expected<int64_t> left = evaluate((*list)[1], sizes);
  if (!left)
    return left;
  llvm::Expected<int64_t> right = evaluate((*list)[2], sizes);
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
  if (b == 0)
    return malformed(formatv("{0} divides by zero", expression));
  if (*op == "floordiv")
    return llvm::divideFloorSigned(a, b);
  if (*op == "ceildiv")
    return llvm::divideCeilSigned(a, b);
  if (*op == "mod")
    return llvm::mod(a, b);
  return malformed(formatv("{0} has an unknown operation", expression));
}

llvm::Expected<std::unique_ptr<EmulatedProgram>> EmulatedProgram::compile(mlir::ModuleOp module) {
  auto chip = targetOf(module);
  if (!chip)
    return chip.takeError();
  auto target = TargetRegistry::get().target((*chip)->target());
  if (!target)
    return target.takeError();
  auto manifests = module->getAttrOfType<mlir::ArrayAttr>(manifestsName);
  auto text = manifests && manifests.size() == 1 ? mlir::dyn_cast<mlir::StringAttr>(manifests[0]) : mlir::StringAttr();
  if (!text)
    return createStringError(formatv("'{0}:{1}' runs programs on the host: the emulator executes kernels of chips whose "
                                     "programs are launches",
                                     (*chip)->target(), (*chip)->chip()));
  auto manifest = llvm::json::parse(text.getValue());
  if (!manifest)
    return manifest.takeError();
  EmulationTable table;
  (*target)->emulate(table);
  auto kernels = EmulatedKernels::compile(module, *chip, table);
  if (!kernels)
    return kernels.takeError();
  auto program = std::make_unique<EmulatedProgram>();
  program->manifest = std::move(*manifest);
  program->kernels = *kernels;
  program->device = std::make_unique<Emulator>(std::move(*kernels));
  return program;
}

llvm::Error EmulatedProgram::launch(const llvm::json::Object &description, llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<void *> arrays, llvm::ArrayRef<void *> temporaries) {
  std::optional<llvm::StringRef> name = description.getString("kernel");
  const llvm::json::Array *grid = description.getArray("grid"), *arguments = description.getArray("arguments");
  if (!name || !grid || grid->size() != 3 || !arguments)
    return malformed("a launch needs kernel, grid and arguments");
  const auto &known = kernels->implementation().kernels;
  auto kernel = llvm::find_if(known, [&](const KernelEntry &entry) { return entry.name == *name; });
  if (kernel == known.end())
    return malformed(formatv("no kernel '{0}' in the program", *name));
  Launch launch;
  launch.kernel = name->str();
  for (unsigned d = 0; d < 3; ++d) {
    llvm::Expected<int64_t> extent = evaluate((*grid)[d], sizes);
    if (!extent)
      return extent.takeError();
    if (*extent == 0)
      return llvm::Error::success(); // no block: nothing to do
    launch.grid[d] = *extent;
  }
  launch.block[0] = description.getInteger("threads").value_or(1);
  // Otherwise the kernel's module declares all of its scratchpad.
  if (kernels->implementation().dynamicScratchpad)
    launch.dynamicScratchpadBytes = description.getInteger("scratchpad").value_or(0);
  for (auto [index, argument] : llvm::enumerate(*arguments)) {
    const llvm::json::Object *object = argument.getAsObject();
    std::optional<int64_t> array = object ? object->getInteger("array") : std::nullopt;
    std::optional<int64_t> temporary = object ? object->getInteger("temporary") : std::nullopt;
    const llvm::json::Value *value = object ? object->get("value") : nullptr;
    if (array && *array >= 0 && *array < static_cast<int64_t>(arrays.size())) {
      launch.pointer(arrays[*array]);
    } else if (temporary && *temporary >= 0 && *temporary < static_cast<int64_t>(temporaries.size())) {
      launch.pointer(temporaries[*temporary]);
    } else if (value) {
      llvm::Expected<int64_t> number = evaluate(*value, sizes);
      if (!number)
        return number.takeError();
      if (index < kernel->parameters.size() && kernel->parameters[index].bytes == 4)
        launch.value<int32_t>(*number);
      else
        launch.value<int64_t>(*number);
    } else {
      return malformed(formatv("argument {0} of '{1}' is {2}", index, *name, argument));
    }
  }
  std::string error;
  return device->launch(launch, error) ? llvm::Error::success() : createStringError(error);
}

llvm::Error EmulatedProgram::call(llvm::ArrayRef<int64_t> sizes,
                                  llvm::ArrayRef<std::pair<void *, int64_t>> arguments) {
  const llvm::json::Object *program = manifest.getAsObject();
  const llvm::json::Array *launches = program ? program->getArray("launches") : nullptr;
  const llvm::json::Array *needed = program ? program->getArray("temporaries") : nullptr;
  if (!launches || !needed)
    return malformed("a program needs launches and temporaries");
  std::vector<void *> arrays, temporaries;
  auto releaseAll = llvm::make_scope_exit([&] {
    for (void *memory : llvm::concat<void *>(arrays, temporaries))
      device->release(memory);
  });
  std::string error;
  for (auto [memory, bytes] : arguments) {
    void *copy = device->allocate(bytes, error);
    if (!copy)
      return createStringError(error);
    arrays.push_back(copy);
    if (!device->copyIn(copy, memory, bytes, error))
      return createStringError(error);
  }
  for (const llvm::json::Value &temporary : *needed) {
    const llvm::json::Object *object = temporary.getAsObject();
    const llvm::json::Value *expression = object ? object->get("bytes") : nullptr;
    if (!expression)
      return malformed("a temporary needs its bytes");
    llvm::Expected<int64_t> bytes = evaluate(*expression, sizes);
    if (!bytes)
      return bytes.takeError();
    void *memory = device->allocate(*bytes, error);
    if (!memory)
      return createStringError(error);
    temporaries.push_back(memory);
  }
  for (const llvm::json::Value &one : *launches) {
    const llvm::json::Object *description = one.getAsObject();
    if (!description)
      return malformed("a launch is an object");
    if (llvm::Error failure = launch(*description, sizes, arrays, temporaries))
      return failure;
  }
  for (auto [argument, copy] : llvm::zip(arguments, arrays)) {
    if (!device->copyOut(argument.first, copy, argument.second, error))
      return createStringError(error);
  }
  return llvm::Error::success();
}
