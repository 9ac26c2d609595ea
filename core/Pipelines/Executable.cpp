//===- Executable.cpp - A program ready to be called ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compilation in memory, sizes from arrays, and the call itself.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Executable.h"
#include "core/Analysis/Settings.h"
#include "core/Machine/NativeCode.h"
#include "core/Pipelines/DeviceProgram.h"
#include "core/Pipelines/FoldConstants.h"
#include "core/Pipelines/HostCheck.h"
#include "core/Pipelines/KernelTrace.h"
#include "core/Pipelines/LoadedCode.h"
#include "core/Runtime/C/Profiler.h"
#include "core/Runtime/C/Program.h"
#include "core/Transforms/Lower/LLVM/CheckReport.h"
#include "core/Transforms/Lower/Vectors/TraceKernels.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;

Executable::~Executable() = default;

/// Whether the programs of `target` can be run where `place` says, as far as it is known before they are compiled.
static llvm::Error checkPlace(const std::string &target, const Place &place) {
  if (place.isHost())
    return checkRunsHere(target);
  if (!place.model)
    return llvm::Error::success();
  auto chip = TargetRegistry::get().describe(target);
  if (!chip)
    return chip.takeError();
  if ((*chip)->graph().startsLaunches())
    return llvm::createStringError("programs of '" + target + "' are launches; use --device emulator");
  return llvm::Error::success();
}

/// The program of a module after stage 5, where `place` says.
static llvm::Expected<std::unique_ptr<PlacedProgram>> placeProgram(ModuleOp module, const Signature &signature,
                                                                   const Place &place, ModuleOp tiles) {
  if (place.emulator)
    return EmulatedProgram::compile(module, tiles);
  if (place.driver)
    return DriverProgram::compile(module, place.driver);
  return DeviceProgram::compile(module, signature, *place.process);
}

/// What units of a program round elements of f32 to that they read.
static double operandSpacingOf(ModuleOp module) {
  auto target = targetOf(module);
  if (!target) {
    llvm::consumeError(target.takeError()); // without a target no units
    return 0;
  }
  double spacing = 0;
  module.walk([&](tile::MmaOp op) {
    const MatrixUnit *unit = (*target)->unit(op.getUnit());
    if (unit && (unit->a.element == ElementKind::TF32 || unit->b.element == ElementKind::TF32))
      spacing = 0x1p-10; // 10 bits of mantissa, the others cut off
  });
  return spacing;
}

llvm::Expected<std::unique_ptr<Executable>>
Executable::compile(ModuleOp module, unsigned first, const CompileOptions &given, unsigned last, const Place &place) {
  if (llvm::Error error = checkPlace(given.target, place))
    return error;
  CompileOptions options = given;
  options.packedCall = !place.process;
  options.tileLoops |= place.model;
  if (place.model)
    module->setAttr(nativeCodeAttr, UnitAttr::get(module.getContext()));
  OwningOpRef<ModuleOp> again; // to compile without folding
  if (place.isHost()) {
    module->setAttr(bindAttr, UnitAttr::get(module.getContext()));
    if (first == 1)
      again = prepareFolding(module, options.target);
  }
  if (place.traced)
    module->setAttr(tracedAttr, ArrayAttr::get(module.getContext(), {}));
  double begin = secondsNow();
  auto failed = [] { return llvm::make_error<Reported>(); };
  if (first <= last && mlir::failed(runStages(module, first, last, options)))
    return failed();
  SmallVector<func::FuncOp> functions = publicFunctions(module);
  std::optional<Signature> bind;
  if (auto binds = llvm::find_if(functions, [](func::FuncOp function) { return function->hasAttr(bindsAttr); });
      binds != functions.end()) {
    FailureOr<Signature> found = Signature::of(*binds);
    if (mlir::failed(found))
      return failed();
    bind = std::move(*found);
    functions.erase(binds);
  }
  if (functions.size() != 1)
    return llvm::createStringError("expected one public function after stage %u, found %zu", last, functions.size());
  FailureOr<Signature> signature = Signature::of(functions.front());
  double spacing = operandSpacingOf(module);
  OwningOpRef<ModuleOp> tiles = place.emulator ? module.clone() : ModuleOp();
  if (mlir::failed(signature) || mlir::failed(runStages(module, 5, 5, options)))
    return failed();
  if (mlir::failed(foldConstants(module))) { // after a remark
    if (again)
      return compile(*again, first, given, last, place);
    return llvm::createStringError("the program's constants cannot be packed");
  }
  double passes = secondsNow() - begin;
  auto result = load(module, *signature, place, tiles.get(), std::move(bind));
  if (!result)
    return result;
  (*result)->unitSpacing = spacing;
  (*result)->compileTimes.passes = passes;
  return result;
}

