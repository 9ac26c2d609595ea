//===- RunUnits.cpp - Unit cases on a device ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The model, the code and the instruction of one matrix unit.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Messages.h"
#include "core/Conformance/Runner.h"
#include "core/Conformance/Units.h"
#include "core/Machine/IrFunction.h"
#include "core/Pipelines/DeviceProgram.h"
#include "core/Pipelines/DriverProgram.h"
#include "core/Pipelines/LoadedCode.h"
#include "core/Transforms/Passes.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include "tilewright/UnitModel.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::conformance;

Outcome Runner::runUnit(const CaseUnit &one) {
  const MatrixUnit &unit = *one.unit;
  if (one.kind == CaseUnit::Code)
    return runUnitCode(unit);
  if (one.kind == CaseUnit::Run)
    return runUnitOnDevice(unit);
  for (bool extreme : {false, true}) {
    UnitProblem problem = unitProblem(unit, extreme, options.seed);
    std::vector<char> c = problem.c;
    tilewright::runUnit(unit, problem.a.data(), problem.b.data(), c.data(), problem.scaleA.data(),
                        problem.scaleB.data(), problem.indexA.data());
    std::string difference = judgeUnit(unit, problem, c);
    if (!difference.empty())
      return wrong(std::string(extreme ? "extreme" : "random") + " values: " + difference);
  }
  return {};
}

/// The instruction in place of the call, as code of the chip.
static llvm::Error emitUnit(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createEmitUnits());
  pm.addPass(createConvertToLLVMPass()); // ops of a target that are LLVM or assembly
  return failed(pm.run(module)) ? llvm::make_error<Reported>() : llvm::Error::success();
}

Outcome Runner::runUnitCode(const MatrixUnit &unit) {
  std::string why = whyNoProgram(unit);
  if (!why.empty())
    return {Status::Skipped, why};
  if (description->codegen().triple.empty())
    return {Status::Skipped, "LLVM generates no code for this chip"};
  Messages messages(context.get());
  auto module = unitProgram(unit, options.target, *context);
  if (!module)
    return wrong(messages.take(module.takeError()));
  if (llvm::Error error = emitUnit(**module))
    return wrong(messages.take(std::move(error)));
  auto generator = CodeGenerator::create(**module);
  if (!generator)
    return wrong(messages.take(generator.takeError()));
  llvm::LLVMContext llvmContext;
  auto code = (*generator)->translate(**module, llvmContext);
  if (!code)
    return wrong(messages.take(code.takeError()));
  auto assembly = (*generator)->assembly(**code);
  if (!assembly)
    return wrong(messages.take(assembly.takeError()));
  return {};
}

/// In this process.
static llvm::Expected<Runner::UnitCall> loadOnHost(ModuleOp module) {
  if (llvm::Error error = emitUnit(module))
    return error;
  auto loaded = loadCode(module);
  if (!loaded)
    return loaded.takeError();
  auto entry = loaded->jit->lookup(unitEntry);
  if (!entry)
    return entry.takeError();
  auto *function = reinterpret_cast<int32_t (*)(void *, void *, void *)>(*entry);
  auto code = std::make_shared<LoadedCode>(std::move(*loaded));
  return [code, function](UnitProblem &problem, std::vector<char> &c) -> llvm::Error {
    (void)function(problem.a.data(), problem.b.data(), c.data());
    return llvm::Error::success();
  };
}

/// What `tw_unit` reads, and `c`, in the order of its parameters.
static std::vector<std::vector<char> *> fragmentsOf(const MatrixUnit &unit, UnitProblem &problem,
                                                    std::vector<char> &c) {
  std::vector<std::vector<char> *> fragments{&problem.a, &problem.b, &c};
  if (unit.scales && unit.scales->hasA())
    fragments.push_back(&problem.scaleA);
  if (unit.scales && unit.scales->hasB())
    fragments.push_back(&problem.scaleB);
  if (unit.sparsity)
    fragments.push_back(&problem.indexA);
  return fragments;
}

/// Launches `tw_unit` on a device: copies in, launches, copies out.
static llvm::Error callOnDevice(Device &device, ModuleOp module, const MatrixUnit &unit, UnitProblem &problem,
                                std::vector<char> &c) {
  std::string error;
  Launch launch{unitEntry, {1, 1, 1}, {static_cast<uint32_t>(unitLanes(unit)), 1, 1}}; // lanes: 1 for a function
  if (int64_t bytes = unitScratchpadBytes(unit)) {
    auto ops = laneOpsOf(module);
    if (!ops)
      return ops.takeError();
    launch.dynamicScratchpadBytes = (*ops)->dynamicScratchpad() ? bytes : 0;
  }
  std::vector<void *> memory;
  for (std::vector<char> *fragment : fragmentsOf(unit, problem, c)) {
    auto bytes = static_cast<int64_t>(fragment->size());
    memory.push_back(device.allocate(bytes, error));
    if (!memory.back() || !device.copyIn(memory.back(), fragment->data(), bytes, error))
      return llvm::createStringError(error);
    launch.pointer(memory.back());
  }
  bool done = device.launch(launch, error) && device.wait(error) &&
              device.copyOut(c.data(), memory[2], static_cast<int64_t>(c.size()), error);
  for (void *each : memory)
    device.release(each);
  return done ? llvm::Error::success() : llvm::createStringError(error);
}

