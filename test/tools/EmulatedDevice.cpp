//===- EmulatedDevice.cpp - The emulator behind the pipe protocol ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tilewright-emulated-device TARGET:CHIP` serves docs/device-protocol.md on its
/// standard input and output for code of the kind "mlir". The chip that it executes is
/// its own: what the compiler believes of the chip plays no part here.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "tilewright/Emulator.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include "llvm/Support/raw_ostream.h"
#include <iostream>

using namespace tilewright;
namespace json = llvm::json;

namespace {

class Server {
public:
  Server(const Target &target, std::shared_ptr<const TargetDescription> chip, mlir::MLIRContext &context)
      : target(target), chip(std::move(chip)), context(context) {}

  /// The answer to a request; `data` is its payload.
  json::Object serve(const json::Object &request, const std::string &payload, std::string &data) {
    std::string error;
    json::Object answer{{"ok", true}};
    if (!serve(request, payload, answer, data, error))
      answer = json::Object{{"ok", false}, {"error", json::fixUTF8(error)}};
    return answer;
  }

private:
  static void *pointer(const json::Object &request) {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(request.getInteger("address").value_or(0)));
  }

  bool serve(const json::Object &request, const std::string &payload, json::Object &answer, std::string &data,
             std::string &error) {
    llvm::StringRef op = request.getString("op").value_or("");
    auto size = request.getInteger("size").value_or(0);
    if (op == "hello") {
      answer["version"] = 1;
      answer["name"] = "emulator of " + chip->target().str() + ":" + chip->chip().str();
      answer["kinds"] = json::Array{"mlir"};
      return true;
    }
    if (op == "load")
      return load(payload, error);
    if (op == "wait" || op == "close")
      return check(error);
    if (!device) {
      error = "nothing is loaded";
      return false;
    }
    if (op == "allocate") {
      void *memory = device->allocate(size, error);
      answer["address"] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
      return memory;
    }
    if (op == "release") {
      device->release(pointer(request));
      return true;
    }
    if (op == "write")
      return device->copyIn(pointer(request), payload.data(), static_cast<int64_t>(payload.size()), error);
    if (op == "read") {
      data.resize(static_cast<size_t>(size));
      answer["payload"] = size;
      return device->copyOut(data.data(), pointer(request), size, error);
    }
    if (op == "launch")
      return launch(request, payload, error);
    if (op == "counters") {
      json::Array kernels;
      for (const KernelCounters &counters : device->counters())
        kernels.push_back(toJson(counters));
      answer["counters"] = json::Object{{"kernels", std::move(kernels)}};
      return true;
    }
    error = "unknown request '" + op.str() + "'";
    return false;
  }

  bool load(const std::string &text, std::string &error) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "program.mlir");
    if (!module) {
      error = "the module cannot be read";
      return false;
    }
    EmulationTable table;
    target.emulate(table);
    auto kernels = EmulatedKernels::compile(*module, chip, table);
    if (!kernels) {
      error = llvm::toString(kernels.takeError());
      return false;
    }
    device = std::make_unique<Emulator>(*kernels);
    return true;
  }

  bool launch(const json::Object &request, const std::string &payload, std::string &error) {
    Launch launch;
    launch.kernel = request.getString("kernel").value_or("").str();
    for (unsigned d = 0; d < 3; ++d) {
      launch.grid[d] = static_cast<uint32_t>((*request.getArray("grid"))[d].getAsInteger().value_or(1));
      launch.block[d] = static_cast<uint32_t>((*request.getArray("block"))[d].getAsInteger().value_or(1));
    }
    launch.cluster = static_cast<uint32_t>(request.getInteger("cluster").value_or(1));
    launch.dynamicScratchpadBytes = static_cast<uint32_t>(request.getInteger("scratchpad").value_or(0));
    size_t at = 0;
    for (const json::Value &size : *request.getArray("arguments")) {
      auto bytes = static_cast<size_t>(size.getAsInteger().value_or(0));
      launch.bytes(payload.data() + at, bytes);
      at += bytes;
    }
    return device->launch(launch, error);
  }

  /// Findings are failures of what was launched.
  bool check(std::string &error) const {
    if (!device || device->findings().empty())
      return true;
    error = device->findings().front().str();
    return false;
  }

  const Target &target;
  std::shared_ptr<const TargetDescription> chip;
  mlir::MLIRContext &context;
  std::unique_ptr<Emulator> device;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: tilewright-emulated-device TARGET:CHIP\n";
    return 1;
  }
  registerLinkedTargets();
  auto chip = TargetRegistry::get().describe(argv[1]);
  if (!chip) {
    llvm::errs() << "tilewright-emulated-device: error: " << llvm::toString(chip.takeError()) << "\n";
    return 1;
  }
  const Target *target = llvm::cantFail(TargetRegistry::get().target((*chip)->target()));
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  for (const Target *known : TargetRegistry::get().targets())
    known->registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Server server(*target, *chip, context);
  std::string line;
  while (std::getline(std::cin, line)) {
    auto request = json::parse(line);
    json::Object *object = request ? request->getAsObject() : nullptr;
    if (!object) {
      llvm::consumeError(request ? llvm::Error::success() : request.takeError());
      return 1;
    }
    std::string payload(static_cast<size_t>(object->getInteger("payload").value_or(0)), '\0'), data;
    std::cin.read(payload.data(), static_cast<std::streamsize>(payload.size()));
    json::Object answer = server.serve(*object, payload, data);
    llvm::outs() << json::Value(std::move(answer)) << "\n" << data;
    llvm::outs().flush();
    if (object->getString("op") == "close")
      return 0;
  }
  return 0;
}