llvm::Expected<std::unique_ptr<Executable>> Executable::load(ModuleOp module, const Signature &signature,
                                                             const Place &place, ModuleOp tiles,
                                                             std::optional<Signature> bind) {
  std::unique_ptr<Executable> result(new Executable());
  result->programSignature = signature;
  if (bind) {
    std::vector<SignatureArgument> &arguments = result->programSignature.arguments;
    auto bound = llvm::find_if(arguments, [](const SignatureArgument &argument) { return argument.isBound; });
    result->boundBefore = bound - arguments.begin();
    result->boundBytes = Array(ElementType::U8, Signature::evaluate(bound->shape, {}));
    if (!result->boundBytes.allocated())
      return llvm::createStringError("no memory for what the program binds of its constant arguments");
    for (SignatureArgument &argument : arguments)
      if (!(argument.isResult && argument.isScalar) && argument.position > bound->position)
        --argument.position;
    arguments.erase(bound);
    result->bindSignature = std::move(bind);
  }
  if (place.model) // assembly of the chip, such as routines that its states need
    module->removeAttr(LLVM::LLVMDialect::getModuleLevelAsmAttrName());
  if (auto traced = module->getAttrOfType<ArrayAttr>(tracedAttr))
    result->sites = llvm::map_to_vector(traced.getAsRange<NameLoc>(), [](NameLoc each) { return each; });
  const std::string check = signature.name + failedCheckSuffix;
  bool hasCheck = module.lookupSymbol(check) != nullptr;
  double begin = secondsNow();
  if (!place.isHost() && !place.model) {
    auto placed = placeProgram(module, signature, place, tiles);
    if (!placed)
      return placed.takeError();
    result->placedProgram = std::move(*placed);
    if (place.emulator)
      result->emulatedProgram = static_cast<EmulatedProgram *>(result->placedProgram.get());
    result->compileTimes.llvm = secondsNow() - begin;
    return result;
  }

  auto loaded = loadCode(module);
  if (!loaded)
    return loaded.takeError();
  const double linked = secondsNow();
  result->jit = std::move(loaded->jit);
  if (llvm::Error error = result->program.find(*result->jit, signature.name))
    return error;
  if (result->bindSignature)
    if (llvm::Error error = result->binding.find(*result->jit, result->bindSignature->name))
      return error;
  auto learned = result->jit->lookup(signature.name + "_learned_sizes");
  if (!learned)
    return learned.takeError();
  result->learnedSizes = static_cast<int64_t *>(*learned);
  std::fill_n(result->learnedSizes, signature.numSizes, -1);
  if (hasCheck) {
    auto failed = result->jit->lookup(check);
    if (!failed)
      return failed.takeError();
    result->failedCheck = static_cast<FailedCheck *>(*failed);
  }
  result->compileTimes = {0, loaded->llvmSeconds, loaded->linkSeconds + secondsNow() - linked};
  return result;
}

llvm::Error tilewright::statusError(int32_t status, llvm::ArrayRef<int64_t> sizes) {
  std::string given = "its sizes";
  for (int64_t size : sizes)
    given += " " + std::to_string(size);
  switch (status) {
  case 0:
    return llvm::Error::success();
  case 1:
    if (sizes.empty()) // no argument has a size: what is made of data, or asserted
      return llvm::createStringError(
          "status 1: the program refuses its data: sizes that it makes of it disagree, or an "
          "assertion does not hold");
    return llvm::createStringError("status 1: the program refuses " + given +
                                   ": they disagree, are negative, or make an array that no memory holds");
  case 2:
    return llvm::createStringError("status 2: the program has no memory for its temporaries with " + given);
  case 3:
    return llvm::createStringError(
        "status 3: this machine does not grant a state of registers that the program's units need "
        "(a limit of the kernel or of the virtual machine); run it for a chip without these "
        "units: tw-targets lists chips and units");
  case TW_BAD_INDEX:
    return llvm::createStringError("status 9: an index made of data lies outside of its array, with " + given);
  default:
    return llvm::createStringError("status %d: no compiled program returns it; its code or memory is damaged", status);
  }
}