/// As the only launch of a program, by the driver of a device of this machine. `problem`: one of the sizes of all.
static llvm::Expected<Runner::UnitCall> loadOnDriver(DeviceOpener opener, llvm::StringRef target, ModuleOp module,
                                                     const MatrixUnit &unit, UnitProblem problem) {
  llvm::json::Array arguments, operands;
  const std::vector<std::vector<char> *> fragments = fragmentsOf(unit, problem, problem.c);
  for (auto [index, fragment] : llvm::enumerate(fragments)) {
    arguments.push_back(llvm::json::Object{{"type", "i8"},
                                           {"bytes", 1},
                                           {"shape", llvm::json::Array{static_cast<int64_t>(fragment->size())}},
                                           {"written", fragment == &problem.c},
                                           {"result", false}});
    operands.push_back(llvm::json::Object{{"buffer", static_cast<int64_t>(index)}});
  }
  auto ops = laneOpsOf(module);
  if (!ops)
    return ops.takeError();
  llvm::json::Object launch{{"launch", unitEntry},
                            {"threads", unitLanes(unit)},
                            {"scratchpad", (*ops)->dynamicScratchpad() ? unitScratchpadBytes(unit) : 0},
                            {"grid", llvm::json::Array{1, 1, 1}},
                            {"arguments", std::move(operands)}};
  llvm::json::Object manifest{{"format", 2},
                              {"entry", unitEntry},
                              {"target", target},
                              {"sizes", 0},
                              {"variables", 0},
                              {"buffers", static_cast<int64_t>(fragments.size())},
                              {"arguments", std::move(arguments)},
                              {"constants", llvm::json::Array()},
                              {"temporaries", llvm::json::Array()},
                              {"constraints", llvm::json::Array()},
                              {"steps", llvm::json::Array{std::move(launch)}}};
  Builder builder(module.getContext());
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(manifest)));
  module->setAttr(manifestsAttr, builder.getStrArrayAttr(llvm::StringRef(text)));
  auto program = DriverProgram::compile(module, opener);
  if (!program)
    return program.takeError();
  return [&unit, program = std::shared_ptr(std::move(*program))](UnitProblem &problem, std::vector<char> &c) {
    std::vector<void *> buffers;
    for (std::vector<char> *fragment : fragmentsOf(unit, problem, c))
      buffers.push_back(fragment->data());
    return program->call({}, buffers);
  };
}

/// On an emulator of its own for each call: the first finding is an error.
static llvm::Expected<Runner::UnitCall> loadOnEmulator(std::shared_ptr<const TargetDescription> chip, ModuleOp module,
                                                       const MatrixUnit &unit) {
  auto target = TargetRegistry::get().target(chip->target());
  if (!target)
    return target.takeError();
  EmulationTable table;
  (*target)->emulate(table);
  auto kernels = EmulatedKernels::compile(module, chip, table);
  if (!kernels)
    return kernels.takeError();
  return [module, &unit, kernels = *kernels](UnitProblem &problem, std::vector<char> &c) -> llvm::Error {
    Emulator emulator(kernels);
    llvm::Error error = callOnDevice(emulator, module, unit, problem, c);
    if (!error && !emulator.findings().empty())
      return llvm::createStringError(emulator.findings().front().str());
    return error;
  };
}

llvm::Expected<Runner::UnitCall> Runner::loadUnit(ModuleOp module, const MatrixUnit &unit) {
  if (options.device == "host")
    return loadOnHost(module);
  if (isDriven()) {
    if (llvm::Error error = holdDevice())
      return error;
    return loadOnDriver(options.opener, options.target, module, unit, unitProblem(unit, false, options.seed));
  }
  if (!isProcess())
    return loadOnEmulator(description, module, unit);
  auto device = openDevice();
  if (!device)
    return device.takeError();
  if (llvm::Error error = loadOn(**device, module))
    return error;
  return [module, &unit, device = *device](UnitProblem &problem, std::vector<char> &c) {
    return callOnDevice(*device, module, unit, problem, c);
  };
}

Outcome Runner::runUnitOnDevice(const MatrixUnit &unit) {
  std::string why = options.device == "model" ? "the model is what the record says" : whyNoProgram(unit);
  if (why.empty() && !isProcess() && unit.emit.kind == EmissionKind::ExternalCall && !shippedText(unit.emit) &&
      !llvm::sys::DynamicLibrary::SearchForAddressOfSymbol(unit.emit.name))
    why = "calls '" + unit.emit.name + "', which this machine does not have";
  if (!why.empty())
    return {Status::Skipped, why};
  Messages messages(context.get());
  auto module = unitProgram(unit, options.target, *context);
  if (!module)
    return wrong(messages.take(module.takeError()));
  auto call = loadUnit(**module, unit);
  if (!call)
    return wrong(messages.take(call.takeError()));
  for (bool extreme : {false, true}) {
    const std::string kind = std::string(extreme ? "extreme" : "random") + " values: ";
    UnitProblem problem = unitProblem(unit, extreme, options.seed);
    std::vector<char> c = problem.c;
    if (llvm::Error error = (*call)(problem, c))
      return wrong(kind + messages.take(std::move(error)));
    if (std::string difference = judgeUnit(unit, problem, c); !difference.empty())
      return wrong(kind + difference);
  }
  return {};
}