llvm::Error Executable::Function::find(Jit &jit, llvm::StringRef name) {
  auto found = jit.lookup((name + "_call").str());
  if (!found)
    return found.takeError();
  auto workspace = jit.lookup((name + "_workspace_call").str());
  if (!workspace)
    return workspace.takeError();
  entry = reinterpret_cast<int32_t (*)(const int64_t *)>(*found);
  workspaceSize = reinterpret_cast<int64_t (*)(const int64_t *)>(*workspace);
  return llvm::Error::success();
}

llvm::Expected<std::vector<int64_t>> Executable::Function::withWorkspace(std::vector<int64_t> slots) {
  if (!workspace.allocated() || workspaceSlots != slots) {
    const int64_t bytes = workspaceSize(slots.data());
    workspaceSlots = slots;
    if (bytes > workspace.count() || !workspace.allocated()) {
      if (bytes < 0 || !Array::fits(ElementType::U8, {bytes + 4096}))
        return llvm::createStringError("the program asks for a workspace of %lld bytes", static_cast<long long>(bytes));
      workspace = Array(ElementType::U8, {bytes + 4096});
      if (!workspace.allocated())
        return llvm::createStringError("no memory for a workspace of %lld bytes", static_cast<long long>(bytes));
    }
  }
  slots.push_back((reinterpret_cast<int64_t>(workspace.data()) + 4095) & -4096);
  return slots;
}

llvm::Error Executable::call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments) {
  if (placedProgram)
    return placedProgram->call(sizes, arguments);
  if (llvm::Error error = bind(sizes, arguments))
    return error;
  return run(sizes, arguments);
}

/// Fills the bound argument, if there is one.
llvm::Error Executable::bind(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments) {
  if (!bindSignature)
    return llvm::Error::success();
  std::vector<int64_t> given;
  for (int64_t input : bindSignature->bindInputs)
    given.push_back(reinterpret_cast<int64_t>(arguments[input]));
  given.push_back(reinterpret_cast<int64_t>(boundBytes.data()));
  auto slots = binding.withWorkspace(std::move(given));
  if (!slots)
    return slots.takeError();
  return statusError(binding.entry(slots->data()), sizes);
}

/// The program itself.
llvm::Error Executable::run(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments) {
  std::vector<int64_t> given(sizes.begin(), sizes.end());
  for (void *argument : arguments)
    given.push_back(reinterpret_cast<int64_t>(argument));
  if (bindSignature)
    given.insert(given.begin() + sizes.size() + boundBefore, reinterpret_cast<int64_t>(boundBytes.data()));
  auto slots = program.withWorkspace(std::move(given));
  if (!slots)
    return slots.takeError();
  int32_t status;
  if (tw_is_profiled()) {
    tw_activity activity = tw_activity_of(TW_ACTIVITY_PROGRAM, programSignature.name.c_str(), nullptr);
    tw_activity_begin(&activity);
    status = program.entry(slots->data());
    // The statuses of the C interface are the first ones of the runtime's.
    (void)tw_activity_end(&activity, static_cast<tw_status>(status));
  } else {
    status = program.entry(slots->data());
  }
  return status == 0 ? llvm::Error::success() : failed(status, sizes);
}

/// The error of a call that returned `status`.
llvm::Error Executable::failed(int32_t status, llvm::ArrayRef<int64_t> sizes) {
  if (failedCheck)
    if (const char *message = std::exchange(failedCheck->message, nullptr)) {
      tw_error told;
      (void)tw_check_failed(&told, static_cast<tw_status>(status), programSignature.name.c_str(), message,
                            failedCheck->code, failedCheck->extent);
      return llvm::createStringError(llvm::formatv("status {0}: {1}", status, told.message).str());
    }
  llvm::Error error = statusError(status, sizes);
  std::vector<int64_t> made(sizes.begin(), sizes.end());
  std::string what;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (int64_t size = std::exchange(learnedSizes[i], -1); size >= 0) {
      made[i] = size;
      what += "; of its data it makes " + std::to_string(size) + " of size " + std::to_string(i);
    }
  if (what.empty())
    return error;
  return llvm::make_error<OtherSizes>(llvm::toString(std::move(error)) + what, made);
}

llvm::Expected<double> Executable::seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments,
                                           int64_t calls) {
  if (placedProgram)
    return placedProgram->seconds(sizes, arguments, calls);
  if (llvm::Error error = bind(sizes, arguments))
    return error;
  return secondsOf([&] { return run(sizes, arguments); }, calls);
}

std::optional<ElementType> tilewright::elementTypeOf(Type type) {
  if (type.isIndex())
    return ElementType::I64;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (isa<Float8E4M3FNType>(type))
    return ElementType::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return ElementType::F8E5M2;
  if (isa<Float8E4M3FNUZType>(type))
    return ElementType::F8E4M3FNUZ;
  if (isa<Float8E5M2FNUZType>(type))
    return ElementType::F8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(type))
    return ElementType::F8E8M0FNU;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF64())
    return ElementType::F64;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return ElementType::Bool;
  case 8:
    return isUnsigned ? ElementType::U8 : ElementType::I8;
  case 16:
    return isUnsigned ? ElementType::U16 : ElementType::I16;
  case 32:
    return isUnsigned ? ElementType::U32 : ElementType::I32;
  case 64:
    return isUnsigned ? ElementType::U64 : ElementType::I64;
  default:
    return std::nullopt;
  }
}

static std::string shapeText(AffineMap shape) {
  std::string text;
  for (AffineExpr dim : shape.getResults()) {
    text += text.empty() ? "" : "x";
    if (auto constant = dyn_cast<AffineConstantExpr>(dim))
      text += std::to_string(constant.getValue());
    else
      text += "?";
  }
  return text.empty() ? "scalar" : text;
}

llvm::Expected<std::vector<int64_t>> tilewright::sizesOf(const Signature &signature,
                                                         llvm::ArrayRef<const Array *> inputs) {
  std::vector<int64_t> sizes(signature.numSizes, -1);
  std::vector<std::pair<unsigned, unsigned>> source(signature.numSizes);
  unsigned input = 0;
  for (const SignatureArgument &argument : signature.arguments) {
    if (argument.isResult)
      continue;
    const Array *array = input < inputs.size() ? inputs[input] : nullptr;
    unsigned number = input++;
    if (!array)
      continue;
    if (array->shape().size() != argument.shape.getNumResults())
      return llvm::createStringError(llvm::formatv("input {0} is {1}; expected {2} dimensions ({3})", number,
                                                   array->describe(), argument.shape.getNumResults(),
                                                   shapeText(argument.shape)));
    for (auto [d, expr] : llvm::enumerate(argument.shape.getResults())) {
      int64_t have = array->shape()[d];
      if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
        if (constant.getValue() != have)
          return llvm::createStringError(llvm::formatv("input {0} is {1}; its dimension {2} must be {3} ({4})", number,
                                                       array->describe(), d, constant.getValue(),
                                                       shapeText(argument.shape)));
      } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
        int64_t &size = sizes[symbol.getPosition()];
        auto &first = source[symbol.getPosition()];
        if (size >= 0 && size != have)
          return llvm::createStringError(llvm::formatv(
              "input {0} is {1}, but its dimension {2} must equal dimension {3} of input {4}, which is {5}", number,
              array->describe(), d, first.second, first.first, size));
        if (size < 0)
          first = {number, static_cast<unsigned>(d)};
        size = have;
      }
    }
  }
  return sizes;
}

llvm::Error tilewright::solveSizes(const Signature &signature, std::vector<int64_t> &sizes) {
  IntegerSet constraints = signature.constraints;
  bool progress = static_cast<bool>(constraints);
  while (progress) {
    progress = false;
    for (unsigned i = 0; i < constraints.getNumConstraints(); ++i) {
      if (!constraints.isEq(i))
        continue;
      AffineExpr expr = constraints.getConstraint(i);
      int64_t unknown = -1, count = 0;
      for (unsigned s = 0; s < sizes.size(); ++s)
        if (sizes[s] < 0 && expr.isFunctionOfSymbol(s)) {
          unknown = s;
          ++count;
        }
      if (count != 1)
        continue;
      // The equality is expr = 0 with the unknown size once, times +1 or -1.
      auto at = [&](int64_t value) {
        sizes[unknown] = value;
        return Signature::evaluate(AffineMap::get(0, sizes.size(), expr), sizes).front();
      };
      int64_t zero = at(0), slope = at(1) - zero;
      sizes[unknown] = -1;
      if (slope == 0 || -zero % slope != 0 || -zero / slope < 0)
        continue;
      sizes[unknown] = -zero / slope;
      progress = true;
    }
  }
  for (auto [index, size] : llvm::enumerate(sizes))
    if (size < 0)
      return llvm::createStringError(
          llvm::formatv("size {0} of {1} is not known; give the inputs (--input) or all sizes "
                        "(--sizes) of '{2}'",
                        index, sizes.size(), signature.name));
  return llvm::Error::success();
}
